"""The exercises of notebook 10: lanes side by side, barriers, banks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.support.integers import ceil_div

_RUN = 64


def _numbers(*shape: int) -> np.ndarray:
    """Return different whole numbers."""
    size = int(np.prod(shape))
    return np.random.default_rng(11).permutation(size).astype(np.float32).reshape(shape) + 1


def _pictures() -> Iterator[Launch]:
    for H, W, block in ((4, 32, (32, 4)), (3, 40, (32, 4)), (17, 64, (32, 8)), (9, 24, (16, 16))):
        x = _numbers(H, W)
        grid = (ceil_div(W, block[0]), ceil_div(H, block[1]))
        yield Launch(grid, block, {"x": x, "y": None}, x)


def _runs() -> Iterator[Launch]:
    for runs in (1, 2, 3):
        x = _numbers(runs * _RUN)
        yield Launch((1,), (_RUN,), {"x": x, "y": None}, x.reshape(runs, _RUN)[:, ::-1].ravel())


def _squares() -> Iterator[Launch]:
    x = _numbers(32, 32)
    yield Launch((1,), (32,), {"x": x, "y": None}, x.T.copy())


EXERCISES: dict[str, KernelExercise] = {
    "copy": KernelExercise(
        "my_copy(x, y) is a kernel that copies x (H, W) into y. It is launched with two-dimensional blocks, "
        "enough of them to cover the picture and often a little more.",
        _pictures,
        "copy",
    ),
    "reverse": KernelExercise(
        f"reverse(x, y) is a kernel of one block of {_RUN} threads that writes each run of {_RUN} numbers of "
        "x into y back to front, through shared memory.",
        _runs,
        "reverse",
    ),
    "turn": KernelExercise(
        "turn(x, y) is a kernel of one warp that writes x (32, 32) into y with rows and columns exchanged, "
        "through shared memory, so that all 32 lanes meet 32 different banks.",
        _squares,
        "turn",
    ),
}
