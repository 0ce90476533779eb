"""Layers whose indirection buffer is asked for: small, and no two extents alike where it matters."""

from __future__ import annotations

from convlab.problem import ConvProblem

LAYERS = (  # H, W, C, R, S, stride, padding, rows of a tile
    (3, 3, 1, 2, 2, 1, 0, 1),
    (3, 4, 1, 2, 2, 1, 0, 2),
    (2, 3, 2, 2, 1, 1, 0, 3),
    (3, 3, 1, 3, 3, 1, 1, 3),
    (3, 4, 2, 2, 3, 1, 1, 4),
    (6, 5, 3, 3, 2, 2, 1, 4),
)


def layer(H, W, C, R, S, stride, padding, rows, N=1, K=1) -> tuple[ConvProblem, int]:
    """Return the problem, and the rows of a tile."""
    return ConvProblem(N, H, W, C, K, R, S, stride=stride, padding=padding), rows
