"""`blocked_product` takes any product in blocks, however it is written, and no product of whole matrices."""

from itertools import product

import numpy as np
import pytest

from convlab.lessons import check


def filled_up(a, b, size):
    """Copies filled up with zeros, cut into four axes, and batched products."""
    (M, K), N = a.shape, b.shape[1]
    rows, depth, columns = (-(-n // size) for n in (M, K, N))
    left, right = np.zeros((rows * size, depth * size)), np.zeros((depth * size, columns * size))
    left[:M, :K], right[:K, :N] = a, b
    left = left.reshape(rows, size, depth, size).transpose(0, 2, 1, 3)
    right = right.reshape(depth, size, columns, size).transpose(0, 2, 1, 3)
    y = sum(left[:, k, None] @ right[k][None] for k in range(depth))
    return y.transpose(0, 2, 1, 3).reshape(rows * size, columns * size)[:M, :N]


def in_lists(a, b, size):
    """Lists of numbers, and loops over blocks with loops over numbers in them."""
    a, b = a.tolist(), b.tolist()
    y = [[0.0] * len(b[0]) for _ in a]

    def cut(n):
        return [range(i, min(i + size, n)) for i in range(0, n, size)]

    for rows in cut(len(a)):
        for columns in cut(len(b[0])):
            for ks in cut(len(b)):
                for m in rows:
                    for n in columns:
                        y[m][n] += sum(a[m][k] * b[k][n] for k in ks)
    return y


def halved(a, b, size):
    """Cut in two until it is small enough."""
    (M, K), N = a.shape, b.shape[1]
    if max(M, K, N) <= size:
        return a @ b
    if max(M, K, N) == M:
        return np.vstack([halved(part, b, size) for part in np.array_split(a, 2)])
    if max(K, N) == N:
        return np.hstack([halved(a, part, size) for part in np.array_split(b, 2, axis=1)])
    parts = zip(np.array_split(a, 2, axis=1), np.array_split(b, 2), strict=True)
    return sum(halved(left, right, size) for left, right in parts)


def in_lists_of_floats(a, b, size):
    """The same, after floats were made of all numbers, one by one."""
    return in_lists(*(np.array([list(map(float, row)) for row in matrix]) for matrix in (a, b)), size)


@pytest.mark.parametrize("answer", [filled_up, in_lists, in_lists_of_floats, halved])
def test_blocks_of_any_kind_are_right(answer):
    note = check("blocked_product", answer)
    assert note.good, note


WHOLE = {
    "@": lambda a, b, size: a @ b,
    "dot": lambda a, b, size: np.dot(a, b),
    "einsum": lambda a, b, size: np.einsum("mk,kn->mn", a, b),
    "tensordot": lambda a, b, size: np.tensordot(a, b, 1),
    "rows only": lambda a, b, size: np.vstack([a[m : m + size] @ b for m in range(0, len(a), size)]),
    "plain arrays": lambda a, b, size: np.asarray(a) @ np.asarray(b),
    "plain arrays, einsum": lambda a, b, size: np.einsum("mk,kn", np.asarray(a), np.asarray(b)),
    "plain arrays of float64": lambda a, b, size: np.array(a, float) @ np.array(b, float),
    "lists": lambda a, b, size: np.array(a.tolist()) @ np.array(b.tolist()),
    "plain arrays, dot": lambda a, b, size: np.dot(np.asarray(a), np.asarray(b)),
}


def number_by_number(a, b, size):
    """Three loops over numbers: there are no blocks."""
    y = np.zeros((len(a), b.shape[1]), a.dtype)
    for i in range(len(a)):
        for j in range(b.shape[1]):
            for k in range(len(b)):
                y[i, j] += a[i, k] * b[k, j]
    return y


def numbers_in_another_order(a, b, size):
    """The same with the sum outermost, row by row, and with Python's floats."""
    y = np.zeros((len(a), b.shape[1]))
    for k in range(len(b)):
        for i, row in enumerate(a):
            for j in range(b.shape[1]):
                y[i, j] += float(row[k]) * float(b[k, j])
    return y


@pytest.mark.parametrize("answer", [number_by_number, numbers_in_another_order])
def test_loops_that_never_use_the_size_are_refused(answer):
    note = check("blocked_product", answer)
    assert note.good is False
    assert "does not depend on `size`" in note.diagnosis


def blocks_but_along_k(a, b, size):
    """Blocks of y, each number of it summed up over all of K."""
    y = np.zeros((len(a), b.shape[1]))
    for i, j in product(range(0, len(a), size), range(0, b.shape[1], size)):
        for m, n in product(range(i, min(i + size, len(a))), range(j, min(j + size, b.shape[1]))):
            for k in range(len(b)):
                y[m, n] += a[m, k] * b[k, n]
    return y


def test_blocks_of_y_that_go_over_all_of_k_at_once_are_refused():
    note = check("blocked_product", blocks_but_along_k)
    assert note.good is False
    assert "along K there are no blocks" in note.diagnosis


def numbers_in_blocks(a, b, size):
    """Six loops: over blocks, and over the numbers of each."""
    (M, K), N = a.shape, b.shape[1]
    y = np.zeros((M, N), a.dtype)
    for i, j, k in product(range(0, M, size), range(0, N, size), range(0, K, size)):
        block = (range(start, min(start + size, end)) for start, end in ((i, M), (j, N), (k, K)))
        for m, n, c in product(*block):
            y[m, n] += a[m, c] * b[c, n]
    return y


def test_loops_over_the_numbers_of_a_block_are_right():
    assert check("blocked_product", numbers_in_blocks).good


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE)
def test_a_product_of_whole_matrices_is_refused(answer):
    note = check("blocked_product", answer)
    assert note.good is False
    assert "not in the way" in note.title
    assert "locks" in note.diagnosis
