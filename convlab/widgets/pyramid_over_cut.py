"""A pyramid over a cut: which rows two machines need, and whether to compute them twice or to send them."""

from __future__ import annotations

import re

import traitlets

from convlab.errors import ParameterError
from convlab.support.checks import check_number
from convlab.support.units import bytes_text, count_text, plural, time_text
from convlab.widgets.pyramid_data import Cost, Line, Machine, cost, pyramid, stack, ways
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole, as_word

MOST_LAYERS, MOST_ROWS = 8, 48
TAPS = ("1", "3", "5", "7")
TWO = ("1", "2")
WIDTHS = tuple(str(2**power) for power in range(6, 14))
CHANNELS = tuple(str(2**power) for power in range(2, 10))
# Round numbers, in steps of 1, 2, 5.
FLOPS = (*(f"{step}e{power}" for power in range(9, 15) for step in (1, 2, 5)), "1e15")
LATENCIES = (*(f"{step}e-{power}" for power in range(6, 1, -1) for step in (1, 2, 5)), "1e-1")
BANDWIDTHS = (*(f"{step}e{power}" for power in range(8, 12) for step in (1, 2, 5)), "1e12")

SENTENCES = {
    "once": "once (recompute)",
    "each": "every layer (exchange)",
    "between": "every {every} layers",
    "finding": "Border sent {way}: {messages} each way, {bytes}, {share}\u00a0% of the work twice",
    "alone": "No row needs its neighbours: the cut costs nothing",
    "border": "Through {layers} of {taps} × {taps} the border grows to {rows}",
    "even": "{one} on either side of the cut",
    "uneven": "{one} for machine 1 and {other} for machine 2",
    "cheapest": "Cheapest here: {way}, {time}",
    "other": "{way}: {time}",
    "alike": "Whatever is sent, it takes {time}",
}
FIRST_STEPS = (
    Step(
        "Drag the cut, add a layer: which rows must both machines compute? They are striped in both colours."
    ),
    Step(
        "The border is sent for every layer: no row is striped now. How often do the machines wait?",
        {"every": 1},
    ),
    Step(
        "Slower machines, quicker messages: which way is the cheapest? Raise the latency until that changes.",
        {"flops": "1e12", "latency": "1e-6"},
    ),
)


class PyramidOverCut(Live):
    """A cut through the result of some layers, and below it the pyramids of rows that two machines need.

    Parameters
    ----------
    layers : int
        Convolutions one after the other, 1 to 8, each padded so that it keeps the size ("same").
    cut : int
        The first row of the result that is the second machine's.
    every : int
        Before how many layers there is a message: 1 is an exchange before every layer, and as many as there
        are layers, or more, one message before the first, and all borders computed twice.
    taps : 1, 3, 5 or 7
        Height and width of all filters.
    stride, dilation : 1 or 2
        Stride of the first layer, dilation of all.
    H, W, C : int
        Rows of the picture, 8 to 48; its columns, 64 to 8192, and the channels of every array, 4 to 512,
        powers of two. The numbers are float32.
    flops, latency, bandwidth : float
        Of each machine, operations a second, 1e9 to 1e15; of the network between them seconds for a message,
        1e-6 to 1e-1, and bytes a second, 1e8 to 1e12. Steps are 1, 2, 5.

    Raises
    ------
    ConvError
        If one of these is not among the choices, or the cut leaves a machine without a row.

    Examples
    --------
    >>> [line.twice for line in PyramidOverCut(layers=3).lines]
    [0, 4, 2, 0]
    """

    sentences = SENTENCES
    first_steps = FIRST_STEPS
    layers, every = Whole(1, MOST_LAYERS, 5), Whole(1, MOST_LAYERS, MOST_LAYERS)
    cut, H = Whole(1, MOST_ROWS - 1, 16), Whole(8, MOST_ROWS, 32)
    taps, stride, dilation = Choice(TAPS, "3"), Choice(TWO), Choice(TWO)
    W, C = Choice(WIDTHS, "512"), Choice(CHANNELS, "32")
    flops, latency, bandwidth = Choice(FLOPS, "1e13"), Choice(LATENCIES, "1e-5"), Choice(BANDWIDTHS, "1e10")
    choices = traitlets.Dict().tag(sync=True)  # of the sliders

    def __init__(
        self,
        layers=5,
        cut=16,
        every=MOST_LAYERS,
        *,
        taps=3,
        stride=1,
        dilation=1,
        H=32,
        W=512,
        C=32,
        flops=1e13,
        latency=1e-5,
        bandwidth=1e10,
    ):
        sliders = {"W": WIDTHS, "C": CHANNELS, "flops": FLOPS, "latency": LATENCIES, "bandwidth": BANDWIDTHS}
        super().__init__(
            **{"layers": layers, "cut": cut, "every": every, "H": H},
            **{"taps": as_word("taps", taps, TAPS), "stride": as_word("stride", stride, TWO)},
            **{"dilation": as_word("dilation", dilation, TWO)},
            **{"W": as_word("W", W, WIDTHS), "C": as_word("C", C, CHANNELS)},
            **{"flops": _step("flops", flops, FLOPS), "latency": _step("latency", latency, LATENCIES)},
            **{"bandwidth": _step("bandwidth", bandwidth, BANDWIDTHS)},
            choices=sliders,
        )
        if self.cut >= self.network.shape[1]:
            raise ParameterError(f"cut={cut}; the result has {self.network.shape[1]} rows, expected fewer")

    @property
    def network(self):
        """The layers that are shown now."""
        sizes = {name: int(getattr(self, name)) for name in ("H", "W", "C", "taps", "stride", "dilation")}
        return stack(self.layers, **sizes)

    @property
    def machine(self) -> Machine:
        """The two machines, and what lies between them."""
        return Machine(float(self.flops), float(self.latency), float(self.bandwidth))

    @property
    def at(self) -> tuple[int, int]:
        """The cut and the layers for a message, as far as there are rows and layers."""
        return min(self.cut, self.network.shape[1] - 1), min(self.every, self.layers)

    @property
    def lines(self) -> list[Line]:
        """Which rows of every array the machines have, from the picture to the result."""
        return pyramid(self.network, *self.at)

    @property
    def cost(self) -> Cost:
        """What the way that is shown now costs."""
        return cost(self.network, self.lines, self.at[1], self.machine)

    @property
    def ways(self) -> list[Cost]:
        """The costs of all ways; the first has a message before every layer."""
        return ways(self.network, self.at[0], self.machine)

    def describe(self) -> str:
        """Return the present state in words."""
        cut, every = self.at
        size, machine, lines = self.network.shape[1], self.machine, self.lines
        halves = f"machine 1 computes {plural(cut, 'row')} of the result, machine 2 {size - cut}"
        twice = [f"{line.twice} after layer {at}" for at, line in enumerate(lines) if line.twice]
        both = f" Both compute rows: {', '.join(twice)}." if twice else " No row is computed twice."
        return (
            f"A picture of {self.H} rows, {self.W} columns and {self.C} channels goes through "
            f"{plural(self.layers, 'layer')} of {self.taps} × {self.taps}, stride {self.stride} in the first "
            f"and dilation {self.dilation} in all, on two machines: {halves}. {self._border()}. "
            f"{self._finding(every)}."
            f"{both} A machine does {round_text(count_text(machine.flops))}FLOP/s; a message takes "
            f"{round_text(time_text(machine.latency))}, and its bytes go at "
            f"{round_text(count_text(machine.bandwidth))}B/s. {self._verdict()}."
        )

    def _way(self, every: int) -> str:
        """Return the name of a way."""
        if every >= self.layers:
            return self.sentences["once"]
        return self.sentences["each"] if every == 1 else self._say("between", every=every)

    def _finding(self, every: int) -> str:
        """Return what the way that is shown sends, and what it does twice."""
        here = self.cost
        if not here.messages:
            return self.sentences["alone"]
        what = {"messages": plural(here.messages, "message"), "bytes": bytes_text(here.bytes)}
        return self._say("finding", way=self._way(every), share=f"{100 * here.share:.1f}", **what)

    def _border(self) -> str:
        """Return how thick the border is in the picture, where it is sent once."""
        one, other = pyramid(self.network, self.at[0], self.layers)[0].sent
        how = "even" if one == other else "uneven"
        rows = self._say(how, one=plural(one, "row"), other=plural(other, "row"))
        return self._say("border", layers=plural(self.layers, "layer"), taps=self.taps, rows=rows)

    def _verdict(self) -> str:
        """Return which way is the cheapest, and what the ends of the scale take."""
        times = [each.seconds for each in self.ways]
        best = times.index(min(times)) + 1
        if not self.cost.messages:
            return self._say("alike", time=time_text(min(times)))
        ends = [every for every in dict.fromkeys((1, self.layers)) if every != best]
        others = [
            self._say("other", way=self._way(every), time=time_text(times[every - 1])) for every in ends
        ]
        found = self._say("cheapest", way=self._way(best), time=time_text(min(times)))
        return "; ".join([found, *others])


def round_text(text: str) -> str:
    """Return a round number without zeros behind its point: "10 µs"."""
    return re.sub(r"\.0+(?= )", "", text)


def _step(name: str, number, words: tuple[str, ...]) -> str:
    """Return a number as the word of a slider."""
    number = check_number(name, number, above=0)
    found = [word for word in words if float(word) == number]
    if not found:
        raise ParameterError(f"{name}={number}; expected one of {', '.join(words)}")
    return found[0]
