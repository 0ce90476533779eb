"""The register tile and the matrix product on it: any size, no edge read or written beyond."""

from itertools import product

import numpy as np
import pytest
from effort import in_turns
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab import ConvError, ConvProblem, conv2d, networks, plan
from convlab.algorithms.precomputed_gemm.offsets import tables
from convlab.cost.common import PANELS
from convlab.cpu import product_tile as tiles_of_products
from convlab.cpu import tile_size
from convlab.cpu.assembly import hottest_loop
from convlab.cpu.epilogue import Output, output
from convlab.cpu.gemm import LONGEST, _block, gemm, gemm_part, pack, share
from convlab.cpu.jit import njit
from convlab.cpu.partition import partition
from convlab.cpu.product_tile import product_tile
from convlab.cpu.register_tile import (
    VectorTile,
    accumulate,
    listed,
    load,
    load_listed,
    masked,
    spaced,
    store,
    store_listed,
    within,
    zeros,
)
from convlab.cpu.sliding_window import Window, pixels_under, slide, window_for, window_tile
from convlab.cpu.tile_model import TileBounds
from convlab.cpu.tile_size import heights, tile_for
from convlab.support.aligned import CACHE_LINE
from convlab.support.checks import check_threads

pytestmark = pytest.mark.inside


@njit(cache=False)
def _spaced(tile, a, p, step, count, w, width, y):
    rows = spaced(tile, a, p, step, count)
    sums = zeros(tile)
    q = 0
    for c in range(step):
        sums = accumulate(tile, sums, rows, c, w, q)
        q += tile.cols
    store(tile, sums, y, 0, width, count, width)


@njit(cache=False)
def _listed(tile, x, base, offsets, outside, w, y):
    rows = listed(tile, x, base, offsets, 0, outside)
    store(tile, accumulate(tile, zeros(tile), rows, 0, w, 0), y, 0, tile.cols, tile.rows, tile.cols)


@njit(cache=False)
def _in_pieces(tile, a, p, step, count, w, width, y):
    rows = spaced(tile, a, p, step, count)
    for c in range(step):
        sums = load(tile, y, 0, width, count, width) if c else zeros(tile)
        sums = accumulate(tile, sums, rows, c, w, c * tile.cols)
        store(tile, sums, y, 0, width, count, width)


@njit(cache=False)
def _in_pieces_apart(tile, a, p, step, count, w, width, y, places, at):
    rows = spaced(tile, a, p, step, count)
    for c in range(step):
        sums = load_listed(tile, y, 1, places, at, count, width) if c else zeros(tile)
        sums = accumulate(tile, sums, rows, c, w, c * tile.cols)
        store_listed(tile, sums, y, 1, places, at, count, width)


@njit(cache=False)
def _masked(tile, x, base, starts, bits, outside, w, y):
    rows = masked(tile, x, base, starts, 0, bits, outside)
    store(tile, accumulate(tile, zeros(tile), rows, 0, w, 0), y, 0, tile.cols, tile.rows, tile.cols)


@njit(cache=False)
def _within(tile, x, p, q, step, count, width, outside, w, y):
    rows = within(tile, x, p, q, step, count, width, outside)
    store(tile, accumulate(tile, zeros(tile), rows, 0, w, 0), y, 0, 1, count, 1)


def tiles():
    for dtype in ("float32", "float64"):
        yield tile_for(dtype)
        yield tile_for(dtype).narrow
        yield from (product_tile(dtype, vectors * tile_for(dtype).lanes) for vectors in (3, 4))
        yield VectorTile(3, 2, 4, dtype)


def other_heights():
    """Yield tiles of the heights for few rows; of each one vector wide in one dtype, two in the other."""
    for i, height in enumerate(heights()[1:]):
        wide, narrow = (
            VectorTile(height, tile_for(dtype).vectors, tile_for(dtype).lanes, dtype)
            for dtype in np.roll(["float32", "float64"], i).tolist()
        )
        yield from (wide, narrow.narrow)


every_tile = pytest.mark.parametrize("tile", [*tiles(), *other_heights()], ids=repr)


@in_turns
@every_tile
def test_a_tile_that_is_not_full(tile):
    """Fewer rows and columns than the tile has: neither is read nor written beyond."""
    rng = np.random.default_rng(0)
    K = 5
    w = rng.standard_normal((K, tile.cols)).astype(tile.dtype)
    for count in range(1, tile.rows + 1):
        for width in range(1, tile.cols + 1):
            a = np.full((count + 2, K), np.nan, tile.dtype)
            a[1:-1] = rng.standard_normal((count, K))
            y = np.full(count * width + 64, 77, tile.dtype)
            _spaced(tile, a.reshape(-1), K, K, count, w.reshape(-1), width, y)
            np.testing.assert_allclose(
                y[: count * width].reshape(count, width), a[1:-1] @ w[:, :width], rtol=1e-4, atol=1e-5
            )
            assert (y[count * width :] == 77).all()


@in_turns
@every_tile
def test_a_sum_in_pieces_goes_on_where_it_was_left(tile):
    rng = np.random.default_rng(0)
    K = 5
    w = rng.standard_normal((K, tile.cols)).astype(tile.dtype)
    for count in range(1, tile.rows + 1):
        for width in range(1, tile.cols + 1):
            a = rng.standard_normal((count, K)).astype(tile.dtype)
            y = np.full(count * width + 64, 77, tile.dtype)
            _in_pieces(tile, a.reshape(-1), 0, K, count, w.reshape(-1), width, y)
            product = y[: count * width].reshape(count, width)
            np.testing.assert_allclose(product, a @ w[:, :width], rtol=1e-4, atol=1e-5)
            assert (y[count * width :] == 77).all()


@pytest.mark.parametrize("tile", [tile_for("float32"), tile_for("float64").narrow], ids=repr)
def test_rows_of_sums_lie_where_a_list_says(tile):
    """The last row at the list's end; what lies between the rows stays as it is."""
    rng, K, places = np.random.default_rng(0), 3, np.arange(tile.rows, dtype=np.int32)[::-1] * (tile.cols + 3)
    w = rng.standard_normal((K, tile.cols)).astype(tile.dtype)
    for count in range(1, tile.rows + 1):
        for width in (1, tile.lanes, tile.cols - 1, tile.cols):
            a = rng.standard_normal((count, K)).astype(tile.dtype)
            y, expected = (np.full(1 + tile.rows * (tile.cols + 3), 77, tile.dtype) for _ in range(2))
            at = tile.rows - count
            _in_pieces_apart(tile, a.reshape(-1), 0, K, count, w.reshape(-1), width, y, places, at)
            for row, place in zip(a @ w[:, :width], places[at:], strict=True):
                expected[1 + place : 1 + place + width] = row
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("height", [height for height in heights() if height <= 8])
def test_a_row_whose_bit_is_missing_is_never_read(height):
    tile = VectorTile(height, 2, tile_for().lanes)
    x = np.arange(1, 1 + 3 * tile.rows, dtype=np.float32)
    w, y = np.ones(tile.cols, np.float32), np.zeros(tile.rows * tile.cols, np.float32)
    for bits in range(1 << tile.rows):
        hit = (bits >> np.arange(tile.rows) & 1).astype(bool)
        starts = np.where(hit, np.arange(tile.rows) - 3, 1 << 60)  # an address that nobody may read
        masks = np.array([bits], np.uint8)  # bit 7 of an unsigned byte is no sign
        _masked(tile, x, 3, starts, masks[0], np.zeros(1, np.float32), w, y)
        expected = np.where(hit, x[: tile.rows], 0)
        np.testing.assert_array_equal(y.reshape(tile.rows, -1), expected[:, None].repeat(tile.cols, 1))


@in_turns
@pytest.mark.parametrize("height", heights())
@pytest.mark.parametrize("offsets_type", [np.int32, np.int64])
def test_padding_reads_the_row_of_zeros_whatever_the_base(offsets_type, height):
    tile = VectorTile(height, 2, tile_for().lanes)
    x = np.arange(1, 1 + 3 * tile.rows, dtype=np.float32)
    offsets = np.arange(tile.rows).astype(offsets_type)
    offsets[::2] = -1
    w = np.ones(tile.cols, np.float32)
    y = np.zeros(tile.rows * tile.cols, np.float32)
    for base in (0, tile.rows):
        _listed(tile, x, base, offsets, np.zeros(1, np.float32), w, y)
        expected = np.where(offsets < 0, 0, x[base + offsets])
        np.testing.assert_array_equal(y.reshape(tile.rows, -1), expected[:, None].repeat(tile.cols, 1))


def test_rows_beside_the_line_read_zeros():
    tile, w = tile_for(), np.ones(tile_for().cols, np.float32)
    x = np.arange(1, 31, dtype=np.float32)  # three lines of ten
    for q in range(-25, 20):
        for step in (1, 3):
            for count in range(1, tile.rows + 1):
                y = np.full(count, 77, np.float32)
                _within(tile, x, 10, q, step, count, 10, np.zeros(1, np.float32), w, y)
                places = q + step * np.arange(count)
                inside = (places >= 0) & (places < 10)
                np.testing.assert_array_equal(y, np.where(inside, x[(10 + places) % 30], 0))


@njit(cache=False)
def _slide(tile, window, x, row, col, H, W, C, outside, w, y):
    """One place of a window: all channels of its two lines of outputs."""
    pixels = pixels_under(tile, window, x, 0, row, col, H, W, C, outside)
    for c in range(0, C, tile.cols):
        sums = (zeros(tile), zeros(tile))
        sums = slide(tile, window, sums, pixels, c, w, c // tile.cols * len(w) // 2, C - c)
        for line in range(2):
            store(tile, sums[line], y, line * tile.rows * C + c, C, tile.rows, C - c)


@in_turns
@pytest.mark.parametrize(
    ("window", "long"),
    [
        (Window((3, 3)), 99),
        (Window((3, 3), (2, 2)), 99),
        (Window((3, 3), (2, 2), ahead=True), 7),
        (Window((1, 2), (3, 1)), 99),
        (Window((5, 5), (2, 1), ahead=True), 99),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_window_slides(window, long, dtype):
    """Wherever it lies, on the picture or beside it, each pixel adds to the sums of two lines."""
    rng, (R, S), tile = np.random.default_rng(0), window.taps, window_tile(dtype, window, long)
    down, across = window.under(tile.rows)
    C = 2 * tile.cols - 1  # a whole tile, and one that lacks a column
    x = rng.standard_normal((down + 1, across + 1, C)).astype(dtype)
    w = rng.standard_normal((R, S, 2 * tile.cols)).astype(dtype)
    panels = w.reshape(R * S, -1, tile.lanes).swapaxes(0, 1).reshape(-1)
    around = np.pad(x, ((down, down), (across, across), (0, 0)))
    for row, col in ((0, 0), (1, 1), (-1, -1), (2, 3), (1 - down, 0), (0, across), (-down, -across)):
        part = around[row + down :, col + across :]
        outputs = np.lib.stride_tricks.sliding_window_view(part, (R, S), (0, 1))
        outputs = outputs[:: window.stride[0], :: window.stride[1]][:2, : tile.rows]
        expected = np.einsum("pqcrs,rsc->pqc", outputs, w[..., :C])
        inside = (row, col) in ((0, 0), (1, 1))
        outside = None if inside else np.zeros(C, dtype)
        y = np.full(expected.shape, np.nan, dtype)
        _slide(tile, window, x.reshape(-1), row, col, *x.shape, outside, panels, y.reshape(-1))
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_windows_that_the_compiler_knows():
    for taps, stride, dilation in product((1, 2, 3, 5, 7, 9), (1, 2, 3), (1, 2)):
        window = window_for(taps, taps, (stride, stride), (dilation, dilation))
        known = taps in (3, 5, 7) and stride < 3 and dilation == 1
        assert (window is not None) == known
        if window:
            assert (window.taps, window.stride, window.lines) == ((taps, taps), (stride, stride), 2)
    assert window_for(3, 5, (1, 1), (1, 1)) is window_for(3, 3, (2, 1), (1, 1)) is None


# -- how tall a tile is ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "vector", "registers"), [("x86_64", 64, 32), ("x86_64", 32, 16), ("arm64", 16, 32)]
)
def test_a_tile_has_the_height_that_takes_the_least_time(machine, vector, registers, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(tile_size, "vector_bytes", lambda: vector)
    usual, *_ = known = heights.__wrapped__()
    monkeypatch.setattr(tile_size, "heights", lambda: known)
    assert 2 * max(known) + 2 + 1 <= registers  # sums, weights, one number of a row
    assert min(known) >= 4
    assert usual <= 8, "precomputed_gemm's masks have a bit for each row, in one byte"
    assert tile_for.__wrapped__().rows == usual
    for rows in range(1, 200):
        tiles = {height: len(range(0, rows, height)) for height in known}
        time = {height: tiles[height] * (4.5 if height == 4 else height) for height in known}
        fewest = [height for height in known if time[height] == min(time.values())]
        chosen = tile_for.__wrapped__("float64", rows)
        assert chosen.rows == (usual if usual in fewest else fewest[0])
        assert chosen.cols == 2 * vector // 8


@pytest.fixture(params=["AVX-512", "AVX2", "NEON"])
def registers(request, monkeypatch):
    """Play a processor with so many vector registers, and return how many."""
    known = {"AVX-512": ("x86_64", 64, 32), "AVX2": ("x86_64", 32, 16), "NEON": ("arm64", 16, 32)}
    machine, vector, registers = known[request.param]
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(tile_size, "vector_bytes", lambda: vector)
    tiles_of_products.forget()
    yield registers
    monkeypatch.undo()
    tiles_of_products.forget()


def test_a_product_gets_the_tile_that_fetches_least(registers):
    """Of all tiles that leave no panel half full, and whose panel stays in the second cache."""
    lanes, vector = tile_for("float32").lanes, tile_size.vector_bytes()
    room = 512 << 10
    usual = tile_for("float32").rows
    known = {2: [usual]} | ({3: [usual], 4: [6, 5]} if registers == 32 else {})
    step = lambda rows, width: max(rows * width / 2, 4.0) + 0.1 * (rows + width)  # noqa: E731
    for vectors, terms in product([*range(1, 60), 128], (1, 300, 2048, 2900, 4608)):
        may = [2, *(width for width in (3, 4) if vectors % width < 2 and terms * width * vector <= room)]
        may = [width for width in may if width in known]
        whole = {width: vectors // width * step(known[width][0], width) for width in may}
        rest = {width: vectors % width * step(known[width][0], 1) for width in may}
        width = min(may, key=lambda width: (whole[width] + rest[width]) / known[width][0])
        for rows in (1, 6, 25, 49, 50, 169, 196, 3136):
            chosen = product_tile("float32", vectors * lanes, rows, terms)
            times = {high: len(range(0, rows, high)) * step(high, width) for high in known[width]}
            assert (chosen.vectors, chosen.rows) == (width, min(times, key=times.get))
            assert TileBounds(chosen.rows, chosen.vectors, registers).spilled == 0
    filters = {count: product_tile("float32", count * lanes, 49).vectors for count in (1, 2, 3, 4, 5, 8)}
    wide = {1: 2, 2: 2, 3: 3, 4: 4, 5: 2, 8: 4}
    assert filters == (wide if registers == 32 else dict.fromkeys(wide, 2))


def test_a_mask_has_room_for_eight_rows():
    problem = ConvProblem(1, 9, 7, 4, 6, 3, 3)
    assert tables(problem, rows=8)["masks"].max() >= 1 << 7
    with pytest.raises(ConvError, match="rows=9; expected an integer from 1 to 8"):
        tables(problem, rows=9)


@njit(cache=False)
def _plain(tile, a, panels, y):
    out = Output(y, tile.cols, None, None, None, 0)
    gemm_part(0, tile.rows, 0, tile.cols, tile, a, 8, None, panels, out, 0, tile.rows, tile.cols, 8)


@in_turns
def test_weights_are_fetched_ahead_where_that_is_asked_for():
    """One request a step, and no sum leaves its register for it; a block of tiles asks for every line."""
    a, panels, y = np.ones((3, 1000), np.float32)
    for height in (tile_for().rows, max(heights())):
        tile = VectorTile(height, 2, tile_for().lanes)
        given = tile, None, a, 8, None, panels, Output(y, tile.cols), 0, height, tile.cols, 8
        loop = hottest_loop(_block, 0, height, 0, tile.cols, *given, 100)
        assert loop.prefetches == loop.on_vectors // (2 * height) > 0
        assert loop.spills == 0
        for tiles in range(1, 9):
            step = share(tile, (tiles - 1) * height + 1)  # numbers; so many steps ask for a row of the panel
            assert tiles * step >= tile.cols > tiles * (step - 1)
            assert step * 4 <= CACHE_LINE or tiles < tile.cols * 4 / CACHE_LINE
    assert hottest_loop(_plain, tile_for(), a, panels, y).prefetches == 0


# -- the product -------------------------------------------------------------------------------------------


@in_turns
@settings(deadline=None, max_examples=150)
@given(
    M=st.integers(1, 70),
    N=st.integers(1, 100),
    K=st.integers(1, 20),
    threads=st.sampled_from([1, 2, 3]),
    dtype=st.sampled_from(["float32", "float64"]),
    transposed=st.booleans(),
)
def test_products_of_any_size(M, N, K, threads, dtype, transposed):
    rng = np.random.default_rng(M * N * K)
    a, w = rng.standard_normal((M, K)).astype(dtype), rng.standard_normal((2, N, K)).astype(dtype)
    panels = pack(w)
    assert panels.nbytes == PANELS(ConvProblem(1, 1, 1, 2 * K, 2 * N, 1, 1, groups=2, dtype=dtype))
    flat, steps = (a.T.copy(), (1, M)) if transposed else (a, (K, 1))
    y_row = N + 3
    for g in range(2):
        y = np.full(M * y_row, 77, dtype)
        y = y.reshape(M, y_row)
        bias = np.arange(N + 1).astype(dtype)
        out = output(y[:, 1:], bias, floor=1)
        gemm(flat.reshape(-1), *steps, panels[g], out, 1, M, N, K, threads)
        expected = np.maximum(a @ w[g].T + bias[1:], 1)
        np.testing.assert_allclose(y[:, 2 : N + 2], expected, rtol=1e-4, atol=1e-4)
        assert (y[:, :2] == 77).all()
        assert (y[:, N + 2 :] == 77).all()


@pytest.mark.parametrize("K", [LONGEST, LONGEST + 1, 3 * LONGEST - 1])
def test_long_sums_are_put_down_and_taken_up_again(K):
    """What is added to them is added once, and cut off once; it may lie where they are put down."""
    M, N = 61, 77  # more than a block of pixels; whole panels, and a narrow one
    rng = np.random.default_rng(K)
    a, w = rng.standard_normal((M, K), np.float32), rng.standard_normal((1, N, K), np.float32)
    y, bias = rng.standard_normal((M, N), np.float32), rng.standard_normal(N, np.float32)
    expected = np.maximum(a.astype(float) @ w[0].T + bias + y, 0)
    gemm(a.reshape(-1), K, 1, pack(w)[0], output(y, bias, 0, residual=y), 0, M, N, K)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=2e-3)


@given(
    st.integers(1, 9),
    st.integers(1, 200),
    st.integers(1, 14),
    st.integers(1, 200),
    st.sampled_from([1, 8, 32]),
)
def test_parts_cover_everything_once_and_begin_at_tiles(threads, rows, row_step, cols, col_step):
    seen = np.zeros((rows, cols), int)
    cut = partition(threads, rows, row_step, cols, col_step)
    assert 1 <= len(cut) <= threads
    for top, bottom, left, right in cut:
        assert top % row_step == 0
        assert left % col_step == 0
        seen[top:bottom, left:right] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize(
    ("threads", "least"), [(1, 1.0), (2, 0.97), (3, 0.88), (4, 0.96), (8, 0.89), (16, 0.78)]
)
def test_shares_of_real_layers_are_even(threads, least):
    """The whole work, over what all threads could do while the busiest one does its own.

    It is least for 169 pixels and 64 filters: 25 tiles by 2 panels for 16 threads.
    """
    for name in ("resnet18", "squeezenet1_0", "mobilenet_v1"):
        for problem in networks.load(name).distinct():
            M, N, _ = problem.gemm
            if problem.groups > 1:
                continue
            down = -(-M // 7)
            shares = [
                -(-(end - top) // 7) * (right - left)
                for top, end, left, right in partition(threads, M, 7, N, 32)
            ]
            assert sum(shares) == down * N
            assert sum(shares) >= least * threads * max(shares), problem


def test_both_sides_are_cut_where_one_has_not_enough_tiles():
    """7 x 16 tiles for 12 threads: 16 panels alone would leave two to each of some, 14 tiles."""
    parts = partition(12, 49, 7, 512, 32)
    assert len({(top, end) for top, end, *_ in parts}) > 1
    assert len({(left, right) for *_, left, right in parts}) > 1
    assert max((end - top) // 7 * ((right - left) // 32) for top, end, left, right in parts) == 12


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True, None, 5000])
def test_wrong_threads(wrong):
    with pytest.raises(ConvError, match="threads="):
        check_threads(wrong)
    x = np.ones((1, 3, 3, 1), "f4")
    with pytest.raises(ConvError, match="threads="):
        conv2d(x, x.transpose(3, 1, 2, 0).copy(), threads=wrong)


def test_more_threads_than_processors_and_than_work():
    problem = ConvProblem(1, 9, 7, 4, 6, 3, 3, padding=1)
    x, w = np.ones(problem.x_shape, "f4"), np.ones(problem.w_shape, "f4")
    expected = plan(problem, w, backend="cpu")(x)
    np.testing.assert_array_equal(plan(problem, w, backend="cpu", threads=64)(x), expected)


@in_turns
def test_two_callers_at_once_are_served_in_turn():
    """Numba's plainest pool of threads stops the process when two threads use it; here it does not."""
    from concurrent.futures import ThreadPoolExecutor

    problem = ConvProblem(1, 30, 30, 8, 16, 3, 3, padding=1)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(problem.x_shape).astype("f4")
    w = rng.standard_normal(problem.w_shape).astype("f4")
    expected = plan(problem, w, backend="cpu")(x)
    plans = [plan(problem, w, backend="cpu", threads=2) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for y in pool.map(lambda prepared: [prepared(x) for _ in range(20)][-1], plans):
            np.testing.assert_array_equal(y, expected)
