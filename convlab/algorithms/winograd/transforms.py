"""The three small matrices of Winograd's convolution, made from interpolation points in exact fractions.

    y = AT @ ((G @ g) * (BT @ d))        y[i] = sum over k of d[i + k] * g[k]

m outputs of an r-tap filter g on n = m + r - 1 inputs d, with n multiplications instead of m*r.

Where it comes from: two polynomials of m and r coefficients have a product of n. Instead of multiplying all
coefficients with all, evaluate both at n points, multiply the n values, and interpolate. "Infinity" counts as
a point: there a polynomial's value is its last coefficient. With E the matrix that evaluates (row j holds
1, a, a^2, ... of point a_j)::

    product = inverse(E) @ ((E_r @ g) * (E_m @ u))          E_r: the first r columns of E

A convolution layer wants the transpose of that: sums of inputs d, not products of polynomials. Transposing
it with respect to u turns the matrices around, and gives AT = transpose(E_m), G = E_r and
BT = transpose(inverse(E)). Row j of BT has a denominator, the product of (a_j - a_k); it is moved to G, which
is applied once, when the weights are packed, and in float64.

Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308; the points are those of
the authors' generator wincnn. Signs are a matter of taste (row j of G and of BT may both be negated): never
mix matrices of two sources.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import prod
from typing import NamedTuple

import numpy as np

from convlab.errors import ParameterError
from convlab.support.checked import Count, checked
from convlab.support.checks import said

Matrix = tuple[tuple[Fraction, ...], ...]  # rows of exact numbers

# Small numbers and their inverses and negatives: powers stay small, and a, -a share half of their sums.
_POINTS = tuple(map(Fraction, ("0", "1", "-1", "2", "-2", "1/2", "-1/2")))
POINTS = {m: _POINTS[: m + 1] for m in (2, 4, 6)}  # for filters of three taps


class Transforms(NamedTuple):
    """The matrices of F(m, r).

    Attributes
    ----------
    AT : Matrix, (m, n)
        From products to outputs.
    G : Matrix, (n, r)
        From a filter to its transform.
    BT : Matrix, (n, n)
        From inputs to their transform.
    """

    AT: Matrix
    G: Matrix
    BT: Matrix


@checked
def transforms(m: Count, points: Iterable | None = None, r: Count = 3) -> Transforms:
    """Return the matrices of F(m, r) for some interpolation points.

    Parameters
    ----------
    m : int
        Outputs of one tile, in one dimension.
    points : iterable of m + r - 2 distinct numbers, optional
        Anything `Fraction` takes, e.g. "1/2"; infinity is added to them. By default the library's: for r = 3
        those of `POINTS`.
    r : int
        Taps of the filter.

    Raises
    ------
    ParameterError
        If there are no points for this m, or the points are too few, too many, or not distinct.

    Examples
    --------
    >>> [[str(number) for number in row] for row in transforms(2).BT]
    [['1', '0', '-1', '0'], ['0', '1', '1', '0'], ['0', '-1', '1', '0'], ['0', '-1', '0', '1']]
    """
    if points is None:
        if m not in tuple(POINTS):
            raise ParameterError(f"m={m!r} without points; expected one of {', '.join(map(str, POINTS))}")
        points = _POINTS[: m + r - 2]
    try:
        points = tuple(map(Fraction, points))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ParameterError(
            f"points={said(points)}; expected numbers that `Fraction` takes, as 1 or '1/2'"
        ) from None
    if len(points) != m + r - 2 or len(set(points)) != len(points):
        raise ParameterError(
            f"points: F({m}, {r}) takes {m + r - 2} distinct points, got {', '.join(map(str, points))}"
        )
    AT, G, BT = [], [], []
    for a in points:
        others = [b for b in points if b != a]
        scale = prod(a - b for b in others)
        sign = 1 if scale > 0 else -1
        AT.append([a**i for i in range(m)])
        G.append([a**i / abs(scale) for i in range(r)])
        BT.append([sign * c for c in with_roots(others)] + [Fraction(0)])
    # At infinity a polynomial's value is its last coefficient.
    AT.append([Fraction(i == m - 1) for i in range(m)])
    G.append([Fraction(i == r - 1) for i in range(r)])
    BT.append(with_roots(points))
    return Transforms(_matrix(zip(*AT, strict=True)), _matrix(G), _matrix(BT))


@checked
def matrices(
    m: Count, points: Iterable | None = None, r: Count = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (AT, G, BT) of F(m, r) as float64 arrays."""
    return tuple(np.array(matrix, np.float64) for matrix in transforms(m, points, r))


def with_roots(roots: Iterable[Fraction]) -> list[Fraction]:
    """Return the coefficients of the product of (x - root), lowest power first."""
    coefficients = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *coefficients]  # times x
        coefficients = [s - root * c for s, c in zip(shifted, [*coefficients, Fraction(0)], strict=True)]
    return coefficients


# -- fewer additions ---------------------------------------------------------------------------------------


def in_steps(matrix: Matrix) -> list[Matrix]:
    """Return matrices, applied first to last, whose product is `matrix` and which need fewer operations.

    Points a and -a give rows of BT (columns of AT) that differ in the signs of every other entry only. So
    compute the even half and the odd half once, and add and subtract::

        row(a) = even + odd        row(-a) = even - odd
    """
    if _twins(matrix):
        return _split_rows(matrix, scale=True)
    turned = _matrix(zip(*matrix, strict=True))
    if _twins(turned):  # the same for columns: everything transposed, in reverse order
        return [_matrix(zip(*step, strict=True)) for step in reversed(_split_rows(turned, scale=False))]
    return [matrix]


def _split_rows(matrix: Matrix, scale: bool) -> list[Matrix]:
    """Return (halves, signs): twin rows become their even and odd half, and are put together again."""
    twins, halves, signs = _twins(matrix), [], []
    for i, row in enumerate(matrix):
        if i not in twins:
            signs.append({len(halves): Fraction(1)})
            halves.append(row)
        elif twins[i] > i:
            even, odd = _halves(row, matrix[twins[i]])
            factor = next(c for c in reversed(odd) if c) if scale else Fraction(1)
            signs.append({len(halves): Fraction(1), len(halves) + 1: factor})
            signs.append({len(halves): Fraction(1), len(halves) + 1: -factor})
            halves += [even, tuple(c / factor for c in odd)]  # scaled, its last number is 1: free
    return [_matrix(halves), _matrix([row.get(j, Fraction(0)) for j in range(len(halves))] for row in signs)]


def operations(steps: Iterable[Matrix]) -> int:
    """Return the additions and multiplications of applying `steps` to one vector; times 1 or -1 is free."""
    rows = [[c for c in row if c] for step in steps for row in step]
    return sum(len(row) - 1 + sum(abs(c) != 1 for c in row) for row in rows)


def _twins(matrix: Matrix) -> dict[int, int]:
    """Return {i: j, j: i} for neighbouring rows that differ in the signs of some entries only."""
    pairs = {}
    for i in range(len(matrix) - 1):
        one, other = matrix[i], matrix[i + 1]
        if i not in pairs and one != other and all(abs(a) == abs(b) for a, b in zip(one, other, strict=True)):
            pairs |= {i: i + 1, i + 1: i}
    return pairs


def _halves(one, other):
    even = tuple((a + b) / 2 for a, b in zip(one, other, strict=True))
    odd = tuple((a - b) / 2 for a, b in zip(one, other, strict=True))
    return even, odd


def _matrix(rows) -> Matrix:
    return tuple(map(tuple, rows))
