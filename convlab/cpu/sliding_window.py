"""A window that slides over a picture: what a depthwise convolution does with a register tile.

The rows of a tile are neighbouring outputs of one line, its columns are channels, and the line below has a
tile of its own. Windows of neighbours overlap: with 3 x 3 taps and stride 1, two lines of seven outputs look
at 36 pixels, not at 126. So each pixel is loaded once, and added to every sum that wants it::

    window = window_for(R, S, stride, dilation)      # None: goes tap by tap, with ONE_TAP
    pixels = pixels_under(tile, window, x, image, row, col, H, W, C, outside)
    upper, lower = slide(tile, window, (upper, lower), pixels, c, w, q, width)

Where the pixels lie is the same for all channels. So their addresses are found once, and then all channels
come by. What lies beside the picture begins at a row of zeros, and no question is left in the loop: the idea
of the indirect convolution, for one tile (Dukhan 2019, arXiv:1907.02129).

Like a tile's size, the window travels as a type: every load and every multiply-add is written out.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.llvm import INT, Registers, travels_as_type
from convlab.cpu.tile_size import VectorTile, registers, tile_for, vector_bytes
from convlab.machine.system import compiler_target
from convlab.support.aligned import CACHE_LINE

SHORT = 32  # outputs of a line


class Window:
    """R x S taps; how far neighbours lie apart, down and across; the lines of outputs that share pixels.

    And whether the channels that are next are asked for, `ahead` of the loop.
    """

    def __init__(
        self, taps: tuple[int, int], stride: tuple[int, int] = (1, 1), lines: int = 2, ahead: bool = False
    ):
        self.taps, self.stride, self.lines, self.ahead = taps, stride, lines, ahead

    def __repr__(self) -> str:
        ahead = ", ahead" * self.ahead
        return f"Window({self.taps} taps, stride {self.stride}, {self.lines} lines{ahead})"

    def under(self, rows: int) -> tuple[int, int]:
        """Return how many pixels, down and across, lie under lines of so many outputs."""
        counts = zip((self.lines, rows), self.stride, self.taps, strict=True)
        down, across = ((count - 1) * step + taps for count, step, taps in counts)
        return down, across


ONE_TAP = Window((1, 1), lines=1)  # its pixels may lie anywhere: `within` finds them


@lru_cache
def window_for(R: int, S: int, stride: tuple[int, int], dilation: tuple[int, int]) -> Window | None:
    """Return the window that slides over the picture as a whole, or None where taps come one by one.

    Each is compiled by itself, so there are only a few: 3x3, 5x5 and 7x7 without holes, stride 1 or 2.

    With steps between windows few outputs want a pixel, and each pixel is a stream of its own; under a tall
    tile there are more of them than a processor sees coming. So there the channels that are next are asked
    for, where a vector is a cache line: then each turn of the loop over channels comes to new ones. Measured
    with 3x3 taps, a Zen 5 is 5 to 14 % faster for it. A Zen 4 sees the streams coming: to ask is only more to
    do, and without that it is up to 15 % faster.
    """
    known = R == S in (3, 5, 7) and stride in ((1, 1), (2, 2)) and dilation == (1, 1)
    ahead = stride == (2, 2) and vector_bytes() == CACHE_LINE and compiler_target() != "znver4"
    return Window((R, S), stride, ahead=ahead) if known else None


@lru_cache
def window_tile(dtype: str, window: Window, outputs: int) -> VectorTile:
    """Return the tile of each of the two lines of so many outputs, with the size that is the fastest.

    The registers hold two lines of sums, two lines of weights, a pixel, and the floor that sums are raised
    to. With 32 of them a tile is one vector wide and 7 rows tall: 7 divides the lines of real networks. A
    3 x 3 window at stride 2 shares little with its neighbours, and each pixel is a stream of its own, from
    one channel to the next. So there a tile is 4 rows tall, with 45 pixels under it instead of 75, and two
    vectors wide: two cache lines of each pixel, which arrive together. Of a large picture they come from
    further away, and it is 2 rows tall, with 25 pixels.

    With 16 it is two vectors wide and 2 rows tall, and takes the whole of a cache line, 64 bytes, while it is
    there. A tile half as wide and twice as tall comes back for the other half one turn of the loop later. But
    pixels of 512 channels lie 2 KiB apart: lines at that distance share two sets of the first cache, of 8
    lines each, and the 45 pixels under such a tile at stride 2 push each other out in between.
    """
    usual = tile_for(dtype)
    if registers() == 16:
        size = 2, 2
    elif (window.taps[1], window.stride[1]) == (3, 2):
        size = (4 if outputs <= SHORT else 2), 2
    else:
        size = 7, 1
    return VectorTile(*size, usual.lanes, usual.dtype)


class WindowType(types.Type):
    def __init__(self, window: Window):
        self.window, self.lines = window, window.lines
        super().__init__(repr(window))


travels_as_type(Window, WindowType, "lines")


@intrinsic
def pixels_under(typing, tile, window, x, image, row, col, H, W, C, outside):
    """Return where the pixels under both lines of outputs begin, line by line, from pixel (row, col) on.

    Pixel (h, w) is at ``x[image + (h*W + w)*C]``, or at `outside` if it is not in the picture: 0 <= h < H and
    0 <= w < W. Where all of them are in it, `outside` is None and nothing is looked at.
    """
    down, across = window.window.under(tile.rows)
    kind = Registers("starts", tile.starts.llvm.element, down * across)

    def generate(context, builder, signature, args):
        _, _, x_, image_, row_, col_, H_, W_, C_, outside_ = args
        picture, pixels = llvm.address(context, builder, x, x_, image_), llvm.empty(kind)
        for r, c in np.ndindex(down, across):
            h, w = builder.add(row_, INT(r)), builder.add(col_, INT(c))
            place = builder.mul(builder.add(builder.mul(h, W_), w), C_)
            pixel = builder.gep(picture, [place])
            if outside != types.none:
                inside = builder.icmp_unsigned("<", h, H_), builder.icmp_unsigned("<", w, W_)
                nowhere = llvm.address(context, builder, outside, outside_)
                pixel = builder.select(builder.and_(*inside), pixel, nowhere)
            pixels = builder.insert_value(pixels, llvm.opaque(builder, pixel), r * across + c)
        return pixels

    return kind(tile, window, x, *[types.intp] * 6, outside), generate


@intrinsic
def slide(typing, tile, window, sums, pixels, c, w, q, width):
    """Return the sums of each line with all taps of a window added, for every row and column j < width.

    Tap (r, s) adds ``pixel[c + j] * w[q + (r*S + s)*lanes + j]`` to the first vector of columns. The panel of
    the next vector follows in w, R*S*lanes numbers further on. Under a tall tile a window with `ahead` asks
    for the vectors that are next.
    """
    shape, rows = window.window, tile.rows
    down, across = shape.under(rows)
    asks = shape.ahead and rows > 2

    def generate(context, builder, signature, args):
        _, _, sums_, pixels_, c_, w_, q_, width_ = args

        def weight(q_, v, r, s):
            column = INT(((v * shape.taps[0] + r) * shape.taps[1] + s) * tile.lanes)
            return builder.load(
                llvm.address(context, builder, w, w_, q_, column, vector=tile.vector), align=4
            )

        def numbers(c_, place, v, mask):
            pointer = builder.gep(builder.extract_value(pixels_, place), [c_])
            if asks:
                after = builder.gep(pointer, [INT(tile.cols + v * tile.lanes)])
                llvm.prefetch(builder, after, level=1)
            pointer = builder.bitcast(builder.gep(pointer, [INT(v * tile.lanes)]), tile.vector.as_pointer())
            return llvm.load_below(builder, pointer, mask, tile.vector)

        def add(masks, c_=c_, q_=q_):
            places = {
                (line, i, v): (line, i * tile.vectors + v)
                for line, i, v in np.ndindex(shape.lines, rows, tile.vectors)
            }
            sums = {at: builder.extract_value(sums_, place) for at, place in places.items()}
            for h, (v, mask) in product(range(down), enumerate(masks)):
                lines = _who_wants(h, shape.lines, shape.stride[0], shape.taps[0])
                weights = {(r, s): weight(q_, v, r, s) for _, r in lines for s in range(shape.taps[1])}
                for p in range(across):
                    vector = numbers(c_, h * across + p, v, mask)
                    for i, s in _who_wants(p, rows, shape.stride[1], shape.taps[1]):
                        for line, r in lines:
                            total = llvm.multiply_add(builder, vector, weights[r, s], sums[line, i, v])
                            sums[line, i, v] = total
                # The addresses pass, too: no pixel and no weight of what comes next is loaded before.
                *held, c_, q_ = llvm.in_registers(builder, [*sums.values(), c_, q_])
                sums = dict(zip(sums, held, strict=True))
            totals = sums_
            for at, total in sums.items():
                totals = builder.insert_value(totals, total, places[at])
            return totals

        return llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, add)

    return sums(tile, window, sums, pixels, types.intp, w, types.intp, types.intp), generate


def _who_wants(place: int, outputs: int, stride: int, taps: int) -> list[tuple[int, int]]:
    """Return those (output i, tap t) that look at a place: the ones with i*stride + t = place."""
    return [(i, place - i * stride) for i in range(outputs) if 0 <= place - i * stride < taps]
