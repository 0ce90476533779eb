"""Arrays that are watched: where numbers of one meet numbers of another, it is counted."""

import numpy as np
import pytest

from convlab.lessons.watch import Log, watched

A, B = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
SUM = np.ones((2, 3))


@pytest.mark.parametrize(
    ("product", "count"),
    [
        (lambda a, b: a @ b, 60),
        (lambda a, b: np.dot(a, b), 60),
        (lambda a, b: a.dot(b), 60),
        (lambda a, b: np.tensordot(a, b, 1), 60),
        (lambda a, b: np.einsum("ik,kj->ij", a, b), 60),
        (lambda a, b: np.einsum("ik, kj -> ij", a, b, optimize=True), 60),
        (lambda a, b: a[:, :, None] * b, 60),
        (lambda a, b: np.multiply.outer(a, b), 240),
        (lambda a, b: np.outer(a, b), 240),
        (lambda a, b: a[:, 0] * b[0, 0] + a[0, 0] * b[0, 0], 4),
        (lambda a, b: np.einsum("li,ik,kj->lj", SUM, a, b), 60),  # what stands beside them does not count
        (lambda a, b: SUM @ a, 0),
        (lambda a, b: a * a, 0),
        (lambda a, b: (a @ b) * 2, 60),
        (lambda a, b: a.sum() * b.sum(), 1),
        (lambda a, b: np.convolve(a[0], b[0]), 20),
    ],
)
def test_products_are_counted(product, count):
    log = Log()
    result = product(*watched(log, a=A, b=B))
    assert log.count == count
    assert np.array_equal(result, product(A, B))
