"""Groups side by side in a vector: one tile for all of them, where each has few channels and as many filters.

A group of 4 channels and 4 filters fills a quarter of a vector of 16 lanes: a number of x that is spread over
all of them meets 4 weights and 12 zeros. But channels lie side by side in memory, those of one group after
those of another, and so do their filters. So here a vector of filters belongs to several groups, and meets a
vector of channels, of which every lane takes the one of its own group whose turn it is::

    channels of a pixel    a0 a1 a2 a3   b0 b1 b2 b3   c0 ...      groups a, b, c
    first turn             a0 a0 a0 a0   b0 b0 b0 b0   c0 ...      times the weights of their first channels
    second turn            a1 a1 a1 a1   b1 b1 b1 b1   c1 ...      times those of their second, and so on

So each multiply-add has an instruction before it that hands numbers from lane to lane. Within 16 bytes that
is a quick one; from further away they are brought near first, once for as many turns as fit into 16 bytes.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.llvm import INT


@intrinsic
def accumulate_groups(typing, tile, sums, rows, w, q, width):
    """Return sums with a tap of all groups of a tile added, for every row i and column j < width.

    In turn c, column j adds ``rows[i][j - j % group + c] * w[q + c*cols + j]``. A tile whose columns are all
    of one group has `accumulate` instead; its sums come back as they are.
    """
    group, lanes = tile.group, range(tile.lanes)
    near = 16 // np.dtype(tile.tile.dtype).itemsize
    alone = group == tile.lanes  # a vector is one group: nothing is handed from lane to lane

    def generate(context, builder, signature, args):
        _, sums_, starts_, w_, q_, width_ = args

        def channels(start, v, mask):
            pointer = builder.bitcast(builder.gep(start, [INT(v * tile.lanes)]), tile.vector.as_pointer())
            return llvm.load_below(builder, pointer, mask, tile.vector)

        def brought_near(pixel, c):
            """Return the channels c and following of each group, wherever 16 bytes of it begin."""
            if group <= near:
                return pixel
            spread = [lane - lane % group + c + lane % near for lane in lanes]
            return llvm.opaque(builder, llvm.lanes_of(builder, pixel, spread))

        def handed_over(part, c):
            turn = [lane - lane % min(group, near) + c % near for lane in lanes]
            return llvm.lanes_of(builder, part, turn)

        def in_every_lane(start, v, c):
            number = builder.load(builder.gep(start, [INT(v * tile.lanes + c)]))
            return llvm.in_every_lane(builder, number, tile.vector)

        def add(masks, q_=q_):
            sums = [builder.extract_value(sums_, k) for k in range(tile.rows * tile.vectors)]
            starts = [builder.extract_value(starts_, i) for i in range(tile.rows)]
            for v, mask in enumerate(masks):
                pixels = [] if alone else [channels(start, v, mask) for start in starts]
                for c in range(group):
                    if c % near == 0:
                        parts = [brought_near(pixel, c) for pixel in pixels]
                    if alone:
                        numbers = [in_every_lane(start, v, c) for start in starts]
                    else:
                        numbers = [handed_over(part, c) for part in parts]
                    column = INT(c * tile.cols + v * tile.lanes)
                    at = llvm.address(context, builder, w, w_, q_, column, vector=tile.vector)
                    weights = builder.load(at, align=4)
                    for i, number in enumerate(numbers):
                        k = i * tile.vectors + v
                        sums[k] = llvm.multiply_add(builder, number, weights, sums[k])
                    # No weights of the next turn are loaded before: there is no room for them.
                    held = llvm.in_registers(builder, [*sums, *starts, q_])
                    sums, starts, q_ = held[: len(sums)], held[len(sums) : -1], held[-1]
            totals = sums_
            for k, total in enumerate(sums):
                totals = builder.insert_value(totals, total, k)
            return totals

        return llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, add) if group else sums_

    return sums(tile, sums, rows, w, types.intp, types.intp), generate
