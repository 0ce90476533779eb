"""The product on tensor cores: a block of warps, each multiplying with one instruction 16 x 8 numbers.

    for each piece of the sums, 32 words long:
        wait for it, and for each other
        begin the block's copies of one that comes later             cp.async, 16 bytes each
        each warp multiplies the piece that has come                 ldmatrix, mma.sync

The loop counts `k`, the words whose copies were begun. With three buffers two pieces are on their way
(`ahead`), and sums of 96 words, three pieces, are this:

    k      waits for    begins to copy    multiplies
    0                   piece 0
    32                  piece 1
    64     piece 0      piece 2           piece 0
    96     piece 1                        piece 1
    128    piece 2                        piece 2, the last

The kernel moves words of 32 bits, two float16 or one tf32 each: instructions place them alike (see `mma`).

A row in shared memory is 128 bytes long, all banks once, and its eight parts of four words are swapped about:
part q of row r stands where part q ^ (r % 8) would. So the eight rows that `ldmatrix` reads at a time lie in
eight groups of banks, and so does the row that eight lanes fill. A gap behind each row would do that, too,
but takes room: two pieces of the largest tile fill all that a block has. It is CUTLASS's swizzle for rows of
128 bytes.

A place in shared memory is one number, of 64 bits: what is added to it then is a part of the instruction, and
not one of its own.
"""

from __future__ import annotations

from convlab.errors import ParameterError
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, float32, uint32, uint64
from convlab.gpu.ptx import store2
from convlab.gpu.tensor_cores.mma import (
    cp_async16_zfill,
    cp_async16_zfill_cached,
    cp_async_commit,
    cp_async_wait,
    held,
    ldmatrix_x4,
    mma_m16n8k8_tf32,
    mma_m16n8k16_f16,
)
from convlab.gpu.tensor_cores.warp_tile import WORDS, WarpTile
from convlab.support.checked import kept
from convlab.support.checks import check_choice

MULTIPLY = {"fp16": mma_m16n8k16_f16, "tf32": mma_m16n8k8_tf32}
COPY = {False: cp_async16_zfill, True: cp_async16_zfill_cached}
COPIES = WORDS // 4  # of 16 bytes, to fill a row
STEP = 8  # words along the sum that one instruction multiplies
SPREAD = 8  # rows whose parts are swapped each in another way
OUTSIDE = 1 << 30  # a row that no picture has


@kept
def product(kind: str, tile: WarpTile, cached: bool = False, y_width: int = 1):
    """Return the kernel that convolves words with words, for tiles of that size.

    It takes x (N, H, W, groups, channels) and w (rows, w_row) as flat words, and y (parts, N*P*Q*K). A block
    computes block_m pixels and block_n filters of one group, and of each sum one part, `part` words long;
    thread t copies four words, part t % 8, of rows t // 8, t // 8 + rows_at_once, ... of both matrices. With
    `cached`, copies of pixels go by way of the first cache: it pays where several taps lie in one line.
    `y_width` numbers are stored at once, 1 or 2.

    Of w there are as many rows behind the last as a tile has: what is multiplied with them nobody stores.
    """
    multiply, copy_x = MULTIPLY[check_choice("kind", kind, MULTIPLY)], COPY[cached]
    if y_width not in (1, 2):
        raise ParameterError(f"y_width={y_width!r}; expected 1 or 2")
    block_m, block_n, warp_m, warp_n = tile
    warps_across = block_n // warp_n
    down, across = warp_m // 16, warp_n // 8  # instructions that cover a warp's tile
    rows_at_once = tile.threads // COPIES  # a multiple of SPREAD: a thread's rows are swapped alike
    copies_x, copies_w = block_m // rows_at_once, block_n // rows_at_once  # of each thread
    piece_x, piece_w, from_copy_to_copy = block_m * WORDS, block_n * WORDS, rows_at_once * WORDS
    buffers = tile.buffers
    all_x, all_w = buffers * piece_x, buffers * piece_w
    ahead = buffers - 1  # pieces that are on their way
    younger = ahead - 1  # of them, when the oldest is waited for

    @device_function
    def fetch_x(x, shared, to, corner_h, corner_w, start, r, s, at, H, W):
        """Begin to copy the pixels r rows below and s columns right of the corners; `at` words from there."""
        for i in range(copies_x):
            inside = corner_h[i] + r < H and corner_w[i] + s < W  # above 0 is very large
            copy_x(shared, to + from_copy_to_copy * i, x, start[i] + at, inside)

    @device_function
    def fetch_w(w, shared, to, at, w_row):
        """Begin to copy words from `at` on, and those of every rows_at_once-th filter from there."""
        for i in range(copies_w):
            cp_async16_zfill(shared, to + from_copy_to_copy * i, w, at + i * rows_at_once * w_row, True)

    @device_function
    def add_product(sums, a, i, j, b0, b1):
        """sums[i, j] += A[i] @ B, with one instruction."""
        c0, c1, c2, c3 = sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3]
        four = multiply(a[i, 0], a[i, 1], a[i, 2], a[i, 3], b0, b1, c0, c1, c2, c3)
        sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = four

    @device_function
    def multiply_step(shared_x, shared_w, sums, a, from_x, from_w):
        """Add to a warp's sums the products of eight words along the sum."""
        for i in range(down):
            a[i, 0], a[i, 1], a[i, 2], a[i, 3] = ldmatrix_x4(shared_x, from_x + 16 * WORDS * i)
        for pair in range(across // 2):
            b = ldmatrix_x4(shared_w, from_w + 16 * WORDS * pair)  # the filters of two products
            for i in range(down):
                add_product(sums, a, i, 2 * pair, b[0], b[1])
                add_product(sums, a, i, 2 * pair + 1, b[2], b[3])

    @device_function
    def store(y, at, sums, i, j, half, pair):
        """Store two numbers of a row, or the first where there is no second."""
        if y_width == 2:
            store2(y, at, sums[i, j, 2 * half], sums[i, j, 2 * half + 1])
        else:
            y[at] = sums[i, j, 2 * half]
            if pair:
                y[at + 1] = sums[i, j, 2 * half + 1]

    @kernel
    def tensor_core(
        x,
        w,
        y,
        M,
        H,
        W,
        P,
        Q,
        groups,
        channels,
        filters,
        w_row,
        part,
        stride_h,
        stride_w,
        top,
        left,
        step_h,
        step_w,
        end_h,
        end_w,
    ):
        shared_x = cuda.shared.array(all_x, uint32, alignment=16)
        shared_w = cuda.shared.array(all_w, uint32, alignment=16)
        shared_x = held(shared_x)
        shared_w = held(shared_w)
        sums = cuda.local.array((down, across, 4), float32)
        a = cuda.local.array((down, 4), uint32)
        corner_h = cuda.local.array(copies_x, uint32)
        corner_w = cuda.local.array(copies_x, uint32)
        start = cuda.local.array(copies_x, uint32)

        # Which tile: groups first, then filters, so that neighbouring blocks read the same pixels.
        thread = cuda.threadIdx.x
        block = cuda.blockIdx.x
        group = block % groups
        block = block // groups
        tiles_across = (filters + block_n - 1) // block_n
        first_m = block // tiles_across * block_m
        first_n = block % tiles_across * block_n

        # Which part of the sums.
        first = cuda.blockIdx.y * part
        length = part if first + part <= w_row else w_row - first

        # Where my copies go, and the pixels and filters they come from.
        row = thread // COPIES
        word = thread % COPIES * 4
        place = row * WORDS + (word ^ row % SPREAD * 4)
        pixel = groups * channels
        for i in range(copies_x):
            m = first_m + row + i * rows_at_once
            n = m // (P * Q)
            p = m // Q % P
            q = m % Q
            h = p * stride_h - top
            v = q * stride_w - left
            start[i] = ((n * H + h) * W + v) * pixel + group * channels
            corner_h[i] = h if m < M else OUTSIDE
            corner_w[i] = v
        of_w = (group * filters + first_n + row) * w_row + first + word

        # Which fragments my warp multiplies; each lane of an ldmatrix points at one row of four words.
        lane = thread % 32
        warp = thread // 32
        warp_row = warp // warps_across * warp_m
        warp_col = warp % warps_across * warp_n
        x_place = (warp_row + lane % 16) * WORDS + (lane // 16 ^ lane % SPREAD) * 4
        w_line = lane % 8 + lane // 16 * 8
        w_place = (warp_col + w_line) * WORDS + (lane // 8 % 2 ^ lane % SPREAD) * 4
        for i in range(down):
            for j in range(across):
                for quarter in range(4):
                    sums[i, j, quarter] = float32(0)

        # My word's tap: channels run fastest, then columns, then rows, counted in pixels.
        tap, c = divmod(first + word, channels)
        r, s = divmod(tap, end_w // step_w)
        r, s = r * step_h, s * step_w
        k, come, free = 0, 0, 0
        while True:
            if k >= ahead * WORDS:  # all have the oldest piece, and nobody reads the one before it any more
                cp_async_wait(younger)
                cuda.syncthreads()
            while c >= channels:
                c -= channels
                s += step_w
                if s >= end_w:
                    s = 0
                    r += step_h
            if r >= end_h:
                r = OUTSIDE  # behind the last tap there are zeros
            if k < length:
                at = (r * W + s) * pixel + c
                fetch_x(
                    x, shared_x, uint64(free * piece_x + place), corner_h, corner_w, start, r, s, at, H, W
                )
                fetch_w(w, shared_w, uint64(free * piece_w + place), of_w + k, w_row)
            cp_async_commit()  # of no copies at the end: so a piece is a group
            if k >= ahead * WORDS:  # while the others are on their way
                for step in range(0, WORDS, STEP):
                    from_x = uint64(come * piece_x + (x_place ^ step))
                    from_w = uint64(come * piece_w + (w_place ^ step))
                    multiply_step(shared_x, shared_w, sums, a, from_x, from_w)
                if k >= length + younger * WORDS:
                    break
                come = come + 1 if come < ahead else 0
            c += WORDS
            k += WORDS
            free = free + 1 if free < ahead else 0

        # Lane 4g + t holds rows g and g + 8, columns 2t and 2t + 1 of each product.
        first_m = first_m + warp_row + lane // 4
        first_n = first_n + warp_col + lane % 4 * 2
        of_part = cuda.blockIdx.y * M * groups * filters
        for i in range(down):
            for j in range(across):
                for half in range(2):
                    m = first_m + 16 * i + 8 * half
                    n = first_n + 8 * j
                    if m < M and n < filters:
                        at = of_part + (m * groups + group) * filters + n
                        store(y, at, sums, i, j, half, n + 1 < filters)

    return tensor_core
