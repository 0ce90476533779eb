"""Wrong kernels for the exercises of notebooks 12 and 13, and how `check` must name them."""

from __future__ import annotations

from convlab.gpu.numba_cuda import cuda, float32


@cuda.jit
def product_reads_for_every_product(a, b, y):
    n, m = cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(4):
        for j in range(4):
            total = float32(0)
            for k in range(a.shape[1]):
                total += a[m + 8 * i, k] * b[k, n + 8 * j]
            y[m + 8 * i, n + 8 * j] = total


@cuda.jit
def product_in_corners(a, b, y):
    sums = cuda.local.array((4, 4), float32)
    column, line = cuda.local.array(4, float32), cuda.local.array(4, float32)
    n, m = 4 * cuda.threadIdx.x, 4 * cuda.threadIdx.y
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0
    for k in range(a.shape[1]):
        for i in range(4):
            column[i] = a[m + i, k]
            line[i] = b[k, n + i]
        for i in range(4):
            for j in range(4):
                sums[i, j] += column[i] * line[j]
    for i in range(4):
        for j in range(4):
            y[m + i, n + j] = sums[i, j]


@cuda.jit
def product_begins_with_anything(a, b, y):
    sums = cuda.local.array((4, 4), float32)
    n, m = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(a.shape[1]):
        for i in range(4):
            for j in range(4):
                sums[i, j] += a[m + 8 * i, k] * b[k, n + 8 * j]
    for i in range(4):
        for j in range(4):
            y[m + 8 * i, n + 8 * j] = sums[i, j]


@cuda.jit
def product_one_sum_a_thread(a, b, y):
    n, m = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(a.shape[1]):
        total += a[m, k] * b[k, n]
    y[m, n] = total


@cuda.jit
def gather_reads_at_minus_one(x, table, y):
    m, c = cuda.blockIdx.x, cuda.threadIdx.x
    for tap in range(table.shape[1]):
        y[m, tap, c] = x[table[m, tap] + c]


@cuda.jit
def gather_takes_place_0_for_padding(x, table, y):
    m, c = cuda.blockIdx.x, cuda.threadIdx.x
    for tap in range(table.shape[1]):
        place = table[m, tap]
        y[m, tap, c] = x[place + c] if place > 0 else float32(0)


@cuda.jit
def gather_with_lanes_along_taps(x, table, y):
    m, tap = cuda.blockIdx.x, cuda.threadIdx.x
    if tap < table.shape[1]:
        place = table[m, tap]
        for c in range(32):
            y[m, tap, c] = x[place + c] if place >= 0 else float32(0)


@cuda.jit
def gather_leaves_padding_out(x, table, y):
    m, c = cuda.blockIdx.x, cuda.threadIdx.x
    for tap in range(table.shape[1]):
        place = table[m, tap]
        if place >= 0:
            y[m, tap, c] = x[place + c]


def _builder(repeats=True, marks=True, guards=True, turned=False, by_tap=False, lines="Q"):
    """Return a kernel that builds the table, right if it is asked for nothing else."""

    @cuda.jit
    def build(y, H, W, C, P, Q, R, S, stride, padding):
        i = cuda.grid(1)
        if guards and i >= y.size:
            return
        if by_tap:  # the taps of a pixel side by side
            tile, rest = divmod(i, 32 * R * S)
            row, tap = divmod(rest, R * S)
            at = (tile * R * S + tap) * 32 + row
        else:
            rest, row = divmod(i, 32)
            tile, tap = divmod(rest, R * S)
            at = i
        r, s = divmod(tap, R)[::-1] if turned else divmod(tap, S)
        m = tile * 32 + row
        p, q = divmod(min(m, P * Q - 1) if repeats else m, Q if lines == "Q" else W)
        h, w = p * stride + r - padding, q * stride + s - padding
        hit = 0 <= h < H and 0 <= w < W
        y[at] = (h * W + w) * C if hit or not marks else -1

    return build


KERNELS = {
    "build_table": {
        "goes on behind the last pixel": (_builder(repeats=False), "numbers differ"),
        "does not mark padding": (_builder(marks=False), "numbers differ"),
        "has no tail guard": (_builder(guards=False), "out of bounds"),
        "swaps r and s": (_builder(turned=True), "numbers differ"),
        "lays its lanes along the taps": (_builder(by_tap=True), "sectors for writing, where"),
        "counts pixels in lines of the picture": (_builder(lines="W"), "numbers differ"),
    },
    "register_tile": {
        "reads both numbers for every product": (
            product_reads_for_every_product,
            "sectors for reading, where",
        ),
        "gives a thread a corner of its own": (product_in_corners, "sectors for reading, where"),
        "begins its sums with anything": (product_begins_with_anything, ""),
        "computes one sum a thread": (product_one_sum_a_thread, "were not written"),
    },
    "gather": {
        "reads at -1": (gather_reads_at_minus_one, ""),
        "takes place 0 for padding": (gather_takes_place_0_for_padding, "numbers differ"),
        "lays its lanes along the taps": (gather_with_lanes_along_taps, "sectors for"),
        "leaves padding out": (gather_leaves_padding_out, "were not written"),
    },
}
