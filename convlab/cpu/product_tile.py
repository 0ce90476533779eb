"""Which register tile multiplies a matrix: as its columns, the length of its sums, and its rows want it.

    rows x vectors    loads for each multiply-add
       7 x 2          9 / 14     whatever there is to multiply
       7 x 3         10 / 21     filters that fill three vectors, or six
       6 x 4         10 / 24     filters that fill four
       5 x 4          9 / 20     the same, where pixels fill five rows better: 49, of a picture of 7 x 7

All of them keep the multiply-adds busy, by the counts of `tile_model`. Still those with few loads are faster:
every load is an instruction to begin, and takes power, of which a processor has only so much before it lowers
its clock. A Xeon with AVX-512 took 1.03 to 1.10 times as long with 7 x 2. That is for 32 registers; in 16
there is room for 6 x 2 alone.

Weights are packed for a width, which no picture's size has a say in; tables of places are made for a height.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from convlab.cpu import tile_size
from convlab.cpu.tile_model import TileBounds
from convlab.cpu.tile_size import VectorTile
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.checks import COMPUTES, check_dtype
from convlab.support.integers import ceil_div

LOAD = 0.1  # cycles that a load costs though it happens beside multiply-adds: what that Xeon's times come to
PANEL = 512 << 10  # bytes of a panel that stays in the second cache while all tiles of a block read it


def shapes() -> dict[int, tuple[int, ...]]:
    """Return the widths that there are on this processor, in vectors, each with its heights, best first."""
    usual = tile_size.heights()[:1]
    return {2: usual, 3: usual, 4: (6, 5)} if tile_size.registers() == 32 else {2: usual}


def step_cycles(height: int, width: int) -> float:
    """Return the cycles of a step of a tile of so many rows and vectors: the slowest count, and its loads."""
    bounds = TileBounds(height, width, tile_size.registers())
    return max(bounds.cycles.values()) + LOAD * bounds.fetched


def width_for(vectors: int, terms: int = 1) -> int:
    """Return how many vectors wide the tile is that takes the fewest cycles for each row.

    A row of tiles has as many whole ones as the columns fill, and at the end one that is one vector wide if a
    vector is left over. More is not left over by a width that is chosen. The few sums of a narrow tile must
    wait for each other.
    """

    def cycles(width: int) -> float:
        height, (whole, rest) = shapes()[width][0], divmod(vectors, width)
        return (whole * step_cycles(height, width) + rest * step_cycles(height, 1)) / height

    def fits(width: int) -> bool:
        return width == 2 or (vectors % width <= 1 and terms * width * tile_size.vector_bytes() <= PANEL)

    return min(filter(fits, shapes()), key=cycles)


def height_for(width: int, rows: int) -> int:
    """Return the rows of a tile of so many vectors that computes so many rows in the fewest cycles."""

    def cycles(height: int) -> float:
        return ceil_div(rows, height) * step_cycles(height, width)

    return min(shapes()[width], key=cycles)


@lru_cache
def tile_shape(vectors: int, rows: int, terms: int) -> tuple[int, int]:
    """Return the rows and vectors of the tile for so many vectors of columns."""
    width = width_for(vectors, terms)
    return height_for(width, rows), width


@lru_cache
@checked
def product_tile(dtype, columns: Count, rows: Count = 1 << 20, terms: Count = 1) -> VectorTile:
    """Return the tile that multiplies a matrix in the least time, by count.

    Parameters
    ----------
    dtype : dtype
    columns : int
        Columns of the product, a filter each.
    rows : int
        Rows of it that lie together, pixels of a picture: the first begins a tile. By default many.
    terms : int
        Length of the sums. A wide panel of so many lines must stay in the second cache.
    """
    check_dtype(dtype, COMPUTES)
    dtype = np.dtype(dtype)
    lanes = tile_size.vector_bytes() // dtype.itemsize
    return VectorTile(*tile_shape(ceil_div(columns, lanes), rows, terms), lanes, dtype.name)


@lru_cache
@checked
def tile_of(problem: ConvProblem) -> VectorTile:
    """Return the tile of a convolution that is multiplied as a matrix: a row for each pixel of y."""
    _, filters, taps = problem.gemm
    return product_tile(problem.dtype, filters, problem.P * problem.Q, taps)


def side_by_side(problem: ConvProblem) -> bool:
    """Return whether groups lie side by side in a vector: small ones, with as many filters as channels."""
    size, lanes = problem.K // problem.groups, tile_size.vector_bytes() // problem.itemsize
    return problem.groups > 1 and problem.K == problem.C and lanes % size == 0


@lru_cache
@checked
def tile_across_groups(problem: ConvProblem) -> VectorTile:
    """Return the tile of a convolution whose groups lie side by side, if they can; else `tile_of` it.

    It has the pixels of a vector in registers, too: in 16 there is room for one vector of columns.
    """
    tile = tile_of(problem)
    if not side_by_side(problem):
        return tile
    tile = tile if tile_size.registers() == 32 else tile.narrow
    return VectorTile(tile.rows, tile.vectors, tile.lanes, tile.dtype, problem.K // problem.groups)


def rows_and_columns(problem: ConvProblem) -> tuple[int, int]:
    """Return those of its tile, also for numbers of a type that is only looked at, float16."""
    (_, filters, taps), lanes = problem.gemm, tile_size.vector_bytes() // problem.itemsize
    height, width = tile_shape(ceil_div(filters, lanes), problem.P * problem.Q, taps)
    return height, width * lanes


def forget() -> None:
    """Let all tiles be chosen anew: for who plays another processor, in what `tile_size` says of it."""
    for kept in (
        tile_size.heights,
        tile_size.tile_for,
        tile_shape,
        product_tile,
        tile_of,
        tile_across_groups,
    ):
        kept.cache_clear()


_IN_JAVASCRIPT = """((vectors, rows, terms) => {
    const fits = ([width]) => width == 2 || (vectors % width <= 1 && terms * width * BYTES <= PANEL);
    const across = ([width, [height, step, narrow]]) =>
        (Math.floor(vectors / width) * step + (vectors % width) * narrow) / height;
    const down = ([height, step]) => Math.ceil(rows / height) * step;
    const least = (cycles) => (best, other) => cycles(other) < cycles(best) ? other : best;
    const [width, ...heights] = SHAPES.filter(fits).reduce(least(across));
    return [heights.reduce(least(down))[0], width];
})"""


def in_javascript(vectors: str, rows: str, terms: str) -> str:
    """Return in JavaScript, for pages without Python, the [rows, vectors] that `tile_shape` chooses."""
    listed = []
    for width, high in shapes().items():
        listed.append([width, *([one, step_cycles(one, width), step_cycles(one, 1)] for one in high)])
    known = {"BYTES": tile_size.vector_bytes(), "PANEL": PANEL, "SHAPES": listed}
    text = " ".join(_IN_JAVASCRIPT.split())
    for name, value in known.items():
        text = text.replace(name, str(value))
    return f"{text}({vectors}, {rows}, {terms})"
