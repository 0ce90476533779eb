"""Kernels as learners write them: called by the right name, judged with reason, answered whatever they do."""

import linecache
import time

import numpy as np
import pytest

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
    ],
)
def test_a_kernel_written_another_way_is_called_by_its_mistake(name, kernel, mistake):
    assert named(check(name, kernel)) == mistake


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
        (my_copy(value="y[row, col] + x[row, col]"), "holds nothing at first"),
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


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
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
