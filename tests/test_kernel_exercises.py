"""Kernels as learners write them: called by the right name, judged with reason, answered whatever they do."""

import linecache
import time
from importlib.util import find_spec

import numpy as np
import pytest
from effort import in_turns, sampled

from convlab.gpu import numba_cuda
from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons import EXERCISES, check, progress
from convlab.lessons.kernel_exercise import KernelExercise

KERNELS = [name for name, exercise in EXERCISES.items() if isinstance(exercise, KernelExercise)]


def named(note):
    """Return which mistake a note names."""
    assert note.good is False
    assert note.diagnosis.startswith("Yours behaves like one that "), note
    return note.diagnosis.removeprefix("Yours behaves like one that ").partition(". ")[0]


# -- other names, another index arithmetic, another way to stage -------------------------------------------


@cuda.jit
def copy_by_hand(source, target):
    i = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    j = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i <= source.shape[0] and j <= source.shape[1]:
        value = source[i, j]
        target[i, j] = value


@cuda.jit
def reverse_with_one_barrier(a, b):
    turned = cuda.shared.array(64, float32)
    lane = cuda.threadIdx.x
    run = 0
    while run < a.size:
        turned[63 - lane] = a[run + lane]
        cuda.syncthreads()
        b[run + lane] = turned[lane]
        run += 64


@cuda.jit
def turn_flat(x, y):
    flat = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    for i in range(32):
        flat[32 * i + t] = x[i, t]
    cuda.syncthreads()
    for i in range(32):
        y[i, t] = flat[32 * t + i]


@cuda.jit
def filter_square(image, taps, out):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= out.shape[0] or col >= out.shape[1]:
        return
    acc = 0.0
    for i in range(taps.shape[0]):
        for j in range(taps.shape[0]):
            acc += image[row + i, col + j] * taps[i, j]
    out[row, col] = acc


@cuda.jit
def tail_goes_home(x, y):
    s = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    if i >= x.size:
        return
    s[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    n = min(64, x.size - cuda.blockIdx.x * 64)
    y[i] = s[n - 1 - cuda.threadIdx.x]


@cuda.jit
def tile_by_one_thread(x, w, y):
    s = cuda.shared.array((10, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    if tx == 0 and ty == 0:
        for r in range(10):
            for c in range(34):
                if i + r < x.shape[0] and j + c < x.shape[1]:
                    s[r, c] = x[i + r, j + c]
    cuda.syncthreads()
    if i < y.shape[0] and j < y.shape[1]:
        acc = 0.0
        for r in range(3):
            for c in range(3):
                acc += s[ty + r, tx + c] * w[r, c]
        y[i, j] = acc


@cuda.jit
def tile_without_a_barrier(x, w, y):
    s = cuda.shared.array((10, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    for r in range(ty, 10, 8):
        for c in range(tx, 34, 32):
            if i - ty + r < x.shape[0] and j - tx + c < x.shape[1]:
                s[r, c] = x[i - ty + r, j - tx + c]
    if i < y.shape[0] and j < y.shape[1]:
        acc = 0.0
        for r in range(3):
            for c in range(3):
                acc += s[ty + r, tx + c] * w[r, c]
        y[i, j] = acc


@cuda.jit
def product_begins_anew(a, b, y):
    s = cuda.local.array((4, 4), float32)
    ty, tx = cuda.threadIdx.y, cuda.threadIdx.x
    for k in range(a.shape[1]):
        for i in range(4):
            for j in range(4):
                s[i, j] = a[ty + 8 * i, k] * b[k, tx + 8 * j]
    for i in range(4):
        for j in range(4):
            y[ty + 8 * i, tx + 8 * j] = s[i, j]


@cuda.jit
def gather_and_break(x, places, out):
    pixel, c = cuda.blockIdx.x, cuda.threadIdx.x
    for t in range(places.shape[1]):
        if places[pixel, t] == -1:
            break
        out[pixel, t, c] = x[places[pixel, t] + c]


@cuda.jit
def table_of_pixels(y, H, W, C, P, Q, R, S, stride, padding):
    i = cuda.grid(1)
    if i < y.size:
        tile, tap = i // 32 // (R * S), i // 32 % (R * S)
        m = min(tile * 32 + i % 32, P * Q - 1)
        h = (m // Q) * stride - padding + tap // S
        w = (m % Q) * stride - padding + tap % S
        y[i] = -1 if h < 0 or h >= H or w < 0 or w >= W else h * W + w


@cuda.jit
def copy_flat(x, y):
    number, width = cuda.grid(1), x.shape[1]
    if number >= x.shape[0] * width:
        return
    y[number // width, number % width] = x[number // width, number % width]


@cuda.jit
def copy_by_one_lane(a, b):
    j, i = cuda.grid(2)
    if i < a.shape[0] and j == 0:
        while j < a.shape[1]:
            b[i, j] = a[i, j]
            j += 1


@cuda.jit
def copy_pairs(a, b):
    j, i = cuda.grid(2)
    for k in range(2):
        if i < a.shape[0] and 2 * j + k < a.shape[1]:
            b[i, 2 * j + k] = a[i, 2 * j + k]


@cuda.jit
def copy_blocks_of_128(x, y):
    bx, by = 32, 4
    row = by * cuda.blockIdx.y + cuda.threadIdx.y
    col = bx * cuda.blockIdx.x + cuda.threadIdx.x
    if row >= x.shape[0] or col >= x.shape[1]:
        return
    y[row, col] = x[row, col]


@cuda.jit
def turn_flat_in_steps_of_34(x, y):
    flat = cuda.shared.array(34 * 32, float32)
    t = cuda.threadIdx.x
    for i in range(32):
        flat[34 * t + i] = x[i, t]
    cuda.syncthreads()
    for i in range(32):
        y[i, t] = flat[34 * i + t]


@cuda.jit
def filter_taps_exchanged(image, taps, out):
    col, row = cuda.grid(2)
    if row >= out.shape[0] or col >= out.shape[1]:
        return
    acc = 0.0
    for j in range(taps.shape[1]):
        for i in range(taps.shape[0]):
            acc += taps[i, j] * image[row + j, col + i]
    out[row, col] = acc


@cuda.jit
def tail_with_remainder(x, y):
    s = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    n = 64 if cuda.blockIdx.x + 1 < cuda.gridDim.x else x.size % 64
    if i < x.size:
        s[t] = x[i]
    cuda.syncthreads()
    if i < x.size:
        y[i] = s[n - 1 - t]


@cuda.jit
def tail_without_a_bound(x, y):
    s = cuda.shared.array(64, float32)
    t, start = cuda.threadIdx.x, 64 * cuda.blockIdx.x
    left = x.size - start
    if t < left:
        s[t] = x[start + t]
    cuda.syncthreads()
    if t < left:
        y[start + t] = s[left - 1 - t]


@cuda.jit
def tile_in_one_round(x, w, y):
    s = cuda.shared.array((10, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = 32 * ty + tx
    i, j = 8 * cuda.blockIdx.y + t // 34, 32 * cuda.blockIdx.x + t % 34
    if i < x.shape[0] and j < x.shape[1]:
        s[t // 34, t % 34] = x[i, j]
    cuda.syncthreads()
    j, i = cuda.grid(2)
    if i < y.shape[0] and j < y.shape[1]:
        acc = 0.0
        for r in range(3):
            for c in range(3):
                acc += s[ty + r, tx + c] * w[r, c]
        y[i, j] = acc


@cuda.jit
def gather_a_pixel_a_thread(x, places, out):
    pixel = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if pixel >= places.shape[0]:
        return
    for t in range(places.shape[1]):
        place = places[pixel, t]
        for c in range(32):
            if place < 0:
                out[pixel, t, c] = 0
            else:
                out[pixel, t, c] = x[place + c]


@sampled(3)
@pytest.mark.parametrize(
    ("name", "kernel", "mistake"),
    [
        ("copy", copy_by_hand, "lets threads beyond the edges reach for the picture"),
        ("reverse", reverse_with_one_barrier, "does not wait before the next run"),
        ("turn", turn_flat, "reads all of a column from one bank"),
        ("filter_naive", filter_square, "takes the filter for a square one"),
        ("tail", tail_goes_home, "lets threads with nothing to do miss the barrier"),
        ("filter_tile", tile_by_one_thread, "fetches the pixels one by one"),
        ("filter_tile", tile_without_a_barrier, "has no barrier"),
        ("register_tile", product_begins_anew, "keeps the last k only"),
        ("gather", gather_and_break, "stops at the first tap that falls on padding"),
        ("build_table", table_of_pixels, "counts pixels, not numbers"),
        ("copy", copy_flat, "numbers the threads along x only, where blocks have two dimensions"),
        ("copy", copy_by_one_lane, "lets one lane copy a row, while the others look on"),
        ("copy", copy_pairs, "gives each thread two numbers side by side"),
        ("copy", copy_blocks_of_128, "counts on blocks of 32 x 4 threads"),
        ("turn", turn_flat_in_steps_of_34, "writes columns, and moves every row on by two banks"),
        ("filter_naive", filter_taps_exchanged, "swaps r and s in the picture"),
        (
            "tail",
            tail_with_remainder,
            "takes the remainder for the last count, and puts nothing else in its place where it is 0",
        ),
        ("tail", tail_without_a_bound, "counts all numbers from the block's first on, and not its own 64"),
        ("filter_tile", tile_in_one_round, "goes over the patch once, and fetches 256 of its 340 pixels"),
        ("gather", gather_a_pixel_a_thread, "gives each thread a pixel, with all of its channels"),
    ],
)
def test_a_kernel_written_another_way_is_called_by_its_mistake(name, kernel, mistake):
    assert named(check(name, kernel)) == mistake


@cuda.jit
def copy_all_by_everybody(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]


# -- what has no name in the bank --------------------------------------------------------------------------


def compiled(text):
    """Return the kernel of a text; the simulator reads its source."""
    file, names = f"<{text}>", {}
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), {"cuda": cuda}, names)
    [kernel] = names.values()
    return cuda.jit(kernel)


def my_copy(rows="row", columns="col", value="x[row, col]", guard="row < x.shape[0] and col < x.shape[1]"):
    """Return a kernel for the first exercise that writes y[rows, columns] = value."""
    return compiled(
        "def my_copy(x, y):\n    col, row = cuda.grid(2)\n"
        f"    if {guard}:\n        y[{rows}, {columns}] = {value}\n"
    )


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (my_copy(rows="x.shape[0] - 1 - row"), "back to front along H"),
        (my_copy(value="int(x[row, col])"), "lost their fractions"),
        (my_copy(value="-x[row, col]"), "signs are turned around"),
        (my_copy(guard="row < x.shape[0] and col < 16"), "Columns from 16 on are not written"),
        (my_copy(guard="row < x.shape[0] and col < x.shape[1] and col % 2 == 0"), "every second"),
        (
            my_copy(guard="row < x.shape[0] and 0 < col < x.shape[1]"),
            "The first 1 of 32 columns is",
        ),
        (my_copy(value="y[row, col] + x[row, col]"), "holds nothing at first, so there is nothing to read"),
        (my_copy(rows="0", columns="0"), "numbers of its own"),
        (my_copy(rows="row / 2"), "divide them with `//`"),
        (my_copy(rows="row - 1"), "A place below zero"),
        (my_copy(value="x[rwo, col]"), "Nothing is called `rwo`"),
        (my_copy(guard="row < x.shap[0]"), "did you mean `shape`"),
        (my_copy(guard="cuda.threadidx.x < 3"), "did you mean `threadIdx`"),
    ],
)
def test_a_clue_is_given_for_what_has_no_name(kernel, words):
    note = check("copy", kernel)
    assert note.good is False
    assert words in note.diagnosis


@cuda.jit
def copy_by_one_thread(x, y):
    col, row = cuda.grid(2)
    if col == row == 0:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j]


@cuda.jit
def copy_in_steps_of_16(x, y):
    col, row = cuda.blockIdx.x * 16 + cuda.threadIdx.x, cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col]


@cuda.jit
def copy_twice(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = 0
        y[row, col] = x[row, col]


@cuda.jit
def turn_in_steps_of_40(x, y):
    s = cuda.shared.array((32, 40), float32)
    t = cuda.threadIdx.x
    for i in range(32):
        s[t, i] = x[i, t]
    cuda.syncthreads()
    for i in range(32):
        y[i, t] = s[i, t]


@cuda.jit
def reverse_leaves_the_last(x, y):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for run in range(0, x.size, 64):
        if t < 63:
            s[t] = x[run + t]
        cuda.syncthreads()
        y[run + t] = s[63 - t]
        cuda.syncthreads()


@cuda.jit
def reverse_meets_in_the_tile(x, y):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for run in range(0, x.size, 64):
        s[t // 2] = x[run + t]
        cuda.syncthreads()
        y[run + t] = s[t // 2]
        cuda.syncthreads()


@cuda.jit
def tail_hands_nothing_on(x, y):
    tile = cuda.shared.array(64, float32)
    t, first = cuda.threadIdx.x, cuda.blockIdx.x * 64
    count = min(64, x.size - first)
    if t < count:
        tile[t] = x[first + t]
    cuda.syncthreads()
    if t < count:
        y[first + count - 1 - t] = tile[t]


@cuda.jit
def tail_at_two_barriers(x, y):
    tile = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    count = min(64, x.size - cuda.blockIdx.x * 64)
    if t < count:
        tile[t] = x[i]
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    if t < count:
        y[i] = tile[count - 1 - t]


@cuda.jit
def gather_from_the_first_place(x, table, y):
    m, c = cuda.blockIdx.x, cuda.threadIdx.x
    place = table[m, 0]
    for tap in range(table.shape[1]):
        y[m, tap, c] = x[place + tap * 32 + c] if place >= 0 else float32(0)


@cuda.jit
def product_of_8_columns(a, b, y):
    n, m = cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(4):
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[m + 8 * i, k] * b[k, n]
        y[m + 8 * i, n] = total


@pytest.mark.parametrize(
    ("name", "kernel", "words"),
    [
        ("tail", tail_hands_nothing_on, "No thread reads in shared memory what another one put there"),
        ("tail", tail_at_two_barriers, "A barrier is for all threads of the block: none may pass it by."),
        ("gather", gather_from_the_first_place, "Taps from 2 on are wrong."),
        ("register_tile", product_of_8_columns, "Columns from 8 on are not written."),
        ("copy", copy_by_one_thread, "One lane asks while the others"),
        ("copy", copy_in_steps_of_16, "how far apart do blocks begin?"),
        ("copy", copy_twice, "Once is enough"),
        ("turn", turn_in_steps_of_40, "40 apart"),
        ("reverse", reverse_leaves_the_last, "Nobody ever puts anything there"),
        ("reverse", reverse_meets_in_the_tile, "put a number at the same place of s"),
    ],
)
def test_a_clue_says_what_is_behind_it_and_no_name_is_guessed(name, kernel, words):
    note = check(name, kernel)
    assert note.good is False
    assert words in note.diagnosis


def test_a_kernel_that_goes_wrong_slowly_is_answered_soon():
    began = time.monotonic()
    note = check("copy", copy_all_by_everybody)
    assert time.monotonic() - began < 3
    assert "each should have numbers of its own" in note.diagnosis


@cuda.jit
def reverse_all(x, y):
    for i in range(cuda.threadIdx.x, x.size, 64):
        y[x.size - 1 - i] = x[i]


def test_wrong_numbers_in_a_later_case_come_before_another_way_in_the_first():
    assert check("reverse", reverse_all).title == "Not yet."


# -- the compiler has its say ------------------------------------------------------------------------------


def filter_with(total):
    """Return a kernel for a filter that works its sum out in a line of Python."""
    return compiled(
        "def my_filter(x, w, y):\n    q, p = cuda.grid(2)\n"
        f"    if p < y.shape[0] and q < y.shape[1]:\n        y[p, q] = {total}\n"
    )


PRODUCTS = "x[p + r, q + s] * w[r, s] for r in range(w.shape[0]) for s in range(w.shape[1])"


@pytest.mark.parametrize(
    ("total", "word"),
    [
        (f"sum({PRODUCTS})", "has a `(... for ... in ...)`"),
        (f"sum({{(r, s): {PRODUCTS}}}.values())", "has a `{...: ... for ... in ...}`"),
        ("len(f'{p}')", 'has a `f"..."`'),
    ],
)
def test_python_that_no_kernel_can_have_is_refused_by_its_name(total, word):
    assert word in repr(check("filter_naive", filter_with(total)))


def copy_of(before, value="x[row, col]"):
    """Return a right copy in the simulator, with a line before it."""
    return compiled(
        f"def my_copy(x, y):\n    col, row = cuda.grid(2)\n    {before}\n"
        f"    if row < x.shape[0] and col < x.shape[1]:\n        y[row, col] = {value}\n"
    )


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (copy_of("kinds = 'a' if row else 1"), "Cannot unify"),
        (copy_of("inside = row < (height := x.shape[0])"), "`:=`"),
        pytest.param(
            copy_of("place = [row, col]", value="x[place[0], place[1]]"),
            "take the numbers one by one",
            marks=pytest.mark.skipif(not find_spec("numba_cuda"), reason="Numba's own target has lists"),
        ),
    ],
)
def test_a_kernel_that_cannot_be_compiled_is_not_right(kernel, words):
    note = check("copy", kernel)
    assert note.title == "Right numbers, but it cannot be compiled."
    assert words in note.body


def test_a_compiler_in_trouble_is_held_against_nobody(monkeypatch):
    def without_libraries(*_):
        raise OSError("libnvvm.so is not there")

    monkeypatch.setattr(numba_cuda, "ptx_of", without_libraries)
    assert check("copy", EXERCISES["copy"].solution).good


# -- waste is judged with reason ---------------------------------------------------------------------------


@cuda.jit
def tile_in_four_pieces(x, w, y):
    s, f = cuda.shared.array((10, 35), float32), cuda.shared.array((3, 3), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    q, p = cuda.grid(2)
    H, W = x.shape
    if tx < 3 and ty < 3:
        f[ty, tx] = w[ty, tx]
    if p < H and q < W:
        s[ty, tx] = x[p, q]
    if ty < 2 and p + 8 < H and q < W:
        s[ty + 8, tx] = x[p + 8, q]
    if tx < 2 and p < H and q + 32 < W:
        s[ty, tx + 32] = x[p, q + 32]
    if tx < 2 and ty < 2 and p + 8 < H and q + 32 < W:
        s[ty + 8, tx + 32] = x[p + 8, q + 32]
    cuda.syncthreads()
    if p < y.shape[0] and q < y.shape[1]:
        acc = 0.0
        for r in range(3):
            for c in range(3):
                acc += s[ty + r, tx + c] * f[r, c]
        y[p, q] = acc


@cuda.jit
def product_through_shared_memory(a, b, y):
    sa, sb = cuda.shared.array(32, float32), cuda.shared.array(32, float32)
    sums, line = cuda.local.array((4, 4), float32), cuda.local.array(4, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 8 + tx
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0
    for k in range(a.shape[1]):
        if t < 32:
            sa[t] = a[t, k]
        else:
            sb[t - 32] = b[k, t - 32]
        cuda.syncthreads()
        for j in range(4):
            line[j] = sb[tx + 8 * j]
        for i in range(4):
            value = sa[4 * ty + i]
            for j in range(4):
                sums[i, j] += value * line[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            y[4 * ty + i, tx + 8 * j] = sums[i, j]


@cuda.jit
def turn_with_xor(x, y):
    s = cuda.shared.array((32, 32), float32)
    t = cuda.threadIdx.x
    for i in range(32):
        s[i, t ^ i] = x[i, t]
    cuda.syncthreads()
    for i in range(32):
        y[i, t] = s[t, i ^ t]


@cuda.jit
def copy_through_shared_memory(x, y):
    s = cuda.shared.array((16, 32), float32)
    c, r = cuda.grid(2)
    if r < x.shape[0] and c < x.shape[1]:
        s[cuda.threadIdx.y, cuda.threadIdx.x] = x[r, c]
    cuda.syncthreads()
    if r < x.shape[0] and c < x.shape[1]:
        y[r, c] = s[cuda.threadIdx.y, cuda.threadIdx.x]


@cuda.jit
def tail_clamped(x, y):
    s = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[min(i, x.size - 1)]
    cuda.syncthreads()
    if i < x.size:
        y[i] = s[min(64, x.size - cuda.blockIdx.x * 64) - 1 - t]


@in_turns
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("tail", tail_clamped),
        ("filter_tile", tile_in_four_pieces),
        ("register_tile", product_through_shared_memory),
        ("turn", turn_with_xor),
        ("copy", copy_through_shared_memory),
    ],
)
def test_another_legal_way_is_no_waste(name, kernel):
    note = check(name, kernel)
    assert note.good, note


# -- bad input ---------------------------------------------------------------------------------------------


@cuda.jit
def hangs_at_a_barrier(x, y):
    if cuda.threadIdx.x < 10:
        cuda.syncthreads()
    y[cuda.threadIdx.y, cuda.threadIdx.x] = 1


@cuda.jit
def waits_for_ever(x, y):
    while x[0, 0] > 0:
        pass


@cuda.jit
def counts_for_ever(x, y):
    total = 0.0
    for i in range(10**10):
        total += i
    y[0, 0] = total


@cuda.jit
def takes_all_shared_memory(x, y):
    s = cuda.shared.array((100000, 1000), float32)
    y[0, 0] = s[0, 0]


@cuda.jit
def takes_all_memory_for_itself(x, y):
    s = cuda.local.array((100000, 10000), float32)
    s[0, 0] = y[0, 0] = 1


@cuda.jit
def fills_the_memory(x, y):
    rows = []
    for _ in range(10**10):
        rows.append([0] * 1000000)


@cuda.jit
def prints(x, y):
    for i in range(300):
        print(i)
    y[0, 0] = 0


swallows_everything = compiled(
    "def swallows_everything(x, y):\n"
    "    while True:\n        try:\n            y[0, 0] = 1\n        except:\n            pass\n"
)


@cuda.jit
def takes_three(x, y, n):
    y[0, 0] = n


@cuda.jit(device=True)
def for_kernels(x, y):
    return x[0, 0]


@cuda.jit
def yields(x, y):
    yield 1


@cuda.jit
def changes_its_input(x, y):
    c, r = cuda.grid(2)
    if r < x.shape[0] and c < x.shape[1]:
        x[r, c] += 1
        y[r, c] = x[r, c] - 1


def plain(x, y):
    y[0, 0] = x[0, 0]


class Mine(BaseException):
    """An error of no kind that one usually catches."""


def raise_mine():
    raise Mine("no such lane")


@cuda.jit
def raises_its_own(x, y):
    raise_mine()


@sampled(6)
@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (hangs_at_a_barrier, "A barrier is for all threads"),
        (waits_for_ever, "never ends"),
        (counts_for_ever, "had not returned after"),
        (takes_all_shared_memory, "not so much of it"),
        (takes_all_memory_for_itself, "not so much of it"),
        (fills_the_memory, ""),
        (prints, "... and"),
        (swallows_everything, "has a `try`"),
        (takes_three, "It is launched with (x, y); yours takes (x, y, n)."),
        (for_kernels, "device=True"),
        (yields, "`yield`"),
        (changes_its_input, "x is what goes in"),
        (plain, "plain function: `@cuda.jit`"),
        (raises_its_own, "Mine: no such lane"),
        (KernelExercise, "is a class"),
        (for_kernels, "for kernels to call"),
        (hangs_at_a_barrier[1, 32], "square brackets"),
        (None, "without calling it"),
        (np.zeros(3), "Hand over the kernel itself"),
    ],
)
def test_odd_kernels_are_answered_in_words_and_soon(kernel, words):
    began = time.monotonic()
    note = check("copy", kernel)
    assert time.monotonic() - began < 10
    assert note.good is False
    assert words in repr(note)
    assert note._repr_html_()


@pytest.mark.parametrize("name", KERNELS)
def test_an_empty_kernel_is_not_started(name):
    empty = compiled(f"def empty({', '.join(EXERCISES[name].arguments)}):\n    pass\n")
    assert check(name, empty).good is None


# -- the warp microscope on a learner's kernel -------------------------------------------------------------


@pytest.fixture
def looking(monkeypatch, tmp_path):
    """A learner's own session: not a page that is made of a notebook."""
    monkeypatch.setenv(progress.NAMED, str(tmp_path))
    progress.here.cache_clear()
    yield
    progress.here.cache_clear()


@pytest.mark.parametrize(
    ("name", "kernel", "line", "array", "words"),
    [
        ("copy", copy_by_hand, "value = source[i, j]", "source", "Out of bounds: source[0, 40] is outside"),
        ("reverse", reverse_with_one_barrier, "turned[63 - lane] = a", "turned", "Race: turned["),
        ("turn", turn_flat, "y[i, t] = flat[32 * t + i]", "flat", "A bank conflict: 32 passes"),
        ("filter_naive", filter_square, "out[row, col] = acc", "out", "out[0, 0] should be"),
        ("gather", gather_and_break, "out[pixel, t, c] =", "out", "out[0, 0, 0] is written by nobody"),
    ],
)
def test_the_microscope_opens_where_a_kernel_went_wrong(looking, name, kernel, line, array, words):
    widget = check(name, kernel).widget
    shown, access, step = widget.shown
    assert shown["name"] == kernel.py_func.__name__
    assert access["text"].startswith(line)
    assert access["array"] == array
    assert words in widget.words()
    flaw = access["requests"][step]["flaw"]
    assert all(access["requests"][step]["lanes"][lane] is not None for lane in flaw["lanes"])


def test_no_access_no_microscope(looking):
    assert check("tail", tail_goes_home).widget is None
    assert check("copy", EXERCISES["copy"].solution).widget is None
    assert check("copy", my_copy(value="x[rwo, col]")).widget is None


def test_a_page_has_no_microscope(monkeypatch):
    monkeypatch.setenv(progress.NAMED, "")
    progress.here.cache_clear()
    assert check("turn", turn_flat).widget is None
    progress.here.cache_clear()


def test_the_words_stand_above_the_microscope(looking, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda what, **kwargs: shown.append(what))
    note = check("turn", turn_flat)
    note._ipython_display_()
    assert shown == [{"text/html": note._repr_html_(), "text/plain": repr(note)}, note.widget]
    with pytest.raises(NotImplementedError):  # IPython then shows it as anything else
        check("turn", EXERCISES["turn"].solution)._ipython_display_()
