"""A convolution with stride and groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.interview.coding.tasks.cases import convolved, pictures
from convlab.interview.coding.tasks.cases import taps_of as taps_in_channel_0
from convlab.interview.coding.tasks.conv2d_nchw import FLIPPED, ONE_SIDED, PAD, UNPADDED
from convlab.lessons.exercise import Exercise, Mistake


def conv2d(x, w, stride, padding, groups):
    """Return y (N, K, P, Q) for x (N, C, H, W) and w (K, C/groups, R, S)."""
    # your code here
    N, _, H, W = x.shape
    K, D, R, S = w.shape
    P, Q = (H + 2 * padding - R) // stride + 1, (W + 2 * padding - S) // stride + 1
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    y = np.zeros((N, K, P, Q), x.dtype)
    for k, p, q in np.ndindex(K, P, Q):
        first = k // (K // groups) * D  # channel of the group that filter k belongs to
        h, v = p * stride, q * stride
        window = padded[:, first : first + D, h : h + R, v : v + S]
        y[:, k, p, q] = np.sum(window * w[k], axis=(1, 2, 3))
    return y


def _cases() -> Iterator[tuple]:
    """(x, w, stride, padding, groups)"""
    shapes = (
        ((1, 1, 3, 4, 1, 1, 2, 2), 1, 0, 1),
        ((1, 1, 5, 4, 1, 1, 2, 2), 2, 0, 1),
        ((1, 2, 3, 3, 2, 1, 2, 2), 1, 0, 2),
        ((1, 4, 3, 4, 6, 2, 2, 3), 1, 1, 2),
        ((2, 3, 4, 3, 6, 1, 1, 2), 1, 0, 3),
        ((1, 6, 5, 7, 4, 3, 3, 2), 2, 1, 2),
        ((1, 2, 8, 6, 3, 2, 2, 3), 3, 2, 1),
        ((1, 2, 5, 6, 2, 1, 2, 2), 3, 0, 2),
        ((2, 6, 7, 6, 9, 2, 3, 2), 2, 1, 3),
    )
    for (x, w), (_, *others) in zip(pictures(*(shape for shape, *_ in shapes)), shapes, strict=True):
        yield x, w, *others


def _taps_of(index, x, w, stride, padding, groups) -> tuple[str, list[tuple[int, ...]]]:
    name, places = taps_in_channel_0(index, x, w, padding, stride)
    first = index[1] // (len(w) // groups) * w.shape[1]
    return name, [(n, first, h, v) for n, _, h, v in places]


_FIRST, _CORNER = "k // (K // groups) * D", "h, v = p * stride, q * stride"

EXERCISE = Exercise(
    notebook="19",
    statement="conv2d(x, w, stride, padding, groups) returns y (N, K, P, Q) for x (N, C, H, W) and w (K, "
    "C/groups, R, S), as PyTorch does: the channels and the filters are cut into `groups` runs, and each "
    "filter reads the channels of its own group.",
    solution=conv2d,
    why="Filters come in groups of K / groups, channels in groups of C / groups: the filter's number says "
    "which. With as many groups as channels it is depthwise, with one it is the plain convolution.",
    hints=(
        "Take C = 4, K = 6, groups = 2. Which channels does each of the six filters read?",
        "Filter k is in group k // (K // groups), whose channels begin at that times C // groups. The window "
        "of output (p, q) begins at row p * stride of the padded picture.",
        "P = (H + 2*padding - R) // stride + 1. window = padded[:, first : first + C // groups, h : h + R, "
        "v : v + S]; y[:, k, p, q] is the sum of window * w[k].",
    ),
    cases=_cases,
    answer=lambda x, w, stride, padding, groups: convolved(x, w, padding, stride, groups),
    shapes={"x": "NCHW", "w": "KDRS", "return": "NKPQ"},
    window=_taps_of,
    mistakes=(
        Mistake("flips the filter", {"w[k],": "w[k, :, ::-1, ::-1],"}, FLIPPED),
        Mistake("ignores the padding", {"2 * padding": "0", PAD: "0"}, UNPADDED),
        ONE_SIDED,
        Mistake(
            "ignores the stride",
            {"// stride": "// 1", _CORNER: "h, v = p, q"},
            "The window moves on by `stride` pixels, and the output is smaller by that.",
        ),
        Mistake(
            "moves the window by one pixel, whatever the stride",
            {_CORNER: "h, v = p, q"},
            "Output (p, q) looks at the window whose corner is at (p * stride, q * stride).",
        ),
        Mistake(
            "rounds the size of the output up",
            {
                "(H + 2 * padding - R) // stride": "-(-(H + 2 * padding - R) // stride)",
                "(W + 2 * padding - S) // stride": "-(-(W + 2 * padding - S) // stride)",
                PAD: "((0, 0), (0, 0), (padding, padding + stride), (padding, padding + stride))",
            },
            "A window that does not fit any more is left out: the division rounds down.",
        ),
        Mistake(
            "divides before it takes the filter away",
            {
                "(H + 2 * padding - R) // stride + 1": "max((H + 2 * padding) // stride - R + 1, 0)",
                "(W + 2 * padding - S) // stride + 1": "max((W + 2 * padding) // stride - S + 1, 0)",
            },
            "The steps from the first window to the last are H + 2*padding - R pixels long in all: these are "
            "divided.",
        ),
        Mistake(
            "reads the first group's channels for all filters",
            {_FIRST: "0"},
            "Each group of filters has a group of channels of its own.",
        ),
        Mistake(
            "deals the groups out to the filters like cards",
            {_FIRST: "k % groups * D"},
            "The first K / groups filters belong to group 0, the next ones to group 1: they stand side by "
            "side.",
        ),
        Mistake(
            "deals the channels out to the groups like cards",
            {
                "first : first + D,": "first::groups,",
                _FIRST: "k // (K // groups)",
            },
            "The first C / groups channels belong to group 0, the next ones to group 1: they stand side by "
            "side.",
        ),
        Mistake(
            "counts filters in groups of C / groups",
            {_FIRST: "min(k // D, groups - 1) * D"},
            "A group has K / groups filters and C / groups channels. Which of the two does k count?",
        ),
        Mistake(
            "moves on by one channel from group to group",
            {_FIRST: "k // (K // groups)"},
            "Group g begins behind g groups of C / groups channels each.",
        ),
        Mistake(
            "reads one channel of its group only",
            {"first : first + D,": "first : first + 1,", "w[k],": "w[k, :1],"},
            "A filter adds up all C / groups channels of its group.",
        ),
        Mistake(
            "sums over the pictures, too",
            {"axis=(1, 2, 3))": "axis=(0, 1, 2, 3))"},
            "Every picture of the batch has an output of its own.",
        ),
    ),
)
