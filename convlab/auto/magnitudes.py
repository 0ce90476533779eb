"""Are numbers of such sizes safe in a transform? What `auto` asks of x and w before it takes one.

Winograd's convolution and Fourier's mix all pixels of a tile, or of the picture, and part them again at the
end. A plain sum never sees the pixels beside its window. So a transform can fail where a plain sum does not:

    too large    numbers on the way get larger than x, w and y: by the factor `growth`, which each algorithm
                 works out of its matrices. Beyond the largest float they are infinite.
    too small    below the smallest normal float digits are lost, and on the way back what was lost grows: by
                 no more than the same factor.
    too mixed    every output of a tile is off by what rounding leaves of the tile's *largest* pixel: up to

                     8 * eps * rounding * largest pixel of the tile            (`convlab.oracle.tolerance`)

                 beside what the pixels under its own window add up to. If these are so small that not one
                 digit is sure, a tenth, then the tile is too mixed. For float32 that is one pixel of 1e5
                 among others of 1. (A pixel that is alone does less harm the larger its tile is: see `fft`.
                 But here the question is what is safe.)
    not finite   NaN and infinity are spread over the tile.

The size of a pixel is that of its largest channel. Only if the smallest pixel is so much smaller than the
largest one of all are windows and tiles looked at; mostly one pass over x is enough. Windows of zeros do not
count: where x is zero, y is 0 but for rounding. Nor does the smallest hundredth of windows: in sparse
pictures a few hold next to nothing.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.oracle import WORST
from convlab.problem import ConvProblem

DIGIT = 10
FEW = 100  # one window of so many may hold next to nothing


def of_weights(problem: ConvProblem, algorithm: Algorithm, w: np.ndarray) -> tuple[float, str | None]:
    """Return the largest weight, and why a transform is not safe with these weights, or None."""
    weight, lost = largest(w), _lost(problem, algorithm)
    if found := _out_of_range("w", weight, 1.0, problem, algorithm):
        return weight, found
    if _reach(w, 1, lost * weight):
        return weight, None
    sizes = _sizes(w, 1)[..., 0]  # (K, R, S)
    # At the edge of the picture a window hangs over it, and a few taps have to make up the output.
    whole = sizes.max(axis=(1, 2))
    for rows in _inside(problem, 0):
        lines = sizes[:, rows].max(axis=1)  # (K, S)
        for cols in _inside(problem, 1):
            few = lines[:, cols].max(axis=1)
            if np.any((few > 0) & (few < lost * whole)):
                return weight, f"w has taps at the edge that are {_times(whole, few)} smaller than others"
    return weight, None


def of_pixels(
    problem: ConvProblem, algorithm: Algorithm, x: np.ndarray, weight: float, name: str = "x"
) -> str | None:
    """Return why a transform is not safe with these pixels, or None; `weight` is the largest weight."""
    most, lost = largest(x), _lost(problem, algorithm)
    if found := _out_of_range(name, most, weight, problem, algorithm):
        return found
    floor = _smallest(problem, algorithm) / min(weight, 1.0) if weight else 0.0
    if _reach(x, problem.groups, max(lost * most, floor)):
        return None
    sizes = _sizes(x, problem.groups)  # (N, H, W, G)
    mixing, windows, tiles = algorithm.mixing(problem), sizes, sizes
    for axis, (taps, out) in enumerate(zip((problem.R, problem.S), problem.y_shape[1:3], strict=True), 1):
        step, before = problem.stride[axis - 1], problem.padding[axis - 1][0]
        pixels, together = mixing.pixels[axis - 1], mixing.outputs[axis - 1]
        windows = _most(windows, axis, taps, step, out, before)
        tiles = _most(tiles, axis, pixels, step * together, -(-out // together), before)
        tiles = tiles.repeat(together, axis).take(np.arange(out), axis)  # (N, P, Q, G), as `windows` is
    bad = windows[(windows > 0) & (windows < np.maximum(lost * tiles, floor))]
    if bad.size:
        some = windows[windows > 0]
        bad = bad[bad >= np.partition(some, some.size // FEW)[some.size // FEW]]
    return f"{name} has windows that are {_times(most, bad)} smaller than others" if bad.size else None


def _out_of_range(name, size, other, problem, algorithm) -> str | None:
    """Return why numbers of this size, and their products with the other's, are not safe."""
    if not np.isfinite(size):
        return f"{name} holds NaN or infinity, which it would spread"
    most, growth = float(np.finfo(problem.dtype).max), algorithm.mixing(problem).growth
    for number in (size, size * other):
        if number * growth > most:
            return f"{name} has numbers as large as {size:.0e}, which would overflow"
        if 0 < number < _smallest(problem, algorithm):
            return f"{name} has numbers no larger than {size:.0e}, which would lose their last digits"
    return None


def _smallest(problem: ConvProblem, algorithm: Algorithm) -> float:
    """Return the smallest number that keeps all its digits on the way."""
    return float(np.finfo(problem.dtype).tiny) * algorithm.mixing(problem).growth


def _lost(problem: ConvProblem, algorithm: Algorithm) -> float:
    """Return the size, beside a tile's largest pixel, of which rounding leaves not one sure digit."""
    return DIGIT * WORST * float(np.finfo(problem.dtype).eps) * algorithm.rounding


def _times(large, small) -> str:
    return f"{np.max(large) / np.min(small[small > 0]):.0e} times"


def _inside(problem: ConvProblem, axis: int) -> list[slice]:
    """Return the taps of each window along an axis that lie in the picture; of those alike only once.

    Windows that lie wholly on padding have none, and are left out. Any others but the first and the last few
    lie in the picture as a whole.
    """
    (before, _), step, size = problem.padding[axis], problem.stride[axis], problem.x_shape[1 + axis]
    taps, out = problem.w_shape[1 + axis], problem.y_shape[1 + axis]
    first, end = max(0, (before - taps) // step + 1), min(out, (before + size - 1) // step + 1)
    windows = {*range(first, min(first + taps, end)), *range(max(first, end - taps), end)}
    starts = (i * step - before for i in windows)
    return [slice(*ends) for ends in sorted({(max(0, -at), min(taps, size - at)) for at in starts})]


def _most(sizes: np.ndarray, axis: int, taps: int, step: int, count: int, before: int) -> np.ndarray:
    """Return the largest of `taps` neighbours along an axis, from `count` places on that lie `step` apart."""
    lines = np.moveaxis(sizes, axis, 0)
    padded = np.zeros((step * (count - 1) + taps, *lines.shape[1:]), sizes.dtype)
    inside = padded[before : before + len(lines)]
    inside[...] = lines[: len(inside)]
    most = padded[: step * (count - 1) + 1 : step].copy()
    for tap in range(1, taps):
        np.maximum(most, padded[tap : tap + step * (count - 1) + 1 : step], out=most)
    return np.moveaxis(most, 0, axis)


# -- one pass over all numbers -----------------------------------------------------------------------------


def largest(array: np.ndarray) -> float:
    """Return the size of the largest number; NaN if there is one."""
    return float(np.maximum(array.max(), -array.min()))


def _reach(array: np.ndarray, groups: int, size: float) -> bool:
    """Say if each pixel has a channel of this size or a larger one, or is zero; in each group of channels."""
    from convlab.cpu.scan import all_reach

    bits, sign = _bits(array)
    return all_reach(bits, groups, array.dtype.type(size).view(bits.dtype), sign)


def _sizes(array: np.ndarray, groups: int) -> np.ndarray:
    """Return the size of the largest channel of each group, (N, H, W, groups)."""
    return np.abs(array).reshape(*array.shape[:3], groups, -1).max(axis=4)


def _bits(array: np.ndarray) -> tuple[np.ndarray, np.signedinteger]:
    """Return the numbers as whole ones of the same bits, and the bits that are not the sign."""
    whole = np.dtype(f"i{array.itemsize}")
    return np.asarray(array).view(whole), whole.type(np.iinfo(whole).max)
