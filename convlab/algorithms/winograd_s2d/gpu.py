"""Winograd's tiles for stride 2 on a GPU: fold the picture, then Winograd's three kernels.

A thread writes one number of the folded picture. Neighbouring threads write neighbours, and read neighbours
too: two pixels of a line lie side by side in x, and side by side in z.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod

from convlab.algorithms.winograd import gpu as winograd
from convlab.algorithms.winograd_s2d.space_to_depth import M, fold_weights, folded
from convlab.gpu.device import current
from convlab.gpu.kernels import kernel
from convlab.gpu.model.work import Work, one_pass
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

THREADS = 128


@lru_cache
def fold(dtype: str):
    """Return the kernel(x, z, size, H, W, C, top, left, rows, columns); z (N, rows, columns, 2, 2, C)."""
    number = number_type(dtype)

    @kernel
    def fold_blocks(x, z, size, H, W, C, top, left, rows, columns):
        at = cuda.grid(1)
        if at < size:
            pair = C * 2  # the numbers of two pixels side by side
            line = at // pair
            place = at % pair
            b = place // C
            c = place % C
            a = line % 2
            block = line // 2
            j = block % columns
            block = block // columns
            i = block % rows
            n = block // rows
            h = i * 2 + a - top  # above the picture it is very large
            w = j * 2 + b - left
            inside = h < H and w < W
            z[at] = x[((n * H + h) * W + w) * C + c] if inside else number(0)

    return fold_blocks


def pack(problem: ConvProblem, w):
    """Return the transformed weights of the folded filters on the device."""
    return winograd.pack(M, folded(problem), fold_weights(problem, w))


def allocate(problem: ConvProblem, threads: int):
    """Return the room for z (N, rows, columns, 4*C), V and M."""
    inner = folded(problem)
    z = current().empty((prod(inner.x_shape),), problem.dtype)
    return {"z": z} | winograd.allocate(M, inner, threads)


def works(problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU."""
    inner = folded(problem)
    fold = one_pass(
        "fold the picture",
        prod(inner.x_shape),
        THREADS,
        registers=32,
        instructions=70,
        loads=1,
        stores=1,
        moved=problem.x_bytes + inner.x_bytes,
        cold=problem.x_bytes,
        passed_on=inner.x_bytes,
    )
    first, *rest = winograd.works(M, inner)
    return fold, replace(first, cold=0, passed_on=first.passed_on + inner.x_bytes), *rest


def run(problem: ConvProblem, x, packed, workspace, y, threads):
    """Fold, transform, multiply, transform back."""
    inner, z, (top, _), (left, _) = folded(problem), workspace["z"], *problem.padding
    sizes = z.size, problem.H, problem.W, problem.C, top, left, inner.H, inner.W
    current().launch(fold(problem.dtype), ceil_div(z.size, THREADS), THREADS, x.reshape(-1), z, *sizes)
    winograd.run(M, inner, z, packed, workspace, y, threads)
