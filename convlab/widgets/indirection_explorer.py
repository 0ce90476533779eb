"""The indirection explorer: where the pixels of every window lie, and what a change makes of that table."""

from __future__ import annotations

import traitlets

from convlab.errors import ParameterError
from convlab.figures import indirection
from convlab.figures.picture import Picture
from convlab.problem import ConvProblem
from convlab.support.checks import check_whole, said
from convlab.widgets.base import Live, Whole

SIZES = ("N", "H", "W", "C", "R", "S", "stride", "padding", "rows")


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
    was : dict, optional
        Sizes before the last change, e.g. ``{"H": 4}``; what is not named was as it is. An empty dict: the
        buffer has just been built.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges, or describe no convolution.

    Examples
    --------
    >>> IndirectionExplorer(H=5, W=5, was={"H": 4}).rebuilt
    ('part', 5)
    """

    source = ("indirection.js", "indirection_explorer.js")
    N, H, W, C = Whole(1, 3, 2), Whole(3, 7, 5), Whole(3, 7, 5), Whole(1, 4, 2)
    R, S = Whole(1, 3, 3), Whole(1, 3, 3)
    stride, padding, rows = Whole(1, 3, 1), Whole(0, 2, 1), Whole(1, 7, 3)
    image, step = Whole(0, 2, 0), Whole(0, 11 * 11 - 1, 5)
    was = traitlets.Dict().tag(sync=True)

    def __init__(
        self, H=5, W=5, C=2, R=3, S=3, *, stride=1, padding=1, N=2, image=0, rows=3, step=5, was=None
    ):
        sizes = {"N": N, "H": H, "W": W, "C": C, "R": R, "S": S}
        sizes |= {"stride": stride, "padding": padding, "rows": rows}
        if was is None:  # opens in a state that teaches: the picture has just grown by a row
            H = check_whole("H", H, 3, 7)
            was = {"H": H - 1} if H > 3 else {}
        super().__init__(**sizes, image=image, step=step, was=_before(was, sizes))
        self.problem  # noqa: B018 - a filter that does not fit is refused here

    @property
    def problem(self) -> ConvProblem:
        """The convolution whose buffer is shown now, with one filter."""
        return _problem({name: getattr(self, name) for name in SIZES})

    @property
    def rebuilt(self) -> tuple[str, int]:
        """What the last change left of the buffer: "nothing", "part" or "all" made anew, and tiles kept."""
        same = [self.was.get(name) == getattr(self, name) for name in SIZES if name not in "NHW"]
        if not all(same):  # another filter, stride, padding or tile: another plan
            return "all", 0
        return indirection.rebuilt(_problem(self.was), self.problem, self.rows)

    def draw(self) -> Picture:
        """Return a picture of the present state."""
        problem = self.problem
        step = min(self.step, problem.P * problem.Q - 1)
        image = min(self.image, self.N - 1)
        return indirection.draw(problem, self.rows, step, image, self.rebuilt)


def _problem(sizes: dict) -> ConvProblem:
    return ConvProblem(K=1, **{name: size for name, size in sizes.items() if name != "rows"})


def _before(was, sizes: dict[str, int]) -> dict[str, int]:
    """Return all sizes before the last change, or say what is wrong with `was`."""
    if not isinstance(was, dict) or not set(was) <= set(sizes):
        raise ParameterError(f"was={said(was)}; expected a dict with some of {', '.join(SIZES)}")
    for name, size in was.items():
        trait = IndirectionExplorer.class_traits()[name]
        if not isinstance(size, int) or not trait.least <= size <= trait.most:
            raise ParameterError(f"was={said(was)}; expected {name} from {trait.least} to {trait.most}")
    return sizes | was if was else {}
