"""tensor_core: implicit GEMM on a GPU's tensor cores, which multiply small matrices of rounded numbers.

    y[m, n] = sum over k of round(A[m, k]) * round(w[n, k])        A: im2row's matrix, never stored

x and w are float32. Each number is rounded once: to float16 (5 bits of exponent, 10 behind the point) or to
tf32 (8 bits and 10: float32's range, float16's precision). That loses half a unit of the tenth bit of each
input, 2^-11 of its size. The product of two rounded numbers is exact in float32, and the sums are kept in
float32; but the hardware aligns the terms of a sum and cuts off what hangs over, where IEEE arithmetic rounds
(Fasi, Higham, Mikaitis & Pranesh 2021, PeerJ CS 7:e330). The simulator rounds, unless it is told to cut off:
``simulated(accumulate="truncated")``. float16 also ends at 65504, and counts in steps of 2^-24 below 2^-14.

These are not in `ALGORITHMS`: what is there is as precise as float32, and nothing less is ever chosen for
you. Ask for one by its object::

    conv2d(x, w, algorithm=tensor_core("fp16"), backend="gpu")

A whole copy of 16 bytes brings 8 channels of float16 or 4 of tf32, so the channels of a group are padded with
zeros to that, in x as in w.

NVIDIA, "Parallel Thread Execution ISA", warp-level matrix instructions; CUTLASS, Implicit GEMM Convolution.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.spec import Algorithm, Formula
from convlab.algorithms.tensor_core.rounding import rounded
from convlab.gpu.device import lacks_ampere
from convlab.gpu.tensor_cores.warp_tile import KINDS, MOST_FILTERS, WORDS, WarpTile
from convlab.problem import ConvProblem
from convlab.support.checked import kept
from convlab.support.checks import check_choice

__all__ = ["KINDS", "TILES", "WarpTile", "rounded", "tensor_core"]

# The largest come first. Larger ones would read fewer words for a product, but leave room for fewer warps:
# none was faster on an H100.
TILES = (
    WarpTile(128, 64, 64, 32),
    WarpTile(64, 128, 32, 64),
    WarpTile(64, 64, 32, 32),
    WarpTile(32, 32, 16, 16),
)


def refuses(problem: ConvProblem) -> str | None:
    """Say that double precision would be lost, or that the GPU has no such instructions."""
    if problem.dtype != "float32":
        return f"its inputs are rounded to 11 bits, which would waste {problem.dtype}; it needs float32"
    return lacks_ampere()


@kept
def tensor_core(inputs: str = "fp16", tile: WarpTile | None = None) -> Algorithm:
    """Return the algorithm that multiplies on tensor cores, for `conv2d` and `plan` in the place of a name.

    Parameters
    ----------
    inputs : str
        What x and w, which are float32, are rounded to: "fp16" or "tf32". y is float32.
    tile : WarpTile, optional
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
        tile.check()
    channels = f"ceil(C/G/{4 * KINDS[inputs]})*4"  # in words
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
            "gpu": form(
                __name__,
                "gpu",
                functions=("pack", "allocate", "workspace_bytes", "largest", "works"),
                bound=(inputs, tile),
                bytes_moved=Formula(traffic),
                packed_bytes=Formula(f"(K + {MOST_FILTERS})*{row} * 4"),
            )
        },
    )
