"""Tensor cores, lane by lane: the rounding is the only difference, at small tiles and at the large one."""

from dataclasses import replace
from inspect import unwrap
from itertools import product as pairs

import numpy as np
import pytest
from cases import CASES, arrays, assert_close, in_parts
from effort import in_turns, sampled

from convlab import ConvProblem, conv2d, plan
from convlab.algorithms.direct import gpu_filter
from convlab.algorithms.tensor_core import KINDS, TILES, WarpTile, rounded, tensor_core
from convlab.algorithms.tensor_core import gpu as on_gpu
from convlab.algorithms.tensor_core.gpu import Plan, plan_for, product_blocks
from convlab.algorithms.tensor_core.rounding import packed_words
from convlab.auto.predict_gpu import predict_on_gpu
from convlab.benchmark import datasheets, predicted_ladder
from convlab.benchmark.gpu import climb
from convlab.errors import ParameterError, UnsupportedError
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import planned_for, simulated, using
from convlab.gpu.kernels import device_function
from convlab.gpu.occupancy import MOST_SHARED
from convlab.gpu.simulated_gpu import Simulator
from convlab.gpu.simulator.tensor_sums import rounded as rounded_sums
from convlab.gpu.simulator.tensor_sums import truncated
from convlab.gpu.tensor_cores import product as product_module
from convlab.gpu.tensor_cores.product import product
from convlab.gpu.tensor_cores.round_inputs import read_by, rounding
from convlab.gpu.tensor_cores.warp_tile import MOST_FILTERS, pixel_words
from convlab.gpu.tensor_cores.warp_tile import WORDS as LENGTH
from convlab.oracle import reference

pytestmark = pytest.mark.inside

SERVED = [name for name, problem in CASES.items() if problem.dtype == "float32"]
TROUBLE = assembly_fault()
WORDS, NUMBERS = np.zeros(1, np.uint32), np.zeros(1, np.float32)
kinds = pytest.mark.parametrize("kind", KINDS)
archs = pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
needs_tools = pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")


def convolve(problem, kind, tile=None, traced=False):
    """Convolve in the simulator; hold y against float32's limits for the rounded inputs, and the rest."""
    x, w, bias = arrays(problem)
    algorithm = tensor_core(kind, tile)
    with simulated(traced) as device:
        made = plan(problem, w, bias, algorithm=algorithm, backend="gpu")
        y = made(x)
    assert sum(array.nbytes for array in made.workspace.values()) == made.cost.workspace_bytes
    assert made.packed.nbytes == made.cost.packed_bytes
    assert_close(y, rounded(x, kind), rounded(w, kind), problem, bias, f"{kind}, rounded inputs")
    assert_close(y, x, w, problem, bias, kind, algorithm.rounding)
    return device


@sampled(4)
@kinds
@pytest.mark.parametrize("case", SERVED)
def test_case_table(kind, case):
    convolve(CASES[case], kind)


@in_turns
@pytest.mark.inside
@kinds
@pytest.mark.parametrize("tile", TILES[:-1], ids=str)
def test_one_block_of_every_shipped_tile(kind, tile):
    down = tile.block_m // 7
    problem = ConvProblem(1, down, 14, 12, tile.block_n - 3, 3, 3, stride=(1, 2), padding=1)
    assert tile.block_m - 8 < problem.gemm[0] <= tile.block_m
    assert product_blocks(problem, tile) == 1
    convolve(problem, kind, tile)


@in_turns
@pytest.mark.inside
@kinds
@pytest.mark.parametrize("parts", [2, 3])
def test_sums_in_parts(monkeypatch, kind, parts):
    """Each part has blocks of its own, and one launch more adds up what they found."""
    problem = in_parts(parts, KINDS[kind])
    monkeypatch.setattr(on_gpu, "plan_for", lambda *given: Plan(TILES[-1], parts))
    device = convolve(problem, kind, traced=True)
    for trace in device.traces:
        trace.check()
    _, products, added, *_ = device.traces
    stored, read = (
        [site for site in trace.sites() if (site.kind, site.space) == (way, "global")]
        for trace, way in ((products, "st"), (added, "ld"))
    )
    pieces = -(-problem.R * problem.S * pixel_words(kind, problem) // LENGTH)
    copies = sum(site.lanes for site in products.sites() if site.array == "w")
    assert copies == product_blocks(problem, TILES[-1]) * TILES[-1].block_n * pieces * LENGTH / 4
    numbers = parts * problem.N * problem.P * problem.Q * problem.K
    assert sum(site.lanes * site.size for site in stored) == 4 * numbers
    assert sum(site.lanes for site in read) == numbers


@kinds
def test_a_given_tile_adds_up_each_sum_in_one_block(kind):
    layer = ConvProblem(1, 7, 7, 512, 512, 3, 3, padding=1)
    assert plan_for(kind, None, layer).parts > 1
    assert plan_for(kind, TILES[1], layer) == (TILES[1], 1)


@kinds
def test_tiles_that_cover_y_without_a_rest(kind):
    problem, tile = ConvProblem(1, 8, 8, 4, 64, 1, 1), TILES[-1]
    assert product_blocks(problem, tile) == 2 * 2
    convolve(problem, kind, tile)


@kinds
def test_rows_of_shared_memory_lie_in_different_banks(kind):
    """An ldmatrix reads 512 bytes in four passes, the least there is; copies of 32 lanes fill as many so."""
    problem = ConvProblem(1, 6, 5, 16, 8, 3, 3)
    x, w, _ = arrays(problem)
    with simulated() as device:
        conv2d(x, w, algorithm=tensor_core(kind, TILES[2]), backend="gpu")
    read = [site for site in device.traces[1].sites() if (site.kind, site.space) == ("ld", "shared")]
    assert {site.array for site in read} == {"shared_x", "shared_w"}
    copied = [site for site in device.traces[1].sites() if (site.kind, site.space) == ("st", "shared")]
    for site in read + copied:
        assert site.wavefronts == site.ideal_wavefronts == 4 * site.requests


class Noted(Simulator):
    """A simulator that notes its kernels, and what they are given."""

    def __init__(self):
        super().__init__(traced=False)
        self.launches = []

    def launch(self, kernel, grid, block, *arguments):
        self.launches.append((kernel, arguments))
        super().launch(kernel, grid, block, *arguments)


@kinds
@pytest.mark.parametrize("words", [LENGTH - 4, LENGTH])
def test_copies_go_by_way_of_the_cache_where_taps_share_a_line(kind, words):
    """A pixel of 32 words is a line of its own, and read for one tap at a time."""
    problem = ConvProblem(1, 3, 3, words * KINDS[kind], 3, 2, 2)
    x, w, bias = arrays(problem)
    with using(Noted()) as device:
        y = plan(problem, w, bias, algorithm=tensor_core(kind, TILES[-1]), backend="gpu")(x)
    assert_close(y, rounded(x, kind), rounded(w, kind), problem, bias)
    assert device.launches[1][0] is product(kind, TILES[-1], words < LENGTH, 1)


@kinds
@pytest.mark.parametrize("filters", [6, 7])
def test_two_numbers_are_stored_at_once_where_rows_are_even(kind, filters):
    problem = ConvProblem(1, 3, 4, 4, 2 * filters, 2, 2, groups=2)
    device = convolve(problem, kind, traced=True)
    stored = [site for site in device.traces[1].sites() if (site.kind, site.array) == ("st", "y")]
    assert {site.size for site in stored} == ({8} if filters % 2 == 0 else {4})


@kinds
@pytest.mark.parametrize("channels", [8, 3])
def test_of_a_strided_1x1_only_the_pixels_that_are_read_are_rounded(kind, channels):
    """The others may hold anything; and so much less is read, and less room is needed."""
    problem = ConvProblem(2, 7, 8, 2 * channels, 6, 1, 1, stride=(2, 3), groups=2)
    seen = read_by(problem)
    assert (seen.N, seen.H, seen.W, seen.stride) == (2, 4, 3, (1, 1))
    assert seen.y_shape == problem.y_shape
    x, w, bias = arrays(problem)
    passed_over = np.ones(x.shape, bool)
    passed_over[:, ::2, ::3] = False
    x[passed_over] = np.nan
    with using(Noted()) as device:
        made = plan(problem, w, bias, algorithm=tensor_core(kind), backend="gpu")
        y = made(x)
    assert_close(y, rounded(x[:, ::2, ::3], kind), rounded(w, kind), seen, bias)
    assert made.workspace["words"].size == seen.N * seen.H * seen.W * 2 * pixel_words(kind, problem)
    assert device.launches[0][0] is rounding(kind, channels == 8, True)


def test_all_pixels_are_rounded_where_windows_or_padding_reach_them():
    skipping = ConvProblem(1, 5, 5, 3, 2, 1, 1, stride=2)
    assert read_by(skipping) != skipping
    for changed in ({"R": 2}, {"stride": 1}, {"padding": ((0, 1), (0, 0))}):
        problem = replace(skipping, **changed)
        assert read_by(problem) is problem


def test_behind_the_last_filter_are_zeros_for_a_tile_that_hangs_over():
    problem = ConvProblem(1, 3, 3, 3, 5, 2, 2)
    _, w, _ = arrays(problem)
    packed = packed_words("tf32", problem, w)
    assert packed.shape == (5 + MOST_FILTERS, LENGTH)
    assert packed[:5].any(axis=1).all()
    assert not packed[5:].any()
    tiles = pairs(*[range(32, 2048, 32)] * 2)
    assert max(n for m, n in tiles if 2 * (m + n) * LENGTH * 4 <= MOST_SHARED) == MOST_FILTERS


@kinds
def test_nan_and_infinity_reach_just_their_windows(kind):
    problem = ConvProblem(1, 6, 5, 2, 3, 3, 3)
    x, w, _ = arrays(problem)
    x[0, 5, 4, 0], x[0, 0, 0, 1] = np.inf, np.nan
    with simulated(False), np.errstate(invalid="ignore"):
        y = conv2d(x, w, algorithm=tensor_core(kind), backend="gpu")
    assert np.isnan(y[0, 0, 0]).all()
    assert np.isinf(y[0, -1, -1]).all()
    assert np.isfinite(y).sum() == y.size - 2 * problem.K


# By hand: beside a one the last bit is 2^-23. Eight halves of it are four of it; but each alone is cut off.
SUMS = {
    "halves of the last bit": (1.0, [2.0**-24] * 8, 1 + 4 * 2.0**-23, 1.0),
    "whole last bits": (1.0, [2.0**-23] * 8, 1 + 8 * 2.0**-23, 1 + 8 * 2.0**-23),
    "below the one, half of a bit": (1.0, [-(2.0**-24)] + [0.0] * 7, 1 - 2.0**-24, 1.0),
    "the largest is a product": (2.0**-24, [1.0] + [0.0] * 7, 1.0, 1.0),
    "halves of both signs": (1.0, [2.0**-24, -(2.0**-24)] * 4, 1.0, 1.0),
    "a carry": (2.0**-22, [1.0, 1.0] + [0.0] * 6, 2 + 2.0**-22, 2 + 2.0**-22),
    "a carry pushes a bit out": (2.0**-23, [1.0, 1.0] + [0.0] * 6, 2.0, 2.0),
    "seven eighths of a bit": (1.0, [7 * 2.0**-26] + [0.0] * 7, 1 + 2.0**-23, 1.0),
    "no number": (np.inf, [-np.inf] + [0.0] * 7, np.nan, np.nan),
    "too large": (1.0, [np.inf] + [0.0] * 7, np.inf, np.inf),
}


@pytest.mark.parametrize("name", SUMS)
@np.errstate(invalid="ignore")
def test_sums_are_rounded_or_cut(name):
    c, products, by_ieee, cut = SUMS[name]
    a = np.zeros((16, 16), np.float32)
    a[:, :8], b, sums = products, np.ones((8, 16), np.float32), np.full((16, 8), c, np.float32)
    for way, expected in ((rounded_sums, by_ieee), (truncated, cut)):
        found = way(a, b, sums)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, np.full((16, 8), np.float32(expected)))


def test_the_first_four_words_are_added_before_the_rest():
    """Of float16 eight products, of tf32 four: what comes after them meets a sum that is cut already."""
    for along in (16, 8):
        a, b = np.zeros((16, along), np.float32), np.ones((8, along), np.float32)
        a[:, 0], a[:, along // 2 - 1], a[:, along // 2 :] = 2.0**-25, 2.0**-25, 2.0**-26
        a[:, -1] = 1.0
        together = truncated(a, b, np.zeros((16, 8), np.float32))
        np.testing.assert_array_equal(together, np.ones((16, 8)))
        a[:, -1], a[:, along // 2 - 1] = 0.0, 1.0  # the one comes earlier: all behind it is lost
        np.testing.assert_array_equal(truncated(a, b, np.zeros((16, 8), np.float32)), np.ones((16, 8)))
        a[:, along // 2 - 1] = 0.0
        alone = truncated(a, b, np.zeros((16, 8), np.float32))
        np.testing.assert_array_equal(alone, a.sum(axis=1, keepdims=True) + np.zeros((16, 8)))


@kinds
def test_the_same_kernel_rounds_or_cuts_off(kind):
    """Whole numbers come out alike; a sum of one sign that is cut is never above the true one."""
    problem, tile = ConvProblem(1, 4, 8, 64, 32, 1, 1), WarpTile(32, 32, 32, 16)
    rng = np.random.default_rng(3)
    whole = [rng.integers(-9, 9, shape).astype(np.float32) for shape in (problem.x_shape, problem.w_shape)]
    positive = [rng.uniform(0.5, 1, shape).astype(np.float32) for shape in (problem.x_shape, problem.w_shape)]

    def both(x, w):
        for accumulate in ("rounded", "truncated"):
            with simulated(False, accumulate):
                yield conv2d(x, w, algorithm=tensor_core(kind, tile), backend="gpu")

    np.testing.assert_array_equal(*both(*whole))
    by_ieee, cut = both(*positive)
    exact = reference(*(rounded(one, kind).astype(np.float64) for one in positive), problem)
    assert np.all(cut <= exact)
    assert np.mean(by_ieee > exact) > 0.2


def test_rounding_is_to_eleven_bits():
    half, tf32 = (rounded(np.float32([1 + 2**-11, 1 + 2**-10, 2.0**-20, 1e30]), kind) for kind in KINDS)
    np.testing.assert_array_equal(half, np.float32([1, 1 + 2**-10, 2.0**-20, np.inf]))  # ties to even
    np.testing.assert_array_equal(tf32[:3], np.float32([1 + 2**-10, 1 + 2**-10, 2.0**-20]))  # ties away
    assert tf32[3] == pytest.approx(1e30, rel=2**-11)
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    for kind in KINDS:
        error = np.abs(rounded(x, kind) / x - 1)
        assert 2**-12 < error.max() <= 2**-11


@in_turns
@needs_tools
@archs
@kinds
def test_the_loop_multiplies_on_tensor_cores(kind, arch):
    """64 x 32 numbers a warp, 32 words along the sum: 4 x 4 products, four times, and what they read."""
    built = assemble(product(kind, TILES[0]), WORDS, WORDS, NUMBERS, *[1] * 18, arch=arch)
    name = {"fp16": "HMMA.16816.F32", "tf32": "HMMA.1688.F32.TF32"}[kind]
    loop = built.main_loop
    assert loop.count(name) == built.count("HMMA") == 64
    assert (loop.count("LDSM.16.M88.4"), loop.count("LDGSTS.E.BYPASS.128")) == (24, 12)
    assert loop.count("BAR") == 1
    assert (built.spill_bytes, built.stack_bytes, built.float64) == (0, 0, {})
    assert built.occupancy(TILES[0].threads).warps >= 12  # three for each scheduler


@in_turns
@needs_tools
@kinds
def test_the_cache_is_on_the_way_of_pixels_alone(kind):
    """Of a block's copies 128 rows are pixels, and 64 are filters."""
    built = assemble(product(kind, TILES[0], True, 2), WORDS, WORDS, NUMBERS, *[1] * 18)
    assert (built.count("LDGSTS.E.128"), built.count("LDGSTS.E.BYPASS.128")) == (8, 4)
    assert (built.count("STG.E.64"), built.count("STG")) == (32, 32)


@in_turns
@needs_tools
def test_no_turn_works_out_where_shared_memory_lies(monkeypatch):
    """Without `held` the compiler for sm_90 reads a special register for it in each."""

    @device_function
    def worked_out(shared):
        return shared

    loops = []
    for function in (product_module.held, worked_out):
        monkeypatch.setattr(product_module, "held", function)
        kernel = unwrap(product)("fp16", TILES[0])  # made anew, not kept
        loops.append(assemble(kernel, WORDS, WORDS, NUMBERS, *[1] * 18, arch="sm_90").main_loop)
    with_it, without = loops
    assert with_it.count("S2UR") == 0 < without.count("S2UR")
    assert len(with_it) < len(without)


@in_turns
@needs_tools
@kinds
def test_no_tile_spills(kind):
    for tile in TILES[1:]:
        built = assemble(product(kind, tile), WORDS, WORDS, NUMBERS, *[1] * 18)
        assert (built.spill_bytes, built.stack_bytes, built.float64) == (0, 0, {})
        assert built.main_loop.count("HMMA") == tile.warp_m // 16 * (tile.warp_n // 8) * 4
    for whole, skips in pairs([True, False], repeat=2):
        built = assemble(rounding(kind, whole, skips), NUMBERS, WORDS, *[1] * 11)
        assert (built.spill_bytes, built.stack_bytes, built.float64) == (0, 0, {})


@kinds
def test_a_large_problem_takes_the_large_tile(kind):
    """By the model, on an H100: of few pixels many small ones; and if they are few, the sums are cut."""
    layer = ConvProblem(32, 28, 28, 128, 128, 3, 3, padding=1)
    assert plan_for(kind, None, layer) == (TILES[0], 1)
    assert plan_for(kind, None, ConvProblem(32, 56, 56, 64, 64, 3, 3, padding=1)) == (TILES[0], 1)
    assert plan_for(kind, None, ConvProblem(1, 7, 7, 8, 8, 3, 3)) == (TILES[-1], 1)
    small = plan_for(kind, None, ConvProblem(1, 7, 7, 512, 512, 3, 3, padding=1))
    assert small.tile == TILES[-1]
    assert small.parts > 4


def test_as_many_pieces_as_shared_memory_holds():
    assert [tile.buffers for tile in (*TILES, WarpTile(32, 64, 16, 32))] == [2, 2, 3, 4, 4]
    assert all(tile.buffers * tile.piece_bytes <= MOST_SHARED for tile in TILES)


@sampled(1)
@pytest.mark.parametrize("tile", TILES[1:], ids=["two", "three", "four"])
@pytest.mark.parametrize("pieces", [1, 2, 3, 5])
def test_sums_of_few_pieces_and_many(pieces, tile):
    """Fewer pieces than are begun beforehand, as many, and more."""
    problem = ConvProblem(1, 3, 7, pieces * LENGTH * KINDS["fp16"], 9, 1, 1)
    x, w, _ = arrays(problem)
    with simulated() as device:
        y = conv2d(x, w, algorithm=tensor_core("fp16", tile), backend="gpu")
    device.traces[-1].check()
    expected = reference(*(rounded(one, "fp16").astype(np.float64) for one in (x, w)), problem)
    np.testing.assert_allclose(y, expected, atol=1e-5 * np.abs(expected).max())


@kinds
def test_a_gpu_without_these_instructions_is_told_of(kind):
    """Before sm_80 there is no `mma.sync` of 16 x 8 x 16: ptxas refuses it. The device says so first."""
    problem, h100 = CASES["plain"], datasheets.gpu_speeds("nvidia_h100")
    x, w, _ = arrays(problem)
    with simulated() as device:
        device.capability = 7, 5
        with pytest.raises(UnsupportedError, match=r"capability 8\.0, and this GPU has 7\.5; direct, im2row"):
            conv2d(x, w, algorithm=tensor_core(kind), backend="gpu")
        assert predict_on_gpu(problem, tensor_core(kind), h100)  # another GPU's time can be foretold
        assert tensor_core(kind).name in {one.name for one in climb.others(problem, h100)}
        assert predicted_ladder("filter")[-1].name == gpu_filter.RUNGS[-1].name
        device.capability = 8, 0
        assert tensor_core(kind).supports(problem) is None
    for arch, lacking in (("sm_75", "this GPU has 7.5"), ("sm_86", None)):
        with planned_for(replace(h100, arch=arch)):
            said = tensor_core(kind).supports(problem)
        assert lacking in said if lacking else said is None


def test_what_cannot_be_served_is_told_in_words():
    x, w = np.ones((1, 4, 4, 1)), np.ones((1, 3, 3, 1))
    with simulated(), pytest.raises(UnsupportedError, match="float64; it needs float32"):
        conv2d(x, w, algorithm=tensor_core(), backend="gpu")
    with pytest.raises(UnsupportedError, match="no form for backend='cpu'"):
        conv2d(np.float32(x), np.float32(w), algorithm=tensor_core(), backend="cpu")
    with pytest.raises(ParameterError, match="expected one of fp16, tf32"):
        tensor_core("int8")
    no_multiples = WarpTile(128, 128, 48, 32), WarpTile(0, 32, 16, 16), WarpTile(96, 40, 32, 40)
    one_warp, three_warps = WarpTile(32, 32, 32, 32), WarpTile(96, 32, 32, 32)
    for tile in (*no_multiples, one_warp, three_warps):
        with pytest.raises(ParameterError, match="an even number of warps of multiples of 16"):
            tensor_core("fp16", tile)
    with pytest.raises(ParameterError, match="65536 bytes of shared memory"):
        tensor_core("fp16", WarpTile(128, 128, 64, 64))
