"""What all forms of Winograd's convolution begin with: the grid of tiles, and the filters, transformed.

    tiles      N * ceil(P/m) * ceil(Q/m), of m x m outputs each; the last ones may hang over the edge
    U[e, c, k] = (G @ g @ GT)[e]           g: the 3x3 weights of filter k, channel c

The filters are transformed once, when they are packed, so that is done in double precision and rounded at
the end. A form brings U into the layout that its products read. What a tile costs is text here, for formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from convlab.algorithms.winograd.transforms import in_steps, matrices, operations, transforms
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

BLOCK = 56  # tiles at a time in the fast form, at most: their windows stay in the cache for all filters
LANES = 16  # of the widest vector, float32 on AVX-512
_AT_ONCE = 1 << 15  # numbers of the filters that are transformed together


def tile_grid(m: int, problem: ConvProblem) -> tuple[int, int]:
    """Return the rows and columns of tiles that cover one image's output."""
    return ceil_div(problem.P, m), ceil_div(problem.Q, m)


def tile_count(m: int, problem: ConvProblem) -> int:
    """Return the tiles of the whole batch."""
    down, across = tile_grid(m, problem)
    return problem.N * down * across


def window_cells(m: int, problem: ConvProblem) -> int:
    """Return the pixels of a window, n * n: a tile's m outputs see n = m + r - 1 inputs, for r taps."""
    return (m + problem.R - 1) ** 2


def transform_operations(m: int, r: int = 3) -> tuple[int, int]:
    """Return the operations that transform one tile of one channel: its pixels there, its products back."""
    n, (AT, _, BT) = m + r - 1, transforms(m, r=r)
    # Each matrix is applied to the n columns of a tile, then to its rows: n of them, or m on the way back.
    return operations(in_steps(BT)) * 2 * n, operations(in_steps(AT)) * (n + m)


class TileTexts(NamedTuple):
    """What a tile costs, as expressions for `Formula`.

    Attributes
    ----------
    tiles : str
        Tiles of a batch.
    n, cells : str
        Pixels of a window along an axis, and in all.
    into, back : str
        Operations that transform its pixels, and its products back: for each channel, for each filter.
    """

    tiles: str
    n: str
    cells: str
    into: str
    back: str


def tile_texts(m: int, taps: tuple[int, ...] = (3,)) -> TileTexts:
    """Return the texts for filters of some numbers of taps, e.g. (2, 3, 4), of which R says the one."""
    into, back = zip(*(transform_operations(m, r) for r in taps), strict=True)
    n = [m + r - 1 for r in taps]
    every = [_text(numbers, taps) for numbers in (n, [one**2 for one in n], into, back)]
    return TileTexts(f"N*ceil(P/{m})*ceil(Q/{m})", *every)


def _text(numbers: Sequence[int], taps: tuple[int, ...]) -> str:
    """Return the first number, or what must be added to it where R is larger."""
    text = str(numbers[0])
    for (before, after), r in zip(pairwise(numbers), taps[1:], strict=True):
        text += f" + {after - before}*max(0, min(1, R - {r - 1}))"
    return text if len(numbers) == 1 else f"({text})"


def transform_weights(m: int, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return U = G g GT for every filter and channel, (n*n, groups, K/groups, C/groups).

    Computed in float64 and rounded once. There U is many times as large as the filters, so they come a few at
    a time.
    """
    _, G, _ = matrices(m, r=problem.R)
    groups, filters = problem.groups, problem.K // problem.groups
    transformed = np.empty((window_cells(m, problem), groups, filters, w.shape[3]), w.dtype)
    step = max(1, _AT_ONCE // (len(G) ** 2 * w.shape[3]))
    for g in range(groups):
        group = w[g * filters : (g + 1) * filters]
        for k in range(0, filters, step):
            some = group[k : k + step].astype(np.float64)
            rows = np.tensordot(G, some, (1, 1))  # (n, filters, S, C/G)
            U = np.tensordot(G, rows, (1, 2)).swapaxes(0, 1)  # (n, n, filters, C/G)
            transformed[:, g, k : k + step] = U.reshape(-1, *U.shape[2:])
    return transformed
