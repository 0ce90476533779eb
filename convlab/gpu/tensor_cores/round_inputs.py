"""Pictures as tensor cores read them: rounded, in words of 32 bits, two float16 or one tf32 each.

    words (N*H*W, groups, across)        across = words of a group's channels, zeros behind the last

Rounding is a kernel of its own, before the product: that reads a pixel up to R*S times. So each is rounded
once, by a thread that makes four words of it. A filter of 1x1 that takes several pixels a step passes others
over: those are not rounded, and the product sees a smaller picture (`read_by`).
"""

from __future__ import annotations

from dataclasses import replace

from convlab.gpu.device import current
from convlab.gpu.gemm.launch import wide
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, float32
from convlab.gpu.ptx import load4, store4
from convlab.gpu.tensor_cores.mma import half2, tf32
from convlab.gpu.tensor_cores.warp_tile import KINDS, pixel_words
from convlab.problem import ConvProblem
from convlab.support.checked import kept
from convlab.support.checks import check_choice
from convlab.support.integers import ceil_div

THREADS = 256  # of a block that rounds
AT_ONCE = 4  # words of a thread: a pixel of a group has a multiple of them


def read_by(problem: ConvProblem) -> ConvProblem:
    """Return the problem without the pixels that no window reads, where those are easy to leave out."""
    if (problem.R, problem.S) != (1, 1) or problem.stride == (1, 1) or problem.padding != ((0, 0), (0, 0)):
        return problem
    return replace(problem, H=problem.P, W=problem.Q, stride=(1, 1))


@kept
def rounding(kind: str, whole: bool, skips: bool):
    """Return the kernel that fills words (pixels, groups, across) with x (N, H, W, C), both flat.

    `whole` says that a group's channels fill its words; `skips`, that pixels of x are passed over.
    """
    numbers = AT_ONCE * KINDS[check_choice("kind", kind, KINDS)]  # of a thread
    halves = numbers > AT_ONCE

    @kernel
    def round_words(x, words, size, C, groups, channels, fours, H, W, P, Q, stride_h, stride_w):
        i = cuda.grid(1)
        if i < size:
            new = cuda.local.array(numbers, float32)
            c = i % fours * numbers
            group = i // fours % groups
            pixel = i // fours // groups
            if skips:
                line = pixel // Q
                pixel = (line // P * H + line % P * stride_h) * W + pixel % Q * stride_w
            at = pixel * C + group * channels + c if skips or not whole else i * numbers
            for j in range(0, numbers, 4):
                if whole:
                    new[j], new[j + 1], new[j + 2], new[j + 3] = load4(x, at + j)
                else:
                    for k in range(j, j + 4):
                        new[k] = x[at + k] if c + k < channels else float32(0)
            if halves:
                a, b = half2(new[0], new[1]), half2(new[2], new[3])
                store4(words, 4 * i, a, b, half2(new[4], new[5]), half2(new[6], new[7]))
            else:
                store4(words, 4 * i, tf32(new[0]), tf32(new[1]), tf32(new[2]), tf32(new[3]))

    return round_words


def words_of(kind: str, problem: ConvProblem, x, words) -> None:
    """Fill words, those of the pixels that are read, with x (N*H*W*C), rounded; both flat arrays there."""
    channels, across = problem.C // problem.groups, pixel_words(kind, problem)
    seen, size = read_by(problem), words.size // AT_ONCE
    whole = channels == across * KINDS[kind] and wide(4, problem.C, x) == 4
    current().launch(
        rounding(kind, whole, seen is not problem),
        ceil_div(size, THREADS),
        THREADS,
        x,
        words,
        *(size, problem.C, problem.groups, channels, across // AT_ONCE),
        *(problem.H, problem.W, seen.H, seen.W, *problem.stride),
    )
