"""The product on tensor cores: a block of warps, each multiplying with one instruction 16 x 8 numbers.

    for each piece of the sums, 16 words long:
        wait for it, and for each other
        begin the block's copies of one that comes later             cp.async, 16 bytes each
        each warp multiplies the piece that has come                 ldmatrix, mma.sync

The kernel moves words of 32 bits, two float16 or one tf32 each: instructions place them alike (see `mma`).

Rows in shared memory lie close together, and their quarters of four words are swapped about: quarter q of row
r stands where quarter q ^ (r // 2 % 4) would. So the eight rows that `ldmatrix` reads at a time lie in eight
groups of banks, and so do the two rows that eight lanes fill. A gap behind each row would do for the reads,
but not for the copies. It is CUTLASS's swizzle for rows of 64 bytes.
"""

from __future__ import annotations

from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, float32, uint32
from convlab.gpu.tensor_cores.mma import (
    cp_async16_zfill,
    cp_async_commit,
    cp_async_wait,
    ldmatrix_x4,
    mma_m16n8k8_tf32,
    mma_m16n8k16_f16,
)
from convlab.gpu.tensor_cores.warp_tile import WORDS, WarpTile
from convlab.support.checked import kept
from convlab.support.checks import check_choice

MULTIPLY = {"fp16": mma_m16n8k16_f16, "tf32": mma_m16n8k8_tf32}
COPIES = WORDS // 4  # of 16 bytes, to fill a row
STEP = 8  # words along the sum that one instruction multiplies
OUTSIDE = 1 << 30  # a row that no picture has


@kept
def product(kind: str, tile: WarpTile):
    """Return the kernel that convolves words with words, for tiles of that size.

    It takes x (N, H, W, groups, channels) and w (K, w_row) as flat words, and y (N*P*Q*K). A block computes
    block_m pixels and block_n filters of one group; thread t copies quarter t % 4 of rows t // 4,
    t // 4 + rows_at_once, ... of both matrices.
    """
    multiply = MULTIPLY[check_choice("kind", kind, MULTIPLY)]
    block_m, block_n, warp_m, warp_n = tile
    warps_across = block_n // warp_n
    down, across = warp_m // 16, warp_n // 8  # instructions that cover a warp's tile
    rows_at_once = tile.threads // COPIES
    copies_x, copies_w = block_m // rows_at_once, block_n // rows_at_once  # of each thread
    buffers = tile.buffers
    ahead = buffers - 1  # pieces that are on their way
    younger = ahead - 1  # of them, when the oldest is waited for

    @device_function
    def fetch_x(x, shared, to, corner_h, corner_w, start, r, s, at, H, W, end_h):
        """Begin to copy the pixels r rows below and s columns right of the corners; `at` words from there."""
        for i in range(copies_x):
            inside = corner_h[i] + r < H and corner_w[i] + s < W  # above 0 is very large
            wanted = inside and r < end_h
            place = (to[0], to[1] + i * rows_at_once, to[2])
            cp_async16_zfill(shared, place, x, start[i] + at if wanted else 0, wanted)

    @device_function
    def fetch_w(w, shared, to, n, filters, at, w_row):
        """Begin to copy filters n, n + rows_at_once, ... of the group, as far as there are any."""
        for i in range(copies_w):
            wanted = n + i * rows_at_once < filters
            place = (to[0], to[1] + i * rows_at_once, to[2])
            there = at + i * rows_at_once * w_row
            cp_async16_zfill(shared, place, w, there if wanted else 0, wanted)

    @device_function
    def add_product(sums, a, i, j, b0, b1):
        """sums[i, j] += A[i] @ B, with one instruction."""
        c0, c1, c2, c3 = sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3]
        four = multiply(a[i, 0], a[i, 1], a[i, 2], a[i, 3], b0, b1, c0, c1, c2, c3)
        sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = four

    @device_function
    def multiply_step(shared_x, shared_w, sums, a, buffer, x_place, w_place, step):
        """Add to a warp's sums the products of eight words along the sum."""
        for i in range(down):
            place = (buffer, x_place[0] + 16 * i, x_place[1] ^ step)
            a[i, 0], a[i, 1], a[i, 2], a[i, 3] = ldmatrix_x4(shared_x, place)
        for pair in range(across // 2):
            place = (buffer, w_place[0] + 16 * pair, w_place[1] ^ step)
            b = ldmatrix_x4(shared_w, place)  # the filters of two products
            for i in range(down):
                add_product(sums, a, i, 2 * pair, b[0], b[1])
                add_product(sums, a, i, 2 * pair + 1, b[2], b[3])

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
        stride_h,
        stride_w,
        top,
        left,
        step_h,
        step_w,
        end_h,
        end_w,
    ):
        shared_x = cuda.shared.array((buffers, block_m, WORDS), uint32, alignment=16)
        shared_w = cuda.shared.array((buffers, block_n, WORDS), uint32, alignment=16)
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

        # Where my copies go, and the pixels and filters they come from.
        row = thread // COPIES
        word = thread % COPIES * 4
        place = word ^ row // 2 % 4 * 4  # rows that are copied together lie a multiple of eight apart
        pixel = groups * channels
        for i in range(copies_x):
            m = first_m + row + i * rows_at_once
            n = m // (P * Q)
            p = m // Q % P
            q = m % Q
            h = p * stride_h - top
            v = q * stride_w - left
            start[i] = ((n * H + h) * W + v) * pixel
            corner_h[i] = h if m < M else OUTSIDE
            corner_w[i] = v
        n = first_n + row
        of_w = (group * filters + n) * w_row + word
        of_x = group * channels

        # Which fragments my warp multiplies; each lane of an ldmatrix points at one row of four words.
        lane = thread % 32
        warp = thread // 32
        warp_row = warp // warps_across * warp_m
        warp_col = warp % warps_across * warp_n
        x_place = (warp_row + lane % 16, (lane // 16 ^ lane // 2 % 4) * 4)
        w_line = lane % 8 + lane // 16 * 8
        w_place = (warp_col + w_line, (lane // 8 % 2 ^ lane // 2 % 4) * 4)
        for i in range(down):
            for j in range(across):
                for part in range(4):
                    sums[i, j, part] = float32(0)

        r, s, c, k, come, free = 0, 0, word, 0, 0, 0
        while True:
            if k >= ahead * WORDS:  # all have the oldest piece, and nobody reads the one before it any more
                cp_async_wait(younger)
                cuda.syncthreads()
            # My word's tap: channels run fastest, then columns, then rows, counted in pixels.
            while c >= channels:
                c -= channels
                s += step_w
                if s >= end_w:
                    s = 0
                    r += step_h
            if k < w_row:
                at = (r * W + s) * pixel + of_x + c
                to = (free, row, place)
                fetch_x(x, shared_x, to, corner_h, corner_w, start, r, s, at, H, W, end_h)
                fetch_w(w, shared_w, to, n, filters, of_w + k, w_row)
            cp_async_commit()  # of no copies at the end: so a piece is a group
            if k >= ahead * WORDS:  # while the others are on their way
                multiply_step(shared_x, shared_w, sums, a, come, x_place, w_place, 0)
                multiply_step(shared_x, shared_w, sums, a, come, x_place, w_place, STEP)
                if k >= w_row + younger * WORDS:
                    break
                come = come + 1 if come < ahead else 0
            c += WORDS
            k += WORDS
            free = free + 1 if free < ahead else 0

        # Lane 4g + t holds rows g and g + 8, columns 2t and 2t + 1 of each product.
        first_m = first_m + warp_row + lane // 4
        first_n = first_n + warp_col + lane % 4 * 2
        for i in range(down):
            for j in range(across):
                for part in range(4):
                    m = first_m + 16 * i + part // 2 * 8
                    n = first_n + 8 * j + part % 2
                    if m < M and n < filters:
                        at = (m * groups + group) * filters + n
                        y[at] = sums[i, j, part]

    return tensor_core
