"""Notebook 12: a tile of sums in the registers of every thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons.cases import filled
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.kernel_run import Ran

_SIDE, _THREADS, _TILE = 32, 64, 4  # of the product, of the block, and sums of a thread along each side
_LONG = 60  # of a sum; in a shorter one the zeros that fill a last piece up would count


@cuda.jit
def product(a, b, y):
    sums = cuda.local.array((4, 4), float32)  # registers
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0
    # your code here: y (32, 32) = a (32, K) @ b (K, 32), and K is a.shape[1]
    column, line = cuda.local.array(4, float32), cuda.local.array(4, float32)
    n, m = cuda.threadIdx.x, cuda.threadIdx.y  # its rows are m, m + 8, ...: neighbours read neighbours
    for k in range(a.shape[1]):
        for i in range(4):
            column[i] = a[m + 8 * i, k]
            line[i] = b[k, n + 8 * i]
        for i in range(4):
            for j in range(4):
                sums[i, j] += column[i] * line[j]
    for i in range(4):
        for j in range(4):
            y[m + 8 * i, n + 8 * j] = sums[i, j]


def _cases() -> Iterator[Launch]:
    rng = np.random.default_rng(12)
    for K in (8, 67, 11):  # 67: more than is kept beside the sums; what fills a last piece up is little there
        a, b = (filled(rng, *shape, whole=K != 11) for shape in ((_SIDE, K), (K, _SIDE)))
        y = (a.astype(np.float64) @ b).astype(np.float32)
        yield Launch((1,), (8, 8), {"a": a, "b": b, "y": None}, y)


def _from_registers(ran: Ran) -> str:
    """Count what a thread loads for one k, wherever from: 4 + 4 numbers serve its 16 products."""
    loads = sum(cost.lanes for (_, kind, _), cost in ran.costs.items() if kind == "ld")
    K = np.shape(ran.launch.arguments["a"])[1]
    each, enough = loads / (_THREADS * K), 2 * _TILE
    if K < _LONG or each <= 1.5 * enough:  # with room for a copy in shared memory
        return ""
    return (
        f"For every k a thread loads {each:.3g} numbers, where {enough} are enough: 4 of a and 4 of b, each "
        "loaded once into a register, make all of its 16 products."
    )


@cuda.jit
def _both_for_every_product(a, b, y):
    n, m = cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(4):
        for j in range(4):
            total = float32(0)
            for k in range(a.shape[1]):
                total += a[m + 8 * i, k] * b[k, n + 8 * j]
            y[m + 8 * i, n + 8 * j] = total


EXERCISE = KernelExercise(
    notebook="12",
    statement=f"product(a, b, y) is a kernel of one block of 8 x 8 threads that fills y ({_SIDE}, {_SIDE}) "
    f"with a ({_SIDE}, K) times b (K, {_SIDE}); each thread keeps 4 x 4 sums in registers.",
    solution=product,
    why="For every k a thread loads 4 + 4 numbers and makes 16 products of them, all in registers. Its rows "
    "and columns lie 8 apart, so that at any moment neighbouring lanes read neighbouring numbers of b.",
    hints=(
        "For one k, which numbers of a and of b do all 16 sums of a thread need? How many different ones?",
        "In a loop over k, load 4 numbers of a and 4 of b into two small local arrays, then add the 16 "
        "products. If a thread's columns are n, n + 8, n + 16, n + 24, what do neighbouring lanes read?",
        "n, m = threadIdx.x, threadIdx.y; for all k column[i] = a[m + 8 * i, k], line[j] = b[k, n + 8 * j]; "
        "then sums[i, j] += column[i] * line[j]; at the end y[m + 8 * i, n + 8 * j] = sums[i, j].",
    ),
    cases=_cases,
    shapes={"return": ("row", "column")},
    method=_from_registers,
    mistakes=(
        Mistake(
            "loads both numbers anew for every product",
            _both_for_every_product,
            "That is 32 loads for 16 products. The 16 sums share 4 numbers of a and 4 of b: those belong "
            "into registers first.",
        ),
        Mistake(
            "loads b anew for every product",
            {"column[i] * line[j]": "column[i] * b[k, n + 8 * j]", "line[i] = b[k, n + 8 * i]": "pass"},
            "The numbers of a are kept, those of b are not: all four rows of a thread use the same four.",
        ),
        Mistake(
            "gives each thread a corner of its own",
            {
                "cuda.threadIdx.x, cuda.threadIdx.y": "4 * cuda.threadIdx.x, 4 * cuda.threadIdx.y",
                "8 * i": "i",
                "8 * j": "j",
            },
            "Right numbers. But the columns of neighbouring lanes are 4 apart, and a request of 8 lanes "
            "touches four sectors instead of one. What if they lay side by side?",
        ),
        Mistake(
            "begins its sums with whatever is there",
            {"sums[i, j] = 0": "pass"},
            "Registers hold anything at first: a sum begins with a zero that somebody put there.",
        ),
        Mistake(
            "computes one sum for each thread",
            {"range(4)": "range(1)"},
            "64 threads are asked for 1024 numbers: 16 for each, its 4 x 4.",
        ),
        Mistake(
            "keeps the last k only",
            {"sums[i, j] +=": "sums[i, j] ="},
            "A number of y is a *sum* over all k.",
        ),
        Mistake(
            "takes the first k only",
            {"range(a.shape[1])": "range(1)"},
            "K is `a.shape[1]`: all of a row of a, and of a column of b, belong into the sum.",
        ),
        Mistake(
            "leaves out the last k",
            {"range(a.shape[1])": "range(a.shape[1] - 1)"},
            "`range(n)` ends at n - 1 already.",
        ),
        Mistake(
            "takes K for 32",
            {"range(a.shape[1])": "range(32)"},
            "y is 32 x 32, but how many numbers a row of a has is another thing: `a.shape[1]`.",
        ),
        Mistake(
            "writes the transpose",
            {"y[m + 8 * i, n + 8 * j]": "y[n + 8 * j, m + 8 * i]"},
            "Rows of y are rows of a, columns of y are columns of b.",
        ),
        Mistake(
            "lets x count rows and y columns",
            {"n, m = cuda.threadIdx.x, cuda.threadIdx.y": "m, n = cuda.threadIdx.x, cuda.threadIdx.y"},
            "Right numbers. But neighbouring lanes differ in x, and now they write y one below the other: a "
            "sector for each. Rows lie along their columns.",
        ),
        Mistake(
            "steps by 4 rows and columns, where 8 threads stand side by side",
            {"8 * i": "4 * i", "8 * j": "4 * j"},
            "Threads m and m + 4 meet at the same rows. There are 8 threads along each side.",
        ),
        Mistake(
            "reads the same row of a for all four",
            {"a[m + 8 * i, k]": "a[m, k]"},
            "A thread has four rows, and each has numbers of its own.",
        ),
        Mistake(
            "reads the same column of b for all four",
            {"b[k, n + 8 * i]": "b[k, n]"},
            "A thread has four columns, and each has numbers of its own.",
        ),
        Mistake(
            "exchanges the two indices of a",
            {"a[m + 8 * i, k]": "a[k, m + 8 * i]"},
            "a is (32, K): the row comes first, and k second. In b it is the other way round.",
        ),
        Mistake(
            "adds up in y",
            {"sums[i, j] = 0": "y[cuda.threadIdx.y + 8 * i, cuda.threadIdx.x + 8 * j] = 0"}
            | {"sums[i, j] +=": "y[m + 8 * i, n + 8 * j] +=", "n + 8 * j] = sums[i, j]": "n + 8 * j] += 0"},
            "The numbers are right. But every k reads and writes all of y in memory: the sums belong into "
            "registers until they are done.",
        ),
    ),
)
