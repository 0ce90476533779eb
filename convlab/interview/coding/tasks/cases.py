"""Pictures and filters in PyTorch's order to try an answer on, and how a right answer got there.

As everywhere in the course the first cases are small and of whole numbers, the last of fractions.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from convlab.lessons.cases import filled
from convlab.oracle import reference
from convlab.problem import ConvProblem

_LIBRARIES = ("<frozen", "<__array_function__", sys.prefix, sys.base_prefix)
_MORE = 6  # lines, and there is no loop yet: a question may have another answer


def pictures(*shapes: tuple[int, ...], seed: int = 17) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield x (N, C, H, W) and w (K, D, R, S) for shapes (N, C, H, W, K, D, R, S); the last of fractions."""
    rng = np.random.default_rng(seed)
    for number, (N, C, H, W, K, D, R, S) in enumerate(shapes, 1):
        whole = number < len(shapes)
        yield filled(rng, N, C, H, W, whole=whole), filled(rng, K, D, R, S, whole=whole)


def convolutions() -> Iterator[tuple]:
    """Yield (x, w, padding), the smallest first."""
    shapes = (
        (1, 1, 3, 4, 1, 1, 2, 2),
        (1, 2, 3, 3, 1, 2, 2, 2),
        (1, 1, 4, 3, 1, 1, 3, 2),
        (1, 1, 3, 5, 1, 1, 1, 3),
        (1, 3, 4, 5, 2, 3, 2, 3),
        (2, 2, 5, 4, 3, 2, 3, 1),
        (1, 2, 3, 2, 2, 2, 1, 1),
        (2, 3, 6, 5, 4, 3, 3, 2),
    )
    for (x, w), padding in zip(pictures(*shapes), (0, 0, 1, 2, 0, 1, 1, 2), strict=True):
        yield x, w, padding


def convolved(x, w, padding, stride=1, groups=1) -> np.ndarray:
    """Return y (N, K, P, Q) in float64, by the library's reference."""
    x, w = x.transpose(0, 2, 3, 1), w.transpose(0, 2, 3, 1)  # channels last, as the library has them
    problem = ConvProblem.of(x, w, stride=stride, padding=padding, groups=groups)
    return reference(x, w, problem).transpose(0, 3, 1, 2)


def taps_of(index: tuple[int, ...], x, w, padding, stride=1) -> tuple[str, list[tuple[int, ...]]]:
    """Return which pixels of x an output reads, in the first channel: the `window` of a convolution."""
    n, _, p, q = index
    top, left = p * stride - padding, q * stride - padding
    return "x", [(n, 0, top + r, left + s) for r, s in np.ndindex(*w.shape[2:])]


def lines_run(function: Callable[..., Any], *arguments: Any) -> tuple[int, int]:
    """Call a function and return how many lines of Python ran: outside of libraries, and in them."""
    count = [0, 0]

    def look(frame: FrameType, event: str, _: Any) -> Any:
        count[frame.f_code.co_filename.startswith(_LIBRARIES)] += event == "line"
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count[0], count[1]


def looped(function: Callable[..., Any], small: tuple[int, ...], large: tuple[int, ...]) -> str:
    """Say that a convolution takes more lines of Python for a larger layer, padding 1; "" if it does not.

    A loop in a library, as `np.vectorize` has one, is seen as well; but NumPy's own lines may be a few more.
    """
    (x, w), *both = pictures(small, small, large)
    function(x, w, 1)  # what is done once only, at the first call of all, does not count
    (few, theirs), (many, also_theirs) = (lines_run(function, *operands, 1) for operands in both)
    if many <= few + _MORE and also_theirs <= 2 * theirs:
        return ""
    return f"A small layer takes {few + theirs:,} lines of Python, a larger one {many + also_theirs:,}"


def most_bytes(function: Callable[..., Any], *arguments: Any) -> int:
    """Call a function and return the most bytes that it held at once beside its arguments."""
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        function(*arguments)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()
