"""Whether an answer goes Winograd's way: what it makes of other matrices, and how often it multiplies.

With Winograd's own matrices the formula gives the sums of nine products, so numbers alone tell nothing of the
way. With any other matrices it gives something else; whoever uses them follows, and a direct sum does not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from convlab.algorithms.winograd.transforms import matrices
from convlab.lessons.cases import filled
from convlab.lessons.difference import same
from convlab.lessons.watch import Log, watched

Answer = Callable[..., np.ndarray]  # of x, g, AT, G, BT


def missing(answer: Answer, m: int, down: int, across: int, spare: int = 0) -> str:
    """Say what an answer lacks of Winograd's way, or "".

    Parameters
    ----------
    answer : callable
        Returns the outputs of a filter g (3, 3) on pixels x: ``answer(x, g, AT, G, BT)``.
    m : int
        Outputs of a tile along an axis.
    down, across : int
        Tiles of the pixels that it is tried on.
    spare : int
        Tiles more than needed that it may compute in each direction.
    """
    x, g, AT, G, BT = _trial(m, down * m + 2, across * m + 2)
    got, log, cells = np.asarray(answer(x, g, AT, G, BT)), Log(), (m + 2) ** 2
    answer(*watched(log, x=x, g=g), *matrices(m))
    counted = (
        f"Numbers from the pixels meet numbers from the filter in {log.count} products; "
        f"{down * across * cells} are enough."
    )
    more = log.count > (down + spare) * (across + spare) * cells
    if same(_sums(x, g), got):
        said = (
            "Handed other numbers in AT, G and BT, it returns the same sums of nine products: what it "
            "returns does not come from these matrices. Transform g with G and the pixels with BT, multiply "
            "cell by cell, and come back with AT."
        )
        return f"{said} {counted}" if more else said
    right = same(_in_tiles(x, g, AT, G, BT), got)
    if not right and (said := _one_way(x, g, AT, G, BT, got)):
        return said
    if more:
        return (
            f"{counted} Tiles lie side by side, and in a tile each cell of the one transform meets one cell "
            "of the other, once."
        )
    if not right:
        return (
            "The numbers are right with Winograd's matrices. But handed other numbers in AT, G and BT, it "
            "does not return what the formula makes of them: each of the three has to be applied from both "
            "sides of each tile, and nothing else."
        )
    return ""


def missing_at_the_edge(answer: Answer, m: int) -> str:
    """Say so if an answer adds up nine products where tiles hang over.

    Parameters
    ----------
    answer : callable
        As for `missing`.
    m : int
        Outputs of a tile along an axis.
    """
    x, g, *others = _trial(m, 3 * m + 3, 2 * m + 3)
    sums, got = _sums(x, g), np.asarray(answer(x, g, *others))
    if same(sums[-1], got[-1]) or same(sums[:, -1], got[:, -1]):
        return (
            "Where the last tiles hang over, it adds up nine products for each output. Let a whole tile do "
            "it there, too: put zeros where pixels are missing, and cut off what is too much."
        )
    return ""


def _trial(m: int, H: int, W: int) -> list[np.ndarray]:
    """Return pixels, a filter, and AT, G and BT of no convolution."""
    rng, n = np.random.default_rng(m), m + 2
    x, g = (filled(rng, *shape, dtype=np.float64) for shape in ((H, W), (3, 3)))
    return [x, g, *(rng.integers(-3, 4, shape).astype(np.float64) for shape in ((m, n), (n, 3), (n, n)))]


def _sums(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    return np.einsum("pqrs,rs->pq", sliding_window_view(x, (3, 3)), g)


def _in_tiles(x: np.ndarray, g: np.ndarray, AT: np.ndarray, G: np.ndarray, BT: np.ndarray) -> np.ndarray:
    m = len(AT)
    tiles = sliding_window_view(x, BT.shape)[::m, ::m]
    V = np.einsum("ac,pqcd,bd->pqab", BT, tiles, BT)
    y = np.einsum("ia,pqab,jb->piqj", AT, V * np.einsum("ak,kl,bl->ab", G, g, G), AT)
    return y.reshape(len(tiles) * m, -1)


def _one_way(
    x: np.ndarray, g: np.ndarray, AT: np.ndarray, G: np.ndarray, BT: np.ndarray, got: np.ndarray
) -> str:
    """Say so if the first tile was computed Winograd's way along one axis alone."""
    m, n = AT.shape
    d = x[:n, :n]
    rows = [sum(AT @ ((G @ g[r]) * (BT @ d[i + r])) for r in range(3)) for i in range(m)]
    columns = [sum(AT @ ((G @ g[:, s]) * (BT @ d[:, j + s])) for s in range(3)) for j in range(m)]
    for y, along, across in ((np.array(rows), "rows", "columns"), (np.array(columns).T, "columns", "rows")):
        if same(y, got[:m, :m]):
            return (
                f"It goes Winograd's way along the {along}, and adds up three products down the {across}: "
                f"{3 * m * n} for a tile, where {n * n} are enough. Apply each matrix from both sides."
            )
    return ""
