"""Notebook 01: a convolution, from an empty cell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.cases import convolutions, taps_of
from convlab.lessons.exercise import Exercise, Mistake
from convlab.oracle import reference
from convlab.problem import ConvProblem


def convolve(x, w, stride, padding):
    """Return y (N, P, Q, K) for x (N, H, W, C) and w (K, R, S, C)."""
    N, H, W, C = x.shape
    K, R, S, _ = w.shape
    # your code here
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    y = np.zeros((N, P, Q, K), x.dtype)
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                for k in range(K):
                    for r in range(R):
                        for s in range(S):
                            for c in range(C):
                                pixel = padded[n, p * stride + r, q * stride + s, c]
                                y[n, p, q, k] += pixel * w[k, r, s, c]
    return y


def _cases() -> Iterator[tuple]:
    yield from convolutions()


def _answer(x, w, stride, padding) -> np.ndarray:
    return reference(x, w, ConvProblem.of(x, w, stride=stride, padding=padding))


_PAD = "padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))"

EXERCISE = Exercise(
    notebook="01",
    statement="convolve(x, w, stride, padding) returns y (N, P, Q, K) for x (N, H, W, C) and w (K, R, S, C).",
    solution=convolve,
    why="Four loops go over the outputs and three over the numbers that each of them sums up. A copy of the "
    "picture with its border of zeros saves a question in the innermost loop.",
    hints=(
        "Begin with sizes: P and Q by the formula from above, and an array y of zeros. Which loops go over "
        "the numbers of y, and which over what one number of y adds up?",
        "Output (p, q) has its window's corner at row p * stride and column q * stride of the picture *with* "
        "its border of zeros; `np.pad` makes that. Tap (r, s) lies r rows and s columns further.",
        "Seven loops: n, p, q, k over y; then r, s, c. In the innermost, add "
        "padded[n, p*stride + r, q*stride + s, c] * w[k, r, s, c] to y[n, p, q, k].",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"x": "NHWC", "w": "KRSC", "return": "NPQK"},
    window=taps_of,
    mistakes=(
        Mistake(
            "flips the filter",
            {"w[k, r, s, c]": "w[k, R - 1 - r, S - 1 - s, c]"},
            "That is the mathematician's convolution. Here the filter lies on the picture as it is.",
        ),
        Mistake(
            "ignores the stride",
            {"// stride": "// 1", "* stride": ""},
            "The window moves on by `stride` pixels, and the output is smaller by that.",
        ),
        Mistake(
            "steps the taps by the stride",
            {
                "p * stride + r, q * stride + s": "np.minimum(p + r * stride, H + 2 * padding - 1), "
                "np.minimum(q + s * stride, W + 2 * padding - 1)"
            },
            "Stride moves the window, dilation moves the taps.",
        ),
        Mistake(
            "moves the window by one pixel, whatever the stride",
            {"p * stride + r, q * stride + s": "p + r, q + s"},
            "Output (p, q) looks at the window whose corner is at (p * stride, q * stride).",
        ),
        Mistake(
            "ignores the padding",
            {"2 * padding": "0", _PAD: "padded = x"},
            "Rows and columns of zeros belong around the picture, and the output grows by them.",
        ),
        Mistake(
            "pads the pictures and the channels, too",
            {"((0, 0), (padding, padding), (padding, padding), (0, 0))": "padding"},
            "`np.pad` with one number pads every axis. Only the two of the picture get zeros.",
        ),
        Mistake(
            "puts the zeros below and on the right only",
            {"(padding, padding), (padding, padding)": "(0, 2 * padding), (0, 2 * padding)"},
            "Half of the border lies above and on the left: the first window begins outside of the picture.",
        ),
        Mistake(
            "reads the first channel only",
            {"range(C)": "range(1)"},
            "An output adds up all channels; each has weights of its own.",
        ),
        Mistake(
            "takes the first filter for all",
            {"w[k, r": "w[0, r"},
            "Output channel k belongs to filter k.",
        ),
        Mistake(
            "reads the first picture for all",
            {"padded[n,": "padded[0,"},
            "Every picture of the batch has an output of its own.",
        ),
        Mistake(
            "swaps R and S",
            {
                "range(R)": "range(min(R, S))",
                "range(S)": "range(min(R, S))",
                "w[k, r, s, c]": "w[k, s, r, c]",
            },
            "r counts rows and goes with h; s counts columns and goes with w.",
        ),
        Mistake(
            "returns NCHW",
            {"return y": "return y.transpose(0, 3, 1, 2)"},
            "The channels of the output, one for each filter, come last.",
        ),
        Mistake(
            "leaves out the last row and column of taps",
            {"range(R)": "range(max(R - 1, 1))", "range(S)": "range(max(S - 1, 1))"},
            "`range(R)` ends at R - 1 already.",
        ),
        Mistake(
            "keeps the last product only",
            {"y[n, p, q, k] +=": "y[n, p, q, k] ="},
            "Every tap *adds* to the output.",
        ),
        Mistake(
            "writes into whole numbers",
            {"x.dtype": "int"},
            "An array of integers drops the fraction of everything that is written into it.",
        ),
        Mistake(
            "keeps the last tap only",
            {"for s in range(S):": "for s in range(S):\n                            y[n, p, q, k] = 0"},
            "Every tap *adds* to the output.",
        ),
        Mistake(
            "keeps the last tap that is on the picture",
            {
                _PAD: f"{_PAD}\n    inside = np.pad(np.ones((H, W)), padding)",
                "for c in range(C):": "if inside[p * stride + r, q * stride + s]:\n"
                "                                y[n, p, q, k] = 0\n"
                "                            for c in range(C):",
            },
            "Every tap *adds* to the output.",
        ),
        Mistake(
            "leaves out the first row and column of the picture",
            {_PAD: f"{_PAD}\n    padded[:, padding] = padded[:, :, padding] = 0"},
            "Row 0 and column 0 belong to the picture: 0 is a place as good as any.",
        ),
        Mistake(
            "reads the other edge where it should find zeros",
            {
                _PAD: 'before = np.pad(x, ((0, 0), (padding, 0), (padding, 0), (0, 0)), "wrap")\n'
                "    padded = np.pad(before, ((0, 0), (0, padding), (0, padding), (0, 0)))"
            },
            "In Python the index -1 is no error: it is the last row or column. Above and on the left there "
            "are zeros, too.",
        ),
        Mistake(
            "lays the filter on its side",
            {
                "padding - R)": "padding - S)",
                "padding - S)": "padding - R)",
                "p * stride + r, q * stride + s": "p * stride + s, q * stride + r",
            },
            "r counts rows and goes with h; s counts columns and goes with w. On a square filter only the "
            "numbers tell, not the shape.",
        ),
        Mistake(
            "pads by half the filter, whatever `padding` says",
            {"# your code here": "padding = R // 2"},
            "That is the padding which keeps the size of the picture. Here it is given, and may be anything.",
        ),
    ),
)
