"""What all forms of Winograd's convolution begin with: the grid of tiles, and the filters, transformed.

    tiles      N * ceil(P/m) * ceil(Q/m), of m x m outputs each; the last ones may hang over the edge
    U[e, c, k] = (G @ g @ GT)[e]           g: the 3x3 weights of filter k, channel c

The filters are transformed once, when they are packed, so that is done in double precision and rounded at
the end. A form brings U into the layout that its products read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.winograd_transforms import in_steps, matrices, operations, transforms
from convlab.problem import ConvProblem

_AT_ONCE = 1 << 15  # numbers of the filters that are transformed together


def tile_grid(m: int, problem: ConvProblem) -> tuple[int, int]:
    """Return the rows and columns of tiles that cover one image's output."""
    return -(-problem.P // m), -(-problem.Q // m)


def tile_count(m: int, problem: ConvProblem) -> int:
    """Return the tiles of the whole batch."""
    down, across = tile_grid(m, problem)
    return problem.N * down * across


def transform_operations(m: int) -> tuple[int, int]:
    """Return the operations that transform one tile of one channel: its pixels there, its products back."""
    n, (AT, _, BT) = m + 2, transforms(m)
    # Each matrix is applied to the n columns of a tile, then to its rows: n of them, or m on the way back.
    return operations(in_steps(BT)) * 2 * n, operations(in_steps(AT)) * (n + m)


def transform_weights(m: int, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return U = G g GT for every filter and channel, computed in float64 and rounded once.

    Returns
    -------
    ndarray, (n*n, groups, K/groups, C/groups)
    """
    places, groups = (m + 2) ** 2, problem.groups
    U = np.empty((places, groups, problem.K // groups, w.shape[3]), w.dtype)
    for g, k, some in few_transformed(m, problem, w):
        U[:, g, k : k + some.shape[1]] = some
    return U


def few_transformed(m: int, problem: ConvProblem, w: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield (g, k, U) until all filters are transformed: U (n*n, filters, C/G) of filters k and following.

    In double precision U is many times as large as the filters, so it comes a few filters at a time.
    """
    _, G, _ = matrices(m)
    filters = problem.K // problem.groups
    step = max(1, _AT_ONCE // (len(G) ** 2 * w.shape[3]))
    for g in range(problem.groups):
        group = w[g * filters : (g + 1) * filters]
        for k in range(0, filters, step):
            some = group[k : k + step].astype(np.float64)
            rows = np.tensordot(G, some, (1, 1))  # (n, filters, S, C/G)
            U = np.tensordot(G, rows, (1, 2)).swapaxes(0, 1)  # (n, n, filters, C/G)
            yield g, k, U.reshape(-1, *U.shape[2:])
