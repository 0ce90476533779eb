"""The indirection buffer: where the pixels of every window lie, worked out once for all images of a size."""

from __future__ import annotations

import numpy as np

from convlab.errors import UnsupportedError
from convlab.problem import LARGEST, ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.checks import check_whole
from convlab.support.integers import ceil_div


def refuses(problem: ConvProblem) -> str | None:
    """Say when a distance would not fit into the 4 bytes it has."""
    size = problem.H * problem.W * problem.C
    return f"one image has {size} numbers, the offsets reach {LARGEST}" if size > LARGEST else None


@checked
def indirection_buffer(problem: ConvProblem, rows: Count = 1, first: int = 0) -> np.ndarray:
    """Return where the pixels of every window lie in one image.

    Parameters
    ----------
    problem : ConvProblem
    rows, first : int
        Output pixels in a tile; tiles to leave out at the beginning.

    Returns
    -------
    ndarray of int32, (ceil(P*Q / rows) - first, R*S, rows)
        Distances from the image's first number, in numbers; -1 on padding. Pixels past the last one repeat
        it, so that the last tile is whole.

    Raises
    ------
    ConvError
        If a distance would not fit into 4 bytes, or there are not so many tiles to leave out.
    """
    if reason := refuses(problem):
        raise UnsupportedError(f"problem: {reason}")
    check_whole("first", first, 0, ceil_div(problem.P * problem.Q, rows))
    outputs, taps = (problem.P, problem.Q), (problem.R, problem.S)
    return offsets_of(problem.x_shape[1:], outputs, taps, problem.geometry, rows, first)


def offsets_of(picture, outputs, taps, geometry, rows: int, first: int = 0) -> np.ndarray:
    """Return the same for windows of any geometry on a picture (H, W, C).

    `geometry` is (stride, corner, dilation); a corner below 0 leaves out so many lines or columns.
    """
    (H, W, C), (P, Q), (R, S) = picture, outputs, taps
    stride, (top, left), dilation = geometry
    M = P * Q
    r, s = (np.arange(count)[:, None] * gap for count, gap in zip(taps, dilation, strict=True))
    offsets = np.empty((ceil_div(M, rows) - first, R, S, rows), np.int32)
    step = max(1, 2**14 // (R * S * rows))  # tiles at a time: what is made on the way stays small
    for low in range(0, len(offsets), step):
        some = offsets[low : low + step]  # tiles first + low and following
        m = (np.arange(len(some) * rows) + (first + low) * rows).clip(max=M - 1).reshape(-1, 1, rows)
        h = m // Q * stride[0] - top + r  # (tiles, R, rows)
        w = m % Q * stride[1] - left + s  # (tiles, S, rows)
        lines = np.where((h >= 0) & (h < H), h * W * C, -LARGEST)
        columns = np.where((w >= 0) & (w < W), w * C, -LARGEST)
        some[...] = np.maximum(lines[:, :, None] + columns[:, None], -1)  # below 0 if either is outside
    return offsets.reshape(-1, R * S, rows)


def runs_of(problem: ConvProblem, rows: int) -> np.ndarray:
    """Return for each tile how many taps lie side by side, for all its pixels: the S of a line, or 1.

    Neighbouring taps look at neighbouring pixels. So where a window's lines do not leave the picture on the
    left or right, each is one run of S*C numbers; above and below it they are runs of zeros. Dilation and
    groups tear them apart.
    """
    (_, stride), (_, left), (_, dilation) = problem.geometry
    columns = np.arange(problem.Q) * stride - left
    inside = (columns >= 0) & (columns + problem.S <= problem.W) & (dilation == problem.groups == 1)
    pixels = np.resize(inside, problem.P * problem.Q)
    pixels = np.pad(pixels, (0, -len(pixels) % rows), "edge").reshape(-1, rows)
    return np.where(pixels.all(axis=1), problem.S, 1).astype(np.int32)


def resize(old: ConvProblem, new: ConvProblem, workspace: dict) -> tuple[dict[str, np.ndarray], str]:
    """Return the buffer for a picture of another size, and how much of it had to be made anew.

    Another width changes every distance. Another height changes those of windows only that reach the lower
    edge, old or new. The batch changes none.
    """
    if (old.H, old.W) == (new.H, new.W):
        return workspace, "nothing"
    rows = workspace["offsets"].shape[2]
    reach = (new.R - 1) * new.dilation[0] - new.padding[0][0]  # from a window's first row to its last tap
    above = -((reach - min(old.H, new.H)) // new.stride[0])  # lines of windows that end above both edges
    kept = min(max(0, above), old.P, new.P) * new.Q // rows if old.W == new.W else 0
    offsets = np.concatenate([workspace["offsets"][:kept], indirection_buffer(new, rows, first=kept)])
    return workspace | {"offsets": offsets}, ("part" if kept < len(offsets) else "nothing") if kept else "all"
