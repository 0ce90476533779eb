"""The exercises of notebooks 12 to 14: tiles of a product, tables of places, the lanes of a tensor core."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.gpu.occupancy import WARP, occupancy
from convlab.gpu.tensor_cores.fragments import holders
from convlab.lessons.exercise import Exercise
from convlab.support.integers import ceil_div


def _blocks() -> Iterator[tuple]:
    """(M, N, K, block_m, block_n)."""
    yield 4, 4, 1, 2, 2
    yield 8, 4, 3, 4, 2
    yield 8, 8, 2, 1, 1
    yield 3136, 64, 576, 128, 64
    yield 3136, 64, 576, 64, 128
    yield 49, 512, 4608, 64, 64  # neither side is whole blocks


def _fetched(M: int, N: int, K: int, block_m: int, block_n: int) -> int:
    return M * K * ceil_div(N, block_n) + N * K * ceil_div(M, block_m)


def _blocks_of_threads() -> Iterator[tuple]:
    """(threads, registers, shared_bytes), of whole units: no limit has to be rounded."""
    yield 256, 24, 1024  # threads are the limit
    yield 256, 128, 16640  # registers
    yield 128, 32, 48128  # shared memory
    yield 128, 32, 15360  # and the system's part of it counts
    yield 32, 32, 0  # no more blocks than that, however small
    yield 1024, 64, 8192
    yield 1024, 32, 47104
    yield 256, 128, 118784  # two by registers, one by shared memory


def _layers() -> Iterator[tuple]:
    """(N, P, Q, C, R, S)."""
    yield 1, 2, 3, 1, 1, 1
    yield 1, 56, 56, 64, 3, 3
    yield 32, 56, 56, 64, 3, 3
    yield 8, 7, 7, 512, 3, 3
    yield 2, 112, 112, 3, 7, 7


def _ratio(N: int, P: int, Q: int, C: int, R: int, S: int) -> float:
    return N * P * Q * R * S * C / (P * Q * R * S)


def _passes(row: int) -> int:
    words = np.arange(8)[:, None] * row + np.arange(4)  # (rows, words of one)
    return int(np.bincount(words.ravel() % 32).max())


EXERCISES: dict[str, Exercise] = {
    "fetched": Exercise(
        "fetched(M, N, K, block_m, block_n) returns how many numbers of both matrices all blocks fetch; "
        "what lies past an edge is not fetched.",
        _blocks,
        _fetched,
        arguments=("M", "N", "K", "block_m", "block_n"),
    ),
    "blocks_at_once": Exercise(
        "blocks_at_once(threads, registers, shared_bytes) returns how many blocks a multiprocessor of an "
        "H100 has room for; threads and shared_bytes are those of a block, registers those of a thread.",
        _blocks_of_threads,
        lambda threads, registers, shared_bytes: occupancy("sm_90", threads, registers, shared_bytes).blocks,
        arguments=("threads", "registers", "shared_bytes"),
    ),
    "table_over_matrix": Exercise(
        "smaller(N, P, Q, C, R, S) returns how many times fewer numbers a table of places has than the "
        "matrix of a whole batch; the table serves every image.",
        _layers,
        _ratio,
        arguments=("N", "P", "Q", "C", "R", "S"),
    ),
    "holder": Exercise(
        "holder(row, column) returns the lane that holds C[row, column].",
        lambda: ((row, column) for row, column in np.ndindex(16, 8)),
        lambda row, column: int(holders("C")[row, column]),
        arguments=("row", "column"),
    ),
    "ldmatrix_passes": Exercise(
        "passes(row) returns how many passes over shared memory it takes to read 8 rows of 4 words, if the "
        f"rows are `row` words apart and there are {WARP} banks.",
        lambda: ((row,) for row in (4, 8, 12, 16, 20, 24, 28, 32, 36, 48)),
        _passes,
        arguments=("row",),
    ),
}
