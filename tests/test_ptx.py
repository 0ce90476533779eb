"""The PTX executor's instructions, each against whole numbers and fractions of Python; and its checks."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from ptx_tools import evaluate, module

from convlab.gpu.simulator.errors import (
    BARRIER,
    BOUNDS,
    DIVERGENT_WARP,
    MISALIGNED,
    PENDING,
    RACE,
    SPIN,
    UNWRITTEN,
)
from tools.ptx.device import Executor
from tools.ptx.kinds import DTYPES
from tools.ptx.memory import Fault
from tools.ptx.program import KNOWN
from tools.ptx.text import PtxError, parse

pytestmark = pytest.mark.workshop

WHOLE = ("u16", "s16", "u32", "s32", "u64", "s64")


def bits(kind):
    return int(kind[1:])


def wrapped(value: int, kind: str) -> int:
    """Return a whole number as the type holds it."""
    value %= 1 << bits(kind)
    return value - (1 << bits(kind)) if kind[0] == "s" and value >> (bits(kind) - 1) else value


def edges(kind: str) -> list[int]:
    """Return numbers of a type at which widths and signs show."""
    top = 1 << (bits(kind) - 1)
    raw = [0, 1, 2, 3, 7, 31, 255, 256, top - 1, top, top + 1, -1, -2, -7, 0x1234567, 0x9E3779B97F4A7C15]
    return sorted({wrapped(value, kind) for value in raw})


def pairs(kind: str, other: str | None = None):
    return zip(*itertools.product(edges(kind), edges(other or kind)), strict=True)


def toward_zero(a, b):
    return int(Fraction(a, b)) if b else -1


# -- whole numbers -----------------------------------------------------------------------------------------

TWO = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "div": toward_zero,
    "rem": lambda a, b: a - b * toward_zero(a, b),
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("name", TWO)
def test_two_whole_numbers(name, kind):
    a, b = map(list, pairs(kind))
    found = evaluate(f"{name}.{kind}", (kind, kind), kind, a, b)
    assert found.tolist() == [wrapped(TWO[name](*two), kind) for two in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
def test_products_in_twice_the_bits(kind):
    a, b = map(list, pairs(kind))
    wide = f"{kind[0]}{2 * bits(kind)}"
    products = [x * y for x, y in zip(a, b, strict=True)]
    assert evaluate(f"mul.wide.{kind}", (kind, kind), wide, a, b).tolist() == products
    high = [wrapped(product >> bits(kind), kind) for product in products]
    assert evaluate(f"mul.hi.{kind}", (kind, kind), kind, a, b).tolist() == high
    c = [wrapped(i * 0x9E3779B97F4A7C15, wide) for i in range(len(a))]
    sums = [wrapped(product + third, wide) for product, third in zip(products, c, strict=True)]
    assert evaluate(f"mad.wide.{kind}", (kind, kind, wide), wide, a, b, c).tolist() == sums


@pytest.mark.parametrize("kind", ["s64", "u64"])
def test_the_upper_half_of_the_longest_products(kind):
    a, b = map(list, pairs(kind))
    high = [wrapped(x * y >> 64, kind) for x, y in zip(a, b, strict=True)]
    assert evaluate(f"mul.hi.{kind}", (kind, kind), kind, a, b).tolist() == high


@pytest.mark.parametrize("kind", WHOLE)
def test_multiply_add_of_whole_numbers(kind):
    a, b = map(list, pairs(kind))
    c = [wrapped(i * 77777777777, kind) for i in range(len(a))]
    expected = [wrapped(x * y + z, kind) for x, y, z in zip(a, b, c, strict=True)]
    assert evaluate(f"mad.lo.{kind}", (kind,) * 3, kind, a, b, c).tolist() == expected


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"])
def test_shifts(kind):
    """By as many bits as there are, or more: zeros, or the sign."""
    a, by = zip(
        *itertools.product(edges(kind), [0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200, 2**31]),
        strict=True,
    )
    right = evaluate(f"shr.{kind}", (kind, "u32"), kind, a, by)
    assert right.tolist() == [x >> n for x, n in zip(a, by, strict=True)]
    if kind[0] == "b":
        left = evaluate(f"shl.{kind}", (kind, "u32"), kind, a, by)
        assert left.tolist() == [wrapped(x << min(n, 99), kind) for x, n in zip(a, by, strict=True)]


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_bit_fields(kind):
    values = [
        (a, b, p, n)
        for a in edges(kind)[:6]
        for b in edges(kind)[-6:]
        for p in (0, 3, 31)
        for n in (0, 1, 29, 64)
    ]
    a, b, place, length = map(list, zip(*values, strict=True))
    all_ones = (1 << bits(kind)) - 1
    expected = []
    for x, y, p, n in values:
        field = (((1 << n) - 1) << p) & all_ones
        expected.append((y & ~field) | ((x << p) & field))
    assert evaluate(f"bfi.{kind}", (kind, kind, "u32", "u32"), kind, a, b, place, length).tolist() == expected
    expected = [(x >> p) & ((1 << n) - 1) for x, _, p, n in values]
    unsigned = f"u{bits(kind)}"
    assert (
        evaluate(f"bfe.{unsigned}", (unsigned, "u32", "u32"), unsigned, a, place, length).tolist() == expected
    )
    assert evaluate(f"popc.{kind}", (kind,), "u32", a).tolist() == [x.bit_count() for x in a]
    assert evaluate(f"clz.{kind}", (kind,), "u32", a).tolist() == [bits(kind) - x.bit_length() for x in a]


@pytest.mark.parametrize("kind", ["b16", "b32", "b64"])
def test_logic(kind):
    a, b = map(list, pairs(kind))
    both = list(zip(a, b, strict=True))
    assert evaluate(f"and.{kind}", (kind, kind), kind, a, b).tolist() == [x & y for x, y in both]
    assert evaluate(f"or.{kind}", (kind, kind), kind, a, b).tolist() == [x | y for x, y in both]
    assert evaluate(f"xor.{kind}", (kind, kind), kind, a, b).tolist() == [x ^ y for x, y in both]
    assert evaluate(f"not.{kind}", (kind,), kind, a).tolist() == [wrapped(~x, kind) for x in a]


def test_logic_of_predicates():
    a, b = zip(*itertools.product([0, 1], repeat=2), strict=True)
    assert evaluate("and.pred", ("pred", "pred"), "pred", a, b).tolist() == [0, 0, 0, 1]
    assert evaluate("or.pred", ("pred", "pred"), "pred", a, b).tolist() == [0, 1, 1, 1]
    assert evaluate("xor.pred", ("pred", "pred"), "pred", a, b).tolist() == [0, 1, 1, 0]
    assert evaluate("not.pred", ("pred",), "pred", a).tolist() == [1, 1, 0, 0]


COMPARED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("name", COMPARED)
def test_comparisons(name, kind):
    a, b = map(list, pairs(kind))
    found = evaluate(f"setp.{name}.{kind}", (kind, kind), "pred", a, b)
    assert found.tolist() == [COMPARED[name](*two) for two in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_with_no_number(name, kind):
    values = [-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan]
    a, b = map(list, zip(*itertools.product(values, repeat=2), strict=True))
    plain = [COMPARED[name](*two) and not any(map(math.isnan, two)) for two in zip(a, b, strict=True)]
    either = [COMPARED[name](*two) or any(map(math.isnan, two)) for two in zip(a, b, strict=True)]
    assert evaluate(f"setp.{name}.{kind}", (kind, kind), "pred", a, b).tolist() == plain
    assert evaluate(f"setp.{name}u.{kind}", (kind, kind), "pred", a, b).tolist() == either


@pytest.mark.parametrize("kind", ["u32", "s64", "b16", "f32", "f64"])
def test_selection(kind):
    found = evaluate(f"selp.{kind}", (kind, kind, "pred"), kind, [1, 2, 3], [4, 5, 6], [1, 0, 1])
    assert found.tolist() == [1, 5, 3]


# -- numbers with a fraction -------------------------------------------------------------------------------


def nearest(value: Fraction, dtype):
    """Return the number of a type that lies nearest; of two the even one."""
    guess = dtype(float(value))
    around = [guess, np.nextafter(guess, dtype(np.inf)), np.nextafter(guess, dtype(-np.inf))]
    integer = {4: np.uint32, 8: np.uint64}[guess.itemsize]
    return min(around, key=lambda one: (abs(Fraction(float(one)) - value), int(one.view(integer)) & 1))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_multiply_add_rounds_once(kind):
    rng, dtype = np.random.default_rng(0), DTYPES[kind].type
    a, b = rng.standard_normal((2, 400)).astype(dtype)
    c = (-a * b * (1 + rng.integers(-3, 4, 400) * np.finfo(dtype).eps)).astype(dtype)  # little is left
    c[::3] = rng.standard_normal(len(c[::3])) * 1e-5
    a[:50], b[:50] = rng.integers(1, 1 << 12, (2, 50)) * 2 + 1
    c[:50] = dtype(2) ** rng.integers(-30, 30, 50)  # half-way cases
    exact = [
        Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)
    ]
    found = evaluate(f"fma.rn.{kind}", (kind,) * 3, kind, a, b, c)
    np.testing.assert_array_equal(found, [nearest(value, dtype) for value in exact])
    assert (found != a * b + c).any()  # or two roundings would have passed


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_arithmetic_rounds_to_the_nearest(kind):
    rng, dtype = np.random.default_rng(1), DTYPES[kind].type
    a, b = (rng.standard_normal((2, 200)) * 10.0 ** rng.integers(-20, 20, (2, 200))).astype(dtype)
    for name, function in {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div.rn": lambda x, y: x / y,
    }.items():
        exact = [function(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
        found = evaluate(f"{name}.{kind}", (kind, kind), kind, a, b)
        np.testing.assert_array_equal(found, [nearest(value, dtype) for value in exact])


def test_the_smaller_of_a_number_and_none_is_the_number():
    a, b = [1.0, np.nan, 3.0, np.nan], [2.0, 5.0, np.nan, np.nan]
    np.testing.assert_array_equal(evaluate("min.f32", ("f32",) * 2, "f32", a, b), [1, 5, 3, np.nan])
    np.testing.assert_array_equal(evaluate("max.f32", ("f32",) * 2, "f32", a, b), [2, 5, 3, np.nan])
    assert evaluate("neg.f32", ("f32",), "f32", [0.0, 1.0]).view("u4").tolist() == [0x80000000, 0xBF800000]
    assert evaluate("abs.f64", ("f64",), "f64", [-0.0, -2.0]).tolist() == [0.0, 2.0]


# -- conversions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["u8", "s8", *WHOLE])
@pytest.mark.parametrize("kind", ["u8", "s8", *WHOLE])
def test_conversions_of_whole_numbers(to, kind):
    """Bits are dropped, or the source's sign goes on; a register of 16 bits holds 8 with their sign."""
    a = edges(kind)
    out = to if bits(to) > 8 else f"{to[0]}16"
    found = evaluate(f"cvt.{to}.{kind}", (kind,), out, a)
    assert found.tolist() == [wrapped(value, to) for value in a]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("to", ["u16", "s32", "u32", "s64", "u64"])
def test_conversions_to_whole_numbers_are_clamped(to, kind):
    a = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.5,
        1e4,
        -1e4,
        1e30,
        -1e30,
        np.inf,
        -np.inf,
        2.0**31,
        2.0**32,
        2.0**63,
        2.0**64,
    ]
    least, most = (
        (0, 2 ** bits(to) - 1) if to[0] == "u" else (-(2 ** (bits(to) - 1)), 2 ** (bits(to) - 1) - 1)
    )
    roundings = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    for name, rounding in roundings.items():
        expected = [
            most if x > 1e29 else least if x < -1e29 else min(max(rounding(x), least), most) for x in a
        ]
        found = evaluate(f"cvt.{name}.{to}.{kind}", (kind,), to, a)
        assert found.tolist() == expected, name
        assert evaluate(f"cvt.{name}.{to}.{kind}", (kind,), to, [np.nan]).tolist() == [0]


def test_conversions_to_numbers_with_a_fraction():
    big = [0, 1, 16777217, 2**31 + 129, 2**32 - 1]
    assert evaluate("cvt.rn.f32.u32", ("u32",), "f32", big).tolist() == [0, 1, 16777216, 2147483904, 2**32]
    assert evaluate("cvt.rn.f64.s64", ("s64",), "f64", [-1, 2**53 + 1]).tolist() == [-1, 2**53]
    assert evaluate("cvt.rn.f32.f64", ("f64",), "f32", [1 + 2.0**-24, 1 + 3 * 2.0**-24]).tolist() == [
        1,
        1 + 2**-22,
    ]
    assert evaluate("cvt.f64.f32", ("f32",), "f64", [np.float32(0.1)]).tolist() == [float(np.float32(0.1))]


def test_half_precision():
    numbers = np.array([0, 1, -2, 2049, 2051, 65504, 65520, 1e-8, 6e-8, np.inf], np.float32)
    pair = evaluate("cvt.rn.f16x2.f32", ("f32", "f32"), "b32", numbers, numbers[::-1])
    high, low = pair >> 16, pair & 0xFFFF
    # Ties to even; beyond the largest it is infinity; the smallest is 2**-24.
    known = [0, 0x3C00, 0xC000, 0x6800, 0x6802, 0x7BFF, 0x7C00, 0, 1, 0x7C00]
    assert (high.tolist(), low.tolist()) == (known, known[::-1])
    halves = np.array(known, np.uint16)
    back = evaluate("cvt.f32.f16", ("f16",), "f32", halves.view(np.float16))
    np.testing.assert_array_equal(back, [0, 1, -2, 2048, 2052, 65504, np.inf, 0, 2**-24, np.inf])
    assert evaluate("cvt.rn.f16.f32", ("f32",), "b16", numbers).tolist() == known


def test_tf32_rounds_ties_away_from_zero():
    words = np.array([0x3F800FFF, 0x3F801000, 0xBF801000, 0x3F802FFF, 0x7F800000], np.uint32)
    found = evaluate("cvt.rna.tf32.f32", ("f32",), "b32", words.view(np.float32))
    assert found.tolist() == [0x3F800000, 0x3F802000, 0xBF802000, 0x3F802000, 0x7F800000]


# -- threads -----------------------------------------------------------------------------------------------


def run(body, block, *arrays, grid=1, declared=""):
    """Run lines of PTX; arrays are p0, p1, ... Return the arrays afterwards."""
    device = Executor()
    there = [device.put(array) for array in arrays]
    parameters = ", ".join(f".param .u64 p{i}" for i in range(len(arrays)))
    device.execute(
        module(body, parameters, declared), grid, block, *(np.int64(one.ctypes.data) for one in there)
    )
    return [np.array(one) for one in there]


MINE = """
  mov.u32 %r63, %tid.x;
  ld.param.u64 %d60, [p0];
  mul.wide.u32 %d61, %r63, 4;
  add.s64 %d62, %d60, %d61;
"""  # %d62: the address of this thread's number of p0


def test_threads_that_part_meet_again():
    """A loop of as many rounds as the thread's number, and then one instruction for all."""
    body = (
        MINE
        + """
  mov.u32 %r1, 0;
  mov.u32 %r2, %r63;
LOOP:
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra DONE;
  add.u32 %r1, %r1, %r2;
  sub.u32 %r2, %r2, 1;
  bra LOOP;
DONE:
  activemask.b32 %r3;
  st.global.v2.u32 [%d62], {%r1, %r3};
"""
    ).replace("mul.wide.u32 %d61, %r63, 4", "mul.wide.u32 %d61, %r63, 8")
    (out,) = run(body, 32, np.zeros((32, 2), np.uint32))
    assert out[:, 0].tolist() == [i * (i + 1) // 2 for i in range(32)]
    assert set(out[:, 1].tolist()) == {0xFFFFFFFF}


def test_guards_and_what_makes_a_thread_different():
    body = (
        MINE
        + """
  mov.u32 %r1, %ctaid.y;
  mad.lo.u32 %r1, %r1, 100, %r63;
  mov.u32 %r2, %nctaid.y;
  mad.lo.u32 %r1, %r2, 1000, %r1;
  and.b32 %r2, %r63, 1;
  setp.eq.u32 %p1, %r2, 1;
  @!%p1 add.u32 %r1, %r1, 10000;
  mov.u32 %r3, %ctaid.y;
  mul.wide.u32 %d5, %r3, 16;
  add.s64 %d62, %d62, %d5;
  st.global.u32 [%d62], %r1;
"""
    )
    (out,) = run(body, 4, np.zeros(12, np.uint32), grid=(1, 3))
    assert out.tolist() == [3000 + 100 * b + t + 10000 * (t % 2 == 0) for b in range(3) for t in range(4)]


def test_shuffles_and_votes():
    body = (
        MINE
        + """
  shfl.sync.down.b32 %r1|%p1, %r63, 5, 31, -1;
  shfl.sync.bfly.b32 %r2, %r63, 3, 31, -1;
  shfl.sync.idx.b32 %r3, %r63, 2, 0x181F, -1;
  shfl.sync.up.b32 %r4, %r63, 4, 0, -1;
  setp.gt.u32 %p2, %r63, 29;
  vote.sync.ballot.b32 %r5, %p2, -1;
  vote.sync.any.pred %p3, %p2, -1;
  vote.sync.all.pred %p4, %p2, -1;
  selp.u32 %r6, 1, 0, %p3;
  selp.u32 %r7, 1, 0, %p4;
  selp.u32 %r8, 1, 0, %p1;
  mul.wide.u32 %d61, %r63, 28;
  add.s64 %d62, %d60, %d61;
  st.global.u32 [%d62], %r1;
  st.global.u32 [%d62+4], %r2;
  st.global.u32 [%d62+8], %r3;
  st.global.u32 [%d62+12], %r4;
  st.global.u32 [%d62+16], %r5;
  st.global.u32 [%d62+20], %r8;
  add.u32 %r6, %r6, %r7;
  st.global.u32 [%d62+24], %r6;
"""
    )
    (out,) = run(body, 32, np.zeros((32, 7), np.uint32))
    lanes = range(32)
    assert out[:, 0].tolist() == [i + 5 if i + 5 < 32 else i for i in lanes]
    assert out[:, 5].tolist() == [i + 5 < 32 for i in lanes]
    assert out[:, 1].tolist() == [i ^ 3 for i in lanes]
    assert out[:, 2].tolist() == [i // 8 * 8 + 2 for i in lanes]  # in segments of 8
    assert out[:, 3].tolist() == [i - 4 if i >= 4 else i for i in lanes]
    assert set(out[:, 4].tolist()) == {0b11 << 30}
    assert set(out[:, 6].tolist()) == {1}


def test_atomics_return_what_was_there():
    body = (
        MINE
        + """
  ld.param.u64 %d1, [p1];
  atom.global.add.u32 %r1, [%d1], 3;
  red.global.max.u32 [%d1+4], %r63;
  atom.global.cas.b32 %r2, [%d1+8], 0, %r63;
  st.global.u32 [%d62], %r1;
"""
    )
    out, counters = run(body, 64, np.zeros(64, np.uint32), np.zeros(3, np.uint32), grid=1)
    assert sorted(out.tolist()) == list(range(0, 192, 3))
    assert counters.tolist() == [192, 63, 1]  # 0 was stored first, by thread 0


def test_words_of_parts():
    body = (
        MINE
        + """
  mov.b32 {%h1, %h2}, 0x12345678;
  mov.b32 %r1, {%h2, %h1};
  mov.b64 %d1, {%r1, %r63};
  mov.b64 {%r2, %r3}, %d1;
  add.u32 %r2, %r2, %r3;
  st.global.u32 [%d62], %r2;
"""
    )
    (out,) = run(body, 3, np.zeros(3, np.uint32))
    assert out.tolist() == [0x56781234 + i for i in range(3)]


def test_local_memory_and_generic_addresses():
    body = (
        MINE
        + """
  .local .align 8 .b8 depot[16];
  mov.u64 %d1, depot;
  cvta.local.u64 %d2, %d1;
  mul.lo.u32 %r1, %r63, 3;
  st.local.u32 [%d1+4], %r1;
  ld.u32 %r2, [%d2+4];
  mov.u64 %d3, box;
  cvta.shared.u64 %d4, %d3;
  add.s64 %d4, %d4, %d61;
  st.u32 [%d4], %r2;
  bar.sync 0;
  xor.b32 %r4, %r63, 1;
  mul.wide.u32 %d5, %r4, 4;
  add.s64 %d5, %d5, %d3;
  ld.shared.u32 %r5, [%d5];
  st.global.u32 [%d62], %r5;
"""
    )
    (out,) = run(body, 8, np.zeros(8, np.uint32), declared=".shared .align 4 .b8 box[32];")
    assert out.tolist() == [3 * (i ^ 1) for i in range(8)]


def test_constant_memory_holds_what_the_module_gives():
    body = (
        MINE
        + "mov.u64 %d1, table; add.s64 %d1, %d1, %d61; ld.const.f32 %f1, [%d1]; st.global.f32 [%d62], %f1;"
    )
    declared = ".const .align 4 .f32 table[3] = {0f3F800000, 0fC0000000, 0f00000000};"
    (out,) = run(body, 3, np.ones(3, np.float32), declared=declared)
    assert out.tolist() == [1, -2, 0]


# -- what no kernel may do ---------------------------------------------------------------------------------

BOX = ".shared .align 16 .b8 box[256]; .shared .align 16 .b8 other[256];"
SHARED = "mov.u64 %d1, box; add.s64 %d2, %d1, %d61; mov.u32 %r1, 7;"
NEXT = "add.u32 %r4, %r63, 1; and.b32 %r4, %r4, 31; mul.wide.u32 %d5, %r4, 4; add.s64 %d6, %d1, %d5;"
COPY = """
  mul.wide.u32 %d7, %r63, 16; add.s64 %d8, %d60, %d7; add.s64 %d9, %d1, %d7; cvt.u32.u64 %r9, %d9;
  cp.async.cg.shared.global [%r9], [%d8], 16; cp.async.commit_group;
"""

FAULTS = {
    "beyond the end of global memory": (BOUNDS, "st.global.u32 [%d62+4], %r63;"),
    "before it": (BOUNDS, "ld.global.u32 %r1, [%d62+-4];"),
    "beyond a shared array, where the next one does not begin": (
        BOUNDS,
        SHARED + "st.shared.u32 [%d2+252], %r1;",
    ),
    "far beyond shared memory": (BOUNDS, SHARED + "st.shared.u32 [%d2+1000000], %r1;"),
    "four bytes at an odd address": (MISALIGNED, "ld.global.u32 %r1, [%d62+2];"),
    "sixteen bytes at a multiple of four": (
        MISALIGNED,
        SHARED + "ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [%d2];",
    ),
    "shared memory that nobody wrote": (UNWRITTEN, SHARED + "ld.shared.u32 %r1, [%d2];"),
    "half of what is read was written": (
        UNWRITTEN,
        "mov.u64 %d1, box; mul.wide.u32 %d7, %r63, 8; add.s64 %d2, %d1, %d7; mov.u32 %r1, 7;"
        "st.shared.u32 [%d2], %r1; ld.shared.u64 %d3, [%d2];",
    ),
    "a neighbour's number, with no barrier": (
        RACE,
        SHARED + "st.shared.u32 [%d2], %r1;" + NEXT + "ld.shared.u32 %r3, [%d6];",
    ),
    "written over what a neighbour reads": (
        RACE,
        SHARED
        + "st.shared.u32 [%d2], %r1; bar.sync 0;"
        + NEXT
        + "ld.shared.u32 %r3, [%d6]; st.shared.u32 [%d2], %r1;",
    ),
    "two write one number": (RACE, SHARED + "st.shared.u32 [%d1], %r1;"),
    "two write one number of global memory": (RACE, "st.global.u32 [%d60], %r63;"),
    "a barrier that some do not reach": (
        BARRIER,
        "setp.lt.u32 %p1, %r63, 16; @%p1 bra END; bar.sync 0; END:",
    ),
    "two barriers": (
        BARRIER,
        "setp.lt.u32 %p1, %r63, 16; @%p1 bra HERE; bar.sync 0; bra END; HERE: bar.sync 0; END:",
    ),
    "a shuffle that half of the warp reaches": (
        DIVERGENT_WARP,
        "setp.lt.u32 %p1, %r63, 16; @%p1 bra END; shfl.sync.bfly.b32 %r1, %r63, 1, 31, -1; END:",
    ),
    "a matrix loaded by half a warp": (
        DIVERGENT_WARP,
        SHARED
        + "setp.lt.u32 %p1, %r63, 16; @%p1 bra END;"
        + "cvt.u32.u64 %r9, %d2; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9]; END:",
    ),
    "a loop without end": (SPIN, "AGAIN: bra AGAIN;"),
    "a copy read before it is waited for": (UNWRITTEN, SHARED + COPY + "ld.shared.u32 %r1, [%d9];"),
    "a copy waited for one group too few": (
        UNWRITTEN,
        SHARED + COPY + "cp.async.wait_group 1; ld.shared.u32 %r1, [%d9];",
    ),
    "a copy that nobody waits for": (PENDING, SHARED + COPY),
    "a neighbour's copy, with no barrier": (
        RACE,
        SHARED + COPY + "cp.async.wait_group 0;" + NEXT + "ld.shared.u32 %r1, [%d6];",
    ),
}
RIGHT = {
    "a barrier between": SHARED
    + "st.shared.u32 [%d2], %r1; bar.sync 0;"
    + NEXT
    + "ld.shared.u32 %r3, [%d6];",
    "two barriers between": SHARED
    + "st.shared.u32 [%d2], %r1; bar.sync 0;"
    + NEXT
    + "ld.shared.u32 %r3, [%d6]; bar.sync 0; st.shared.u32 [%d2], %r1;",
    "the warp waits for itself": SHARED
    + "st.shared.u32 [%d2], %r1; bar.warp.sync -1;"
    + NEXT
    + "ld.shared.u32 %r3, [%d6];",
    "a copy that is waited for": SHARED + COPY + "cp.async.wait_group 0; ld.shared.u32 %r1, [%d9];",
    "all read one number": "ld.global.u32 %r1, [%d60];",
}


def attempt(body, declared=BOX):
    threads = 16 if "cp.async" in body else 32
    size = 64 if "cp.async" in body else 32
    return run(MINE + body, threads, np.zeros(size, np.uint32), declared=declared)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_told(name):
    kind, body = FAULTS[name]
    with pytest.raises(Fault) as told:
        attempt(body)
    assert told.value.kind == kind


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_in_order_is_let_be(name):
    attempt(RIGHT[name])


def test_a_fault_says_who_and_where():
    with pytest.raises(
        Fault, match=r"4 bytes at byte \d+ of global memory, by thread \(31, 0, 0\), block \(0, 0, 0\)"
    ):
        attempt("st.global.u32 [%d62+4], %r63;")
    with pytest.raises(Fault, match=r": ld.shared.u32 %r1, \[%d2\]$"):
        attempt(SHARED + "ld.shared.u32 %r1, [%d2];")


def test_blocks_have_shared_memory_of_their_own_and_none_waits_for_another():
    body = MINE + SHARED + "mov.u32 %r1, %ctaid.x; st.shared.u32 [%d2], %r1; bar.sync 0;" + NEXT
    body += "ld.shared.u32 %r3, [%d6]; mul.wide.u32 %d7, %r1, 128; add.s64 %d62, %d62, %d7;"
    body += "st.global.u32 [%d62], %r3;"
    (out,) = run(body, 32, np.zeros((5, 32), np.uint32), grid=5, declared=BOX)
    assert out.tolist() == [[block] * 32 for block in range(5)]
    with pytest.raises(Fault, match=RACE):  # all blocks write the same
        run(body.replace("%r1, 128", "%r1, 0"), 32, np.zeros((5, 32), np.uint32), grid=5, declared=BOX)


def test_a_launch_comes_after_the_one_before():
    device = Executor()
    array = device.put(np.zeros(32, np.uint32))
    ptx = module(
        MINE + "ld.global.u32 %r1, [%d62]; add.u32 %r1, %r1, 1; st.global.u32 [%d62], %r1;", ".param .u64 p0"
    )
    for first in (0, 4):  # the second one is one number further on
        device.execute(ptx, 1, 31, np.int64(array.ctypes.data + first))
    assert device.get(array).tolist() == [1, *[2] * 30, 1]


def test_what_was_not_written_is_not_fetched():
    device = Executor()
    array = device.empty(32, np.uint32)
    ptx = module(MINE + "st.global.u32 [%d62], %r63;", ".param .u64 p0")
    device.execute(ptx, 1, 31, np.int64(array.ctypes.data))
    with pytest.raises(Fault, match=UNWRITTEN):
        device.get(array)


# -- text --------------------------------------------------------------------------------------------------


def test_an_unknown_instruction_is_an_error():
    for line in ("add.sat.s32 %r1, %r2, %r3;", "add.rn.ftz.f32 %f1, %f2, %f3;", "wgmma.fence.sync.aligned;"):
        with pytest.raises(PtxError, match="unknown instructions"):
            attempt(line)
    with pytest.raises(PtxError, match="no register for"):
        attempt("add.s64 %r1, %d1, %d2;")
    with pytest.raises(PtxError, match="neither a register nor a number"):
        attempt("add.s32 %r1, %r2, %nothing;")
    with pytest.raises(PtxError, match="barriers of a part"):
        attempt("bar.sync 1;")


def test_text_is_taken_apart():
    kernel = parse(
        module("@!%p1 bra $L_1; // gone\n$L_1: ld.global.v2.f32 {%f1, %f2}, [%d1+8];", ".param .f32 a")
    )
    jump, load, end = kernel.instructions
    assert (jump.guard, jump.negated, jump.operands) == ("%p1", True, ("$L_1",))
    assert load.operands == ("{%f1, %f2}", "[%d1+8]")
    assert (kernel.labels, end.opcode, kernel.parameters) == ({"$L_1": 1}, "ret", (("a", "f32"),))
    assert kernel.register_kind("%f7") == "f32"
    with pytest.raises(PtxError, match="one kernel"):
        parse(".version 8.0\n.target sm_80")


def test_every_opcode_of_the_tables_is_one_word():
    assert len(KNOWN) > 800
    assert not [opcode for opcode in KNOWN if " " in opcode]
