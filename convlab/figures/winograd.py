"""One tile of Winograd's convolution in exact numbers, and a still of it."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from convlab.algorithms.winograd.transforms import Matrix, transforms
from convlab.figures.cells import caption, draw_cells, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import figure_style

# What appears at each step, with its role and its formula in one dimension and in two.
PARTS = {
    "d": ("input", "pixels", "pixels"),
    "g": ("filter", "the filter", "the filter"),
    "V": ("workspace", "Bᵀ d", "Bᵀ d B"),
    "U": ("workspace", "G g", "G g Gᵀ"),
    "M": ("workspace", "V × U, cell by cell", "V × U, cell by cell"),
    "y": ("output", "Aᵀ M", "Aᵀ M A"),
}
STEPS = ("d and g", "V", "U", "M", "y")

_PIXELS = tuple(map(int, "31415926535897932384626433832795"))
_WEIGHTS = (1, 2, -1), (2, 0, 1), (-1, 1, 2)


class Tile(NamedTuple):
    """The numbers of one tile; in one dimension each part has one row.

    Attributes
    ----------
    d, g, V, U, M, y : Matrix
        Pixels, filter, both transformed, their products cell by cell, and the outputs.
    """

    d: Matrix
    g: Matrix
    V: Matrix
    U: Matrix
    M: Matrix
    y: Matrix


def tile_of(m: int, dimensions: int) -> Tile:
    """Return one tile of F(m, 3) or F(m x m, 3x3), all its numbers exact.

    Parameters
    ----------
    m : int
        Outputs of the tile along an axis: 2, 4 or 6.
    dimensions : int
        1 or 2.
    """
    AT, G, BT = transforms(m)
    n, high = m + 2, (m + 2) ** (dimensions - 1)
    d = tuple(tuple(Fraction(_PIXELS[(5 * i + j) % len(_PIXELS)]) for j in range(n)) for i in range(high))
    g = tuple(tuple(map(Fraction, row)) for row in (_WEIGHTS if dimensions == 2 else _WEIGHTS[:1]))
    V, U = both_sides(BT, d), both_sides(G, g)
    M = tuple(tuple(v * u for v, u in zip(*rows, strict=True)) for rows in zip(V, U, strict=True))
    return Tile(d, g, V, U, M, both_sides(AT, M))


def both_sides(A: Matrix, x: Matrix) -> Matrix:
    """Return A x A^T, or x A^T if x has one row."""
    rows = tuple(tuple(_dot(row, line) for row in A) for line in x)
    if len(x) == 1:
        return rows
    columns = tuple(zip(*rows, strict=True))
    return tuple(tuple(_dot(row, column) for column in columns) for row in A)


def _dot(a, b) -> Fraction:
    return reduce(lambda total, pair: total + pair[0] * pair[1], zip(a, b, strict=True), Fraction(0))


def text(number: Fraction) -> str:
    """Return a number as it fits into a cell: whole, or with three digits; "0.00" is a little off 0."""
    if number.denominator == 1:
        words = str(abs(number.numerator))
    else:
        words = f"{float(abs(number)):.{2 if abs(number) < 10 else 1 if abs(number) < 100 else 0}f}"
    return f"−{words}" if number < 0 else words


def draw(m: int, dimensions: int, step: int) -> Picture:
    """Return the picture of a tile after some steps, the parts of later steps still empty."""
    tile = tile_of(m, dimensions)
    n = m + 2
    few, times = n**dimensions, (3 * m) ** dimensions
    high = (2 * n if dimensions == 2 else 2) + 3.6
    width = 1.7
    columns = (("d", "g"), ("V", "U"), ("M", "y"))
    with figure_style():
        title = f"{few} multiplications instead of {times}"
        figure, ax = sheet(max(3 * (n * width + 1.5), 21.5), high, title)
        for at, pair in enumerate(columns):
            top = 1.5
            for name in pair:
                numbers, (role, *words) = getattr(tile, name), PARTS[name]
                known = STEPS.index("d and g" if name in "dg" else name) <= step

                def cell(i, j, numbers=numbers, role=role, known=known):
                    return (role, text(numbers[i][j])) if known else (None, "")

                left = 0.6 + at * max(n * width + 1.5, 7)
                caption(ax, left + 0.1, top - 0.35, role, name, words[dimensions - 1])
                draw_cells(ax, len(numbers), len(numbers[0]), cell, at=(left, top), width=width, size=8)
                top += len(numbers) + 1.7
        return show(figure, alt_of(tile, m, dimensions, step))


def alt_of(tile: Tile, m: int, dimensions: int, step: int) -> str:
    """Return the picture in words."""
    n = m + 2
    size = f"{n} by {n}" if dimensions == 2 else str(n)
    outputs = f"{m} by {m}" if dimensions == 2 else str(m)
    first = " ".join(text(number) for number in tile.y[0])
    few, many = n**dimensions, (3 * m) ** dimensions
    return (
        f"A tile of {size} pixels d and a filter g are transformed to V and U, {few} cells each, multiplied "
        f"cell by cell, and transformed back to {outputs} outputs: {few} multiplications instead of {many}. "
        + (f"The first row of outputs is {first}." if step == 4 else f"Shown up to {STEPS[step]}.")
    )
