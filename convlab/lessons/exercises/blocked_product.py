"""Notebook 03: a product of matrices, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np

from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake
from convlab.lessons.noted import products_of
from convlab.lessons.watch import Log, watched


def blocked_product(a, b, size):
    """Return a @ b, from blocks of at most size x size."""
    # your code here
    (M, K), N = a.shape, b.shape[1]
    y = np.zeros((M, N), a.dtype)
    for m in range(0, M, size):
        for n in range(0, N, size):
            for k in range(0, K, size):
                block = a[m : m + size, k : k + size] @ b[k : k + size, n : n + size]
                y[m : m + size, n : n + size] += block
    return y


_SHAPES = (  # M, N, K, size
    *((2, 2, 2, 2), (2, 2, 4, 2), (4, 2, 2, 2), (3, 3, 3, 2), (5, 7, 6, 3), (4, 4, 4, 9)),
    *((2, 2, 9, 2), (2, 2, 2, 1), (7, 5, 9, 4)),
)


def _cases() -> Iterator[tuple]:
    """(a, b, size)"""
    rng = np.random.default_rng(5)
    for number, (M, N, K, size) in enumerate(_SHAPES, 1):
        whole = number < len(_SHAPES)
        yield filled(rng, M, K, whole=whole), filled(rng, K, N, whole=whole), size


def _in_blocks(function: Callable) -> str:
    """Look at the products that are made: none may have a side longer than a block's."""
    size = 3
    log = _watched_work(function, size)
    for (one, two), _ in log.products:
        if max((*one, *two), default=1) > size:
            shapes = " by ".join(" x ".join(map(str, shape)) or "one number" for shape in (one, two))
            return (
                f"With size = {size} it multiplies {shapes}: no block may have more than {size} rows or "
                "columns. Cut a and b into blocks, multiply block by block, and add up what belongs together."
            )
    work = [] if any(one or two for (one, two), _ in log.products) else _noted_work(function, size)
    if work:  # number by number
        alike = work == _noted_work(function, 2)
    else:  # it makes floats of the numbers: each time anew, or once, and then nothing shows
        reads = sum(shape == () for parts in log.read.values() for shape in parts)
        once = reads <= sum(matrix.size for matrix in _small())
        alike = not once and log.order == _watched_work(function, 2).order
    if alike:
        return (
            "Your order of work does not depend on `size`: it takes number after number as if there were no "
            "blocks. Let the outer loops go in steps of `size`, and multiply one block before the next."
        )
    if max((len(list(run)) for _, run in groupby(work, _number_of_y)), default=0) > size:
        return (
            "It goes over all of K for a number of y before it begins the next: along K there are no blocks. "
            "Multiply one block of a by one of b, all numbers of it, before the next."
        )
    if not log.products and _at_once(function):
        return (
            "To the last bit your numbers are those of one product of all of a and b: sums in blocks are "
            "rounded otherwise. Multiply slices of them: a[m : m + size, k : k + size]."
        )
    return ""


def _number_of_y(product: tuple) -> tuple[int, int]:
    """Return the row and the column of y that a product of a number of a by one of b belongs to."""
    (row, _), (_, column) = product
    return row, column


def _watched_work(function: Callable, size: int) -> Log:
    """Return what is seen of the product of two small matrices."""
    log, (a, b) = Log(), _small()
    function(*watched(log, a=a, b=b), size)
    return log


def _noted_work(function: Callable, size: int) -> list:
    """Return which numbers of the two it multiplies, in turn."""
    return products_of(function, *_small(), size)


def _small() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(6)
    return filled(rng, 5, 6), filled(rng, 6, 7)


def _at_once(function: Callable) -> bool:
    """Tell by the rounding, where nothing else shows: long sums of fractions, in both precisions.

    A product of whole matrices adds several at a time; sums in blocks, or one by one, round otherwise.
    """
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.float64):
        a: np.ndarray = rng.standard_normal((6, 500)).astype(dtype)
        b: np.ndarray = rng.standard_normal((500, 7)).astype(dtype)
        if np.array_equal(np.asarray(function(a.copy(), b.copy(), 3)), a @ b):
            return True
    return False


EXERCISE = Exercise(
    notebook="03",
    statement="blocked_product(a, b, size) returns a @ b, from products of blocks: a and b are cut into "
    "blocks of at most `size` x `size`, also along K, and what belongs together is added up.",
    solution=blocked_product,
    why="Three loops walk over blocks as the three loops of a product walk over numbers. A slice that runs "
    "past the edge is simply shorter, so the last blocks need no case of their own.",
    hints=(
        "Write the product of matrices with three loops over numbers. Then let each take steps of `size`.",
        "A block of y needs the blocks of a in its rows and the blocks of b in its columns. Which of them "
        "are multiplied with each other, and what becomes of the products?",
        "In loops over m, n and k in steps of `size`, add the product of a's block at (m, k) and b's block "
        "at (k, n) to y's block at (m, n). A block is a slice in both directions; NumPy cuts off what runs "
        "over the edge.",
    ),
    cases=_cases,
    answer=lambda a, b, size: a.astype(np.float64) @ b,
    shapes={"a": "MK", "b": "KN", "return": ("row", "column")},
    method=_in_blocks,
    mistakes=(
        Mistake(
            "leaves out what does not fill a block",
            {
                "range(0, M, size)": "range(0, M - size + 1, size)",
                "range(0, N, size)": "range(0, N - size + 1, size)",
                "range(0, K, size)": "range(0, K - size + 1, size)",
            },
            "The sizes need not divide: the last block of each row and column is smaller, and counts.",
        ),
        Mistake(
            "leaves out the rows of a that do not fill a block",
            {"range(0, M, size)": "range(0, M - size + 1, size)"},
            "The last block of rows is smaller, and counts.",
        ),
        Mistake(
            "leaves out the columns of b that do not fill a block",
            {"range(0, N, size)": "range(0, N - size + 1, size)"},
            "The last block of columns is smaller, and counts.",
        ),
        Mistake(
            "leaves out what does not fill a block along k",
            {"range(0, K, size)": "range(0, K - size + 1, size)"},
            "The last block along k is smaller, and belongs into the sum.",
        ),
        Mistake(
            "does not add up along k",
            {"+= block": "= block"},
            "A block of y is a sum over all blocks along k; each overwrites the one before.",
        ),
        Mistake(
            "multiplies the first block of k only",
            {"range(0, K, size)": "range(0, min(K, size), size)"},
            "The sum goes over all of K, in steps of `size`.",
        ),
        Mistake(
            "multiplies number by number",
            {"] @ b[k : k + size, n : n + size]": "] * b[k : k + size, n : n + size]"},
            "`*` multiplies the numbers at the same place; `@` is the product of matrices.",
        ),
        Mistake(
            "stops at the shorter side of a",
            {"range(0, K, size)": "range(0, min(M, K), size)"},
            "The loop over k goes over the columns of a, which are K, not over its rows.",
        ),
        Mistake(
            "writes into whole numbers",
            {"a.dtype": "int", "+= block": "+= block.astype(int)"},
            "An array of integers drops the fraction of everything that is written into it.",
        ),
    ),
)
