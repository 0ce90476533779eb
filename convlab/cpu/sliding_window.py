"""A window that slides along a line of pixels: what a depthwise convolution does with a register tile.

The rows of a tile are neighbouring outputs of one line, its columns are channels. Windows of neighbours
overlap: with three taps and stride 1, seven outputs look at nine pixels, not at twenty-one. So each pixel is
loaded once, and added to every sum that wants it::

    window = window_for(S, stride, dilation)         # how many taps slide at once
    sums = slide(tile, window, sums, x, line, place, step, limit, outside, w, q, width)

Like a tile's size, the window travels as a type: every load and every multiply-add is written out.
"""

from __future__ import annotations

from functools import lru_cache

from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.llvm import INT, travels_as_type


class Window:
    """`taps` taps side by side, and how far the windows of two neighbouring outputs lie apart, in pixels."""

    def __init__(self, taps: int, stride: int):
        self.taps, self.stride = taps, stride

    def __repr__(self) -> str:
        return f"Window({self.taps} taps, stride {self.stride})"


@lru_cache
def window_for(S: int, stride: int, dilation: int) -> Window:
    """Return the window for lines of S taps: all taps at once, or one by one where it would be no gain.

    A window of one tap serves every stride and dilation, since the distance of its pixels is a number that
    the kernel is given. Other windows are compiled one by one, so there are only a few: S = 3, 5 and 7.
    """
    return Window(S, stride) if S in (3, 5, 7) and stride in (1, 2) and dilation == 1 else Window(1, 1)


class WindowType(types.Type):
    def __init__(self, window: Window):
        self.taps, self.stride = window.taps, window.stride
        super().__init__(repr(window))


travels_as_type(Window, WindowType, "taps")


@intrinsic
def slide(typing, tile, window, sums, x, line, place, step, limit, outside, w, q, width):
    """Return sums with the taps of one line of a window added, for every row i and every column j < width::

        sums[i, j] += sum over s of  x[line + at(i, s) + j] * w[q + s*cols + j]
                                     at(i, s) = place + (i*stride + s) * step

    A pixel that is not on the line, 0 <= at < limit, reads `outside`; where all of them are, that is None.
    """

    def generate(context, builder, signature, args):
        _, _, sums_, x_, line_, place_, step_, limit_, outside_, w_, q_, width_ = args
        start = llvm.address(context, builder, x, x_, line_)

        def pixel(p):
            at = builder.add(place_, builder.mul(INT(p), step_))
            pointer = builder.gep(start, [at])
            if outside != types.none:
                inside = builder.icmp_unsigned("<", at, limit_)
                nowhere = llvm.address(context, builder, outside, outside_)
                pointer = builder.select(inside, pointer, nowhere)
            return pointer

        def add(masks):
            totals, weights = sums_, {}
            for s in range(window.taps):
                for j in range(tile.vectors):
                    column = INT((s * tile.vectors + j) * tile.lanes)
                    weight = llvm.address(context, builder, w, w_, q_, column, vector=tile.vector)
                    weights[s, j] = builder.load(weight, align=4)
            for p in range((tile.rows - 1) * window.stride + window.taps):
                wanted = _who_wants(p, tile, window)
                here = pixel(p)
                for j, mask in enumerate(masks):
                    pointer = builder.gep(here, [INT(j * tile.lanes)])
                    pointer = builder.bitcast(pointer, tile.vector.as_pointer())
                    numbers = llvm.load_below(builder, pointer, mask, tile.vector)
                    for i, s in wanted:
                        k = i * tile.vectors + j
                        total = builder.extract_value(totals, k)
                        total = llvm.multiply_add(builder, numbers, weights[s, j], total)
                        totals = builder.insert_value(totals, total, k)
            return totals

        return llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, add)

    numbers = [types.intp] * 4
    return sums(tile, window, sums, x, *numbers, outside, w, types.intp, types.intp), generate


def _who_wants(p: int, tile, window) -> list[tuple[int, int]]:
    """Return those (row i, tap s) that look at pixel p: the ones with i*stride + s = p."""
    pairs = [(p - s, s) for s in range(window.taps)]
    return [
        (place // window.stride, s)
        for place, s in pairs
        if place % window.stride == 0 and 0 <= place // window.stride < tile.rows
    ]
