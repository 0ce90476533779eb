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

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.im2row import pack_panels, panel_bytes
from convlab.algorithms.spec import Algorithm, Form, Formula
from convlab.cost.phases import fill_pass, nothing, product
from convlab.errors import ParameterError
from convlab.index_map import LAYOUTS, IndexMap
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Index, Size, checked
from convlab.support.checks import check_numbers, check_whole

NUMPY_BLOCKS = (32, 64, 16)  # block_m, block_n, block_k: small, as the index arrays outweigh the block
CPU_TILES, CPU_PIECE = 8, 512  # the fast form's block_m, in register tiles, and block_k: fit the L2 cache


@checked
def gather(x: np.ndarray, index: IndexMap, m: Index, k: Index, group: int = 0) -> np.ndarray:
    """Return a block of the matrix A.

    Parameters
    ----------
    x : ndarray
        The picture, in the layout of `index`.
    index : IndexMap
    m, k : ndarray of int, (rows,) and (columns,)
        Which rows and columns of A.
    group : int

    Returns
    -------
    ndarray, (rows, columns)
    """
    shape = tuple(index.problem.letters[axis] for axis in LAYOUTS[index.layout][0])
    check_numbers("x", x, shape, f"({', '.join(LAYOUTS[index.layout][0])})")
    return _gathered(x, index, np.atleast_1d(m), np.atleast_1d(k), group)


def _gathered(x, index, m, k, group):
    at = index.x_at(m[:, None], k, group)  # (rows, columns), -1 on padding
    block = x.reshape(-1)[at]
    block[at < 0] = 0
    return block


def _run_numpy(problem, x, w, y, block_m, block_n, block_k):
    index = IndexMap(problem)
    M, filters, taps = problem.gemm
    b = w.reshape(problem.groups, filters, taps)
    out = y.reshape(M, problem.groups, filters)
    for g in range(problem.groups):
        for m0 in range(0, M, block_m):
            m = np.arange(m0, min(m0 + block_m, M))
            for n0 in range(0, filters, block_n):
                sums = 0  # (block_m, block_n)
                for k0 in range(0, taps, block_k):
                    k = np.arange(k0, min(k0 + block_k, taps))
                    a = _gathered(x, index, m, k, g)  # (block_m, block_k)
                    sums = sums + a @ b[g, n0 : n0 + block_n, k0 : k0 + block_k].T
                out[m0 : m0 + block_m, g, n0 : n0 + block_n] = sums


# -- blocks of your own choice -----------------------------------------------------------------------------

# x is read once a tap, from wherever it lies; w is read and y is written.
TRAFFIC = Formula("(N*P*Q*R*S*C + K*R*S*C/G + N*P*Q*K) * b")

# What blocks of a GPU share, its L2 cache holds: from memory, everything comes once.
ONCE = Formula("(N*H*W*C + K*R*S*C/G + N*P*Q*K) * b")


def blocked(block_m: int | None = None, block_n: int | None = None, block_k: int | None = None) -> Algorithm:
    """Return the algorithm with other blocks; what is not given is chosen by the library.

    Parameters
    ----------
    block_m, block_n, block_k : int, optional
        Output pixels and filters of a tile of y, and the length of a piece of the sums. On backend "cpu"
        block_n must be a multiple of the columns of `convlab.cpu.register_tile`. On backend
        "gpu" they are the tile of a block of threads, at most 48 KB of shared memory (`convlab.gpu.gemm`).

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

    def run_numpy(problem, x, w, workspace, y, threads):
        m, n, k = NUMPY_BLOCKS
        _run_numpy(problem, x, w, y, block_m or m, block_n or n, block_k or k)

    def cpu_blocks(problem):
        from convlab.cpu.register_tile import tile_for

        tile = tile_for(problem.dtype)
        if block_n is not None and block_n % tile.cols:
            raise ParameterError(
                f"block_n={block_n}; on backend='cpu' expected a multiple of {tile.cols}, "
                "the columns of this processor's register tile"
            )
        M, filters, taps = problem.gemm
        whole = -(-filters // tile.cols) * tile.cols
        rows, columns = block_m or CPU_TILES * tile.rows, block_k or CPU_PIECE
        return min(rows, M), min(block_n or whole, whole), min(columns, taps)

    def run_cpu(problem, x, panels, workspace, y, threads):
        from convlab.cpu.gathered_gemm import gathered_gemm

        gathered_gemm(problem, x, panels, workspace["scratch"], y, cpu_blocks(problem), threads)

    def allocate(problem, threads):
        rows, _, columns = cpu_blocks(problem)
        return {"scratch": aligned_empty((threads, rows * columns), problem.dtype)}

    scratch = f"min({block_m or f'{CPU_TILES}*MR'}, N*P*Q) * min({block_k or CPU_PIECE}, R*S*C/G)"
    return Algorithm(
        name="implicit_gemm",
        summary="Multiply im2row's matrix block by block, and store no more of it than one block.",
        source="Chetlur et al. 2014, arXiv:1410.0759; CUTLASS, Implicit GEMM Convolution",
        forms={
            "numpy": Form(run=run_numpy, bytes_moved=TRAFFIC),
            "cpu": Form(
                run=run_cpu,
                bytes_moved=TRAFFIC,
                workspace_bytes=Formula(f"threads * {scratch} * b"),
                packed_bytes=panel_bytes,
                pack=pack_panels,
                allocate=allocate,
                scratch=("scratch",),
                passes=lambda: (fill_pass("N*P*Q*R*S*C*b", f"{scratch} * b"), product(a=nothing)),
            ),
            "gpu": gpu_form(
                "implicit_gemm",
                parts=("pack", "packed_bytes", "allocate", "workspace_bytes"),
                bound=((block_m, block_n, block_k),),
                bytes_moved=ONCE,
            ),
        },
    )


@checked
def implicit_gemm(
    x: np.ndarray,
    w: np.ndarray,
    problem: ConvProblem,
    *,
    block_m: Size | None = None,
    block_n: Size | None = None,
    block_k: Size | None = None,
    backend: str = "numpy",
) -> np.ndarray:
    """Convolve with blocks of your own choice; no choice changes the answer beyond rounding.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    w : ndarray, (K, R, S, C/groups)
    problem : ConvProblem
    block_m, block_n, block_k
        As in `blocked`.
    backend : str

    Returns
    -------
    ndarray, (N, P, Q, K)

    Raises
    ------
    ConvError
        If an array does not fit the problem, or a block is none.
    """
    from convlab.api import plan

    return plan(problem, w, algorithm=blocked(block_m, block_n, block_k), backend=backend)(x)


ALGORITHM = blocked()
