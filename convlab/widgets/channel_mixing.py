"""Channel mixing: which filter reads which channel, and what groups do to the cost of a layer."""

from __future__ import annotations

from dataclasses import replace

from convlab.cost.layers import cost_of
from convlab.problem import ConvProblem
from convlab.support.units import count_text, plural, ratio_text
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole, as_word

CHANNELS = ("16", "64", "256", "512")
SIDE = 16  # cells along the picture's edges; each stands for C/16 channels, or filters


def groups_of(C: int) -> list[int]:
    """Return the numbers of groups that the figure shows for C channels."""
    return sorted({1, 2, 4, 8, SIDE, C})


def mixing_layer(problem: ConvProblem) -> ConvProblem:
    """Return the 1x1 layer that mixes the channels of a layer's output again, as many as it has."""
    sizes = {"N": problem.N, "H": problem.P, "W": problem.Q, "C": problem.K, "K": problem.K}
    return ConvProblem(**sizes, R=1, S=1, dtype=problem.dtype)


FIRST_STEPS = (
    Step("Slide from one group to as many groups as channels. What falls, and what does not?"),
    Step("Depthwise: each filter reads one channel. How many FLOPs are left for each byte?", {"step": 5}),
    Step(
        "Depthwise filters of 7 × 7, over five times the taps: what does that add to both layers together?",
        {"step": 5, "taps": 7},
    ),
)


class ChannelMixing(Live):
    """The matrix of filters and channels of a layer, with the FLOPs, weights and bytes of its groups.

    Parameters
    ----------
    channels : int
        Channels, and as many filters: 16, 64, 256 or 512.
    groups : int
        1, 2, 4, 8, 16 or as many as channels.
    size : int
        Height and width of the picture, 7 to 112.
    taps : int
        Height and width of the filter, 1 to 7; the output is as large as the input.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges.

    Examples
    --------
    >>> ChannelMixing(256, groups=256).problem.w_shape
    (256, 3, 3, 1)
    """

    first_steps = FIRST_STEPS
    channels = Choice(CHANNELS, "256")
    step = Whole(0, 5, 2)
    size, taps = Whole(7, 112, 28), Whole(1, 7, 3)

    def __init__(self, channels=256, *, groups=4, size=28, taps=3):
        channels = as_word("channels", channels, CHANNELS)
        steps = groups_of(int(channels))
        groups = int(as_word("groups", groups, [str(step) for step in steps]))
        super().__init__(channels=channels, step=steps.index(groups), size=size, taps=taps)

    @property
    def problem(self) -> ConvProblem:
        """The layer that is shown now."""
        C, steps = int(self.channels), groups_of(int(self.channels))
        groups = steps[min(self.step, len(steps) - 1)]
        return ConvProblem(1, self.size, self.size, C, C, self.taps, self.taps, padding="same", groups=groups)

    def describe(self) -> str:
        """Return the present state in words."""
        layer = self.problem
        share, window = layer.C // layer.groups, f"{layer.R} × {layer.S}"
        full, now = cost_of(replace(layer, groups=1)), cost_of(layer)
        saving = ratio_text(full.flops / cost_of(layer, mixing_layer(layer)).flops)
        pair = f"; with a 1 × 1 layer after it {saving} fewer than the full layer"
        return (
            f"A layer with filters of {window} and {layer.C} channels in {plural(layer.groups, 'group')}: "
            f"{share} of {layer.C} channels for each filter, {count_text(now.flops)} FLOPs, "
            f"{now.intensity:.1f} for each byte{pair if layer.groups > 1 else ''}."
        )
