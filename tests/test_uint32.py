"""Kernels count with 32 bits by rule: in the simulator, and in what the compiler makes of them."""

import inspect
import operator
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab.errors import ConvError
from convlab.gpu import simulator
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.kernels import device_function, kernel, unsigned
from convlab.gpu.numba_cuda import cuda, float32, uint64

TROUBLE = assembly_fault()
assembly = pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
BITS = (1 << 32) - 1


@kernel
def operations(a, b, y):
    i = cuda.threadIdx.x
    y[0, i] = a[i] + b[i]
    y[1, i] = a[i] - b[i]
    y[2, i] = a[i] * b[i]
    y[3, i] = a[i] // b[i]
    y[4, i] = a[i] % b[i]
    y[5, i] = a[i] ^ b[i]
    y[6, i] = a[i] & b[i]
    y[7, i] = a[i] | b[i]
    quotient, remainder = divmod(a[i], b[i])
    y[8, i] = quotient * b[i] + remainder - a[i]
    total = a[i]
    total += b[i]
    total *= a[i] - 3
    y[9, i] = total >> 1


numbers = st.lists(st.integers(0, BITS), min_size=8, max_size=8)


@settings(max_examples=30)
@given(numbers, numbers)
def test_whole_numbers_wrap_around_as_those_of_32_bits_do(a, b):
    a, b = np.array(a, np.uint32), np.maximum(np.array(b, np.uint32), 1)
    y = np.zeros((10, 8), np.uint64)  # would show what is beyond 32 bits
    simulator.run(operations, 1, 8, a, b, y).check()
    with np.errstate(over="ignore"):
        names = ("add", "sub", "mul", "floordiv", "mod", "xor", "and_", "or_")
        expected = [getattr(operator, name)(a, b) for name in names]
        expected += [np.zeros_like(a), (a + b) * (a - np.uint32(3)) >> np.uint32(1)]
    np.testing.assert_array_equal(y, np.array(expected))


def test_a_row_above_the_picture_is_a_very_large_one():
    @kernel
    def inside(y, H, top):
        row = cuda.threadIdx.x - top
        y[cuda.threadIdx.x] = 1 if row < H else 0

    y = np.zeros(8, np.uint32)
    simulator.run(inside, 1, 8, y, 4, 2).check()
    assert y.tolist() == [0, 0, 1, 1, 1, 1, 0, 0]


def test_numbers_with_a_fraction_are_left_alone():
    @kernel
    def mixed(x, y, n):
        y[0] = x[0] * x[1] - x[2]
        y[1] = -x[0] / x[1]
        total = float32(0)
        for i in range(n):
            total += x[i] * (i + 1)
        y[2] = total

    x, y = np.array([1.5, -2.0, 4.0], np.float32), np.zeros(3, np.float32)
    simulator.run(mixed, 1, 1, x, y, 3).check()
    assert y.tolist() == [-7.0, 0.75, 1.5 - 4.0 + 12.0]


def test_what_is_rewritten_is_found_where_it_was_written():
    scale = 3

    def scaled(x, y):
        """Say what it does."""
        i = cuda.threadIdx.x
        y[i] = x[i * scale + limit]

    made = unsigned(scaled)
    assert (made.__name__, made.__doc__) == ("scaled", "Say what it does.")
    assert made.__code__.co_firstlineno == scaled.__code__.co_firstlineno
    assert inspect.getsource(made) == inspect.getsource(scaled)
    assert made.__globals__ is scaled.__globals__
    last = {line for *_, line in made.__code__.co_lines()}
    assert {line for *_, line in scaled.__code__.co_lines()} <= last | {None}
    x, y = np.arange(20, dtype=np.float32), np.zeros(4, np.float32)
    simulator.run(made, 1, 4, x, y).check()
    assert y.tolist() == [2, 5, 8, 11]
    scale = 1  # the closure is the function's own
    simulator.run(made, 1, 4, x, y).check()
    assert y.tolist() == [2, 3, 4, 5]


limit = 2  # found when the kernel runs, though it stands below it


@kernel
def without_a_margin(n, x, y):
    i = cuda.grid(1)
    if i < n - 4:
        y[i] = x[i]


@kernel
def one_row_above(x, y):
    row = cuda.threadIdx.x
    y[row] = x[row - 1]


@kernel
def turns(n, x, y):
    total = float32(0)
    for i in range(n - 4):
        total += x[i]
    y[cuda.threadIdx.x] = total


@pytest.mark.parametrize(
    ("function", "numbers", "words"),
    [
        (
            without_a_margin,
            (np.uint32(3),),
            ["n - 4 is -1", "and lets through what this bound"],
        ),
        (one_row_above, (), ["row - 1 is -1", "is an index"]),
        (turns, (np.uint32(3),), ["n - 4 is -1", "a loop goes round as often"]),
    ],
)
def test_numbers_that_wrap_below_zero_are_watched(function, numbers, words):
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    with pytest.raises(simulator.KernelError) as wrong:
        simulator.run(function, 1, 8, *numbers, x, y).check()
    assert all(word in str(wrong.value) for word in ("wrapped below zero", *words))


def test_both_bounds_may_be_asked_at_once():
    @kernel
    def pick(x, y, top):
        row = cuda.threadIdx.x - top
        hashed = (row * 2654435761) ^ (row - 7)
        y[cuda.threadIdx.x] = x[row] if row < x.shape[0] else float32(hashed % 3)

    x, y = np.ones(4, np.float32), np.zeros(8, np.float32)
    simulator.run(pick, 1, 8, x, y, np.uint32(2)).check()
    assert (y[2:6] == 1).all()


def test_a_function_without_a_source_is_refused_in_words():
    names = {}
    exec("def nowhere(x):\n    x[0] = 1 + x[0]\n", names)
    with pytest.raises(ConvError, match="the source of kernel nowhere is not at hand"):
        kernel(names["nowhere"])


def formula(rule):
    """Return im2row's address as a kernel, written as its formula."""

    @rule
    def formula(x, y, H, W, C, P, Q, step, top):
        m = cuda.blockIdx.x * 256 + cuda.threadIdx.x
        line, q = divmod(m, Q)
        n, p = divmod(line, P)
        row, col = p * step - top, q * step - top
        if row < H and col < W:
            y[m] = x[((n * H + row) * W + col) * C]

    return formula


def wide(built) -> int:
    """Return how many instructions multiply or divide numbers of 64 bits."""
    return len(re.findall(r"\b(?:mul|mad|div|rem)(?:\.lo|\.hi)?\.[su]64", built.ptx))


@assembly
def test_the_formula_compiles_to_32_bits():
    flat = np.zeros(1, np.float32)
    ruled, plain = (assemble(formula(rule), flat, flat, *[1] * 7) for rule in (kernel, cuda.jit))
    assert (wide(ruled), ruled.spill_bytes) == (0, 0)
    assert wide(plain) > 0  # without the rule there are some: what is counted is there to be found
    assert len(ruled.operations) < len(plain.operations) / 2


@assembly
def test_what_was_made_a_uint64_stays_one():
    @kernel
    def far(x, y, n):
        at = uint64(n) * 5
        y[0] = x[at + 7]

    flat = np.zeros(1, np.float32)
    assert "mul.wide.u32" in assemble(far, flat, flat, 1).ptx
    names = unsigned(far.py_func.__wrapped__).__code__.co_freevars
    assert "u32_mul" in names


@device_function
def twice(n):
    return n + n


def test_device_functions_follow_the_rule():
    @kernel
    def call(y):
        y[0] = twice(1 << 31)

    y = np.ones(1, np.uint64)
    simulator.run(call, 1, 1, y).check()
    assert y[0] == 0
