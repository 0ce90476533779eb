"""The tiled product on a GPU, lane by lane and in machine code: implicit, precomputed and indirect GEMM."""

import time
from dataclasses import replace

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from effort import in_turns, sampled

from convlab import ConvProblem, plan
from convlab.algorithms.implicit_gemm import blocked
from convlab.algorithms.implicit_gemm import gpu as implicit_gemm
from convlab.algorithms.implicit_gemm.gpu import RUNGS, rung
from convlab.algorithms.indirect import gpu as indirect
from convlab.algorithms.precomputed_gemm import gpu as precomputed_gemm
from convlab.benchmark import datasheets
from convlab.errors import ParameterError, UnsupportedError
from convlab.gpu import simulator
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import planned_for, simulated, using
from convlab.gpu.gemm import launch
from convlab.gpu.gemm import matrix as gemm
from convlab.gpu.gemm.batched import SMALL
from convlab.gpu.gemm.heuristics import (
    TILES,
    choose_for_sums_of_pixels,
    choose_tile,
    estimate,
    tile_of,
)
from convlab.gpu.gemm.kernel import tiled_product
from convlab.gpu.gemm.launch import wide
from convlab.gpu.gemm.load_implicit import implicit_loader
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.tile_io import ROW, SUMMED, matrix_rows
from convlab.gpu.gemm.work import convolution_works
from convlab.gpu.kernels import kernel
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.numba_cuda import cuda, number_type, uint32
from convlab.gpu.occupancy import MULTIPROCESSORS, occupancy
from convlab.gpu.simulated_gpu import Simulator
from convlab.gpu.simulator.errors import KernelError
from convlab.inspect.tiling import Tiling, tile_traffic
from convlab.oracle import reference, tolerance

pytestmark = pytest.mark.inside

ALGORITHMS = {"implicit_gemm": implicit_gemm, "precomputed_gemm": precomputed_gemm, "indirect": indirect}
SOURCES = {
    "implicit_gemm": (implicit_loader, implicit_gemm.shape),
    "precomputed_gemm": (precomputed_gemm.precomputed_loader, precomputed_gemm.shape),
    "indirect": (indirect.indirect_loader, indirect.shape),
}
TUNED = Tile(128, 128, 8, 8, 8)
EVERY_TILE = [(dtype, width, tile) for (dtype, width), tiles in TILES.items() for tile in tiles]
TROUBLE = assembly_fault()
assembly = pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
ARCHS = "sm_80", "sm_90"
archs = pytest.mark.parametrize("arch", ARCHS)
algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)


class OneBlock(Simulator):
    """A simulator that runs the last block of every launch, where the ragged edges are, and no other."""

    def launch(self, kernel, grid, block, *arguments):
        last = tuple(size - 1 for size in grid)
        self.traces.append(simulator.run(kernel, grid, block, *arguments, blocks=[last], traced=self.traced))
        self.traces[-1].check()


def use(monkeypatch, algorithm, tile, parts=1):
    """Let an algorithm's form take this tile, whatever the problem."""
    if algorithm == "pointwise":
        monkeypatch.setattr(gemm, "_tile_for", lambda *problem: tile)
        return
    chosen = estimate(CASES["plain"], tile)._replace(parts=parts)
    monkeypatch.setattr(ALGORITHMS[algorithm], "choose_tile", lambda *problem: chosen)


# -- numbers -----------------------------------------------------------------------------------------------


@in_turns
@pytest.mark.inside
@algorithms
@pytest.mark.parametrize("case", ["plain", "batch", "row filter", "pointwise", "many channels"])
def test_sums_in_parts(monkeypatch, algorithm, case):
    """Three parts of K, on a tile that is smaller than any that is shipped; the same bits every time."""
    problem = CASES.get(case, ConvProblem(1, 4, 5, 24, 5, 1, 2))  # where parts begin at later channels
    use(monkeypatch, algorithm, Tile(16, 16, 8, 4, 4), parts=3)
    x, w, bias = arrays(problem)
    with simulated(traced=False):
        prepared = plan(problem, w, bias, algorithm=algorithm, backend="gpu")
        y, again = prepared(x), prepared(x)
    assert "partials" in prepared.workspace
    assert_close(y, x, w, problem, bias, f"{algorithm}, {case}")
    assert np.array_equal(y, again)


@sampled(2)
@pytest.mark.parametrize("ladder", RUNGS, ids=lambda one: one.name)
def test_every_rung(ladder):
    """Ragged in rows, filters and K, at the size the rung is shipped with."""
    problem = ConvProblem(1, 5, 9, 3, 6, 3, 2, stride=(1, 2), padding=((1, 0), (0, 2)))
    x, w, bias = arrays(problem)
    with simulated(traced=False):
        y = plan(problem, w, bias, algorithm=ladder.algorithm("implicit_gemm"), backend="gpu")(x)
    assert_close(y, x, w, problem, bias, ladder.name)


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize(
    "tile", [Tile(16, 16, 16, 1, 1, 1, 1), Tile(24, 12, 4, 2, 2, 1, 1), Tile(48, 16, 8, 4, 4)], ids=str
)
@pytest.mark.parametrize("case", ["one channel", "batch, groups", "row filter"])
def test_odd_tiles(tile, case):
    """Tiles whose loads do not divide among the threads, and threads that make no whole warps."""
    problem = CASES[case]
    x, w, bias = arrays(problem)
    with simulated(traced=False):
        y = plan(
            problem, w, bias, algorithm=rung("", tile, "", "").algorithm("implicit_gemm"), backend="gpu"
        )(x)
    assert_close(y, x, w, problem, bias, case)


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "pointwise"])
@pytest.mark.parametrize(("dtype", "width", "tile"), EVERY_TILE, ids=str)
def test_the_last_block_of_every_shipped_tile(monkeypatch, dtype, width, tile, algorithm):
    """The tile as shipped, in a product of two by two such tiles; the last lacks a few rows and columns."""
    filters = 2 * tile.block_n - (4 if width == 4 else 3)
    down = (2 * tile.block_m - 1) // 7
    if algorithm == "pointwise":  # one piece and a half, or two and a half
        problem = ConvProblem(1, down, 7, 20 + 4 - width, filters, 1, 1, dtype=dtype)
    else:
        channels = 8 if width == 4 else 3
        problem = ConvProblem(1, down, 6, channels, filters, 1, 3, padding=((0, 0), (1, 2)), dtype=dtype)
    x, w, _ = arrays(problem)
    use(monkeypatch, algorithm, tile)
    with using(OneBlock(traced=False)):
        y = plan(problem, w, algorithm=algorithm, backend="gpu")(x).reshape(problem.gemm[:2])
    rows, columns = slice(tile.block_m, None), slice(tile.block_n, None)
    lacking = np.subtract((tile.block_m, tile.block_n), y[rows, columns].shape)
    assert np.all((lacking > 0) & (lacking <= 8))
    error = np.abs(y - reference(x, w, problem).reshape(y.shape))
    assert error[rows, columns].max() <= np.max(tolerance(x, w, problem))
    y[rows, columns] = np.nan
    assert np.isnan(y).all(), "the last block wrote sums of another one"


@in_turns
@pytest.mark.inside
@algorithms
def test_masks_of_more_than_a_word(algorithm):
    """65 taps: three words of bits, and a filter that is mostly outside."""
    problem = ConvProblem(1, 4, 3, 1, 3, 5, 13, padding=((1, 1), (7, 7)))
    x, w, bias = arrays(problem)
    with simulated(traced=False):
        y = plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
    assert_close(y, x, w, problem, bias, algorithm)


@algorithms
def test_infinity_stays_where_its_windows_are(algorithm):
    """What is loaded beyond the end of K, or beside the picture, is not multiplied by zero: it is zero."""
    problem = ConvProblem(1, 5, 4, 3, 4, 2, 3, padding=1)
    x, w, _ = arrays(problem)
    x[0, 2, 1, 0] = np.inf
    with simulated(traced=False):
        y = plan(problem, w, algorithm=algorithm, backend="gpu")(x)
    assert np.array_equal(np.isfinite(y), np.isfinite(reference(x, w, problem)))


@pytest.mark.inside
@algorithms
def test_more_groups_than_a_grid_can_count(monkeypatch, algorithm):
    monkeypatch.setattr(launch, "MOST", 2)
    problem = ConvProblem(1, 3, 3, 5, 10, 2, 2, groups=5)
    x, w, _ = arrays(problem)
    with simulated(traced=False) as device:
        y = plan(problem, w, algorithm=algorithm, backend="gpu")(x)
    assert_close(y, x, w, problem, label=algorithm)
    assert len(device.traces) == 3


def test_blocks_are_started_in_strips(monkeypatch):
    """Ten blocks along N: a strip of eight, and one of two."""
    problem, tile = ConvProblem(1, 5, 5, 4, 150, 2, 2), Tile(16, 16, 8, 4, 4)
    assert launch.grid(*problem.gemm[:2], tile) == ((1 * 8, 2), 8)
    assert launch.grid(100, 16 * 3, tile) == ((7 * 4, 1), 4)
    use(monkeypatch, "implicit_gemm", tile)
    x, w, _ = arrays(problem)
    with simulated(traced=False):
        y = plan(problem, w, algorithm="implicit_gemm", backend="gpu")(x)
    assert_close(y, x, w, problem)


@pytest.mark.parametrize(("dtype", "width", "tile"), EVERY_TILE)
def test_who_has_no_column_loads_nothing_to_the_end_of_the_longest_sum(dtype, width, tile):
    """Lanes count rows with 32 bits: from 2^31 on they are below no matrix, but they must not come round."""
    lanes, many = tile.block_n // width, tile.loads_across(tile.block_n, width) * width
    begin, fetch = matrix_rows(tile, tile.block_n, width, dtype)
    number = number_type(dtype)

    @kernel
    def last_pieces(w, y, before, K):
        line = cuda.local.array(2, uint32)
        registers = cuda.local.array(many, number)
        begin(line, cuda.threadIdx.x, 0, 0, 0, width, width)  # the first lane alone has a column
        line[ROW] += before
        for _ in range(2):
            fetch(w, line, registers, K, 0)
        y[cuda.threadIdx.x] = registers[0]

    def loaded(K):
        """Return what lanes have after their last piece, and one too many."""
        w, y = np.ones(lanes * width, dtype), np.full(tile.threads, np.nan, dtype)
        before = -(-K // tile.block_k) * tile.block_k - tile.block_k
        simulator.run(last_pieces, 1, tile.threads, w, y, np.uint32(before), np.uint32(K)).check()
        return y.reshape(-1, lanes)[:, 1:]

    assert (loaded(SUMMED) == 0).all()
    with pytest.raises(KernelError, match="out of bounds"):  # that is why longer ones are refused
        loaded(SUMMED + (1 << 30))


def test_sums_that_lanes_cannot_count_are_refused():
    x = np.zeros(4, np.float32)
    sizes = launch.Sizes(1, 1, SUMMED + 1, 1, 4, 1, 1, 1, 1)
    with (
        simulated() as device,
        pytest.raises(UnsupportedError, match="sums of 2,147,482,625 products; kernels"),
    ):
        launch.run(sizes, TUNED, 1, implicit_loader, (1, 1), (), (x, x, x), None, x)
    assert not device.traces


# -- the workspace -----------------------------------------------------------------------------------------


@algorithms
def test_workspace_is_what_the_model_says(algorithm):
    """Where K is cut; all else is in the case table."""
    problem = ConvProblem(1, 28, 28, 64, 64, 3, 3, padding=1)
    assert choose_tile(problem).parts > 1
    with simulated():
        prepared = plan(problem, arrays(problem)[1], algorithm=algorithm, backend="gpu")
    assert sum(array.nbytes for array in prepared.workspace.values()) == prepared.cost.workspace_bytes
    assert prepared.packed.nbytes == prepared.cost.packed_bytes


@pytest.mark.parametrize(
    ("sizes", "rebuilt"),
    [({"N": 2}, "nothing"), ({"H": 17}, "part"), ({"H": 9}, "part"), ({"W": 4}, "all")],
    ids=str,
)
def test_the_indirection_buffer_is_resized(sizes, rebuilt):
    problem = ConvProblem(1, 14, 5, 3, 4, 3, 2, padding=((1, 1), (0, 1)))
    new = replace(problem, **sizes)
    x, w, bias = arrays(new)
    with simulated(traced=False):
        prepared = plan(problem, w, bias, algorithm="indirect", backend="gpu")
        fresh = plan(new, w, bias, algorithm="indirect", backend="gpu")
        assert prepared.resize(**sizes) == rebuilt
        assert np.array_equal(prepared.workspace["offsets"], fresh.workspace["offsets"])
        assert_close(prepared(x), x, w, new, bias)


def test_a_plan_whose_sums_come_to_be_cut_gets_room_for_the_parts():
    """With 32 pictures there are blocks enough; one leaves multiprocessors idle, so its sums are cut."""
    problem = ConvProblem(32, 56, 56, 256, 256, 1, 1)
    with planned_for(datasheets.gpu_speeds("nvidia_h100")):
        prepared = plan(problem, np.ones(problem.w_shape, "f4"), algorithm="implicit_gemm", backend="gpu")
        assert prepared.workspace == {}
        assert prepared.resize(N=1, H=7, W=7) == "all"
        assert prepared.workspace["partials"].shape[1:] == (1, 7, 7, 256)
        assert prepared.resize(N=32, H=56, W=56) == "all"
        assert prepared.workspace == {}
        assert prepared.resize(N=31) == "nothing"


def test_a_part_that_is_resized_has_partials_of_the_new_size(monkeypatch):
    problem = ConvProblem(1, 14, 9, 4, 4, 3, 2)
    use(monkeypatch, "indirect", Tile(16, 16, 8, 4, 4), parts=2)
    x, w, bias = arrays(replace(problem, N=2))
    with simulated(traced=False):
        prepared = plan(problem, w, bias, algorithm="indirect", backend="gpu")
        assert prepared.resize(N=2) == "nothing"
        assert_close(prepared(x), x, w, prepared.problem, bias)


# -- tiles -------------------------------------------------------------------------------------------------


def test_blocks_of_your_own_reach_the_gpu():
    problem = CASES["plain"]
    x, w, bias = arrays(problem)
    with simulated() as device:
        for blocks in ({"block_m": 16, "block_n": 8, "block_k": 4}, {"block_k": 16}, {"block_m": 48}):
            y = plan(problem, w, bias, algorithm=blocked(**blocks), backend="gpu")(x)
            assert_close(y, x, w, problem, bias, str(blocks))
            given = tuple(blocks.get(name) for name in ("block_m", "block_n", "block_k"))
            tile = choose_tile(problem, given).tile
            assert blocks.items() <= vars(tile).items()
    stored = [site for site in device.traces[0].sites() if (site.kind, site.space) == ("st", "shared")]
    assert {site.shape for site in stored} == {
        (1, 4, 24),
        (1, 4, 8),
    }  # one buffer of 4 x 16 and 8 more, 4 x 8


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"block_m": 256, "block_n": 256, "block_k": 32}, "need 132096 bytes of shared memory for float32"),
        ({"block_m": 127, "block_n": 127}, "take 16129 threads; a block has 1024 at most"),
        ({"block_m": 64, "block_n": 64, "block_k": 24}, "block_k=24 does not divide the 64 threads"),
    ],
    ids=str,
)
def test_tiles_that_do_not_fit_are_refused(blocks, message):
    problem = ConvProblem(1, 20, 20, 8, 64, 3, 3)
    with simulated(), pytest.raises(ParameterError, match=message):
        plan(problem, arrays(problem)[1], algorithm=blocked(**blocks), backend="gpu")


@pytest.mark.parametrize("blocks", [(192, 128, 8), (96, 256, 8), (160, 256, 8)], ids=str)
def test_threads_that_are_no_power_of_two_have_registers(blocks):
    """A warp is given them by the 256: 384 threads have 168 each, and not a share of 170."""
    problem = ConvProblem(1, 5, 4, 4, 8, 3, 3, padding=1)
    found = choose_tile(problem, blocks)
    assert 0 < found.seconds < 1
    (work,) = convolution_works(problem, found.tile, 1)
    for arch in MULTIPROCESSORS:
        assert occupancy(arch, work.threads, work.registers, work.shared_bytes).blocks >= 1


def test_every_shipped_tile_fits():
    for dtype, _, tile in EVERY_TILE:
        tile.check(dtype)
        assert tile.threads % 32 == 0
        assert (
            tile.resident * tile.shared_bytes(dtype) <= 100 * 1024
        )  # an RTX 3090's, the least of those named
    for rows in (32, 64, 128):
        for columns in (32, 64, 128):
            assert tile_of(rows, columns, 8).threads >= 64


def test_the_choice_follows_the_size():
    large = ConvProblem(32, 28, 28, 128, 128, 3, 3, padding=1)
    assert choose_tile(replace(large, N=256, H=56, K=512)).tile.block_m == 128
    assert choose_tile(replace(large, K=64)).tile.block_n == 64  # half of a tile of 128 would be idle
    assert choose_tile(replace(large, N=1)).parts > 1
    assert choose_tile(replace(large, N=1, groups=4)).parts == 1
    assert choose_tile(replace(large, C=3, K=32, R=1, S=1, H=8, W=8)).tile.block_m < 128
    chosen = choose_tile(large)
    others = [estimate(large, tile, parts) for tile in TILES["float32", 4] for parts in (1, 2)]
    assert all(chosen.seconds <= other.seconds for other in others)


def test_numbers_that_no_kernel_multiplies_are_refused_in_words():
    half = ConvProblem(1, 9, 7, 4, 8, 3, 3, dtype="float16")
    for ask in (choose_tile, choose_for_sums_of_pixels):
        with pytest.raises(ParameterError, match="dtype='float16'; expected one of float32, float64"):
            ask(half)
    with pytest.raises(ParameterError, match="dtype='float16'"):
        blocked().cost(half, "gpu")


def test_the_choice_follows_the_multiprocessors_of_the_device():
    class Small(Simulator):
        multiprocessors = 4

    problem = ConvProblem(1, 14, 14, 256, 256, 3, 3, padding=1)
    large, small = choose_tile(problem), choose_tile(problem, speeds=GpuSpeeds.of_size(4))
    assert large == choose_tile(problem, speeds=GpuSpeeds.of_size(Simulator.multiprocessors))
    assert large.blocks > 100  # else most of 132 multiprocessors would have nothing to do
    assert small.blocks < large.blocks / 4
    with using(Small()):
        assert choose_tile(problem) == small
        assert estimate(problem, small.tile, small.parts) == small
    assert choose_tile(problem) == large


def test_misaligned_arrays_are_taken_number_by_number():
    whole = np.zeros(64, np.float32)
    assert [wide(4, size, whole[start:]) for size, start in ((8, 0), (6, 0), (8, 1), (8, 4))] == [4, 1, 1, 4]


# -- what lanes count --------------------------------------------------------------------------------------


def counted(tile, problem, algorithm="implicit_gemm"):
    """Return the trace of one algorithm's product with this tile; its numbers are right."""
    x, w, _ = arrays(problem)
    with simulated() as device, pytest.MonkeyPatch.context() as patch:
        use(patch, algorithm, tile)
        y = plan(problem, w, algorithm=algorithm, backend="gpu")(x)
    assert_close(y, x, w, problem, label=algorithm)
    return device.traces[0]


def asked(trace, kind, space, array=None):
    """Return the bytes that all lanes together ask for."""
    sites = [site for site in trace.sites() if (site.kind, site.space) == (kind, space)]
    return sum(site.lanes * site.size for site in sites if array in (None, site.array))


@pytest.mark.parametrize(
    "tile",
    [
        Tile(16, 16, 16, 1, 1, 1, 1),
        Tile(32, 32, 8, 8, 1, 1, 1),
        Tile(16, 16, 4, 4, 4, 4, 1),
        Tile(32, 16, 8, 4, 4),
    ],
    ids=str,
)
def test_traffic_equals_the_formulas(tile):
    """Bytes of x, w and y, padding, ragged columns and all; and those of shared memory, piece by piece."""
    problem = ConvProblem(1, 8, 5, 4, 20, 3, 2, stride=(1, 2), padding=((1, 1), (2, 1)))
    trace = counted(tile, problem)
    tiling = Tiling(tile.block_m, tile.block_n, tile.block_k, tile.thread_m, tile.thread_n)
    assert {
        name: asked(trace, "st" if name == "y" else "ld", "global", name) for name in "xwy"
    } == tile_traffic(problem, tiling)
    M, N, K = problem.gemm
    blocks, pieces = -(-M // tile.block_m) * -(-N // tile.block_n), -(-K // tile.block_k)
    threads, read = blocks * tile.threads, tile.thread_m + tile.thread_n
    assert asked(trace, "ld", "shared") == 4 * threads * pieces * tile.block_k * read
    stored = (pieces + (tile.buffers == 2)) * tile.block_k * (tile.block_m + tile.block_n)
    assert asked(trace, "st", "shared") == 4 * blocks * stored


def test_the_table_of_places_is_read_once_a_tap():
    """Eight channels and pieces of four: each row looks up each tap once, by one thread, for two pieces."""
    problem = ConvProblem(1, 6, 5, 8, 8, 3, 2)
    tile = Tile(16, 8, 4, 2, 2, 1, 1)
    trace = counted(replace(tile, width=1), problem, "indirect")
    rows = -(-problem.gemm[0] // tile.block_m) * tile.block_m
    lanes_of_a_row = tile.lanes(4 if tile.width == 4 else 1)
    assert asked(trace, "ld", "global", "table") == 4 * rows * lanes_of_a_row * problem.R * problem.S


def test_pieces_that_end_with_their_tap_are_short_for_few_channels():
    pieces = {3: 4, 4: 4, 5: 8, 8: 8, 12: 8, 16: 16, 64: 16}
    for channels, length in pieces.items():
        problem = ConvProblem(1, 4, 4, channels, 4, 3, 3)
        assert precomputed_gemm.packed_bytes(problem) == -(-channels // length) * length * 9 * 4 * 4


def conflicts(trace):
    """Return wavefronts beyond the least, for each wavefront that is needed, by kind of access."""
    found = {}
    for site in trace.sites():
        if site.space == "shared":
            waves, least = found.get((site.kind, site.size), (0, 0))
            found[site.kind, site.size] = waves + site.wavefronts, least + site.ideal_wavefronts
    return {key: waves / least - 1 for key, (waves, least) in found.items()}


def test_rows_of_shared_memory_lie_in_different_banks():
    problem = ConvProblem(1, 8, 16, 8, 128, 1, 1)
    trace = counted(TUNED, problem)
    without = conflicts(trace)
    assert without == {("ld", 16): 0, ("st", 4): 0, ("st", 16): 0}
    # Four threads share a row of 16 numbers: two of them meet in a bank, whatever keeps wide reads aligned.
    deeper = conflicts(counted(Tile(128, 128, 16, 8, 8), replace(problem, C=16)))
    assert deeper == {("ld", 16): 0, ("st", 4): 1, ("st", 16): 0}

    for site in trace.sites():  # a warp is nearly a square: 4 rows of a, 8 columns of b
        if (site.kind, site.space) == ("ld", "shared"):
            request = trace.requests(site)[-1]
            assert len(np.unique(request.addresses)) == {"a": 4, "b": 8}[site.array]


def turn(tile, algorithm):
    """Return the requests of a warp in one turn of the main loop: two pieces, one in each buffer."""

    def requests(pieces):
        channels = pieces * tile.block_k
        trace = counted(tile, ConvProblem(1, 8, tile.block_m // 8, channels, tile.block_n, 1, 1), algorithm)
        found = {}
        for site in trace.sites():
            if site.array not in ("y", "table"):
                key = site.kind, site.space, site.size
                found[key] = found.get(key, 0) + site.requests / tile.warps
        return found

    long, short = requests(4), requests(2)
    return {key: long[key] - short[key] for key in long}


@sampled(1)
@algorithms
def test_a_turn_of_the_128_by_128_tile(algorithm):
    """A full block, every request of it; and the machine code asks for the same."""
    tile = Tile(128, 128, 8, 8, 8)
    start = time.process_time()
    requests = turn(tile, algorithm)
    assert time.process_time() - start < 5  # two traces of a whole block, in seconds
    assert requests == {
        ("ld", "global", 16): 2 * 2,
        ("ld", "shared", 16): 2 * 8 * (8 + 8) / 4,
        ("st", "shared", 4): 2 * 4,
        ("st", "shared", 16): 2 * 1,
    }
    for arch in ARCHS if TROUBLE is None else ():
        loop = built(tile, arch, algorithm).main_loop
        assert loop.count("LDG.E.128") == requests["ld", "global", 16]
        assert loop.count("LDS.128") == loop.count("LDS") == requests["ld", "shared", 16]
        assert loop.count("STS.128") == requests["st", "shared", 16]
        assert loop.count("STS") - loop.count("STS.128") == requests["st", "shared", 4]
        assert loop.count("FFMA") == 2 * 8 * 8 * 8
        assert loop.share("FFMA") >= 0.83


# -- machine code ------------------------------------------------------------------------------------------


def built(tile, arch, algorithm="implicit_gemm", width=4, dtype="float32"):
    source, shape = SOURCES[algorithm]
    problem = ConvProblem(1, 9, 9, 64, 64, 3, 3)
    flat, table = (
        np.zeros(4, dtype),
        np.zeros(4, {"precomputed_gemm": "u4", "indirect": "i4"}.get(algorithm, dtype)),
    )
    kernel = tiled_product(tile, source, width, 4, dtype)
    matrix = (0,) * 13
    return assemble(kernel, flat, table, flat, flat, shape(problem, tile), matrix, arch=arch)


@in_turns
@assembly
@archs
def test_the_tuned_rung_multiplies(arch):
    made = built(TUNED, arch)
    loop = made.main_loop
    assert made.spill_bytes == made.stack_bytes == 0
    assert not made.float64
    assert made.registers <= 128
    assert made.occupancy(TUNED.threads).blocks == TUNED.resident == 2
    assert loop.share("FFMA") >= 0.85
    assert loop.count("LDG") == loop.count("LDG.E.128") > 0
    assert loop.count("LDS") == loop.count("LDS.128") > 0
    assert made.count("STG") == made.count("STG.E.128") > 0


@in_turns
@assembly
@archs
@sampled(9)
@pytest.mark.parametrize(("dtype", "width", "tile"), EVERY_TILE, ids=str)
def test_no_shipped_tile_spills(arch, dtype, width, tile):
    made = built(tile, arch, width=width, dtype=dtype)
    assert made.spill_bytes == made.stack_bytes == 0
    assert made.occupancy(tile.threads).blocks >= tile.resident
    if dtype == "float32":
        assert not made.float64
    loop, turns = made.main_loop, 2 * tile.block_k * tile.thread_m * tile.thread_n
    assert loop.multiply_adds == turns
    if width == 4 and dtype == "float32":  # the model is near enough to the compiler's count
        assert len(loop) / turns == pytest.approx(instructions(tile), rel=0.1)


@assembly
@archs
def test_the_tile_for_small_matrices_has_the_registers_of_the_model(arch):
    """Sixteen threads are a whole warp: 32 blocks of them leave each thread 64."""
    made = built(SMALL, arch)
    (work,) = convolution_works(ConvProblem(1, 9, 9, 64, 64, 3, 3), SMALL, 1)
    assert work.registers - 2 <= made.registers <= work.registers == 64
    held = occupancy(arch, work.threads, work.registers, work.shared_bytes).blocks
    assert held == made.occupancy(SMALL.threads).blocks == SMALL.resident


@in_turns
@assembly
@archs
def test_the_rung_of_more_sums_does_not_spill(arch):
    """128 sums of a thread fit into all the registers that there are, and multiply more than 64 do."""
    more, (tile, _) = RUNGS[-1], RUNGS[-1].run.args
    assert (more.name, tile.thread_m * tile.thread_n) == ("more outputs a thread", 128)
    made = built(tile, arch)
    assert made.spill_bytes == made.stack_bytes == 0
    assert made.occupancy(tile.threads).blocks == tile.resident == 2
    assert made.main_loop.share("FFMA") >= 0.88


def instructions(tile):
    """Return the instructions for each multiply-add, by the model that chooses tiles."""
    (work,) = convolution_works(ConvProblem(1, 9, 9, 64, 64, 3, 3), tile, 1)
    turn = work.bring + work.compute
    return turn.instructions / turn.multiply_adds
