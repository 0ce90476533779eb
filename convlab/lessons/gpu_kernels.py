"""The exercises of notebook 11: a thread for each output, the last block, the halo."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.oracle import reference
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

_RUN = 64


def _filter(P: int, Q: int, R: int, S: int, block: tuple[int, int]) -> Launch:
    """Return a launch that covers P x Q outputs with blocks; small whole numbers, so that sums are exact."""
    rng = np.random.default_rng(12)
    H, W = P + R - 1, Q + S - 1
    x = rng.integers(1, 9, (H, W)).astype(np.float32)
    w = rng.integers(1, 9, (R, S)).astype(np.float32)
    problem = ConvProblem(1, H, W, 1, 1, R, S)
    y = reference(x[None, :, :, None], w[None, :, :, None], problem)[0, :, :, 0].astype(np.float32)
    grid = (ceil_div(Q, block[0]), ceil_div(P, block[1]))
    return Launch(grid, block, {"x": x, "w": w, "y": None}, y)


def _filters() -> Iterator[Launch]:
    yield _filter(2, 8, 2, 3, (8, 2))
    yield _filter(32, 32, 3, 2, (32, 8))
    yield _filter(5, 40, 1, 3, (32, 4))  # blocks stick out on both sides


def _patches() -> Iterator[Launch]:
    yield _filter(8, 32, 3, 3, (32, 8))
    yield _filter(16, 64, 3, 3, (32, 8))
    yield _filter(11, 45, 3, 3, (32, 8))


def _tails() -> Iterator[Launch]:
    for size in (_RUN, 2 * _RUN, _RUN + 40, 10):
        x = np.random.default_rng(13).permutation(size).astype(np.float32) + 1
        runs = [x[start : start + _RUN][::-1] for start in range(0, size, _RUN)]
        yield Launch((len(runs),), (_RUN,), {"x": x, "y": None}, np.concatenate(runs))


EXERCISES: dict[str, KernelExercise] = {
    "filter_naive": KernelExercise(
        "my_filter(x, w, y) is a kernel that writes y[p, q] = sum over r and s of x[p + r, q + s] * w[r, s]. "
        "It is launched with two-dimensional blocks, enough of them to cover y and often a little more.",
        _filters,
        "filter_naive",
    ),
    "tail": KernelExercise(
        f"my_tail(x, y) is a kernel of blocks of {_RUN} threads: each turns its run of {_RUN} numbers back "
        "to front, through shared memory; the last run may be shorter.",
        _tails,
        "tail",
    ),
    "filter_tile": KernelExercise(
        "my_tile(x, w, y) is a kernel for a filter w (3, 3) in blocks of 8 x 32 threads and outputs: the "
        "pixels under a block, with their halo, are fetched once into shared memory.",
        _patches,
        "filter_tile",
    ),
}
