"""The lane simulator: kernels compute what they say, and what they ask of the memory is counted exactly."""

import linecache

import numpy as np
import pytest
from right_kernels import product_in_tiles

from convlab import ConvError
from convlab.gpu import simulator
from convlab.gpu.numba_cuda import cuda, float32, float64, int32, uint32
from convlab.gpu.ptx import load4, store2, store4
from convlab.gpu.simulated_gpu import Simulator
from convlab.gpu.tensor_cores.mma import (
    cp_async16_zfill,
    cp_async_commit,
    cp_async_wait,
    half2,
    ldmatrix_x4,
    mma_m16n8k8_tf32,
    mma_m16n8k16_f16,
    tf32,
)

ALL = 0xFFFFFFFF


def run(kernel, grid, block, *arguments, **options):
    """Run a kernel that must be right."""
    trace = simulator.run(kernel, grid, block, *arguments, **options)
    trace.check()
    return trace


def counts(trace, *names):
    """Return some attributes of every site: {(kind, array): (...)}, sites of one line and array added up."""
    found = {}
    for site in trace.sites():
        values = np.array([getattr(site, name) for name in names])
        key = (site.kind, site.array)
        found[key] = found.get(key, 0) + values
    return {key: tuple(values.tolist()) for key, values in found.items()}


def picture(*shape, dtype=np.float32):
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


# -- counts, held against closed formulas --------------------------------------------------------------------


def convolution(neighbours):
    """Return a kernel, one output a thread, padding of one; neighbouring lanes are "pixels" or "filters"."""

    @cuda.jit
    def convolve(x, w, y):
        H, W, C = x.shape
        R, S, _, K = w.shape
        i = cuda.grid(1)
        if i < H * W * K:
            if neighbours == "pixels":
                k, pixel = divmod(i, H * W)
            else:
                pixel, k = divmod(i, K)
            p, q = divmod(pixel, W)
            total = float32(0)
            for r in range(R):
                for s in range(S):
                    row, col = p + r - 1, q + s - 1
                    if 0 <= row < H and 0 <= col < W:
                        for c in range(C):
                            total += x[row, col, c] * w[r, s, c, k]
            y[p, q, k] = total

    return convolve


def reference(x, w):
    """Return the padded convolution in float64."""
    (H, W, _), (R, S, _, K) = x.shape, w.shape
    padded = np.pad(x.astype(float), ((1, 1), (1, 1), (0, 0)))
    y = np.zeros((H, W, K))
    for r in range(R):
        for s in range(S):
            y += padded[r : r + H, s : s + W] @ w[r, s].astype(float)
    return y


def sectors_of(addresses):
    """Return the different sectors of some bytes' addresses."""
    return len(set((np.asarray(addresses) // 32).tolist()))


@pytest.mark.parametrize("neighbours", ["pixels", "filters"])
def test_counts_of_a_padded_convolution_equal_the_formula(neighbours):
    H, W, C, K = 9, 7, 3, 20
    x, w = picture(H, W, C), picture(3, 3, C, K)
    y = simulator.poisoned((H, W, K), np.float32)
    trace = run(convolution(neighbours), -(-H * W * K // 64), 64, x, w, y)
    np.testing.assert_allclose(y, reference(x, w), rtol=1e-4, atol=1e-5)

    expected = {key: np.zeros(4, int) for key in (("ld", "x"), ("ld", "w"), ("st", "y"))}

    def ask(key, element, wanted):
        if wanted.any():
            used = 4 * element[wanted]
            least = -(-4 * len(np.unique(used)) // 32)
            expected[key] += 1, wanted.sum(), sectors_of(used), least

    for first in range(0, H * W * K, 32):
        i = np.arange(first, first + 32)
        alive = i < H * W * K
        k, pixel = (i // (H * W), i % (H * W)) if neighbours == "pixels" else (i % K, i // K)
        p, q = pixel // W, pixel % W
        for r in range(3):
            for s in range(3):
                row, col = p + r - 1, q + s - 1
                inside = alive & (row >= 0) & (row < H) & (col >= 0) & (col < W)
                for c in range(C):
                    ask(("ld", "x"), (row * W + col) * C + c, inside)
                    ask(("ld", "w"), ((r * 3 + s) * C + c) * K + k, inside)
        ask(("st", "y"), pixel * K + k, alive)
    found = counts(trace, "requests", "lanes", "sectors", "ideal_sectors")
    assert found == {key: tuple(values.tolist()) for key, values in expected.items()}


def turn(width):
    """Return a kernel that turns a 32 x 32 tile around, in shared memory whose rows are `width` numbers."""

    @cuda.jit
    def turn(x, y):
        tile = cuda.shared.array((32, width), float32)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        for row in range(warp, 32, 4):
            tile[row, lane] = x[row, lane]
        cuda.syncthreads()
        for row in range(warp, 32, 4):
            y[row, lane] = tile[lane, row]

    return turn


@pytest.mark.parametrize("width", [32, 33, 34, 36, 40])
def test_bank_conflicts_equal_the_formula(width):
    x, y = picture(32, 32), simulator.poisoned((32, 32), np.float32)
    trace = run(turn(width), 1, (32, 4), x, y)
    assert np.array_equal(y, x.T)
    for site in trace.sites():  # what each request says adds up to what the site says
        for name in "sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts":
            if name.endswith("sectors") == (site.space == "global"):
                assert sum(getattr(one, name) for one in trace.requests(site)) == getattr(site, name)
    ways = np.gcd(width, 32)  # lanes that meet in one bank: a column's words are `width` apart
    found = counts(trace, "requests", "lanes", "wavefronts", "ideal_wavefronts", "sectors")
    assert found["st", "tile"] == (32, 1024, 32, 32, 0)
    assert found["ld", "tile"] == (32, 1024, 32 * ways, 32, 0)
    assert found["ld", "x"] == found["st", "y"] == (32, 1024, 0, 0, 32 * 4)


def test_strided_loads_equal_the_formula():
    @cuda.jit
    def strided(x, y, stride):
        i = cuda.threadIdx.x
        y[i] = x[stride * i]

    x = picture(32 * 40)
    for stride in (0, 1, 2, 3, 7, 8, 9, 33):
        trace = run(strided, 1, 32, x, simulator.poisoned(32, np.float32), stride)
        found = counts(trace, "sectors", "ideal_sectors", "bytes")
        touched = np.unique(4 * stride * np.arange(32))
        assert found["ld", "x"] == (sectors_of(touched), -(-4 * len(touched) // 32), 4 * len(touched))


@pytest.mark.parametrize("padded", [0, 1, 4])
def test_counts_of_a_tiled_product_equal_the_formula(padded):
    M, N, K = 32, 16, 48
    a, b, c = picture(M, K), picture(K, N), simulator.poisoned((M, N), np.float32)
    trace = run(product_in_tiles(padded), (N // 16, M // 16), (16, 16), a, b, c)
    np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-4, atol=1e-5)
    warps = (M // 16) * (N // 16) * 8  # of all blocks; a warp is two rows of a tile
    steps = K // 16
    found = counts(trace, "requests", "sectors", "wavefronts")
    assert found["ld", "a"] == found["ld", "b"] == (warps * steps, warps * steps * 4, 0)
    assert found["st", "c"] == (warps, warps * 4, 0)
    # Two rows of a padded tile are `16 + padded` words apart: they collide where their banks overlap.
    banks = (np.arange(2)[:, None] * (16 + padded) + np.arange(16)) % 32
    ways = np.bincount(banks.reshape(-1)).max()
    assert found["st", "tile_a"] == found["st", "tile_b"] == (warps * steps, 0, warps * steps * ways)
    # All lanes of a row want one word of a; the two rows want the same 16 of b.
    ways = 2 if (16 + padded) % 32 == 0 else 1
    assert found["ld", "tile_a"] == (warps * steps * 16, 0, warps * steps * 16 * ways)
    assert found["ld", "tile_b"] == (warps * steps * 16, 0, warps * steps * 16)


@pytest.mark.parametrize(("dtype", "size"), [(np.float16, 2), (np.float32, 4), (np.float64, 8)])
def test_every_width_of_element_is_counted(dtype, size):
    kind = np.dtype(dtype)

    @cuda.jit
    def through_shared(x, y):
        s = cuda.shared.array(64, kind)
        i = cuda.threadIdx.x
        s[2 * i] = x[2 * i]
        cuda.syncthreads()
        y[i] = s[2 * i]

    x, y = picture(64, dtype=dtype), simulator.poisoned(32, dtype)
    trace = run(through_shared, 1, 32, x, y)
    assert np.array_equal(y, x[::2])
    found = counts(trace, "size", "sectors", "wavefronts")
    assert found["ld", "x"] == (size, 64 * size // 32, 0)
    # 2 bytes: a word a lane. 4 bytes: every second bank, twice. 8 bytes: the same for each half of the warp.
    assert found["ld", "s"] == (size, 0, {2: 1, 4: 2, 8: 4}[size])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_four_at_once_are_a_quarter_of_the_requests(dtype):
    @cuda.jit
    def copy(x, y):
        i = 4 * cuda.threadIdx.x
        a, b, c, d = load4(x, (0, i))
        store4(y, (0, i), a, b, c, d)

    x, y = picture(1, 128, dtype=dtype), simulator.poisoned((1, 128), dtype)
    trace = run(copy, 1, 32, x, y)
    assert np.array_equal(x, y)
    sectors = x.nbytes // 32
    if dtype is np.float32:
        assert counts(trace, "requests", "size", "sectors")["ld", "x"] == (1, 16, sectors)
    else:  # 32 bytes take two requests of 16, each of which touches every sector
        load, _ = trace.sites()
        assert (load.requests, load.size, load.sectors) == (2, 16, 2 * sectors)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_at_once_are_half_of_the_requests(dtype):
    @cuda.jit
    def copy(x, y):
        i = 2 * cuda.threadIdx.x
        store2(y, i, x[i], x[i + 1])

    x, y = picture(64, dtype=dtype), simulator.poisoned(64, dtype)
    trace = run(copy, 1, 32, x, y)
    assert np.array_equal(x, y)
    size = 2 * x.itemsize
    assert counts(trace, "requests", "size", "sectors")["st", "y"] == (1, size, x.nbytes // 32)


def test_constant_memory_gives_one_word_at_a_time():
    table = np.arange(40, dtype=np.float32)

    @cuda.jit
    def look_up(y):
        numbers = cuda.const.array_like(table)
        i = cuda.threadIdx.x
        y[i] = numbers[7] + numbers[i // 4]

    y = simulator.poisoned(32, np.float32)
    trace = run(look_up, 1, 32, y)
    assert np.array_equal(y, 7 + table[np.arange(32) // 4])
    assert [site.wavefronts for site in trace.sites() if site.space == "const"] == [1, 8]


# -- requests ----------------------------------------------------------------------------------------------


def test_a_request_is_one_iteration_of_every_loop_and_one_call():
    @cuda.jit(device=True)
    def double(x, i):
        return 2 * x[i]

    @cuda.jit
    def nested(x, y):
        i = cuda.threadIdx.x
        total = float32(0)
        for r in range(2):
            s = 0
            while s < 1 + i % 3:  # lanes leave it at different times
                total += x[32 * r + i]
                s += 1
        y[i] = total + double(x, i) + double(x, i)

    x, y = picture(64), simulator.poisoned(32, np.float32)
    trace = run(nested, 1, 32, x, y)
    i = np.arange(32)
    expected = (1 + i % 3) * (x[:32] + x[32:]) + 4 * x[:32]
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    called, inside = (site for site in trace.sites() if site.array == "x")
    assert (called.requests, called.lanes) == (2, 64)
    requests = trace.requests(inside)
    assert [request.iteration for request in requests] == [(r, s) for r in range(2) for s in range(3)]
    for request in requests:
        r, s = request.iteration
        assert request.lanes.tolist() == [lane for lane in range(32) if s < 1 + lane % 3]
        assert request.addresses.tolist() == [4 * (32 * r + lane) for lane in request.lanes]
        assert (request.block, request.warp, request.size, request.sectors) == ((0, 0, 0), 0, 4, 4)
    assert sum(request.sectors for request in requests) == inside.sectors
    assert inside.lanes == sum(len(request.lanes) for request in requests)


def test_lanes_in_different_branches_make_different_requests():
    @cuda.jit
    def branches(x, y):
        i = cuda.threadIdx.x
        if i % 2 == 0:
            y[i] = x[i]
        else:
            y[i] = -x[i]

    trace = run(branches, 1, 64, picture(64), simulator.poisoned(64, np.float32))
    loads = [site for site in trace.sites() if site.kind == "ld"]
    assert [(site.requests, site.lanes) for site in loads] == [(2, 32), (2, 32)]


def test_reads_count_how_often_each_pixel_is_used():
    x, w = picture(6, 5, 2), picture(3, 3, 2, 4)
    trace = run(convolution("filters"), 4, 32, x, w, simulator.poisoned((6, 5, 4), np.float32))
    rows = np.convolve(np.ones(6), np.ones(3), "same")
    cols = np.convolve(np.ones(5), np.ones(3), "same")
    assert np.array_equal(trace.reads("x"), np.repeat(4 * np.outer(rows, cols)[:, :, None], 2, axis=2))
    assert trace.reads("w").sum() == trace.reads("x").sum()
    assert not trace.reads("y").any()
    with pytest.raises(ConvError, match="array='z'; convolve has no global array"):
        trace.reads("z")


def test_arrays_of_one_allocation_share_its_addresses():
    @cuda.jit
    def add(a, b, y):
        i = cuda.threadIdx.x
        y[i] = a[i] + b[i]

    x = picture(64)
    trace = run(add, 1, 32, x[:32], x[1:33], simulator.poisoned(32, np.float32))
    a, b = (site for site in trace.sites() if site.kind == "ld")
    assert (a.offset, a.sectors, b.offset, b.sectors) == (0, 4, 4, 5)


def test_two_shared_arrays_on_one_line_are_two():
    @cuda.jit
    def two(y):
        a, b = cuda.shared.array(32, float32), cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        a[i] = i
        b[i] = -i
        y[i] = a[i] - b[i]

    y = simulator.poisoned(32, np.float32)
    trace = run(two, 1, 32, y)
    assert np.array_equal(y, 2 * np.arange(32))
    assert {site.array for site in trace.sites()} == {"a", "b", "y"}


def test_one_block_can_be_looked_at_alone():
    x, y = picture(96), simulator.poisoned(96, np.float32)

    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        y[i] = x[i]

    trace = run(copy, 3, 32, x, y, blocks=[1])
    assert np.array_equal(np.flatnonzero(~np.isnan(y)), np.arange(32, 64))
    assert [request.block for request in trace.requests(trace.sites()[0])] == [(1, 0, 0)]
    assert run(copy, 3, 32, x, y, traced=False).sites() == []
    assert np.array_equal(x, y)


def test_report_has_a_row_for_every_site():
    trace = run(turn(33), 1, (32, 4), picture(32, 32), simulator.poisoned((32, 32), np.float32))
    head, *rows = trace.report().splitlines()
    assert head.split()[:4] == ["line", "what", "array", "requests"]
    assert len(rows) == len(trace.sites()) == 4
    assert all(
        str(site.line) in row and site.source in row for site, row in zip(trace.sites(), rows, strict=True)
    )


# -- numbers -----------------------------------------------------------------------------------------------


def test_casts_wrap_around_and_floats_keep_their_type():
    half = 0.5

    @cuda.jit
    def numbers(f, u, d):
        u[0] = uint32(-1)
        u[1] = uint32(uint32(1 << 31) * uint32(2)) + 5
        u[2] = int32(uint32(0xFFFFFFFE)) + 10
        u[3] = uint32(7.9)
        f[0] = float32(1) / float32(3)
        d[0] = float32(1) / float32(3)
        d[1] = f[1] * 0.1
        d[2] = f[1] * half
        d[3] = float64(1) / 3

    f, u, d = np.ones(4, np.float32), np.zeros(4, np.uint32), np.zeros(4)
    run(numbers, 1, 1, f, u, d)
    assert u.tolist() == [0xFFFFFFFF, 5, 8, 7]
    third = np.float32(1) / np.float32(3)
    assert f[0] == d[0] == third
    assert d[1:].tolist() == [0.1, 0.5, 1 / 3]


def test_stores_wrap_around_and_round():
    @cuda.jit
    def store(small, signed, half):
        small[0] = 300
        signed[0] = 0xFFFFFFFF
        half[0] = 1 / 3

    small, signed, half = np.zeros(1, np.uint8), np.zeros(1, np.int32), np.zeros(1, np.float16)
    run(store, 1, 1, small, signed, half)
    assert (small[0], signed[0], half[0]) == (44, -1, np.float16(1 / 3))


def test_overflow_warns_nobody(recwarn):
    @cuda.jit
    def overflow(y):
        big = float32(3e38)
        y[0] = big * big
        y[1] = float32(0) / float32(0)

    y = np.zeros(2, np.float32)
    before = np.geterr()
    run(overflow, 1, 1, y)
    assert np.isinf(y[0])
    assert np.isnan(y[1])
    assert not recwarn.list
    assert np.geterr() == before


def test_complex_numbers_and_functions_of_math():
    import math

    @cuda.jit
    def spin(x, y):
        i = cuda.threadIdx.x
        angle = math.pi * x[i]
        y[i] = (math.cos(angle) + 1j * math.sin(angle)) * math.sqrt(x[i])

    x, y = np.abs(picture(32)), np.zeros(32, np.complex64)
    run(spin, 1, 32, x, y)
    np.testing.assert_allclose(y, np.sqrt(x) * np.exp(1j * np.pi * x), rtol=1e-5)


# -- names of cuda -----------------------------------------------------------------------------------------


def test_threads_and_blocks_have_three_axes():
    @cuda.jit
    def where(y):
        x0, y0, z0 = cuda.grid(3)
        i = cuda.threadIdx.x + 3 * (cuda.threadIdx.y + 2 * cuda.threadIdx.z)
        y[z0, y0, x0] = 1000 * cuda.blockIdx.z + 100 * cuda.blockIdx.y + 10 * cuda.blockIdx.x + i

    y = simulator.poisoned((4, 4, 6), np.int32)
    run(where, (2, 2, 2), (3, 2, 2), y)
    z, row, col = np.indices(y.shape)
    block = 1000 * (z // 2) + 100 * (row // 2) + 10 * (col // 3)
    assert np.array_equal(y, block + col % 3 + 3 * (row % 2 + 2 * (z % 2)))


def test_warp_sum_with_shuffles():
    @cuda.jit
    def total(x, y):
        lane = cuda.laneid
        value = x[cuda.threadIdx.x]
        for step in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(ALL, value, step)
        if lane == 0:
            y[cuda.threadIdx.x // 32] = value

    x, y = np.arange(96, dtype=np.float64), simulator.poisoned(3, np.float64)
    run(total, 1, 96, x, y)
    assert np.array_equal(y, x.reshape(3, 32).sum(1))


def test_shuffles_and_votes():
    @cuda.jit
    def ask(y):
        i = cuda.threadIdx.x
        y[0, i] = cuda.shfl_sync(ALL, i, 5)
        y[1, i] = cuda.shfl_up_sync(ALL, i, 3)
        y[2, i] = cuda.shfl_xor_sync(ALL, i, 1)
        y[3, i] = cuda.ballot_sync(ALL, i % 4 == 0)
        y[4, i] = cuda.any_sync(ALL, i == 9) + 2 * cuda.all_sync(ALL, i < 31) + 4 * cuda.eq_sync(ALL, i < 40)
        y[5, i] = cuda.match_any_sync(ALL, i % 2)
        if i < 6:
            y[6, i] = cuda.activemask()
        else:
            y[6, i] = cuda.lanemask_lt()
        y[7, i] = cuda.popc(i) + 100 * cuda.clz(i) + 10000 * cuda.ffs(i)

    y = simulator.poisoned((8, 32), np.int64)
    run(ask, 1, 32, y)
    i = np.arange(32)
    assert (y[0] == 5).all()
    assert np.array_equal(y[1], np.where(i < 3, i, i - 3))
    assert np.array_equal(y[2], i ^ 1)
    assert (y[3] == 0x11111111).all()
    assert (y[4] == 5).all()
    assert np.array_equal(y[5], np.where(i % 2, 0xAAAAAAAA, 0x55555555))
    assert np.array_equal(y[6], np.where(i < 6, 0b111111, (1 << i) - 1))
    bits = [
        bin(n).count("1") + 100 * (32 - n.bit_length()) + 10000 * (n & -n).bit_length() for n in range(32)
    ]
    assert y[7].tolist() == bits


def test_other_names_of_cuda():
    @cuda.jit
    def names(x, y):
        y[0] = cuda.fma(x[0], x[0], float32(-1))  # rounded once: what is left is not nothing
        y[1] = cuda.selp(x[0] > 1, float32(5), float32(7))
        y[2] = cuda.gridsize(1)
        y[3] = cuda.atomic.compare_and_swap(x[1:], float32(2), float32(3))
        y[4] = x[1]

    x, y = np.array([1 + 2**-12, 2], np.float32), simulator.poisoned(5, np.float32)
    run(names, 1, 1, x, y)
    assert y.tolist() == [2**-11 + 2**-24, 5, 1, 2, 3]


def test_barriers_that_count():
    @cuda.jit
    def count(y):
        i = cuda.threadIdx.x
        y[i] = cuda.syncthreads_count(i % 3 == 0) + 100 * cuda.syncthreads_or(i == 7)
        y[i] += 1000 * cuda.syncthreads_and(i < 63)

    y = simulator.poisoned(64, np.int32)
    run(count, 1, 64, y)
    assert (y == 22 + 100).all()


def test_atomic_operations():
    @cuda.jit
    def together(x, total, least, most, bits, first, counts):
        i = cuda.grid(1)
        mine = cuda.shared.array(4, int32)
        if cuda.threadIdx.x < 4:
            mine[cuda.threadIdx.x] = 0
        cuda.syncthreads()
        cuda.atomic.add(mine, x[i] % 4, 1)
        cuda.atomic.add(total, 0, x[i])
        cuda.atomic.min(least, 0, x[i])
        cuda.atomic.max(most, 0, x[i])
        cuda.atomic.or_(bits, 0, 1 << (x[i] % 32))
        if cuda.atomic.cas(first, 0, -1, x[i]) == -1:
            cuda.atomic.exch(first, 1, 1)
        cuda.syncthreads()
        if cuda.threadIdx.x < 4:
            cuda.atomic.add(counts, cuda.threadIdx.x, mine[cuda.threadIdx.x])

    x = np.random.default_rng(1).integers(5, 1000, 64).astype(np.int32)
    total, least, most, bits = (np.array([n], np.int64) for n in (0, 9999, 0, 0))
    first, found = np.array([-1, 0], np.int32), np.zeros(4, np.int32)
    trace = run(together, 2, 32, x, total, least, most, bits, first, found)
    assert (total[0], least[0], most[0]) == (x.sum(), x.min(), x.max())
    assert bits[0] == np.bitwise_or.reduce(1 << (x.astype(np.int64) % 32))
    assert (first[0], first[1]) == (x[0], 1)
    assert np.array_equal(found, np.bincount(x % 4, minlength=4))
    assert counts(trace, "requests", "lanes")["atomic", "total"] == (2, 64)


def test_dynamic_shared_memory():
    @cuda.jit
    def reverse(x, y):
        words = cuda.shared.array(0, uint32)
        numbers = cuda.shared.array(0, float32)  # the same memory, looked at in another way
        i = cuda.threadIdx.x
        numbers[i] = x[i]
        cuda.syncthreads()
        y[i] = words[numbers.size - 1 - i]

    x, y = picture(64), simulator.poisoned(64, np.uint32)
    run(reverse, 1, 64, x, y, shared_bytes=256)
    assert np.array_equal(y.view(np.float32), x[::-1])
    with pytest.raises(simulator.KernelError, match=r"numbers\[32\] is outside of numbers"):
        simulator.run(reverse, 1, 64, x, y, shared_bytes=128)


def test_parts_of_arrays_are_views():
    @cuda.jit(device=True)
    def fill(row, value):
        for j in range(len(row)):
            row[j] = value + j

    @cuda.jit
    def rows(y):
        tile = cuda.shared.array((2, 4, 8), float32)
        i = cuda.threadIdx.x
        fill(tile[i // 4, i % 4], 10 * i)
        fill(y[i][8:], 0)
        half = y[i, :8]
        for j in range(8):
            half[j] = tile[i // 4][i % 4, j]

    y = simulator.poisoned((8, 12), np.float32)
    run(rows, 1, 8, y)
    assert np.array_equal(y, np.where(np.arange(12) < 8, 10 * np.arange(8)[:, None], -8) + np.arange(12))


# -- instructions ------------------------------------------------------------------------------------------


def test_asynchronous_copies_arrive_when_waited_for():
    @cuda.jit
    def copy(x, y):
        s = cuda.shared.array((2, 64), float32)
        i = 4 * cuda.threadIdx.x
        for part in range(2):
            cp_async16_zfill(s, (part, i), x, 64 * part + i, part == 0 or i < 32)
            cp_async_commit()
        cp_async_wait(1)
        for j in range(4):
            y[i + j] = s[0, i + j]
        cp_async_wait(0)
        for j in range(4):
            y[64 + i + j] = s[1, i + j]

    x, y = picture(96), simulator.poisoned(128, np.float32)
    trace = run(copy, 1, 16, x, y)
    assert np.array_equal(y, np.append(x, np.zeros(32)))
    found = counts(trace, "requests", "lanes")
    assert found["ld", "x"] == (2, 16 + 8)
    assert found["st", "s"] == (2, 32)


@pytest.mark.parametrize("kind", ["f16", "tf32"])
def test_tensor_core_product(kind):
    depth, multiply = (16, mma_m16n8k16_f16) if kind == "f16" else (8, mma_m16n8k8_tf32)
    width = 2 if kind == "f16" else 1  # numbers in a word

    @cuda.jit
    def product(a, b, c, d):
        words = cuda.shared.array((16, 12), uint32)  # rows 12 words apart: no conflict
        lane = cuda.threadIdx.x
        g, t = lane // 4, lane % 4
        for i in range(lane, 128, 32):
            words[i // 8, i % 8] = a[i // 8, i % 8]
        cuda.syncwarp()
        a0, a1, a2, a3 = ldmatrix_x4(words, (lane % 16, 4 * (lane // 16)))
        old = c[g, 2 * t], c[g, 2 * t + 1], c[g + 8, 2 * t], c[g + 8, 2 * t + 1]
        new = multiply(a0, a1, a2, a3, b[g, t], b[g, t + 4], *old)
        d[g, 2 * t], d[g, 2 * t + 1], d[g + 8, 2 * t], d[g + 8, 2 * t + 1] = new

    @cuda.jit
    def words_of(x, y):
        row, col = cuda.threadIdx.y, cuda.threadIdx.x
        if width == 2:
            y[row, col] = half2(x[row, 2 * col], x[row, 2 * col + 1])
        else:
            y[row, col] = tf32(x[row, col])

    def in_words(x):
        y = simulator.poisoned((len(x), 8), np.uint32)
        run(words_of, 1, (8, len(x)), x, y)
        return y

    a, b, c = picture(16, depth), picture(8, depth), picture(16, 8)
    d = simulator.poisoned((16, 8), np.float32)
    trace = run(product, 1, 32, in_words(a), in_words(b), c, d)
    exact = c + a.astype(float) @ b.T
    error = np.abs(d - exact).max()
    assert 1e-6 < error < 2**-10 * depth * np.abs(a).max() * np.abs(b).max()
    assert counts(trace, "requests", "wavefronts")["ld", "words"] == (1, 4)


# -- where kernels come from -------------------------------------------------------------------------------


def test_kernels_of_notebook_cells_run():
    source = "@cuda.jit\ndef cell(y):\n    y[cuda.grid(1) + 1] = 1\n"
    name = "ipykernel_1/2.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"cuda": cuda}
    exec(compile(source, name, "exec"), names)
    with pytest.raises(simulator.KernelError, match=r"\n +line 3   y\[cuda\.grid\(1\) \+ 1\] = 1"):
        simulator.run(names["cell"], 1, 32, np.zeros(32))


def test_source_that_is_nowhere_is_said():
    names = {"cuda": cuda}
    exec("@cuda.jit\ndef lost(y):\n    y[0] = 1\n", names)
    with pytest.raises(ConvError, match="the source of kernel lost is not at hand"):
        simulator.run(names["lost"], 1, 1, np.zeros(1))


def test_unknown_names_of_cuda_are_said():
    @cuda.jit
    def modern(y):
        cuda.cluster_sync()

    with pytest.raises(NotImplementedError, match=r"no stand-in for cuda\.cluster_sync"):
        simulator.run(modern, 1, 1, np.zeros(1))


@pytest.mark.parametrize(
    ("grid", "block", "arguments", "words"),
    [
        (0, 32, 2, "grid=0; along x, y and z it must be 1 to"),
        ((1, 65536), 32, 2, r"grid=\(1, 65536\)"),
        (1, (1, 1, 65), 2, r"block=\(1, 1, 65\); along x, y and z it must be 1 to \(1024, 1024, 64\)"),
        (1, (32, 33), 2, "has 1056 threads; a block has at most 1024"),
        (1, 32, 1, r"kernel copy takes 2 arguments \(x, y\); 1 were given"),
    ],
)
def test_launches_no_device_could_do_are_refused(grid, block, arguments, words):
    @cuda.jit
    def copy(x, y):
        y[cuda.grid(1)] = x[cuda.grid(1)]

    with pytest.raises(ConvError, match=words):
        simulator.run(copy, grid, block, *[np.zeros(32)] * arguments)


def test_arrays_that_run_backwards_are_refused():
    with pytest.raises(ConvError, match="give the kernel a copy"):
        simulator.run(turn(33), 1, (32, 4), picture(32, 32)[::-1], np.zeros((32, 32)))


def test_errors_of_python_name_the_thread():
    @cuda.jit
    def divide(x, y):
        y[cuda.threadIdx.x] = 7 // (cuda.threadIdx.x - 5)

    with pytest.raises(ZeroDivisionError) as caught:
        simulator.run(divide, 1, 32, np.zeros(32), np.zeros(32))
    assert caught.value.__notes__ == ["in thread (5, 0, 0) of block (0, 0, 0)"]


def test_tuples_of_arrays_and_turned_arrays():
    @cuda.jit
    def copy(pair, y, shift):
        i = cuda.threadIdx.x
        y[i, 0] = pair[0][i, 1] + shift[1]
        y[i, 1] = pair[1][1, i]

    x = picture(2, 32)
    y = simulator.poisoned((2, 32), np.float32)
    trace = run(copy, 1, 32, (x.T, x), y.T, (0, 2))
    assert np.array_equal(y, [x[1] + 2, x[1]])
    assert {site.array for site in trace.sites()} == {"pair[0]", "pair[1]", "y"}
    with pytest.raises(simulator.KernelError, match=r"pair\[0\]\[0, 1\]"):
        simulator.run(copy, 1, 32, (simulator.poisoned((2, 32), np.float32).T, x), y.T, (0, 2)).check()


def test_arrays_that_overlap_are_in_one_race():
    @cuda.jit
    def shift(a, b):
        i = cuda.grid(1)
        a[i] = b[i]

    x = picture(65)
    with pytest.raises(simulator.KernelError, match="blocks run in any order"):
        run(shift, 64, 1, x[:64], x[1:])
    with pytest.raises(simulator.KernelError, match="with no barrier between"):
        run(shift, 1, 64, x[:64], x[1:])


def test_an_atomic_operation_on_shared_memory_orders_nothing_in_another_block():
    """Each block has a counter of its own, though both lie at the same place."""

    @cuda.jit
    def pass_on(a):
        ready = cuda.shared.array(1, int32)
        ready[0] = 0
        if cuda.blockIdx.x == 0:
            a[0] = 1
            cuda.threadfence()
            cuda.atomic.add(ready, 0, 1)
        elif cuda.atomic.add(ready, 0, 1) >= 0:
            a[1] = a[0]

    with pytest.raises(simulator.KernelError, match="blocks run in any order"):
        run(pass_on, 2, 1, np.zeros(2, np.float32))


@pytest.mark.parametrize("grid", [(2, 1, 1), (1, 2, 1), (1, 1, 2)])
def test_blocks_meet_along_every_axis_of_the_grid(grid):
    @cuda.jit
    def meet(a):
        if cuda.blockIdx.x + cuda.blockIdx.y + cuda.blockIdx.z == 0:
            a[0] = 1
        else:
            cuda.syncwarp()  # orders what this block did, and nobody else's
            a[1] = a[0]

    with pytest.raises(simulator.KernelError, match="blocks run in any order"):
        run(meet, grid, 1, np.zeros(2, np.float32))


@pytest.mark.parametrize(
    ("kinds", "wrong", "right"),
    [
        ((np.float32, np.uint8), (32, 131), (31, 128)),
        ((np.uint8, np.float32), (131, 32), (127, 32)),
        ((np.float64, np.float32), (16, 33), (16, 31)),
        ((np.float16, np.float64), (127, 31), (63, 16)),
    ],
)
@pytest.mark.parametrize("buffer", ["view", "frombuffer"])
def test_blocks_meet_in_views_of_other_sizes(kinds, wrong, right, buffer):
    @cuda.jit
    def meet(a, b, i, j):
        if cuda.blockIdx.x == 0:
            a[i] = 1
        else:
            b[j] = b[j] + 2  # here

    for (i, j), meets in ((wrong, True), (right, False)):
        memory = np.zeros(256, np.uint8)
        if buffer == "view":
            a, b = (memory.view(kind) for kind in kinds)
        else:
            memory = bytearray(memory)
            a, b = (np.frombuffer(memory, kind) for kind in kinds)
        first, second = i * a.itemsize, j * b.itemsize
        assert (first < second + b.itemsize and second < first + a.itemsize) == meets
        found = simulator.run(meet, 2, 1, a, b, i, j).mistakes
        assert {mistake.kind for mistake in found} == ({"race"} if meets else set())
        assert all("# here" in mistake.place.source for mistake in found)
        assert all(mistake.other.source == "a[i] = 1" for mistake in found)


def test_what_the_simulated_device_hands_out_is_plain():
    device = Simulator()
    array = device.empty((2, 3), np.float32)
    assert type(device.get(array)) is np.ndarray
    assert np.isnan(array).all()


def test_poisoned_arrays_know_what_was_written():
    @cuda.jit
    def copy(x, y):
        y[cuda.threadIdx.x] = x[cuda.threadIdx.x]

    numbers = simulator.poisoned((2, 16), np.int32)
    with pytest.raises(simulator.KernelError, match="unwritten read"):
        run(copy, 1, 32, numbers.reshape(-1), np.zeros(32))
    numbers[0] = 5  # by the host
    run(copy, 1, 16, np.ones(16), numbers[1])  # by another kernel, through a view
    run(copy, 1, 32, numbers.reshape(-1), np.zeros(32))
    run(copy, 1, 32, simulator.poisoned(32, np.int32).copy(), np.zeros(32))  # a copy is an array of the host
