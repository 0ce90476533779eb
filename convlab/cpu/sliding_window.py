"""A window that slides over a picture: what a depthwise convolution does with a register tile.

The rows of a tile are neighbouring outputs of one line, its columns are channels, and the line below has a
tile of its own. Windows of neighbours overlap: with 3 x 3 taps and stride 1, two lines of four outputs look
at 24 pixels, not at 72. So each pixel is loaded once, and added to every sum that wants it::

    window = window_for(R, S, stride, dilation)      # what the compiler knows; None: tap by tap, see ONE_TAP
    pixels = pixels_under(tile, window, x, image, row, col, H, W, C, outside)
    sums = slide(tile, window, sums, pixels, c, w, q, width)

Where the pixels lie is the same for all channels. So their addresses are found once, and then all channels
come by. What lies beside the picture begins at a row of zeros, and no question is left in the loop: the idea
of the indirect convolution, for one tile (Dukhan 2019, arXiv:1907.02129).

Like a tile's size, the window travels as a type: every load and every multiply-add is written out.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.llvm import INT, Registers, travels_as_type
from convlab.cpu.tile_size import VectorTile, registers, tile_for


class Window:
    """R x S taps; how far neighbours lie apart, down and across; the lines of outputs that share pixels."""

    def __init__(self, taps: tuple[int, int], stride: tuple[int, int] = (1, 1), lines: int = 2):
        self.taps, self.stride, self.lines = taps, stride, lines

    def __repr__(self) -> str:
        return f"Window({self.taps} taps, stride {self.stride}, {self.lines} lines)"

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
    """
    known = R == S in (3, 5, 7) and stride in ((1, 1), (2, 2)) and dilation == (1, 1)
    return Window((R, S), stride) if known else None


@lru_cache
def window_tile(dtype: str, S: int) -> VectorTile:
    """Return the tile of each of the two lines: one vector wide, and as tall as the registers allow.

    Two lines of sums, two lines of weights, a pixel and what the sums are compared with in the end: with
    3 x 3 taps and 4 rows that is 16 registers.
    """
    usual, few = tile_for(dtype), registers() == 16 and S > 3
    return VectorTile(3 if few else 4, 1, usual.lanes, usual.dtype)


class WindowType(types.Type):
    def __init__(self, window: Window):
        self.window, self.lines = window, window.lines
        super().__init__(repr(window))


travels_as_type(Window, WindowType, "lines")


@intrinsic
def pixels_under(typing, tile, window, x, image, row, col, H, W, C, outside):
    """Return where the pixels under two lines of outputs begin, line by line: (h, w) at x[image + (h*W + w)*C].

    The first is pixel (row, col). One that is not in the picture, 0 <= h < H and 0 <= w < W, begins at
    `outside`; where all of them are, that is None.
    """
    down, across = window.window.under(tile.rows)
    kind = Registers("starts", tile.starts.llvm.element, down * across)

    def generate(context, builder, signature, args):
        _, _, x_, image_, row_, col_, H_, W_, C_, outside_ = args
        picture, found = llvm.address(context, builder, x, x_, image_), []
        columns = [builder.add(col_, INT(c)) for c in range(across)]
        for r in range(down):
            h = builder.add(row_, INT(r))
            line = builder.gep(picture, [builder.mul(builder.mul(h, W_), C_)])
            for w in columns:
                pixel = builder.gep(line, [builder.mul(w, C_)])
                if outside != types.none:
                    is_row = builder.icmp_unsigned("<", h, H_)
                    inside = builder.and_(is_row, builder.icmp_unsigned("<", w, W_))
                    nowhere = llvm.address(context, builder, outside, outside_)
                    pixel = builder.select(inside, pixel, nowhere)
                found.append(llvm.opaque(builder, pixel))
        pixels = llvm.empty(kind)
        for i, pixel in enumerate(found):
            pixels = builder.insert_value(pixels, pixel, i)
        return pixels

    return kind(tile, window, x, *[types.intp] * 6, outside), generate


@intrinsic
def slide(typing, tile, window, sums, pixels, c, w, q, width):
    """Return sums with all taps of a window added, for every line l, row i and column j < width::

    sums[l][i, j] += sum over r, s of  pixels[l*down + r, i*across + s][c + j] * w[q + (r*S + s)*cols + j]
    """
    shape = window.window

    def generate(context, builder, signature, args):
        _, _, sums_, pixels_, c_, w_, q_, width_ = args
        down, across = shape.under(tile.rows)

        def weight(q_, r, s, j):
            place = INT(((r * shape.taps[1] + s) * tile.vectors + j) * tile.lanes)
            return builder.load(llvm.address(context, builder, w, w_, q_, place, vector=tile.vector), align=4)

        def pixel(c_, i, j, mask):
            pointer = builder.gep(builder.extract_value(pixels_, i), [builder.add(c_, INT(j * tile.lanes))])
            pointer = builder.bitcast(pointer, tile.vector.as_pointer())
            return llvm.load_below(builder, pointer, mask, tile.vector)

        def add(masks, c_=c_, q_=q_):
            sums = dict.fromkeys(np.ndindex(shape.lines, tile.rows, tile.vectors))
            for at in sums:
                line, i, j = at
                sums[at] = builder.extract_value(sums_, (line, i * tile.vectors + j))
            for h in range(down):
                lines = _who_wants(h, shape.lines, shape.stride[0], shape.taps[0])
                for j, mask in enumerate(masks):
                    weights = {(r, s): weight(q_, r, s, j) for _, r in lines for s in range(shape.taps[1])}
                    for p in range(across):
                        numbers = pixel(c_, h * across + p, j, mask)
                        for i, s in _who_wants(p, tile.rows, shape.stride[1], shape.taps[1]):
                            for line, r in lines:
                                at = line, i, j
                                sums[at] = llvm.multiply_add(builder, numbers, weights[r, s], sums[at])
                *held, c_, q_ = llvm.in_registers(builder, [*sums.values(), c_, q_])
                sums = dict(zip(sums, held, strict=True))
            totals = sums_
            for (line, i, j), total in sums.items():
                totals = builder.insert_value(totals, total, (line, i * tile.vectors + j))
            return totals

        return llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, add)

    return sums(tile, window, sums, pixels, types.intp, w, types.intp, types.intp), generate


def _who_wants(place: int, outputs: int, stride: int, taps: int) -> list[tuple[int, int]]:
    """Return those (output i, tap t) that look at a place: the ones with i*stride + t = place."""
    return [(i, place - i * stride) for i in range(outputs) if 0 <= place - i * stride < taps]
