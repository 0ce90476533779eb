"""Implicit GEMM: multiply the im2row matrix without ever storing it.

    y[m, n] = sum over k of A[m, k] * w[n, k]        A[m, k] = x at index_map(m, k), or 0 on padding

The product is cut into tiles of block_m rows (output pixels) and block_n columns (filters), and its sums into
pieces of block_k. For each piece a block_m x block_k block of A is gathered into a scratch that stays in the
cache, multiplied, and overwritten by the next; a GPU does this in its shared memory. The whole matrix of
im2row goes by, but never more than one block of it exists. *Implicit*: no buffer for the matrix at all.
*Indirect* convolution stores no matrix either, but a buffer of the places of its rows.

Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning" (2014, arXiv:1410.0759); CUTLASS's "Implicit
GEMM Convolution" calls this form, which asks the index map for every access, the analytic one.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.implicit_gemm.reference import gather
from convlab.algorithms.spec import Algorithm, Formula
from convlab.cost.common import ONCE, ONCE_A_TAP, PANELS
from convlab.cost.phases import IN_CACHE, fill_phase, product
from convlab.support.checks import check_whole

__all__ = ["ALGORITHM", "blocked", "gather"]

TILES, PIECE = 8, 512  # the fast form's block_m, in register tiles, and block_k: they fit the second cache


def blocked(block_m: int | None = None, block_n: int | None = None, block_k: int | None = None) -> Algorithm:
    """Return the algorithm with other blocks; what is not given is chosen by the library.

    Parameters
    ----------
    block_m, block_n, block_k : int, optional
        Output pixels and filters of a tile of y, and the length of a piece of the sums. On backend "cpu"
        block_n must be a multiple of the columns of the register tile for so many filters
        (`convlab.cpu.product_tile`). On backend "gpu" they are the tile of a block of threads, at most
        48 KB of shared memory (`convlab.gpu.gemm`).

    Returns
    -------
    Algorithm
        For `convlab.plan`, in the place of a name.

    Raises
    ------
    ParameterError
        If a block is no integer above 0. As soon as it is planned: on backend "cpu" if block_n does not fit,
        on backend "gpu" if there is no such tile.
    """
    given = {"block_m": block_m, "block_n": block_n, "block_k": block_k}
    block_m, block_n, block_k = (
        None if block is None else check_whole(name, block, 1, 2**128) for name, block in given.items()
    )

    given = block_m, block_n, block_k
    scratch = f"min({block_m or f'{TILES}*TR'}, N*P*Q) * min({block_k or PIECE}, R*S*C/G)"
    return Algorithm(
        name="implicit_gemm",
        summary="Multiply im2row's matrix block by block, and store no more of it than one block.",
        source="Chetlur et al. 2014, arXiv:1410.0759; CUTLASS, Implicit GEMM Convolution",
        forms={
            "numpy": form(__name__, "reference", bound=(given,), bytes_moved=ONCE_A_TAP, rank=4),
            "cpu": form(
                __name__,
                "cpu",
                epilogue=True,
                functions=("pack", "allocate"),
                bound=(given,),
                bytes_moved=ONCE_A_TAP,
                workspace_bytes=Formula(f"threads * {scratch} * b"),
                packed_bytes=PANELS,
                scratch=("scratch",),
                phases=lambda: (fill_phase("N*P*Q*R*S*C*b", f"{scratch} * b"), product(a=IN_CACHE)),
                rank=4,
            ),
            "gpu": form(
                __name__,
                "gpu",
                functions=("pack", "packed_bytes", "allocate", "workspace_bytes", "works"),
                bound=(given,),
                bytes_moved=ONCE,
                rank=2,
            ),
        },
    )


ALGORITHM = blocked()
