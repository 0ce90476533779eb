"""The way back to the picture: how the loss changes with each pixel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.interview.coding.tasks.cases import convolved, pictures
from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake


def dgrad(dy, w, H, W, stride, padding):
    """Return dx (N, C, H, W) for dy (N, K, P, Q) and w (K, C, R, S)."""
    # your code here
    N, _, P, Q = dy.shape
    _, C, R, S = w.shape
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding), dy.dtype)  # of the padded picture
    for r, s in np.ndindex(R, S):
        rows = slice(r, r + P * stride, stride)  # what tap (r, s) read
        cols = slice(s, s + Q * stride, stride)
        part = dx[:, :, rows, cols]
        part += np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s])[:, :, : part.shape[2], : part.shape[3]]
    return dx[:, :, padding : padding + H, padding : padding + W]


SHAPES = (
    # N, C, H, W, K, C, R, S; stride, padding
    ((1, 1, 3, 4, 1, 1, 2, 2), 1, 0),
    ((1, 1, 4, 5, 1, 1, 2, 2), 2, 0),  # the last column is read by no window
    ((1, 2, 3, 4, 1, 2, 3, 2), 1, 1),
    ((1, 1, 5, 3, 2, 1, 2, 3), 1, 0),
    ((2, 2, 6, 5, 3, 2, 3, 2), 2, 1),
    ((1, 3, 5, 7, 2, 3, 3, 4), 3, 3),
    ((1, 1, 5, 5, 1, 1, 2, 2), 3, 0),  # pixels that no window reaches
    ((2, 3, 6, 7, 4, 3, 2, 3), 2, 3),
)


def layers() -> Iterator[tuple]:
    """Yield (x, w, dy, stride, padding), the smallest first; the last of fractions."""
    rng = np.random.default_rng(18)
    operands = pictures(*(shape for shape, *_ in SHAPES))
    for number, ((x, w), (_, stride, padding)) in enumerate(zip(operands, SHAPES, strict=True), 1):
        shape = convolved(x, w, padding, stride).shape
        yield x, w, filled(rng, *shape, whole=number < len(SHAPES)), stride, padding


def _cases() -> Iterator[tuple]:
    """(dy, w, H, W, stride, padding)"""
    for x, w, dy, stride, padding in layers():
        yield dy, w, *x.shape[2:], stride, padding


def _answer(dy, w, H, W, stride, padding) -> np.ndarray:
    """Check the gradient: one pixel after the other is moved by 1, and what comes out is weighted with dy.

    A convolution is linear, so that a step of any size tells the slope.
    """
    C = w.shape[1]
    each = np.eye(C * H * W).reshape(-1, C, H, W)  # a picture for every pixel
    moved = convolved(each, w.astype(np.float64), padding, stride)  # (C*H*W, K, P, Q)
    return np.tensordot(dy.astype(np.float64), moved, ((1, 2, 3), (1, 2, 3))).reshape(-1, C, H, W)


def _each_place_once(dy, w, H, W, stride, padding) -> np.ndarray:
    (N, _, P, Q), (_, C, R, S) = dy.shape, w.shape
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    rows, cols = (
        stride * np.arange(outputs)[:, None] + np.arange(taps) for outputs, taps in ((P, R), (Q, S))
    )
    dx[:, :, rows[:, None, :, None], cols[:, None]] += np.einsum("nkpq,kcrs->ncpqrs", dy, w)
    return dx[:, :, padding : padding + H, padding : padding + W]


_CUT = "dx[:, :, padding : padding + H, padding : padding + W]"
_TERM = 'np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s])'
_STEPS = "r, r + P * stride, stride"

EXERCISE = Exercise(
    notebook="19",
    statement="dgrad(dy, w, H, W, stride, padding) returns dx (N, C, H, W): how a loss changes with each "
    "pixel of x, where dy (N, K, P, Q) says how it changes with each number of y = conv2d(x, w, stride, "
    "padding), and w is (K, C, R, S). It is held against a gradient check: every pixel is moved, and y "
    "computed anew.",
    solution=dgrad,
    why="Forward, tap (r, s) of output (p, q) read row p * stride + r of the padded picture. Backward the "
    "same place gets dy times that weight; where windows overlap, it adds up. The border of zeros is cut "
    "off.",
    hints=(
        "A pixel that three windows read got into three outputs. What is the change of the loss with it?",
        "Run your forward loops, and turn the innermost line around: y += x * w becomes dx += dy * w, at the "
        "same indices. Over which letters is summed now?",
        "dx of the padded size, zeros; for every r, s: dx[:, :, r : r + P*stride : stride, s : s + Q*stride "
        ": stride] += dy times w[:, :, r, s], summed over k; then cut off the border.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"dy": "NKPQ", "w": "KCRS", "return": "NCHW"},
    mistakes=(
        Mistake(
            "turns the filter while it scatters",
            {"w[:, :, r, s]": "w[:, :, R - 1 - r, S - 1 - s]"},
            "The turned filter belongs to the other way, which gathers. Here the place is the one that the "
            "tap read forward.",
        ),
        Mistake(
            "writes where it should add",
            {"part += ": "part[...] = "},
            "A pixel that several windows read gets a share from each of them.",
        ),
        Mistake(
            "adds to an array of places, where a place that comes twice counts once",
            _each_place_once,
            "`dx[places] += shares` reads all places, adds, and writes: of several shares for one pixel the "
            "last stays. `np.add.at` adds each of them, and so does a loop over the taps.",
        ),
        Mistake(
            "forgets the border",
            {_CUT: "dx[:, :, :H, :W]"},
            "The places are those of the padded picture. Where in it does the picture begin?",
        ),
        Mistake(
            "cuts the border off twice",
            {
                _CUT: "np.pad(dx[:, :, 2 * padding :, 2 * padding :], ((0, 0), (0, 0), (0, padding), (0, "
                "padding)))[:, :, :H, :W]"
            },
            "`padding` rows lie above the picture, and as many below.",
        ),
        Mistake(
            "returns the border as well",
            {_CUT: "dx"},
            "What the zeros around the picture would get is nobody's: x is (N, C, H, W).",
        ),
        Mistake(
            "ignores the stride",
            {_STEPS: "r, r + P", "s, s + Q * stride, stride": "s, s + Q"},
            "Window (p, q) had its corner at (p * stride, q * stride): the numbers of dy come to lie that "
            "far apart.",
        ),
        Mistake(
            "steps the taps by the stride, too",
            {
                "slice(r, r +": "slice(r * stride, r * stride +",
                "slice(s, s +": "slice(s * stride, s * stride +",
            },
            "Stride moves the window. The taps lie side by side in it.",
        ),
        Mistake(
            "takes the first filter for all of dy",
            {"w[:, :, r, s]": "np.broadcast_to(w[:1, :, r, s], (len(w), C))"},
            "Channel k of dy came through filter k.",
        ),
        Mistake(
            "adds no more than the first filter's share",
            {_TERM: _TERM.replace("dy,", "dy[:, :1],").replace("w[:,", "w[:1,")},
            "Every filter read the pixel: their shares are added up.",
        ),
        Mistake(
            "lets all channels have the same",
            {"w[:, :, r, s]": "np.repeat(w[:, :1, r, s], C, axis=1)"},
            "Every channel of the picture had weights of its own.",
        ),
        Mistake(
            "takes the mean over the pictures",
            {f"return {_CUT}": f"return {_CUT} / N"},
            "If the loss is a mean, dy has been divided already.",
        ),
        Mistake(
            "leaves out the last row and column of taps",
            {"in np.ndindex(R, S)": "in np.ndindex(max(R - 1, 1), max(S - 1, 1))"},
            "A range of R ends at R - 1 already.",
        ),
        Mistake(
            "swaps r and s in the filter",
            {"w[:, :, r, s]": "w[:, :, min(s, R - 1), min(r, S - 1)]"},
            "r counts rows and goes with p, s counts columns and goes with q.",
        ),
    ),
)
