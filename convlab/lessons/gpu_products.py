"""The exercises of notebooks 12 to 14: tiles of a product, tables of places, the lanes of a tensor core."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.indirect import indirection_buffer
from convlab.gpu.occupancy import WARP
from convlab.lessons.exercise import Exercise
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

SIDE = 32  # rows and columns of the product that one block computes
CHANNELS = 32
BUILDERS = 128  # threads of a block that builds a table


def _whole(rng, *shape: int) -> np.ndarray:
    return rng.integers(1, 9, shape).astype(np.float32)


def _products() -> Iterator[Launch]:
    rng = np.random.default_rng(12)
    for K in (1, 4, 7):
        a, b = _whole(rng, SIDE, K), _whole(rng, K, SIDE)
        yield Launch((1,), (8, 8), {"a": a, "b": b, "y": None}, a @ b)


def _tables() -> Iterator[Launch]:
    rng = np.random.default_rng(13)
    for H, W, R, S, padding in ((2, 3, 2, 2, 0), (3, 3, 3, 3, 1), (4, 5, 2, 3, 1)):
        problem = ConvProblem(1, H, W, CHANNELS, 1, R, S, padding=padding)
        table = indirection_buffer(problem, 1)[:, :, 0]  # (pixels, taps)
        x = rng.permutation(H * W * CHANNELS).astype(np.float32) + 1
        rows = np.where(table[..., None] < 0, 0, x[np.maximum(table, 0)[..., None] + np.arange(CHANNELS)])
        arguments = {"x": x, "table": table.astype(np.int32), "y": None}
        yield Launch((len(table),), (CHANNELS,), arguments, rows.astype(np.float32))


def _sizes() -> Iterator[Launch]:
    for H, W, C, R, S, stride, padding in (
        (4, 8, 1, 1, 1, 1, 0),
        (8, 8, 3, 2, 1, 1, 0),
        (5, 7, 2, 2, 3, 1, 1),  # a tile and a part of one
        (9, 12, 4, 3, 3, 2, 1),
    ):
        problem = ConvProblem(1, H, W, C, 1, R, S, stride=stride, padding=padding)
        table = indirection_buffer(problem, WARP).ravel()
        sizes = {"H": H, "W": W, "C": C, "P": problem.P, "Q": problem.Q, "R": R, "S": S}
        arguments = {"y": None, **sizes, "stride": stride, "padding": padding}
        yield Launch((ceil_div(table.size, BUILDERS),), (BUILDERS,), arguments, table)


EXERCISES: dict[str, Exercise | KernelExercise] = {
    "register_tile": KernelExercise(
        f"product(a, b, y) is a kernel of one block of 8 x 8 threads that fills y ({SIDE}, {SIDE}) with "
        f"a ({SIDE}, K) times b (K, {SIDE}); each thread keeps 4 x 4 sums in registers.",
        _products,
        "register_tile",
    ),
    "gather": KernelExercise(
        f"gather(x, table, y) is a kernel with a block of {CHANNELS} threads for each pixel m: "
        f"y[m, tap] gets the {CHANNELS} numbers of x that begin at table[m, tap], or zeros where that is -1.",
        _tables,
        "gather",
    ),
    "build_table": KernelExercise(
        "build(y, H, W, C, P, Q, R, S, stride, padding) is a kernel with a thread for each number of the "
        f"indirection buffer y: tiles of {WARP} pixels, in a tile tap by tap, in a tap pixel by pixel; -1 on "
        "padding, and pixels past the last one repeat it. There may be more threads than numbers.",
        _sizes,
        "build_table",
    ),
}
