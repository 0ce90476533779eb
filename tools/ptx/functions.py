"""Functions that NumPy does not have, as in the PTX ISA: of whole numbers, and the fused multiply-add."""

from __future__ import annotations

from functools import cache

import numpy as np

from tools.ptx.kinds import DTYPES

WIDER = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}


@cache
def fused():
    """Return fma(a, b, c): one rounding, as ``fma.rn`` has it. Numba makes the processor's own of it."""
    from numba import vectorize
    from numba.extending import intrinsic

    @intrinsic
    def in_one(typing, a, b, c):
        return a(a, a, a), lambda context, builder, signature, args: builder.fma(*args)

    return vectorize(["f4(f4,f4,f4)", "f8(f8,f8,f8)"], nopython=True)(lambda a, b, c: in_one(a, b, c))


def multiply_add(a, b, c):
    """Return a*b + c, rounded once."""
    return fused()(a, b, c)


def toward_zero(a, b):
    """Whole quotient; NumPy's is rounded down. By zero the ISA leaves open what comes: here -1, all ones."""
    a, b = np.asarray(a), np.asarray(b)
    quotient = np.floor_divide(a, b)
    if a.dtype.kind == "i":
        quotient = quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)
    return np.where(b == 0, np.array(-1).astype(a.dtype), quotient)


def rest(a, b):
    """Return what is left of a division, with the sign of the first number."""
    return np.asarray(a) - toward_zero(a, b) * np.asarray(b)


def wide(kind: str):
    """Return the product of two numbers in twice as many bits."""
    dtype = DTYPES[WIDER[kind]]
    return lambda a, b: np.multiply(a, b, dtype=dtype)


def wide_add(kind: str):
    """Return the same, and a third number added to it."""
    product = wide(kind)
    return lambda a, b, c: product(a, b) + c


def high(kind: str):
    """Return the upper half of the product."""
    dtype, longer = DTYPES[kind], DTYPES[WIDER[kind]]
    return lambda a, b: (np.multiply(a, b, dtype=longer) >> 8 * dtype.itemsize).astype(dtype)


def high_of_64(a, b):
    """Return the upper 64 bits of the product of two numbers of 64, from halves of 32."""
    u, v = np.asarray(a).astype(np.uint64), np.asarray(b).astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    middle = (u >> half) * (v & low) + ((u & low) * (v & low) >> half)
    other = (u & low) * (v >> half) + (middle & low)
    high = (u >> half) * (v >> half) + (middle >> half) + (other >> half)
    if np.asarray(a).dtype.kind == "i":  # a number below zero was taken for 2**64 more
        high = high - np.where(np.less(a, 0), v, np.uint64(0)) - np.where(np.less(b, 0), u, np.uint64(0))
    return high.view(np.asarray(a).dtype)


def _field(position, length, bits: int):
    """Return where a bit field begins, and as many ones as it is long."""
    number = np.dtype(f"u{bits // 8}").type
    position, length = (np.asarray(given & 0xFF).astype(number) for given in (position, length))
    return position, np.where(length >= bits, number(~number(0)), (number(1) << length) - number(1))


def insert(a, b, position, length):
    """bfi: `length` bits of a, put into b from bit `position` on."""
    bits = 8 * np.asarray(b).dtype.itemsize
    position, ones = _field(position, length, bits)
    field = ones << position  # beyond the last bit nothing is left of it
    return np.where(position >= bits, b, (b & ~field) | ((a << position) & field))


def extract(a, position, length):
    """bfe, unsigned: `length` bits of a from bit `position` on."""
    bits = 8 * np.asarray(a).dtype.itemsize
    position, ones = _field(position, length, bits)
    return (a >> position) & ones


def leading_zeros(a):
    """clz: zeros above the first one."""
    count = np.zeros(np.shape(a), np.uint32)
    bits = 8 * np.asarray(a).dtype.itemsize
    for bit in range(bits):
        count += (a >> np.asarray(bit, a.dtype)) == 0
    return count


def or_unordered(compare):
    """Return a comparison that a NaN makes true: the forms that end in u."""
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


def differ(a, b):
    """Return which numbers differ; one that is no number makes it false."""
    return (a != b) & ~(np.isnan(a) | np.isnan(b))
