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
are made in `winograd_transforms`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from convlab.algorithms.base import Algorithm, Form, Formula
from convlab.algorithms.passes import Pass, product, stream
from convlab.algorithms.winograd_transforms import in_steps, operations, transforms
from convlab.aligned import aligned_empty
from convlab.gpu.forms import gpu_form
from convlab.jit import late, njit, prange
from convlab.problem import ConvProblem

TILES = 56  # in a block: so many transformed windows stay in the cache for all filters
FILTERS = 64  # so many products of each tile are held before they are transformed back
_AT_ONCE = 1 << 15  # numbers of the filters that are transformed together
LANES = 16  # of the widest vector, float32 on AVX-512


def matrices(m: int, points=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (AT, G, BT) of F(m, 3) as float64 arrays."""
    return tuple(np.array(matrix, np.float64) for matrix in transforms(m, points))


def amplification(m: int, points=None) -> float:
    """Return how large the numbers are that cancel in one output, beside the output itself.

    With inputs and weights of size 1, V[e] * U[e] is about norm(BT[e]) * norm(G[e]) large in each dimension.
    AT takes n of them to a result that is the square root of 3 large; their rounding errors stay behind.
    Errors add up like independent numbers, in squares.
    """
    AT, G, BT = matrices(m, points)
    sizes = np.linalg.norm(BT, axis=1) * np.linalg.norm(G, axis=1)  # (n,)
    return float(np.max(AT**2 @ sizes**2) / 3)  # two dimensions: the root of a square


def transform_weights(m: int, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return U = G g GT for every filter and channel, computed in float64 and rounded once.

    Returns
    -------
    ndarray, (n*n, groups, K/groups, C/groups)
    """
    places, groups = (m + 2) ** 2, problem.groups
    U = np.empty((places, groups, problem.K // groups, w.shape[3]), w.dtype)
    for g, k, some in _few_transformed(m, problem, w):
        U[:, g, k : k + some.shape[1]] = some
    return U


def _few_transformed(m: int, problem: ConvProblem, w: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield (g, k, U) until all filters are transformed: U (n*n, filters, C/G) of filters k and following.

    In double precision U is many times as large as the filters, so it comes a few filters at a time.
    """
    _, G, _ = matrices(m)
    filters = problem.K // problem.groups
    step = max(1, _AT_ONCE // (len(G) ** 2 * w.shape[3]))
    for g in range(problem.groups):
        group = w[g * filters : (g + 1) * filters]
        for k in range(0, filters, step):
            some = group[k : k + step].astype(np.float64)
            rows = np.tensordot(G, some, (1, 1))  # (n, filters, S, C/G)
            U = np.tensordot(G, rows, (1, 2)).swapaxes(0, 1)  # (n, n, filters, C/G)
            yield g, k, U.reshape(-1, *U.shape[2:])


def tile_grid(m: int, problem: ConvProblem) -> tuple[int, int]:
    """Return the rows and columns of tiles that cover one image's output."""
    return -(-problem.P // m), -(-problem.Q // m)


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
    n, (down, across) = m + 2, tile_grid(m, problem)
    shapes = {
        "padded": (problem.N, down * m + 2, across * m + 2, problem.C),
        "V": (n, n, problem.N, down, across, problem.C),
        "M": (n, n, problem.N, down, across, problem.K),
        "whole": (problem.N, down, m, across, m, problem.K),  # y, with what hangs over its edge
    }
    return {name: np.zeros(shape, problem.dtype) for name, shape in shapes.items()}


def _run_numpy(m, problem, x, U, workspace, y, threads):
    AT, _, BT = (matrix.astype(x.dtype) for matrix in matrices(m))
    padded, V, M, whole = (workspace[name] for name in ("padded", "V", "M", "whole"))
    (top, _), (left, _) = problem.padding
    picture = padded[:, top : top + problem.H, left : left + problem.W]
    picture[...] = x[:, : picture.shape[1], : picture.shape[2]]  # no window reaches the rest
    windows = sliding_window_view(padded, (m + 2, m + 2), axis=(1, 2))[:, ::m, ::m]  # (N, tiles, C, n, n)
    places, groups, filters, channels = U.shape

    np.einsum("ia,jb,Npqcab->ijNpqc", BT, BT, windows, out=V)
    pixels = V.reshape(places, -1, groups, channels).swapaxes(1, 2)  # (n*n, G, tiles, C/G)
    products = M.reshape(places, -1, groups, filters).swapaxes(1, 2)  # (n*n, G, tiles, K/G)
    np.matmul(pixels, U.swapaxes(2, 3), out=products)  # n*n independent matrix products
    np.einsum("ia,jb,abNpqk->Npiqjk", AT, AT, M, out=whole)

    N, down, _, across, _, K = whole.shape
    y[...] = whole.reshape(N, down * m, across * m, K)[:, : problem.P, : problem.Q]


# -- the fast form -----------------------------------------------------------------------------------------


read, both_sides, write = late("convlab.transform", "read", "both_sides", "write")
(gemm_part,) = late("convlab.gemm", "gemm_part")


@njit
def _convolve(first, end, left, right, kinds, arrays, sizes, V, M):
    """Compute the tiles first..end, counted through the whole batch, of the filters left..right."""
    V, M = V[0], M[0]  # this thread's
    tile, forward, backward = kinds
    x, panels, y, outside = arrays
    _, _, C, _, _, K, _, _, groups = sizes
    channels, filters = C // groups, K // groups
    places = forward.outputs**2
    for g in range(groups):
        for low in range(first, end, TILES):
            count = min(TILES, end - low)
            _transform_windows(forward, backward, low, count, g * channels, channels, x, sizes, V, outside)
            for k in range(left, right, FILTERS):
                width = min(FILTERS, right - k)
                for e in range(places):  # M[:, e] = V[:, e] @ U[e]
                    a, u, out = V[e * channels :], panels[g * places + e, k * channels :], M[e * FILTERS :]
                    a_row, out_row = places * channels, places * FILTERS
                    gemm_part(0, count, 0, width, tile, a, a_row, 1, u, out, out_row, count, width, channels)
                _transform_products(backward, low, count, g * filters + k, width, M, y, sizes, outside)


@njit
def _transform_windows(forward, backward, low, count, first, channels, x, sizes, V, outside):
    """V[t, e, c] = (BT d B)[e], where d is the window under tile low + t; channels from `first` on."""
    H, W, C, P, Q, _, top, left, _ = sizes
    m, n = backward.outputs, forward.inputs
    down, across = -(-P // m), -(-Q // m)
    for t in range(count):
        image, place = divmod(low + t, down * across)
        row, col = place // across * m - top, place % across * m - left
        inside = -row, H - row, -col, W - col  # the rest of the window reads zeros
        start = ((image * H + row) * W + col) * C + first
        for c in range(0, channels, forward.lanes):
            cells = read(forward, x, start + c, W * C, C, inside, outside, channels - c)
            cells = both_sides(forward, cells)
            at = t * n * n * channels + c
            write(forward, cells, V, at, n * channels, channels, n, n, channels - c)


@njit
def _transform_products(backward, low, count, k, width, M, y, sizes, outside):
    """Write y = AT M A for the filters k..k + width of the tiles, as far as they lie in the picture."""
    _, _, _, P, Q, K, _, _, _ = sizes
    m, n = backward.outputs, backward.inputs
    down, across = -(-P // m), -(-Q // m)
    everything = 0, n, 0, n
    for t in range(count):
        image, place = divmod(low + t, down * across)
        p, q = place // across * m, place % across * m
        start = ((image * P + p) * Q + q) * K + k
        for c in range(0, width, backward.lanes):
            at = t * n * n * FILTERS + c
            cells = read(backward, M, at, n * FILTERS, FILTERS, everything, outside, width - c)
            cells = both_sides(backward, cells)
            write(backward, cells, y, start + c, Q * K, K, P - p, Q - q, width - c)


@njit(parallel=True)
def _shared(parts, kinds, arrays, sizes, V, M):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _convolve(first, end, left, right, kinds, arrays, sizes, V[i : i + 1], M[i : i + 1])


def _run_cpu(m, problem, x, panels, workspace, y, threads):
    from convlab.threads import spread
    from convlab.tile import tile_for

    tiles, filters = _tiles(m, problem), problem.K // problem.groups
    tile = tile_for(problem.dtype, rows=min(tiles, TILES))
    kinds = tile, *_transforms_in_registers(m, problem.dtype)
    arrays = x.reshape(-1), panels, y.reshape(-1), workspace["outside"]
    (top, _), (left, _) = problem.padding
    sizes = *x.shape[1:], *y.shape[1:], top, left, problem.groups
    # With many filters each thread takes its share of them, and transforms all windows for itself: that is
    # little beside the products, and divides evenly where a handful of tiles does not.
    by_filters = filters >= threads * FILTERS
    rows, cols = (tiles, tiles if by_filters else tile.rows), (filters, tile.cols if by_filters else filters)
    arrays = kinds, arrays, sizes, workspace["V"], workspace["M"]
    spread(threads, rows, cols, _convolve, _shared, *arrays)


def _tiles(m: int, problem: ConvProblem) -> int:
    down, across = tile_grid(m, problem)
    return problem.N * down * across


@lru_cache
def _transforms_in_registers(m: int, dtype: str):
    """Return BT and AT as types for the kernels."""
    from convlab.tile import tile_for
    from convlab.transform import Transform

    AT, _, BT = transforms(m)
    return tuple(Transform(in_steps(matrix), tile_for(dtype).lanes, dtype) for matrix in (BT, AT))


def _allocate_cpu(m: int, problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    cells = (m + 2) ** 2 * min(TILES, _tiles(m, problem))
    return {
        "V": aligned_empty((threads, cells * problem.C // problem.groups), problem.dtype),
        "M": aligned_empty((threads, cells * FILTERS), problem.dtype),
        "outside": np.zeros(LANES, problem.dtype),
    }


def _pack(m: int, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    from convlab.gemm import empty_panels, put

    places, channels = (m + 2) ** 2, w.shape[3]
    panels = empty_panels(problem.groups * places, problem.K // problem.groups, channels, w.dtype)
    for g, k, U in _few_transformed(m, problem, w):
        put(panels[g * places : (g + 1) * places], channels, U, k)
    return panels


def _packed_bytes(m: int, problem: ConvProblem) -> int:
    from convlab.gemm import packed_bytes

    groups = problem.groups
    return packed_bytes(groups * (m + 2) ** 2, problem.K // groups, problem.C // groups, problem.dtype)


def _passes(m: int, into: int, back: int) -> tuple[Pass, ...]:
    """Return the passes; `into` and `back` are the operations of a tile's transforms."""
    cells, parts = (m + 2) ** 2, {"tiles": f"N*ceil(P/{m})*ceil(Q/{m})"}
    held = f"min(tiles, {TILES}) * {cells}"  # V and M of a block
    windows = stream(f"2 * tiles*{cells}*C*b", f"{held}*C/G*b", parts)
    products = stream(f"tiles * ({cells}+{m * m})*K*b", f"{held}*{FILTERS}*b", parts)
    weights = f"{cells}*K*C/G*b"
    lines = f"ceil(tiles/{TILES})"  # blocks of tiles
    multiply = product("tiles", "K/G", "C/G", times=f"{cells}*G", calls="0", parts=parts)
    again = stream(f"{lines} * {weights}", weights, parts)
    # Additions alone are half of what multiply-adds count as.
    return (
        Pass("transform windows", Formula(f"2*tiles*{into}*ceil(C/G/VL)*VL*G", parts), (windows,)),
        replace(multiply, streams=(again,)),
        Pass("transform back", Formula(f"2*tiles*{back}*ceil(K/G/VL)*VL*G", parts), (products,)),
    )


def _algorithm(m: int) -> Algorithm:
    """Return the algorithm for tiles of m x m outputs."""
    n = m + 2
    AT, _, BT = transforms(m)
    tiles = f"N*ceil(P/{m})*ceil(Q/{m})"
    # Each matrix is applied to the n columns of a tile, then to its rows: n of them, or m on the way back.
    into, back = operations(in_steps(BT)) * 2 * n, operations(in_steps(AT)) * (n + m)
    flops = f"{tiles} * ({2 * n * n}*K*C/G + {into}*C + {back}*K)"
    windows, products, weights = f"{tiles}*{n * n}*C", f"{tiles}*{n * n}*K", f"{n * n}*K*C/G"
    padded = f"N*(ceil(P/{m})*{m} + 2)*(ceil(Q/{m})*{m} + 2)*C"
    return Algorithm(
        name=f"winograd_{m}x{m}",
        summary=f"Transform tiles of {m}x{m} outputs: {n * n} multiplications instead of {9 * m * m}.",
        source="Lavin & Gray 2015, arXiv:1509.09308",
        refuses=partial(refuses, m),
        flops=Formula(flops),
        # Sums of C products instead of 9*C gather a third of the roundings, of numbers that much larger; the
        # transforms of pixels and weights add their own.
        rounding=1 + amplification(m) / 3,
        ieee=False,  # a tile's outputs are sums over the whole tile
        forms={
            "numpy": Form(
                run=partial(_run_numpy, m),
                bytes_moved=Formula(f"(3*{windows} + {weights} + 2*{products} + N*P*Q*K) * b"),
                workspace_bytes=Formula(f"({padded} + {windows} + {products} + {tiles}*{m * m}*K) * b"),
                packed_bytes=Formula(f"{weights} * b"),
                pack=partial(transform_weights, m),
                allocate=lambda problem, threads: _allocate_numpy(m, problem),
            ),
            "cpu": Form(
                run=partial(_run_cpu, m),
                # V and M stay in the cache; the weights are read once for each block of tiles.
                bytes_moved=Formula(f"({windows} + ceil({tiles}/{TILES})*{weights} + N*P*Q*K) * b"),
                workspace_bytes=Formula(
                    f"(threads*{n * n}*min({tiles}, {TILES})*(C/G + {FILTERS}) + {LANES}) * b"
                ),
                packed_bytes=partial(_packed_bytes, m),
                pack=partial(_pack, m),
                allocate=partial(_allocate_cpu, m),
                passes=lambda: _passes(m, into, back),
            ),
            "gpu": gpu_form(
                "winograd",
                parts=("pack", "allocate"),
                bound=(m,),
                # V and M are written by one kernel and read by the next.
                bytes_moved=Formula(f"(N*H*W*C + 2*{windows} + {weights} + 2*{products} + N*P*Q*K) * b"),
                workspace_bytes=Formula(f"({windows} + {products}) * b"),
                packed_bytes=Formula(f"{n * n}*C * ceil(K/G/4)*4 * b"),
            ),
        },
    )


ALGORITHMS = tuple(_algorithm(m) for m in (2, 4, 6))
