"""Notebook 08: a filter for each channel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.cases import pictures, taps_of
from convlab.lessons.exercise import Exercise, Mistake
from convlab.oracle import reference
from convlab.problem import ConvProblem


def my_depthwise(x, w, stride, padding):
    """Return y (N, P, Q, K) for x (N, H, W, C) and w (K, R, S), K = m*C."""
    N, H, W, C = x.shape
    K, R, S = w.shape
    # your code here: which channel does filter k read?
    m = K // C
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    y = np.zeros((N, P, Q, K), x.dtype)
    for n, p, q, k in np.ndindex(N, P, Q, K):
        h, v = p * stride, q * stride
        window = padded[n, h : h + R, v : v + S, k // m]
        y[n, p, q, k] = np.sum(window * w[k])
    return y


def _cases() -> Iterator[tuple]:
    """(x, w, stride, padding) with filters (K, R, S)."""
    for x, w, stride, padding in pictures(
        ((1, 3, 4, 1, 1, 2, 2), 1, 0),
        ((1, 3, 3, 2, 2, 2, 2), 1, 0),
        ((1, 3, 3, 2, 4, 2, 1), 1, 0),
        ((1, 5, 4, 3, 3, 3, 2), 2, 1),
        ((1, 4, 4, 3, 6, 2, 2), 1, 0),
        ((1, 5, 4, 3, 6, 2, 3), 2, 2),
        ((2, 6, 5, 2, 6, 3, 1), 1, 1),
        ((1, 4, 3, 2, 2, 1, 1), 2, 1),
        ((1, 5, 6, 2, 2, 2, 2), 3, 0),
        ((2, 5, 7, 2, 6, 3, 2), 2, 1),
    ):
        yield x, w[..., 0], stride, padding


def _answer(x, w, stride, padding) -> np.ndarray:
    filters = w[..., None]  # (K, R, S, C/groups)
    problem = ConvProblem.of(x, filters, stride=stride, padding=padding, groups=x.shape[3])
    return reference(x, filters, problem)


def _reads(index, x, w, stride, padding) -> tuple[str, list[tuple[int, ...]]]:
    name, places = taps_of(index, x, w, stride, padding)
    return name, [(*place[:3], index[3] * x.shape[3] // len(w)) for place in places]


EXERCISE = Exercise(
    notebook="08",
    statement="my_depthwise(x, w, stride, padding) returns y (N, P, Q, K) for x (N, H, W, C) and w (K, R, "
    "S), where filter k reads channel k // (K // C).",
    solution=my_depthwise,
    why="No sum runs over channels: each output is a window of one channel, times one filter, number by "
    "number. The m = K / C filters of a channel stand side by side, so k // m is the channel of filter k.",
    hints=(
        "Take K = 4 filters and C = 2 channels, so m = 2. Which channel does each of the filters 0, 1, 2, 3 "
        "read?",
        "A convolution as in notebook 01, without the loop over c: output channel k looks at channel k // m "
        "alone, with m = K // C.",
        "After padding: y[n, p, q, k] = np.sum(padded[n, h : h + R, v : v + S, k // m] * w[k]), with "
        "h = p * stride and v = q * stride, for all n, p, q and k.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"x": "NHWC", "w": "KRS", "return": "NPQK"},
    window=_reads,
    mistakes=(
        Mistake(
            "reads channel k % C",
            {"k // m": "k % C"},
            "Filters of one channel stand side by side: the first m read channel 0, the next m channel 1.",
        ),
        Mistake(
            "reads channel k % m",
            {"k // m": "k % m"},
            "k % m says which of its channel's filters it is; k // m says which channel.",
        ),
        Mistake(
            "reads the first channel for all",
            {"k // m": "0"},
            "Each filter has a channel of its own to read; so has each of the C channels its filters.",
        ),
        Mistake(
            "takes one filter for each channel and leaves the others out",
            {"m = K // C": "m, K = 1, C"},
            "With a channel multiplier m each channel has m filters, and y has K = m * C channels.",
        ),
        Mistake(
            "takes the same filter for all outputs of a channel",
            {"w[k]": "w[k // m]"},
            "k // m is the channel. The filter is k itself: those of one channel differ.",
        ),
        Mistake(
            "looks for the filters of a channel C apart",
            {"w[k]": "w[k % m * C + k // m]"},
            "The m filters of a channel stand side by side in w, as their outputs do in y.",
        ),
        Mistake(
            "reads all channels",
            {", k // m]": "]", "window * w[k]": "window * w[k][..., None]"},
            "That is a plain convolution. Here channels do not mix: a filter reads one of them.",
        ),
        Mistake(
            "adds up what the filters of a channel give",
            {"return y": "return y.reshape(N, P, Q, C, m).sum(axis=4)"},
            "Each of the K filters has an output channel of its own.",
        ),
        Mistake(
            "sums over the channels",
            {"return y": "return y.sum(axis=3, keepdims=True)"},
            "Channels stay apart in a depthwise layer; adding them up is the pointwise layer's work.",
        ),
        Mistake(
            "ignores the stride",
            {"// stride": "// 1", "* stride": ""},
            "The window moves on by `stride` pixels, and the output is smaller by that.",
        ),
        Mistake(
            "moves the window by one pixel, whatever the stride",
            {"* stride": ""},
            "Output (p, q) looks at the window whose corner is at (p * stride, q * stride).",
        ),
        Mistake(
            "ignores the padding",
            {"2 * padding": "0", "(padding, padding), (padding, padding)": "(0, 0), (0, 0)"},
            "Rows and columns of zeros belong around the picture, and the output grows by them.",
        ),
        Mistake(
            "puts the zeros below and on the right only",
            {"(padding, padding), (padding, padding)": "(0, 2 * padding), (0, 2 * padding)"},
            "Half of the border lies above and on the left: the first window begins outside of the picture.",
        ),
        Mistake(
            "flips the filter",
            {"w[k]": "w[k, ::-1, ::-1]"},
            "That is the mathematician's convolution. Here the filter lies on the picture as it is.",
        ),
        Mistake(
            "swaps R and S",
            {"K, R, S = w.shape": "K, S, R = w.shape", "w[k]": "w[k].T"},
            "r counts rows and goes with h; s counts columns and goes with w.",
        ),
        Mistake(
            "keeps the last product only",
            {"np.sum(window * w[k])": "(window * w[k])[-1, -1]"},
            "Every tap *adds* to the output.",
        ),
        Mistake(
            "reads the first picture for all",
            {"padded[n,": "padded[0,"},
            "Every picture of the batch has an output of its own.",
        ),
        Mistake(
            "reads channel k // C",
            {"k // m": "k // C"},
            "A channel has m = K / C filters that stand side by side. Which channel k belongs to is asked of "
            "m.",
        ),
    ),
)
