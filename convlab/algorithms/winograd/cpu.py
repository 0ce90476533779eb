"""Winograd's convolution, the fast form: a block of tiles goes through all three steps inside the cache.

    for each block of TILES tiles:
        V = the transform of the windows under them                read from x where they lie
        for each panel of filters, as wide as the register tile:
            M[:, e] = V[:, e] @ U[e]  for all places e             on the register tile
            y of these tiles = the transform of M, backwards

The formula, in `convlab.algorithms.winograd`, transforms all windows, then multiplies them all: V and M are
many times as large as the picture, and travel to the memory and back. Here a block's V and M stay. The
transforms happen in registers, on a vector of channels or filters (`convlab.cpu.small_matmul`). U is packed
in the order in which it is used, so all of it flows past as one stream: in the last layers of a network,
of many filters and few pixels, that is what takes the time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from convlab.algorithms.spec import Form, Formula
from convlab.algorithms.winograd.tiles import TileTexts, tile_count, window_cells
from convlab.algorithms.winograd.transforms import in_steps, matrices, transforms
from convlab.cost.phases import Pass, packing, product, stream
from convlab.cpu.jit import late, njit, prange
from convlab.cpu.pack_transformed import pack_transformed
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty

TILES = 56  # in a block, at most: so many transformed windows stay in the cache for all filters
FEW = 4  # tiles that are multiplied faster than their weights arrive: asking for those early gains nothing
LANES = 16  # of the widest vector, float32 on AVX-512

read, both_sides, write = late("convlab.cpu.small_matmul", "read", "both_sides", "write")
(gemm_part,) = late("convlab.cpu.gemm", "gemm_part")


@njit
def _convolve(first, end, left, right, kinds, arrays, sizes, V, M):
    """Compute the tiles first..end, counted through the whole batch, of the filters left..right."""
    V, M = V[0], M[0]  # this thread's
    tile, forward, backward = kinds
    x, panels, y, outside = arrays
    _, _, C, _, _, K, _, _, groups = sizes
    channels, filters = C // groups, K // groups
    places = forward.outputs**2
    a_row, out_row = places * channels, places * tile.cols
    block = TILES // tile.rows * tile.rows
    for g in range(groups):
        for low in range(first, end, block):
            count = min(block, end - low)
            _transform_windows(forward, backward, low, count, g * channels, channels, x, sizes, V, outside)
            for k in range(left, right, tile.cols):
                width = min(tile.cols, right - k)
                u = panels[g, k * a_row :]  # of these filters: all places, one after the other
                size = channels * (tile.cols if width > tile.narrow.cols else tile.narrow.cols)  # of one U[e]
                ahead = size if count > FEW else 0  # while U[e] is used again and again, U[e + 1] is fetched
                for e in range(places):  # M[:, e] = V[:, e] @ U[e]
                    factors = V[e * channels :], a_row, 1, u[e * size :]
                    target = M[e * tile.cols :], out_row
                    gemm_part(0, count, 0, width, tile, *factors, *target, count, width, channels, ahead)
                _transform_products(backward, tile, low, count, g * filters + k, width, M, y, sizes, outside)


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
def _transform_products(backward, tile, low, count, k, width, M, y, sizes, outside):
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
            at = t * n * n * tile.cols + c
            cells = read(backward, M, at, n * tile.cols, tile.cols, everything, outside, width - c)
            cells = both_sides(backward, cells)
            write(backward, cells, y, start + c, Q * K, K, P - p, Q - q, width - c)


@njit(parallel=True)
def _shared(parts, kinds, arrays, sizes, V, M):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _convolve(first, end, left, right, kinds, arrays, sizes, V[i : i + 1], M[i : i + 1])


def _run(m, problem, x, panels, workspace, y, threads):
    from convlab.cpu.register_tile import tile_for
    from convlab.cpu.threads import spread

    tiles, filters = tile_count(m, problem), problem.K // problem.groups
    tile = tile_for(problem.dtype, rows=tiles)
    kinds = tile, *_transforms_in_registers(m, problem.R, problem.dtype)
    arrays = x.reshape(-1), panels, y.reshape(-1), workspace["outside"]
    (top, _), (left, _) = problem.padding
    sizes = *x.shape[1:], *y.shape[1:], top, left, problem.groups
    # With many filters each thread takes its share of them, and transforms all windows for itself: that is
    # little beside the products, and divides evenly where a handful of tiles does not.
    by_filters = filters >= threads * 2 * tile.cols
    rows, cols = (tiles, tiles if by_filters else tile.rows), (filters, tile.cols if by_filters else filters)
    arrays = kinds, arrays, sizes, workspace["V"], workspace["M"]
    spread(threads, rows, cols, _convolve, _shared, *arrays)


@lru_cache
def _transforms_in_registers(m: int, r: int, dtype: str):
    """Return BT and AT as types for the kernels."""
    from convlab.cpu.register_tile import tile_for
    from convlab.cpu.small_matmul import Transform

    AT, _, BT = transforms(m, r=r)
    return tuple(Transform(in_steps(matrix), tile_for(dtype).lanes, dtype) for matrix in (BT, AT))


def _allocate(m: int, problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    from convlab.cpu.register_tile import tile_for

    block, tile = window_cells(m, problem) * min(TILES, tile_count(m, problem)), tile_for(problem.dtype)
    return {
        "V": aligned_empty((threads, block * problem.C // problem.groups), problem.dtype),
        "M": aligned_empty((threads, block * tile.cols), problem.dtype),
        "outside": np.zeros(LANES, problem.dtype),
    }


def _pack(m: int, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    from convlab.cpu.gemm import empty_panels
    from convlab.cpu.register_tile import tile_for

    groups, G = problem.groups, _of_filters(m, problem.R)
    panels = empty_panels(groups, problem.K // groups, len(G) ** 2 * w.shape[3], w.dtype)
    pack_transformed(G, G, w, groups, panels, tile_for(w.dtype).cols)
    return panels


@lru_cache
def _of_filters(m: int, r: int) -> np.ndarray:
    return matrices(m, r=r)[1]


def _packed_bytes(m: int, problem: ConvProblem) -> int:
    from convlab.cpu.gemm import packed_bytes

    groups, channels = problem.groups, problem.C // problem.groups
    return packed_bytes(groups, problem.K // groups, window_cells(m, problem) * channels, problem.dtype)


def _passes(m: int, per_tile: TileTexts) -> tuple[Pass, ...]:
    cells, parts = per_tile.cells, {"tiles": per_tile.tiles}
    held = f"min(tiles, {TILES}) * {cells}"  # V and M of a block
    windows = stream(f"2 * tiles*{cells}*C*b", f"{held}*C/G*b", parts)
    products = stream(f"tiles * ({cells}+{m * m})*K*b", f"{held}*2*VL*4", parts)
    weights = f"{cells}*K*C/G*b"
    lines = f"ceil(tiles/{TILES})"  # blocks of tiles
    rows = "tiled(tiles)"
    multiply = product("tiles", "K/G", "C/G", times=f"{cells}*G", rows=rows, calls="0", parts=parts)
    again = stream(f"{lines} * {weights}", weights, parts)
    # Additions alone are half of what multiply-adds count as.
    return (
        Pass("transform windows", Formula(f"2*tiles*{per_tile.into}*ceil(C/G/VL)*VL*G", parts), (windows,)),
        replace(multiply, streams=(again,)),
        Pass("transform back", Formula(f"2*tiles*{per_tile.back}*ceil(K/G/VL)*VL*G", parts), (products,)),
    )


def fast_form(m: int, per_tile: TileTexts) -> Form:
    """Return the form for tiles of m x m outputs."""
    cells, tiles = per_tile.cells, per_tile.tiles
    windows, weights = f"{tiles}*{cells}*C", f"{cells}*K*C/G"
    return Form(
        run=partial(_run, m),
        # V and M stay in the cache; the weights are read once for each block of tiles.
        bytes_moved=Formula(f"({windows} + ceil({tiles}/{TILES})*{weights} + N*P*Q*K) * b"),
        # A row of M is as wide as a register tile: 2 vectors of VL numbers of 4 bytes or half as many of 8.
        workspace_bytes=Formula(f"threads*{cells}*min({tiles}, {TILES})*(C/G*b + 2*VL*4) + {LANES}*b"),
        packed_bytes=partial(_packed_bytes, m),
        pack=partial(_pack, m),
        allocate=partial(_allocate, m),
        scratch=("V", "M"),
        passes=lambda: _passes(m, per_tile),
        # R taps for each of n rows, S times; then S for each place. A number in double precision is two.
        once=lambda: (packing(weights, f"2*2*{per_tile.n}*(R + {per_tile.n})*S * K*C/G"),),
    )
