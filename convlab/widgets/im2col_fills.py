"""im2col fills: a small image turns into the matrix of its windows, one window at a time."""

from __future__ import annotations

from convlab.problem import ConvProblem
from convlab.support.checks import check_choice
from convlab.support.units import plural
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Switch, Whole

LAYOUTS = ("im2row", "im2col")
ORDERS = ("RSC", "CRS")
FIRST_STEPS = (
    Step("Press play: window after window is laid flat, and becomes a row. How many cells will there be?"),
    Step(
        "Now each pixel says how often it was copied. Where is it nine times, and where less?",
        {"copies": True, "step": 19},
    ),
    Step(
        "im2col lays the same matrix down: a window is a column. Is it any smaller?",
        {"layout_of": "im2col", "order": "CRS", "step": 19},
    ),
)


class Im2colFills(Live):
    """The im2row or im2col matrix of a small NHWC image, filled window by window.

    The number in a cell of the image is its place in memory, so the matrix shows which places are copied
    where, and which of them lie side by side.

    Parameters
    ----------
    H, W, C : int
        Height and width of the image, 2 to 6, and its channels, 1 to 3.
    R, S : int
        Height and width of the filter, 1 to 3.
    stride, padding : int
        Stride, 1 to 3; padding on every side, 0 to 2.
    layout : "im2row" or "im2col"
        Whether a window becomes a row of the matrix or a column.
    order : "RSC" or "CRS", optional
        Which of taps and channels runs fastest along a window. By default "RSC" for im2row, where the
        channels of NHWC stay side by side, and "CRS" for im2col, as in Caffe.
    copies : bool
        True to show how often each pixel is copied, instead of its place in memory.
    step : int
        The window that is shown first, counted row by row.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges, or describe no convolution.

    Examples
    --------
    >>> Im2colFills(H=4, W=5, C=2, R=3, S=3, padding=1).problem.gemm
    (20, 1, 18)
    """

    first_steps = FIRST_STEPS
    H, W, C = Whole(2, 6, 4), Whole(2, 6, 5), Whole(1, 3, 2)
    R, S = Whole(1, 3, 3), Whole(1, 3, 3)
    stride, padding = Whole(1, 3, 1), Whole(0, 2, 1)
    layout_of = Choice(LAYOUTS)  # "layout" is taken: it is every ipywidget's CSS box
    order = Choice(ORDERS)
    copies = Switch()
    step = Whole(0, 10 * 10 - 1, 7)

    def __init__(
        self,
        H=4,
        W=5,
        C=2,
        R=3,
        S=3,
        *,
        stride=1,
        padding=1,
        layout="im2row",
        order=None,
        copies=False,
        step=7,
    ):
        check_choice("layout", layout, LAYOUTS)
        if order is None:
            order = "CRS" if layout == "im2col" else "RSC"
        sizes = {"H": H, "W": W, "C": C, "R": R, "S": S, "stride": stride, "padding": padding}
        super().__init__(**sizes, layout_of=layout, order=order, copies=copies, step=step)
        self.problem  # noqa: B018 - a filter that does not fit is refused here

    @property
    def problem(self) -> ConvProblem:
        """The convolution whose matrix is shown now, with one filter."""
        sizes = {name: getattr(self, name) for name in ("H", "W", "C", "R", "S", "stride", "padding")}
        return ConvProblem(N=1, K=1, **sizes)

    def describe(self) -> str:
        """Return the present state in words."""
        windows, _, taps = self.problem.gemm
        rows, columns = (windows, taps) if self.layout_of == "im2row" else (taps, windows)
        numbers, cells = self.H * self.W * self.C, windows * taps
        copied = min(self.step + 1, windows)
        return (
            f"An image of {self.H} by {self.W} pixels and {plural(self.C, 'channel')}, {numbers} numbers, "
            f"and its {self.layout_of} matrix of {plural(rows, 'row')} and {plural(columns, 'column')}, "
            f"{plural(cells, 'cell')} or {cells / numbers:.1f} times as many; {copied} of "
            f"{plural(windows, 'window')} copied."
        )
