"""The indirection explorer: where the pixels of every window lie, and what a change makes of that table."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.indirect.buffer import indirection_buffer, resize
from convlab.problem import ConvProblem
from convlab.support.units import plural
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Whole, Wholes

RANGES = {
    **{"N": (1, 3), "H": (3, 7), "W": (3, 7), "C": (1, 4), "R": (1, 3), "S": (1, 3)},
    **{"stride": (1, 3), "padding": (0, 2), "rows": (1, 7)},
}
SIZES = tuple(RANGES)
SENTENCES = {  # by what the last change left of the buffer
    "unchanged": "{pixels}, each with {places} in the table, one for each tap",
    "nothing": "Nothing had to be made anew: all {tiles} are as they were",
    "part": "Part of the buffer is new: {new} of {tiles}",
    "all": "All {tiles} of the buffer are new",
}
_UNTOUCHED = -7  # no offset


def rebuilt(old: ConvProblem, new: ConvProblem, rows: int) -> tuple[str, int]:
    """Return what the library makes anew when a plan gets another N, H or W, and how many tiles it keeps.

    That is "nothing", "part" or "all", and the tiles of `new`, of so many rows, that were not written.
    """
    marked = np.full_like(indirection_buffer(old, rows), _UNTOUCHED)
    workspace, word = resize(old, new, {"offsets": marked})
    kept = (workspace["offsets"] == _UNTOUCHED).all(axis=(1, 2))
    return word, int(kept.sum())


class IndirectionExplorer(Live):
    """The indirection buffer of a small NHWC image, laid out as it lies in memory.

    The number in a pixel is the place of its first number in memory; the numbers in the buffer are distances
    from the start of an image, -1 on padding.

    Parameters
    ----------
    H, W, C : int
        Height and width of the image, 3 to 7, and its channels, 1 to 4.
    R, S : int
        Height and width of the filter, 1 to 3.
    stride, padding : int
        Stride, 1 to 3; padding on every side, 0 to 2.
    N, image : int
        Images in the batch, 1 to 3, and the one that is shown.
    rows : int
        Output pixels in a tile, 1 to 7.
    step : int
        The output pixel that is followed, counted row by row.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges, or describe no convolution.

    Examples
    --------
    >>> shown = IndirectionExplorer(H=5, W=5)
    >>> shown.H = 6  # the picture grows by a row
    >>> shown.rebuilt
    ('part', 6)
    """

    sentences = SENTENCES
    N, H, W, C, R, S, stride, padding, rows = (
        Whole(*between, opens)
        for between, opens in zip(RANGES.values(), (2, 5, 5, 2, 3, 3, 1, 1, 3), strict=True)
    )
    image, step = Whole(0, 2, 0), Whole(0, 11 * 11 - 1, 5)
    was = Wholes(RANGES)  # all sizes before the last change

    def __init__(self, H=5, W=5, C=2, R=3, S=3, *, stride=1, padding=1, N=2, image=0, rows=3, step=5):
        sizes = {"N": N, "H": H, "W": W, "C": C, "R": R, "S": S}
        sizes |= {"stride": stride, "padding": padding, "rows": rows}
        super().__init__(**sizes, image=image, step=step, was=sizes)
        self.problem  # noqa: B018 - a filter that does not fit is refused here

    def lead(self) -> list[Step]:
        """Return the steps: the table itself, another image, and what a taller picture leaves of it."""
        now = {name: getattr(self, name) for name in SIZES}
        grown = {"was": now | {"H": self.H - 1}} if self.H > 3 else {"H": self.H + 1, "was": now}
        places = plural(self.R * self.S, "place")
        return [
            Step(
                f"Each output pixel has {places} in the table, one for each tap. "
                "Point at one: which pixel does it name? What does −1 name?"
            ),
            Step(
                "Another image of the batch: not one place changes. What is added to them? Point at a cell.",
                {"image": self.N - 1},
            ),
            Step(
                "The picture has just grown by a row: which tiles are new? Change its width under more "
                "controls: which are new now?",
                grown,
            ),
        ]

    @property
    def problem(self) -> ConvProblem:
        """The convolution whose buffer is shown now, with one filter."""
        return _problem({name: getattr(self, name) for name in SIZES})

    @property
    def rebuilt(self) -> tuple[str, int]:
        """What the last change left of the buffer: "nothing", "part" or "all" made anew, and tiles kept."""
        same = [self.was[name] == getattr(self, name) for name in SIZES if name not in "NHW"]
        if not all(same):  # another filter, stride, padding or tile: another plan
            return "all", 0
        return rebuilt(_problem(self.was), self.problem, self.rows)

    def describe(self) -> str:
        """Return the present state in words."""
        problem = self.problem
        buffer = indirection_buffer(problem, self.rows)  # (tiles, taps, rows)
        tiles, taps, rows = buffer.shape
        step = min(self.step, problem.P * problem.Q - 1)
        places = buffer[step // rows, :, step % rows]  # (taps,)
        inside = places[places >= 0].tolist()
        number = min(self.image, self.N - 1)
        added = f", each + {number * problem.x_bytes // (self.N * problem.itemsize)} for image {number}"
        read = [f"its taps at {', '.join(map(str, inside))}{added if number else ''}"] if inside else []
        read += [plural(taps - len(inside), "zero")] if len(inside) < taps else []
        if self.was == {name: getattr(self, name) for name in SIZES}:
            pixels = plural(problem.P * problem.Q, "output pixel")
            finding = self._say("unchanged", pixels=pixels, places=plural(taps, "place"))
        else:
            word, kept = self.rebuilt
            finding = self._say(word, tiles=plural(tiles, "tile"), new=tiles - kept)
        return (
            f"An image of {self.H} by {self.W} pixels, its {problem.P} by {problem.Q} outputs, and the "
            f"indirection buffer of {plural(tiles, 'tile')}, {plural(taps, 'tap')} and "
            f"{plural(rows, 'pixel')}. Output pixel {step} reads {', and '.join(read)}. {finding}."
        )


def _problem(sizes: dict) -> ConvProblem:
    return ConvProblem(K=1, **{name: size for name, size in sizes.items() if name != "rows"})
