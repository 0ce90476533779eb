"""The window slides: a filter over a small image, with every size, stride, padding and dilation to turn."""

from __future__ import annotations

import numpy as np
import traitlets

from convlab.errors import ParameterError
from convlab.problem import ConvProblem
from convlab.support.checks import said
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Switch, Whole

_SIDE, _TAPS = 10, 5  # the largest image and the largest filter
FIRST_STEPS = (
    Step("Press play, or point at an output: nine products under the frame become one number."),
    Step(
        "Now the window moves by two: the output halves. Point at a pixel: which ones are read only once?",
        {"stride_h": 2, "stride_w": 2, "step": 0},
    ),
    Step(
        "Pull the nine taps apart (dilation 2), and drop the padding: how far does the window reach now?",
        {"dilation_h": 2, "dilation_w": 2, "stride_h": 1, "stride_w": 1, "step": 0}
        | dict.fromkeys(("pad_top", "pad_bottom", "pad_left", "pad_right"), 0),
    ),
)


class SlidingWindow(Live):
    """A single-channel convolution to play with, step by step.

    Parameters
    ----------
    H, W : int
        Height and width of the image, 3 to 10.
    R, S : int
        Height and width of the filter, 1 to 5.
    stride, padding, dilation
        As in `convlab.ConvProblem`; strides up to 4, padding up to 4 on each side, dilation up to 3.
    flip : bool
        True for a convolution as in mathematics: the filter is rotated by 180 degrees.
    step : int
        The output pixel that is shown first, counted row by row.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges, or describe no convolution.

    Examples
    --------
    >>> window = SlidingWindow(H=6, W=8, R=3, S=3, stride=2, padding=1)
    >>> window.problem.P, window.problem.Q
    (3, 4)
    """

    first_steps = FIRST_STEPS
    H, W = Whole(3, _SIDE, 6), Whole(3, _SIDE, 8)
    R, S = Whole(1, _TAPS, 3), Whole(1, _TAPS, 3)
    stride_h, stride_w = Whole(1, 4, 1), Whole(1, 4, 1)
    pad_top, pad_bottom, pad_left, pad_right = (Whole(0, 4, 1) for _ in range(4))
    dilation_h, dilation_w = Whole(1, 3, 1), Whole(1, 3, 1)
    flip = Switch()
    step = Whole(0, 18 * 18 - 1, 4)
    pixels = traitlets.List().tag(sync=True)
    taps = traitlets.List().tag(sync=True)

    def __init__(self, H=6, W=8, R=3, S=3, *, stride=1, padding=1, dilation=1, flip=False, step=4):
        example = np.random.default_rng(5)
        pixels = example.integers(0, 10, (_SIDE, _SIDE))
        taps = example.integers(-2, 3, (_TAPS, _TAPS))
        taps[:3, :3] = [[1, 2, 0], [0, 1, -1], [-1, 0, 2]]  # not symmetric: a rotation shows
        shape = ConvProblem(1, H, W, 1, 1, R, S, stride=stride, padding=padding, dilation=dilation)
        (top, bottom), (left, right) = shape.padding
        for name, argument, trait in (
            ("stride", stride, SlidingWindow.stride_h),
            ("padding", padding, SlidingWindow.pad_top),
            ("dilation", dilation, SlidingWindow.dilation_h),
        ):
            for entry in np.ravel(getattr(shape, name)).tolist():
                if not trait.least <= entry <= trait.most:  # a convolution, but more than the figure can show
                    shown = f"this figure shows {trait.least} to {trait.most}, not {entry}"
                    raise ParameterError(f"{name}={said(argument)}; {shown}")
        super().__init__(
            **{"H": H, "W": W, "R": R, "S": S, "flip": flip, "step": step},
            **{"stride_h": shape.stride[0], "stride_w": shape.stride[1]},
            **{"pad_top": top, "pad_bottom": bottom, "pad_left": left, "pad_right": right},
            **{"dilation_h": shape.dilation[0], "dilation_w": shape.dilation[1]},
            **{"pixels": pixels.tolist(), "taps": taps.tolist()},
        )

    @property
    def problem(self) -> ConvProblem:
        """The convolution that is shown now."""
        padding = (self.pad_top, self.pad_bottom), (self.pad_left, self.pad_right)
        stride, dilation = (self.stride_h, self.stride_w), (self.dilation_h, self.dilation_w)
        return ConvProblem(
            1, self.H, self.W, 1, 1, self.R, self.S, stride=stride, padding=padding, dilation=dilation
        )

    def describe(self) -> str:
        """Return the present state in words."""
        problem = self.problem
        p, q = divmod(min(self.step, problem.P * problem.Q - 1), problem.Q)
        taps = np.array(self.taps)[: problem.R, : problem.S]  # (R, S)
        taps = taps[::-1, ::-1] if self.flip else taps
        padded = np.pad(np.array(self.pixels)[: problem.H, : problem.W], problem.padding)
        (rows, columns), (down, right) = problem.extent, problem.stride
        window = padded[p * down : p * down + rows, q * right : q * right + columns]
        value = (window[:: problem.dilation[0], :: problem.dilation[1]] * taps).sum()
        return (
            f"A window of {rows} by {columns} over a {problem.H} by {problem.W} image with stride "
            f"{down}, {right}; it stands at output row {p}, column {q} of a {problem.P} by {problem.Q} "
            f"output, whose value is {value}."
        )
