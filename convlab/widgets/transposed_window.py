"""The transposed window: one sum made in three ways, and what each of them multiplies for nothing."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
import traitlets

from convlab.gradients import dgrad_subfilters
from convlab.gradients.transposed import conv_transpose2d
from convlab.problem import ConvProblem
from convlab.support.units import plural
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole

VIEWS = ("scatter", "zeros", "subfilters")
_SIDE, _TAPS, _STRIDE = 5, 5, 3  # the largest of each
_LONGEST = (_SIDE - 1) * _STRIDE + _TAPS + _STRIDE - 1  # lines of an output
_WEIGHTS = (-2, -1, 1, 2, 3)  # no zero: that is what is put in

SENTENCES = {
    "scatter": "Scatter and add",
    "zeros": "Zeros inserted",
    "subfilters": "Sub-filters",
    "finding": "{way}: {total}, {inserted} by a zero between pixels",
    "one": "With stride 1 nothing lies between the pixels, and the filter is one part of {each}",
    "even": "{taps} is a multiple of the stride {stride}: each part of the filter has {each}, and there is "
    "no checkerboard but for the border",
    "checkerboard": "{taps} is no multiple of the stride {stride}: the parts of the filter have {counts} "
    "taps, and that is the checkerboard",
    "holes": "The filter is smaller than the stride: {none} of the {outputs} take no product and stay 0",
}
FIRST_STEPS = (
    Step(
        "Press play: each pixel lays its filter onto y. How many lie on one output? "
        "Then a filter of 4: is the pattern gone?"
    ),
    Step(
        "The same y from a window that slides over x with zeros put in. "
        "How many of its nine products are by a pixel?",
        {"view": "zeros", "step": 31},
    ),
    Step(
        "Each phase of y meets its own part of the filter, and no zero between pixels. "
        "Which part has one tap, which four?",
        {"view": "subfilters", "step": 25},
    ),
)


class Products(NamedTuple):
    """The multiplications that one way needs for the whole output.

    Attributes
    ----------
    pixel, inserted, edge : int
        By a pixel; by a zero between two pixels; by a zero around them, or cut away by the padding.
    """

    pixel: int
    inserted: int
    edge: int


class TransposedWindow(Live):
    """A transposed convolution of a small picture, step by step: scattered, with zeros, in sub-filters.

    Parameters
    ----------
    H, W : int
        Height and width of the picture, 2 to 5.
    taps : int
        Height and width of the filter, 1 to 5.
    stride, padding : int
        Of the convolution that this is the transpose of: 1 to 3, and 0 to 2 on every side.
    output_padding : int
        Lines and columns the output has more, 0 to 2; less than the stride.
    view : "scatter", "zeros" or "subfilters"
        Each pixel lays its filter onto the output; a window slides over the picture with zeros inserted;
        the outputs of each phase of the stride meet their own part of the filter.
    step : int
        What is shown first: pixels of the picture when they scatter, else outputs; with "subfilters" one
        phase after the other.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges, or leave no output.

    Examples
    --------
    >>> [sum(TransposedWindow(view=view).products) for view in ("scatter", "zeros", "subfilters")]
    [108, 567, 154]
    """

    sentences = SENTENCES
    first_steps = FIRST_STEPS
    H, W, taps = Whole(2, _SIDE, 3), Whole(2, _SIDE, 4), Whole(1, _TAPS, 3)
    stride, padding, output_padding = Whole(1, _STRIDE, 2), Whole(0, 2, 0), Whole(0, _STRIDE - 1, 0)
    view = Choice(VIEWS)
    step = Whole(0, _LONGEST**2 - 1, 5)
    pixels, weights = traitlets.List().tag(sync=True), traitlets.List().tag(sync=True)

    def __init__(self, H=3, W=4, taps=3, *, stride=2, padding=0, output_padding=0, view="scatter", step=5):
        rng = np.random.default_rng(5)
        pixels, weights = rng.integers(1, 6, (_SIDE, _SIDE)), rng.choice(_WEIGHTS, (_TAPS, _TAPS))
        super().__init__(
            **{"H": H, "W": W, "taps": taps, "stride": stride, "padding": padding},
            **{"output_padding": output_padding, "view": view, "step": step},
            **{"pixels": pixels.tolist(), "weights": weights.tolist()},
        )
        self.y  # noqa: B018 - numbers that leave no output are refused here

    def _transposed(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the output of one channel, (P, Q)."""
        x, w = (np.array(part, np.float32)[None, :, :, None] for part in (x, w))  # (1, H, W, 1), (1, R, S, 1)
        sizes = {name: getattr(self, name) for name in ("stride", "padding", "output_padding")}
        return conv_transpose2d(x, w, **sizes, algorithm="col2im", backend="numpy")[0, :, :, 0].astype(int)

    @property
    def y(self) -> np.ndarray:
        """The output that all three ways arrive at, (P, Q)."""
        x, w = np.array(self.pixels), np.array(self.weights)
        return self._transposed(x[: self.H, : self.W], w[: self.taps, : self.taps])

    @property
    def overlaps(self) -> np.ndarray:
        """How many filters lie on each output, (P, Q)."""
        return self._transposed(np.ones((self.H, self.W)), np.ones((self.taps, self.taps)))

    @property
    def problem(self) -> ConvProblem:
        """The convolution that this is the transpose of: its input is y, its output x."""
        P, Q = self.y.shape
        return ConvProblem(1, P, Q, 1, 1, self.taps, self.taps, stride=self.stride, padding=self.padding)

    @property
    def products(self) -> Products:
        """The multiplications of the way that is shown now."""
        problem, useful = self.problem, int(self.overlaps.sum())
        total = {
            "scatter": problem.macs,
            "zeros": dgrad_subfilters.ZEROS_INSERTED(problem),
            "subfilters": dgrad_subfilters.macs(problem),
        }[self.view]
        inserted = prod(_within(problem, axis) for axis in (0, 1)) - useful if self.view == "zeros" else 0
        return Products(useful, inserted, total - useful - inserted)

    def order(self) -> list[tuple[int, int]]:
        """Return what the steps go through: (row, column) of pixels of x when they scatter, else of y."""
        if self.view == "scatter":
            return list(np.ndindex(self.H, self.W))
        stride = self.stride if self.view == "subfilters" else 1
        return sorted(np.ndindex(self.y.shape), key=lambda at: (at[0] % stride, at[1] % stride))

    def describe(self) -> str:
        """Return the present state in words."""
        y, overlaps, products, order = self.y, self.overlaps, self.products, self.order()
        step = min(self.step, len(order) - 1)
        h, w = order[step]
        if self.view == "scatter":
            what, does = "Pixel", "lays its filter down"
        else:
            what, does = (
                "Output",
                f"takes {plural(int(overlaps[h, w]), 'product')} by a pixel and is {y[h, w]}",
            )
        finding = self._say(
            "finding",
            way=self.sentences[self.view],
            total=plural(sum(products), "multiplication"),
            inserted=f"{products.inserted:,}" if products.inserted else "none",
        )
        return (
            f"A transposed convolution with stride {self.stride} of {self.H} by {self.W} pixels and a filter "
            f"of {self.taps} by {self.taps} makes {y.shape[0]} by {y.shape[1]} outputs. {finding}. "
            f"{what} {step + 1} of {len(order)}, in row {h} and column {w}, {does}. {self._lesson(overlaps)}."
        )

    def _lesson(self, overlaps: np.ndarray) -> str:
        """Return why the overlaps are as they are."""
        taps, stride = self.taps, self.stride
        if taps < stride:
            return self._say(
                "holes", none=int((overlaps == 0).sum()), outputs=plural(overlaps.size, "output")
            )
        few, many = taps // stride, -(-taps // stride)  # taps of a phase, along an axis
        if few < many:
            counts = f"{few * few}, {few * many} or {many * many}"
            return self._say("checkerboard", taps=taps, stride=stride, counts=counts)
        each = plural(few * few, "tap")
        return self._say("one" if stride == 1 else "even", taps=taps, stride=stride, each=each)


def _within(problem: ConvProblem, axis: int) -> int:
    """Return how often, along an axis, a window over x with zeros inserted meets x or a zero in it."""
    out, lines, taps = (shape[1 + axis] for shape in (problem.x_shape, problem.y_shape, problem.w_shape))
    place = np.arange(out)[:, None] + problem.padding[axis][0] - np.arange(taps)  # (P, R)
    return int(((place >= 0) & (place <= (lines - 1) * problem.stride[axis])).sum())
