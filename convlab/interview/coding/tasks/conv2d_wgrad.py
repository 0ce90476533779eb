"""The way back to the weights: how the loss changes with each of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.interview.coding.tasks.cases import convolved
from convlab.interview.coding.tasks.conv2d_dgrad import layers
from convlab.interview.coding.tasks.conv2d_nchw import EDGE, EVERY_AXIS, ONE_SIDED, PAD
from convlab.lessons.exercise import Exercise, Mistake


def wgrad(x, dy, R, S, stride, padding):
    """Return dw (K, C, R, S) for x (N, C, H, W) and dy (N, K, P, Q)."""
    # your code here
    C, (_, K, P, Q) = x.shape[1], dy.shape
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    dw = np.zeros((K, C, R, S), x.dtype)
    for r, s in np.ndindex(R, S):
        rows = slice(r, r + (P - 1) * stride + 1, stride)  # what tap (r, s) read
        cols = slice(s, s + (Q - 1) * stride + 1, stride)
        dw[:, :, r, s] = np.einsum("nkpq,ncpq->kc", dy, padded[:, :, rows, cols])
    return dw


def _cases() -> Iterator[tuple]:
    """(x, dy, R, S, stride, padding)"""
    for x, w, dy, stride, padding in layers():
        yield x, dy, *w.shape[2:], stride, padding


def _answer(x, dy, R, S, stride, padding) -> np.ndarray:
    """Check the gradient: one weight after the other is moved by 1, and what comes out is weighted with dy.

    A convolution is linear, so that a step of any size tells the slope.
    """
    C, K = x.shape[1], dy.shape[1]
    each = np.eye(C * R * S).reshape(-1, C, R, S)  # a filter for every weight
    moved = convolved(x.astype(np.float64), each, padding, stride)  # (N, C*R*S, P, Q)
    return np.tensordot(dy.astype(np.float64), moved, ((0, 2, 3), (0, 2, 3))).reshape(K, C, R, S)


_READ = "padded[:, :, rows, cols]"
_SUM = f'np.einsum("nkpq,ncpq->kc", dy, {_READ})'
_ROWS, _COLS = "slice(r, r + (P - 1) * stride + 1, stride)", "slice(s, s + (Q - 1) * stride + 1, stride)"

EXERCISE = Exercise(
    notebook="19",
    statement="wgrad(x, dy, R, S, stride, padding) returns dw (K, C, R, S): how a loss changes with each "
    "weight, where dy (N, K, P, Q) says how it changes with each number of y = conv2d(x, w, stride, "
    "padding), and x is (N, C, H, W). It is held against a gradient check: every weight is moved, and y "
    "computed anew.",
    solution=wgrad,
    why="A weight is used in every output of its filter: its gradient is a sum over all pictures and places, "
    "of dy times the pixel that it met there. That makes one long dot product for each weight.",
    hints=(
        "In which outputs does the weight w[k, c, r, s] take part, and by which pixel is it multiplied "
        "there?",
        "The sum for dw[k, c, r, s] goes over n, p and q. What does tap (r, s) read, for all p and q "
        "together?",
        "For every r, s: with seen = padded[:, :, r : r + (P-1)*stride + 1 : stride, s : ...], dw[:, :, r, "
        "s] = "
        'np.einsum("nkpq,ncpq->kc", dy, seen).',
    ),
    cases=_cases,
    answer=_answer,
    shapes={"x": "NCHW", "dy": "NKPQ", "return": "KCRS"},
    mistakes=(
        Mistake(
            "turns the filters",
            {"return dw": "return dw[:, :, ::-1, ::-1]"},
            "Only the gradient of x may need a turned filter. Weight (r, s) met the pixel (r, s) of every "
            "window.",
        ),
        Mistake(
            "ignores the padding",
            {PAD: "((0, 0), (0, 0), (0, 2 * padding), (0, 2 * padding))"},
            ONE_SIDED.meaning,
        ),
        Mistake(
            "pads pictures and channels, too",
            {f", {PAD}": ", padding", "_, K": "N, K", _READ: "padded[padding : padding + N, :C, rows, cols]"},
            EVERY_AXIS.meaning,
        ),
        EDGE,
        Mistake(
            "ignores the stride",
            {_ROWS: "slice(r, r + P)", _COLS: "slice(s, s + Q)"},
            "The window of output (p, q) had its corner at (p * stride, q * stride).",
        ),
        Mistake(
            "steps the taps by the stride",
            {
                _READ: "padded[:, :, (r * stride + np.arange(P)[:, None]) % padded.shape[2], (s * stride + "
                "np.arange(Q)) % padded.shape[3]]"
            },
            "Stride moves the window. The taps lie side by side in it.",
        ),
        Mistake(
            "sums over the first picture only",
            {_SUM: _SUM.replace("dy,", "dy[:1],").replace("padded[:,", "padded[:1,")},
            "All pictures of the batch share the weights: the sum goes over all of them.",
        ),
        Mistake(
            "takes the mean over the pictures",
            {"return dw": "return dw / len(x)"},
            "If the loss is a mean, dy has been divided already. Here it is the sum.",
        ),
        Mistake(
            "takes the mean over the outputs",
            {"return dw": "return dw / (P * Q)"},
            "A weight that is used more often has a larger gradient: nothing is divided.",
        ),
        Mistake(
            "has filters and channels exchanged",
            {'->kc"': '->ck"', "(K, C, R, S)": "(C, K, R, S)"},
            "dw has the shape of w, (K, C, R, S).",
        ),
        Mistake(
            "takes the first channel of dy for all filters",
            {"dy, padded": "np.broadcast_to(dy[:, :1], dy.shape), padded"},
            "Filter k made channel k of y, and of dy.",
        ),
        Mistake(
            "leaves out the last row of outputs",
            {
                _SUM: _SUM.replace("dy,", "dy[:, :, : max(P - 1, 1)],").replace(
                    "rows,", "rows, :][:, :, : max(P - 1, 1),"
                )
            },
            "Every output used the weight, those of the last row as well.",
        ),
        Mistake(
            "swaps rows and columns of the taps",
            {"return dw": "return dw.transpose(0, 1, 3, 2).reshape(K, C, R, S)"},
            "r counts rows and comes first.",
        ),
    ),
)
