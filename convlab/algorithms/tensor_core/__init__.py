"""tensor_core: implicit GEMM on a GPU's tensor cores, which multiply small matrices of rounded numbers.

    y[m, n] = sum over k of round(A[m, k]) * round(w[n, k])        A: im2row's matrix, never stored

x and w are float32. Each number is rounded once: to float16 (5 bits of exponent, 10 behind the point) or to
tf32 (8 bits and 10: float32's range, float16's precision). The product of two rounded numbers is exact in
float32, and the sums are kept in float32. So what is lost is known beforehand: half a unit of the tenth bit
of each input, 2^-11 of its size. float16 also ends at 65504, and counts in steps of 2^-24 below 2^-14.

These are not in `ALGORITHMS`: what is there is as precise as float32, and nothing less is ever chosen for
you. Ask for one by its object::

    conv2d(x, w, algorithm=tensor_core("fp16"), backend="gpu")

A whole copy of 16 bytes brings 8 channels of float16 or 4 of tf32, so the channels of a group are padded with
zeros to that, in x as in w.

NVIDIA, "Parallel Thread Execution ISA", warp-level matrix instructions; CUTLASS, Implicit GEMM Convolution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.spec import Algorithm, Formula
from convlab.errors import ParameterError
from convlab.gpu.occupancy import MOST_SHARED, MOST_THREADS
from convlab.problem import ConvProblem
from convlab.support.checked import checked, kept
from convlab.support.checks import check_choice

WORDS = 16  # of 32 bits; so long is a piece of the sums that a block multiplies at a time


class Tile(NamedTuple):
    """What a block of threads computes, and each warp of it.

    Attributes
    ----------
    block_m, block_n : int
        Output pixels and filters of a block, multiples of 32.
    warp_m, warp_n : int
        Output pixels and filters of a warp; multiples of 16 that divide the block's.
    """

    block_m: int
    block_n: int
    warp_m: int
    warp_n: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * (self.block_m // self.warp_m) * (self.block_n // self.warp_n)


# The largest comes first. A warp of 64 x 32 reads each word of shared memory for 32 or 64 products.
TILES = (Tile(128, 128, 64, 32), Tile(128, 64, 32, 32), Tile(64, 64, 32, 32), Tile(32, 32, 16, 16))
ENOUGH = 128  # blocks: about one for each multiprocessor of a large GPU


class Kind(NamedTuple):
    """A type that tensor cores multiply: its name, and how many numbers of it are in a word of 32 bits."""

    name: str
    in_a_word: int

    def words(self, problem: ConvProblem) -> int:
        """Return the words that hold one pixel's channels of one group, in whole copies of four words."""
        return -(-problem.C // problem.groups // (4 * self.in_a_word)) * 4


KINDS = {"fp16": Kind("fp16", 2), "tf32": Kind("tf32", 1)}


def tile_for(problem: ConvProblem) -> Tile:
    """Return the largest tile that still gives every multiprocessor a block to compute."""
    M, filters, _ = problem.gemm
    for tile in TILES:
        down, across = -(-M // tile.block_m), -(-filters // tile.block_n)
        wide = filters > tile.block_n // 2  # else half of the block computes nothing
        if wide and problem.groups * down * across >= ENOUGH:
            return tile
    return TILES[-1]


@checked
def rounded(array: np.ndarray, kind: str) -> np.ndarray:
    """Return float32 numbers as a tensor core sees them, still as float32.

    Parameters
    ----------
    array : ndarray of float32
    kind : str
        "fp16" or "tf32".
    """
    check_choice("kind", kind, KINDS)
    if kind == "fp16":
        with np.errstate(over="ignore"):  # beyond 65504 is infinity, as on the device
            return array.astype(np.float16).astype(np.float32)
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    up = np.where(np.isfinite(array), bits + np.uint32(1 << 12), bits)  # half a unit, ties away from zero
    return (up & ~np.uint32((1 << 13) - 1)).view(np.float32)


def pack(kind: str, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return w rounded, as words (K, row): r, s, padded channels; zeros up to whole pieces of the sums."""
    K, R, S, channels = w.shape
    words, in_a_word = KINDS[kind].words(problem), KINDS[kind].in_a_word
    row = -(-R * S * words // WORDS) * WORDS
    packed = np.zeros((K, row * in_a_word), {"fp16": np.float16, "tf32": np.float32}[kind])
    taps = packed[:, : R * S * words * in_a_word].reshape(K, R, S, -1)
    taps[..., :channels] = rounded(w, kind)
    return packed.view(np.uint32)


def refuses(problem: ConvProblem) -> str | None:
    """Say that double precision would be lost."""
    if problem.dtype != "float32":
        return f"its inputs are rounded to 11 bits, which would waste {problem.dtype}; it needs float32"
    return None


@kept
def tensor_core(inputs: str = "fp16", tile: Tile | None = None) -> Algorithm:
    """Return the algorithm that multiplies on tensor cores, for `conv2d` and `plan` in the place of a name.

    Parameters
    ----------
    inputs : str
        What x and w, which are float32, are rounded to: "fp16" or "tf32". y is float32.
    tile : Tile, optional
        What a block and a warp compute; by default what suits the problem.

    Raises
    ------
    ParameterError
        If there is no such kind of inputs, or the tile cannot be cut into warps.

    Examples
    --------
    >>> tensor_core("tf32")
    Algorithm(name='tensor_core_tf32', ...)
    """
    check_choice("inputs", inputs, KINDS)
    if tile is not None:
        _check(tile)
    channels = f"ceil(C/G/{4 * KINDS[inputs].in_a_word})*4"  # in words
    words, row = f"N*H*W*G*{channels}", f"ceil(R*S*{channels}/{WORDS})*{WORDS}"
    # x is read, and its words are written; then they are read for each tap.
    traffic = f"(N*H*W*C + N*P*Q*K) * b + ({words} + N*P*Q*R*S*G*{channels} + K*{row}) * 4"
    return Algorithm(
        name=f"tensor_core_{inputs}",
        summary=f"Implicit GEMM on tensor cores: inputs rounded to {inputs}, sums in float32.",
        source="NVIDIA, PTX ISA (mma.sync); CUTLASS, Implicit GEMM Convolution",
        refuses=refuses,
        # Both inputs of a product are rounded to a unit of 2^-10, where float32's is 2^-23. (With many
        # products in a sum these errors average out; the bound must serve a sum of one.)
        rounding=1 + 2.0**13,
        forms={
            "gpu": gpu_form(
                "tensor_core",
                parts=("pack", "allocate"),
                bound=(inputs, tile),
                bytes_moved=Formula(traffic),
                workspace_bytes=Formula(f"{words} * 4"),
                packed_bytes=Formula(f"K*{row} * 4"),
            )
        },
    )


def _check(tile: Tile) -> None:
    m, n, warp_m, warp_n = tile
    good = all(size > 0 for size in tile) and m % 32 == n % 32 == warp_m % 16 == warp_n % 16 == 0
    if not good or m % warp_m or n % warp_n or m * 4 % tile.threads or n * 4 % tile.threads:
        raise ParameterError(
            f"tile={tuple(tile)}; expected multiples of 32, cut into warps of multiples of 16, "
            "and as many copies of 16 bytes for every thread"
        )
    shared = 2 * (m + n) * (WORDS + 4) * 4
    if shared > MOST_SHARED or tile.threads > MOST_THREADS:
        raise ParameterError(
            f"tile={tuple(tile)} needs {shared} bytes of shared memory and {tile.threads} threads; "
            f"a block has {MOST_SHARED} bytes and {MOST_THREADS} threads"
        )
