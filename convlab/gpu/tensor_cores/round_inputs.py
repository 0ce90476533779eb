"""Pictures as tensor cores read them: rounded, in words of 32 bits, two float16 or one tf32 each.

    words (N*H*W, groups, across)        across = words of a group's channels, zeros behind the last

Rounding is a kernel of its own, before the product: that reads a pixel up to R*S times. So each is rounded
once.
"""

from __future__ import annotations

from convlab.gpu.device import current
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, float32
from convlab.gpu.tensor_cores.mma import half2, tf32
from convlab.gpu.tensor_cores.warp_tile import pixel_words
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

THREADS = 256  # of a block that rounds


@kernel
def round_to_half2(x, words, size, C, groups, channels, across):
    """Words (pixels, groups, across) of x (pixels, C): two rounded channels each; zeros behind the last."""
    i = cuda.grid(1)
    if i < size:
        pair = i % across
        group = i // across % groups
        pixel = i // across // groups
        c = pair * 2
        at = pixel * C + group * channels + c
        low = x[at] if c < channels else float32(0)
        high = x[at + 1] if c + 1 < channels else float32(0)
        words[i] = half2(low, high)


@kernel
def round_to_tf32(x, words, size, C, groups, channels, across):
    """Words (pixels, groups, across) of x (pixels, C): one rounded channel each; zeros behind the last."""
    i = cuda.grid(1)
    if i < size:
        c = i % across
        group = i // across % groups
        pixel = i // across // groups
        at = pixel * C + group * channels + c
        words[i] = tf32(x[at] if c < channels else float32(0))


ROUND = {"fp16": round_to_half2, "tf32": round_to_tf32}


def words_of(kind: str, problem: ConvProblem, x, words) -> None:
    """Fill words (N*H*W*G*across) with x (N*H*W*C), rounded; both flat arrays of the device."""
    channels = problem.C // problem.groups
    sizes = words.size, problem.C, problem.groups, channels, pixel_words(kind, problem)
    current().launch(ROUND[kind], ceil_div(words.size, THREADS), THREADS, x, words, *sizes)
