"""Where the rows of a tile begin: at equal distances, on a line with edges, or wherever a table says.

Each operation returns one address a row, kept in ordinary registers, for `accumulate` in `register_tile.py`::

    rows = spaced(tile, a, p, step, count)                      # row i at a[p + i*step]
    rows = within(tile, x, p, q, step, count, width, outside)   # at x[p + q + i*step], if on the line
    rows = listed(tile, x, base, offsets, p, outside)           # at x[base + offsets[p + i]], if not -1
    rows = masked(tile, x, base, starts, p, bits, outside)      # at x[base + starts[p + i]], if bit i is set

What falls on padding begins at `outside` instead, an array of zeros.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.llvm import INT


@intrinsic
def spaced(typing, tile, a, p, step, count):
    """Return where a tile's rows begin: row i at ``a[p + i*step]``; rows from `count` on repeat the last."""

    def generate(context, builder, signature, args):
        _, a_, p_, step_, count_ = args
        rows = llvm.empty(tile.starts)
        for i, row in enumerate(distances(builder, tile.rows, step_, count_)):
            start = llvm.opaque(builder, llvm.address(context, builder, a, a_, p_, row))
            rows = builder.insert_value(rows, start, i)
        return rows

    return tile.starts(tile, a, types.intp, types.intp, types.intp), generate


@intrinsic
def within(typing, tile, x, p, q, step, count, width, outside):
    """Return where a tile's rows begin in a line of x: row i at ``x[p + q + i*step]``; rows from `count` on
    repeat the last. Where ``q + i*step`` is not on the line, 0 to `width`, the row is `outside`.
    """

    def generate(context, builder, signature, args):
        _, x_, p_, q_, step_, count_, width_, outside_ = args
        rows = llvm.empty(tile.starts)
        nowhere = llvm.address(context, builder, outside, outside_)
        for i in range(tile.rows):
            offset = builder.add(q_, builder.mul(step_, at_most(builder, i, count_)))
            inside = llvm.address(context, builder, x, x_, p_, offset)
            start = builder.select(builder.icmp_unsigned("<", offset, width_), inside, nowhere)
            rows = builder.insert_value(rows, llvm.opaque(builder, start), i)
        return rows

    return tile.starts(tile, x, *[types.intp] * 5, outside), generate


@intrinsic
def listed(typing, tile, x, base, offsets, p, outside):
    """Return where a tile's rows begin: row i at ``x[base + offsets[p + i]]``, or `outside` if that is -1.

    The sign is looked at before `base` is added: padding must read zeros whatever the base. Where there is
    no padding, `outside` is None and nothing is looked at.
    """

    def generate(context, builder, signature, args):
        _, x_, base_, offsets_, p_, outside_ = args
        rows = llvm.empty(tile.starts)
        for i in range(tile.rows):
            offset = builder.load(llvm.address(context, builder, offsets, offsets_, p_, INT(i)))
            offset = context.cast(builder, offset, offsets.dtype, types.intp)
            start = llvm.address(context, builder, x, x_, base_, offset)
            if outside != types.none:
                nowhere = llvm.address(context, builder, outside, outside_)
                start = builder.select(builder.icmp_signed("<", offset, INT(0)), nowhere, start)
            rows = builder.insert_value(rows, llvm.opaque(builder, start), i)
        return rows

    return tile.starts(tile, x, types.intp, offsets, types.intp, outside), generate


@intrinsic
def masked(typing, tile, x, base, starts, p, bits, outside):
    """Return where a tile's rows begin: row i at ``x[base + starts[p + i]]``, or `outside` if bit i is 0."""

    def generate(context, builder, signature, args):
        _, x_, base_, starts_, p_, bits_, outside_ = args
        bits_ = context.cast(builder, bits_, bits, types.intp)
        rows = llvm.empty(tile.starts)
        nowhere = llvm.address(context, builder, outside, outside_)
        for i in range(tile.rows):
            start = builder.load(llvm.address(context, builder, starts, starts_, p_, INT(i)))
            inside = llvm.address(context, builder, x, x_, base_, start)
            hit = builder.icmp_signed("!=", builder.and_(bits_, INT(1 << i)), INT(0))
            rows = builder.insert_value(rows, builder.select(hit, inside, nowhere), i)
        return rows

    return tile.starts(tile, x, types.intp, starts, types.intp, bits, outside), generate


def at_most(builder, i, count):
    """Return the instructions for min(i, count - 1)."""
    return builder.select(builder.icmp_signed("<", INT(i), count), INT(i), builder.sub(count, INT(1)))


def distances(builder, rows: int, step, count) -> list:
    """Return step * min(i, count - 1) for every row i of a tile.

    Nearly all tiles are whole. Those need an addition a row, and no question for each.
    """
    whole = builder.icmp_signed(">=", count, INT(rows))
    with builder.if_else(whole, likely=True) as (then, otherwise):
        with then:
            of_all = [INT(0)]
            for _ in range(1, rows):
                of_all.append(builder.add(of_all[-1], step))
            from_all = builder.block
        with otherwise:
            of_some = [builder.mul(step, at_most(builder, i, count)) for i in range(rows)]
            from_some = builder.block
    found = []
    for one, other in zip(of_all, of_some, strict=True):
        found.append(builder.phi(INT))
        found[-1].add_incoming(one, from_all)
        found[-1].add_incoming(other, from_some)
    return found
