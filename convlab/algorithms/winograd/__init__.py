"""Winograd's convolution: fewer multiplications for 3x3 filters, paid for with additions.

    V[e, t, c] = (BT @ d @ B)[e]      d: the n x n pixels under tile t, n = m + 2, of channel c
    U[e, c, k] = (G @ g @ GT)[e]      g: the 3x3 weights of filter k, channel c; once, when they are packed
    M[e, t, k] = sum over c of V[e, t, c] * U[e, c, k]
    y of tile t, filter k = AT @ M[:, t, k] @ A

The picture is cut into tiles of m x m output pixels. Each reads n x n input pixels, so neighbours overlap by
two. A tile costs n*n multiplications for each channel and filter, where the definition asks for 9*m*m: 16
instead of 36 for m = 2, 36 instead of 144 for m = 4, 64 instead of 324 for m = 6. What is multiplied falls
into n*n matrix products, one for each place e in the tile, that know nothing of one another.

The price: the transforms, whose work does not shrink with the number of filters; tiles that hang over the
edge; and rounding, since large numbers cancel on the way back (`amplification`).

Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308, Algorithm 1. The matrices
are made in `winograd_transforms`, U in `winograd_tiles`. The fast form is in `winograd_fast`.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.spec import Algorithm, Form, Formula, Mixing
from convlab.algorithms.winograd.cpu import fast_form
from convlab.algorithms.winograd.error import amplification, growth
from convlab.algorithms.winograd.tiles import TileTexts, tile_grid, tile_texts, transform_weights
from convlab.algorithms.winograd.transforms import matrices
from convlab.problem import ConvProblem


def refuses(m: int, problem: ConvProblem) -> str | None:
    """Say what is not a 3x3 filter that moves pixel by pixel."""
    needs = f"winograd_{m}x{m} needs"
    if (problem.R, problem.S) != (3, 3):
        return f"the filter is {problem.R}x{problem.S}; {needs} 3x3"
    if problem.stride != (1, 1):
        return f"the stride is {problem.stride}; {needs} 1, so that the windows of a tile overlap"
    if problem.dilation != (1, 1):
        return f"the dilation is {problem.dilation}; {needs} 1, so that a tile's pixels are neighbours"
    return None


def _allocate_numpy(m: int, problem: ConvProblem) -> dict[str, np.ndarray]:
    overlap, (down, across) = problem.R - 1, tile_grid(m, problem)
    n = m + overlap
    shapes = {
        "padded": (problem.N, down * m + overlap, across * m + overlap, problem.C),
        "V": (n, n, problem.N, down, across, problem.C),
        "M": (n, n, problem.N, down, across, problem.K),
        "whole": (problem.N, down, m, across, m, problem.K),  # y, with what hangs over its edge
    }
    return {name: np.zeros(shape, problem.dtype) for name, shape in shapes.items()}


@lru_cache
def _of_pixels(m: int, r: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return AT and BT, rounded to the type of x; worked out once, for every run needs them."""
    AT, _, BT = matrices(m, r=r)
    return AT.astype(dtype), BT.astype(dtype)


def _run_numpy(m, problem, x, U, workspace, y, threads):
    AT, BT = _of_pixels(m, problem.R, problem.dtype)
    padded, V, M, whole = (workspace[name] for name in ("padded", "V", "M", "whole"))
    (top, _), (left, _) = problem.padding
    picture = padded[:, top : top + problem.H, left : left + problem.W]
    picture[...] = x[:, : picture.shape[1], : picture.shape[2]]  # no window reaches the rest
    n = len(BT)
    windows = sliding_window_view(padded, (n, n), axis=(1, 2))[:, ::m, ::m]  # (N, tiles, C, n, n)
    places, groups, filters, channels = U.shape

    np.einsum("ia,jb,Npqcab->ijNpqc", BT, BT, windows, out=V)
    pixels = V.reshape(places, -1, groups, channels).swapaxes(1, 2)  # (n*n, G, tiles, C/G)
    products = M.reshape(places, -1, groups, filters).swapaxes(1, 2)  # (n*n, G, tiles, K/G)
    np.matmul(pixels, U.swapaxes(2, 3), out=products)  # n*n independent matrix products
    np.einsum("ia,jb,abNpqk->Npiqjk", AT, AT, M, out=whole)

    N, down, _, across, _, K = whole.shape
    y[...] = whole.reshape(N, down * m, across * m, K)[:, : problem.P, : problem.Q]


def forms(m: int, per_tile: TileTexts) -> dict[str, Form]:
    """Return the forms for tiles of m x m outputs, whose costs are given as texts."""
    tiles, n, cells, *_ = per_tile
    windows, products, weights = f"{tiles}*{cells}*C", f"{tiles}*{cells}*K", f"{cells}*K*C/G"
    padded = f"N*(ceil(P/{m})*{m} + {n} - {m})*(ceil(Q/{m})*{m} + {n} - {m})*C"
    return {
        "numpy": Form(
            run=partial(_run_numpy, m),
            bytes_moved=Formula(f"(3*{windows} + {weights} + 2*{products} + N*P*Q*K) * b"),
            workspace_bytes=Formula(f"({padded} + {windows} + {products} + {tiles}*{m * m}*K) * b"),
            packed_bytes=Formula(f"{weights} * b"),
            pack=partial(transform_weights, m),
            allocate=lambda problem, threads: _allocate_numpy(m, problem),
            scratch=("V", "M", "whole"),
        ),
        "cpu": fast_form(m, per_tile),
        "gpu": gpu_form(
            "winograd",
            parts=("pack", "allocate"),
            bound=(m,),
            # V and M are written by one kernel and read by the next.
            bytes_moved=Formula(f"(N*H*W*C + 2*{windows} + {weights} + 2*{products} + N*P*Q*K) * b"),
            workspace_bytes=Formula(f"({windows} + {products}) * b"),
            packed_bytes=Formula(f"{cells}*C * ceil(K/G/4)*4 * b"),
        ),
    }


def flops(per_tile: TileTexts) -> Formula:
    """Return the operations of a run."""
    tiles, _, cells, into, back = per_tile
    return Formula(f"{tiles} * (2*{cells}*K*C/G + {into}*C + {back}*K)")


def mixing(m: int, problem: ConvProblem) -> Mixing:
    """Return what is mixed: the pixels of a tile."""
    size, channels = m + problem.R - 1, problem.C // problem.groups
    return Mixing((size, size), (m, m), growth(m, problem.R) * channels)


def _algorithm(m: int) -> Algorithm:
    """Return the algorithm for tiles of m x m outputs."""
    per_tile = tile_texts(m)
    return Algorithm(
        name=f"winograd_{m}x{m}",
        summary=f"Transform tiles of {m}x{m} outputs: {(m + 2) ** 2} multiplications instead of {9 * m * m}.",
        source="Lavin & Gray 2015, arXiv:1509.09308",
        refuses=partial(refuses, m),
        flops=flops(per_tile),
        # Sums of C products instead of 9*C gather a third of the roundings, of numbers that much larger; the
        # transforms of pixels and weights add their own.
        rounding=1 + amplification(m) / 3,
        ieee=False,  # a tile's outputs are sums over the whole tile
        mixing=partial(mixing, m),
        forms=forms(m, per_tile),
    )


ALGORITHMS = tuple(_algorithm(m) for m in (2, 4, 6))
