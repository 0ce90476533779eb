"""The gradients on a GPU, lane by lane and in machine code: no race, no access out of bounds, no spill."""

import re
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from cases import CASES
from device_tools import Counting, held
from effort import in_turns, sampled
from test_gpu_tiled_product import OneBlock, instructions
from test_gradients import DOORS, TABLES, by_definition, check, made, operands

from convlab import ALGORITHMS, ConvProblem, bgrad, conv_transpose2d, dgrad, plan_dgrad, plan_wgrad, wgrad
from convlab.errors import ArrayError, ShapeError, UnsupportedError, WorkspaceError
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import simulated, using
from convlab.gpu.gemm import batched, launch
from convlab.gpu.gemm.heuristics import TILES, TileChoice, choose_for_sums_of_pixels
from convlab.gpu.gemm.kernel import tiled_product
from convlab.gpu.gemm.load_columns import columns_loader
from convlab.gpu.gemm.load_columns import shape as columns_shape
from convlab.gpu.gemm.load_implicit import implicit_loader, shape
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.launch_args import COUNTED
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gradients import DGRAD
from convlab.gradients import bgrad_gpu as biases
from convlab.gradients import dgrad_depthwise_gpu as patches
from convlab.gradients import dgrad_flipped_gpu as flipped
from convlab.gradients import dgrad_implicit_gpu as phases
from convlab.gradients import filters_gpu as filters
from convlab.gradients import wgrad_depthwise_gpu as strips
from convlab.gradients import wgrad_product_gpu as product
from convlab.gradients.phases import parts, turned
from convlab.support.integers import ceil_div

pytestmark = pytest.mark.inside

FORMS = [(which, name) for which, table in TABLES.items() for name in table if "gpu" in table[name].forms]
form = pytest.mark.parametrize(("which", "algorithm"), FORMS, ids=["-".join(one) for one in FORMS])
SMALL = Tile(16, 16, 8, 4, 4)  # smaller than any that is shipped
EVERY_TILE = [(dtype, width, tile) for (dtype, width), tiles in TILES.items() for tile in tiles]
DEPTHWISE = ConvProblem(2, 9, 7, 8, 8, 3, 3, padding=((1, 0), (2, 1)), groups=8)


class Few(Counting):
    """A device of few multiprocessors: little is cut where a test does not ask for it."""

    multiprocessors = 2


def use(monkeypatch, tile, parts=1):
    """Let all products take this tile, and so many parts of the sums."""
    chosen = TileChoice(tile, parts, 1, 1, 1.0, 1.0)
    monkeypatch.setattr(phases, "choose_tile", lambda problem: chosen)
    monkeypatch.setattr(product, "choose_for_sums_of_pixels", lambda problem: chosen)
    monkeypatch.setattr(batched, "tile_for", lambda products: tile)


# -- numbers -----------------------------------------------------------------------------------------------


@sampled(8)
@form
@pytest.mark.parametrize("case", CASES)
def test_case_table(monkeypatch, which, algorithm, case):
    """As by definition; and a plan takes the bytes that its model says, and no others."""
    problem, chosen = CASES[case], TABLES[which][algorithm]
    use(monkeypatch, SMALL)
    if refused := chosen.supports(problem):
        with simulated(), pytest.raises(UnsupportedError, match=re.escape(refused)):
            DOORS[which](problem, *operands(which, problem)[0], algorithm=algorithm, backend="gpu")
        return
    with using(Few()) as device, device.counted() as taken:
        check(which, problem, algorithm=algorithm, backend="gpu")
        cost = chosen.cost(problem, "gpu")
    given, out = operands(which, problem)
    copied = sum(array.nbytes for array in given[: 1 if which == "dgrad" else 2])
    assert taken["bytes"] == cost.workspace_bytes + cost.packed_bytes + copied + out.nbytes


@form
def test_lanes_do_not_race(which, algorithm):
    """Traced: every access of every lane is held against those of the others."""
    problem = ConvProblem(2, 6, 5, 4, 4, 3, 2, stride=(2, 1), padding=((1, 0), (0, 1)))
    if algorithm == "depthwise":
        problem = replace(problem, groups=4)
    if algorithm == "flipped":
        problem = replace(problem, stride=1)
    with simulated() as device:
        check(which, problem, algorithm=algorithm, backend="gpu")
    assert all(trace.sites() for trace in device.traces)


PARTED = {
    "strides": ConvProblem(2, 9, 7, 6, 5, 3, 3, stride=(2, 1), padding=1),
    "fours": ConvProblem(3, 5, 6, 8, 12, 2, 3, padding=((0, 1), (2, 0)), dilation=(1, 2)),
    "double precision": ConvProblem(1, 9, 8, 4, 4, 3, 2, stride=(1, 3), dtype="float64"),
    "groups": ConvProblem(2, 6, 7, 6, 9, 3, 2, padding=1, groups=3),
    "groups of fours": ConvProblem(2, 5, 6, 16, 8, 1, 3, stride=(2, 1), groups=2),
}


def planned(which, problem, **choices):
    """Return a plan of a gradient, and what it is called with."""
    x, w, dy = made(problem)
    if which == "dgrad":
        return plan_dgrad(problem, w, backend="gpu", **choices), (dy,)
    return plan_wgrad(problem, backend="gpu", **choices), (x, dy)


@sampled(2)
@pytest.mark.parametrize("case", PARTED)
@pytest.mark.parametrize("which", ["dgrad", "wgrad"])
def test_sums_in_parts(monkeypatch, which, case):
    """Three parts, which end where no pixel and no tap does; groups are cut for wgrad alone."""
    problem = PARTED[case]
    parts = 1 if which == "dgrad" and problem.groups > 1 else 3
    use(monkeypatch, SMALL, parts)
    with using(Few()):
        check(which, problem, backend="gpu")
        assert ("partials" in planned(which, problem)[0].workspace) == (parts > 1)


@pytest.mark.inside
@pytest.mark.parametrize("algorithm", ["parts", "depthwise"])
def test_weights_gradient_is_the_same_to_the_last_bit(monkeypatch, algorithm):
    """From run to run, whatever lay in the workspace, and from another plan: nothing is added atomically."""
    problem = ConvProblem(3, 5, 6, 8, 8, 3, 2, groups=8 if algorithm == "depthwise" else 2)
    use(monkeypatch, SMALL, parts=3)
    found = set()
    for _ in range(2):
        with simulated(traced=False):
            prepared, given = planned("wgrad", problem, algorithm=algorithm)
            found |= {prepared(*given).tobytes() for _ in range(2)}
    assert len(found) == 1


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("which", ["dgrad", "wgrad"])
@pytest.mark.parametrize(("dtype", "width", "tile"), EVERY_TILE, ids=str)
def test_the_last_block_of_every_shipped_tile(monkeypatch, which, dtype, width, tile):
    """Two by two tiles as they are shipped; the last lacks a few rows and columns, and writes no others."""
    lack, terms = (4, 20) if width == 4 else (3, 19)
    rows, columns = 2 * tile.block_m, 2 * tile.block_n - lack
    if which == "wgrad":  # rows are filters, columns the numbers of one
        problem = ConvProblem(1, 3, 7, columns, rows - lack, 1, 1, dtype=dtype)
    else:  # rows are the pixels of a phase, columns their channels
        steps = {"stride": (1, 2), "padding": ((0, 0), (1, 2)), "dtype": dtype}
        problem = ConvProblem(1, (rows - 1) // 7, 14, columns, terms, 1, 2, **steps)
    use(monkeypatch, tile)
    x, w, dy = made(problem)
    given, its = ((dy,), phases) if which == "dgrad" else ((x, dy), product)
    expected = by_definition(problem, x, w, dy)[which == "wgrad"]
    with simulated(traced=False) as device:
        packed = phases.pack(problem, w, 1) if which == "dgrad" else None
        there, out = [device.put(one) for one in given], device.empty(expected.shape, dtype)
        with using(OneBlock(traced=False)):
            its.run(problem, there, packed, {}, out, 1)
        found = device.get(out)
    per_row = problem.stride[1] if which == "dgrad" else 1  # numbers of dx's pixels: one of each phase
    found, expected = (one.reshape(-1, per_row, columns) for one in (found, expected))
    last = slice(tile.block_m, None), slice(None), slice(tile.block_n, None)
    assert np.abs(found - expected)[last].max() <= 1e-4
    found[last] = np.nan
    assert np.isnan(found).all(), "the last block wrote sums of another one"


@pytest.mark.parametrize("which", ["dgrad", "wgrad"])
def test_more_slices_than_a_grid_can_count(monkeypatch, which):
    monkeypatch.setattr(launch, "MOST", 2)
    problem = ConvProblem(1, 3, 4, 10, 10, 2, 2, groups=5)
    use(monkeypatch, SMALL, parts=1 if which == "dgrad" else 2)
    with using(Few()) as device:
        check(which, problem, backend="gpu")
    assert [trace.kernel for trace in device.traces].count("product") == (3 if which == "dgrad" else 5)


@pytest.mark.parametrize("case", ["different strides", "pointwise, stride", "two groups", "dilation"])
def test_no_launch_multiplies_by_an_inserted_zero(monkeypatch, case):
    """The sizes of the products that are launched are those of the phases."""
    problem = CASES[case]
    use(monkeypatch, SMALL)
    with using(Few()), mock.patch.object(launch, "run", wraps=launch.run) as run:
        check("dgrad", problem, backend="gpu")
    sizes = [call.args[0] for call in run.call_args_list]
    macs = sum(one.M * one.N * one.K * one.groups for one in sizes)
    assert macs == DGRAD["implicit_gemm"].macs(problem)


def test_infinity_stays_where_its_windows_are():
    """What is loaded beyond the end of dy, or of its sums, is not multiplied by zero: it is zero."""
    problem = ConvProblem(1, 5, 6, 4, 3, 2, 3, stride=(1, 2), padding=1)
    x, w, dy = made(problem)
    dy[0, 2, 1, 0] = np.inf
    with np.errstate(invalid="ignore"), simulated(traced=False):
        dx, dw = dgrad(problem, dy, w, backend="gpu"), wgrad(problem, x, dy, backend="gpu")
        expected = by_definition(problem, x, w, dy)
    assert np.array_equal(np.isfinite(dx), np.isfinite(expected[0]))
    assert np.isfinite(dw[1:]).all()


# -- flipped: the forward convolution of dy -----------------------------------------------------------------

TURNED = {
    "plain": ConvProblem(2, 9, 7, 5, 6, 3, 3, padding=1),
    "none at the edge": ConvProblem(1, 8, 11, 8, 4, 3, 3),
    "windows that begin inside of dy": ConvProblem(1, 9, 8, 4, 3, 3, 3, padding=((4, 5), (3, 0))),
    "groups": ConvProblem(1, 7, 8, 6, 4, 3, 3, padding=2, groups=2),
    "double precision": ConvProblem(1, 6, 9, 3, 8, 3, 3, padding=1, dtype="float64"),
}


@sampled(2)
@pytest.mark.parametrize("case", TURNED)
@pytest.mark.parametrize("m", [0, 2, 4, 6])
def test_tiles_of_every_size_give_the_gradient(monkeypatch, m, case):
    """Whichever is predicted to be fastest; and filters transformed there are those of the forward form."""
    problem = TURNED[case]
    use(monkeypatch, SMALL)
    monkeypatch.setattr(flipped, "tiles_for", lambda problem: m)
    w, (part,) = made(problem)[1], parts(problem)
    name = f"winograd_{m}x{m}" if m else "implicit_gemm"
    with using(Few()) as device:
        check("dgrad", problem, algorithm="flipped", backend="gpu")
        packed = flipped.pack(problem, w, 1).filters
        there = device.get(packed if m else packed[0])
        expected = device.get(ALGORITHMS[name].forms["gpu"].pack(part.problem, turned(problem, w)))
    few = 32 * np.finfo(problem.dtype).eps * np.abs(expected).max()
    assert np.abs(there.reshape(expected.shape) - expected).max() <= few


@in_turns
@pytest.mark.parametrize("spoilt", ["w", "dy", "neither"])
def test_numbers_that_tiles_would_mix_are_not_mixed(monkeypatch, spoilt):
    """Then it is the plain product, in the room that was made for tiles; plans, too, look at w."""
    problem = ConvProblem(1, 9, 8, 4, 3, 3, 3, padding=1)
    monkeypatch.setattr(flipped, "tiles_for", lambda problem: 4)
    x, w, dy = made(problem)
    {"w": w, "dy": dy, "neither": dy.copy()}[spoilt].reshape(-1)[50] = 1e30
    expected = by_definition(problem, x, w, dy)[0]
    size = np.abs(expected) + np.abs(expected).mean() * (spoilt == "neither")
    with using(Few()) as device:
        found = dgrad(problem, dy, w, algorithm="flipped", backend="gpu")
        tiled = "into_pixels" in [trace.kernel for trace in device.traces]
        assert flipped.pack(problem, w, 1).m == (0 if spoilt == "w" else 4)
    assert tiled == (spoilt == "neither")
    assert (np.abs(found - expected) <= 1e-3 * size).all()


@pytest.mark.parametrize(
    ("sizes", "tiles"),
    [
        ({}, 6),
        ({"H": 14, "W": 14, "C": 256, "K": 256}, 4),
        ({"N": 1, "H": 2, "W": 2}, 0),
        ({"R": 5, "S": 5}, 0),
    ],
    ids=str,
)
def test_the_fastest_by_the_model_is_taken(sizes, tiles):
    """Large tiles for a large picture, smaller ones for a small one; of one that is tiny a plain product."""
    problem = replace(ConvProblem(32, 28, 28, 128, 128, 3, 3, padding=1), **sizes)
    with simulated():
        assert flipped.tiles_for(problem) == tiles
        rooms = set(flipped.shapes(problem, 1))
    assert rooms == {"V", "M"} if tiles else rooms <= {"partials"}


# -- depthwise ---------------------------------------------------------------------------------------------

CHANNELS = {
    "odd": replace(DEPTHWISE, R=2, S=3),
    "steps": replace(DEPTHWISE, stride=(2, 1)),
    "long steps": replace(DEPTHWISE, stride=(3, 2), padding=1),
    "steps beyond the filter": replace(DEPTHWISE, stride=(5, 4)),
    "holes": replace(DEPTHWISE, dilation=(2, 1), stride=(1, 2)),
    "two filters a channel": replace(DEPTHWISE, C=4, groups=4),
    "five channels": replace(DEPTHWISE, C=5, K=5, groups=5),
    "double precision": replace(DEPTHWISE, dtype="float64", stride=(1, 2)),
    "large filter": replace(DEPTHWISE, H=12, R=9, S=7, padding=4),
    "windows on padding": replace(DEPTHWISE, padding=((7, 8), (9, 1)), stride=(2, 1)),
}


@sampled(2)
@pytest.mark.parametrize("case", CHANNELS)
@pytest.mark.parametrize("which", ["dgrad", "wgrad"])
def test_channels_by_themselves(monkeypatch, which, case):
    """Patches of every size where any serves; as many parts as strips; and the loops."""
    problem = CHANNELS[case]
    for enough in (1, patches.ENOUGH):
        monkeypatch.setattr(patches, "ENOUGH", enough)
        monkeypatch.setattr(strips, "BLOCKS", enough)
        with simulated(traced=False):
            check(which, problem, algorithm="depthwise", backend="gpu")


def test_the_cut_suits_the_problem():
    mobilenet = ConvProblem(32, 56, 56, 128, 128, 3, 3, padding=1, groups=128)
    assert patches.choose(mobilenet) == ((4, 4), 4)
    assert patches.choose(replace(mobilenet, stride=2)) == ((2, 2), 4)
    for change in ({"K": 256}, {"dilation": 2}, {"R": 9, "S": 9, "padding": 4}, {"stride": 5}):
        assert patches.choose(replace(mobilenet, **change)) is None
    cut = strips.choose(mobilenet, 132)
    assert (cut.vector, cut.strip, cut.lanes) == (4, 4, 32)
    assert 0.95 * 2 * 132 < cut.parts <= 2 * 132
    assert cut.each * cut.parts * strips.THREADS // cut.lanes >= 32 * 56 * 56 / 4
    assert strips.choose(replace(mobilenet, stride=2), 132).strip == 2
    assert strips.choose(mobilenet, 10).parts == 20
    assert strips.choose(replace(mobilenet, N=1, H=2, W=2), 132).parts == 1
    assert strips.choose(replace(mobilenet, R=9, S=9, padding=4), 132).vector == 0


# -- how the sums are cut ----------------------------------------------------------------------------------


def test_parts_follow_the_multiprocessors():
    """Few columns and rows, and long sums: they are cut until there are blocks for all."""
    layer = ConvProblem(32, 56, 56, 64, 64, 3, 3, padding=1)
    large, small = (choose_for_sums_of_pixels(layer, GpuSpeeds.of_size(count)) for count in (132, 4))
    assert large.blocks >= 0.8 * 132
    assert large.parts > small.parts
    wide = replace(layer, C=1024, K=1024, H=14, W=14)
    assert choose_for_sums_of_pixels(wide, GpuSpeeds.of_size(132)).parts == 1
    assert choose_for_sums_of_pixels(replace(layer, groups=8), GpuSpeeds.of_size(132)).parts > 1
    for chosen in (large, small):
        assert chosen.blocks == chosen.parts * -(-64 // chosen.tile.block_m) * -(-576 // chosen.tile.block_n)


@pytest.mark.parametrize("which", ["dgrad", "wgrad"])
def test_workspace_is_what_the_model_says(which):
    """At a size whose sums are cut, by depth and by pixels; all else is in the case table."""
    problem = ConvProblem(8, 28, 28, 24, 256, 3, 3, stride=2, padding=1)
    with using(Counting()):
        prepared, _ = planned(which, problem)
    taken = sum(array.nbytes for array in prepared.workspace.values())
    assert prepared.workspace["partials"].size
    copies = problem.w_bytes if which == "dgrad" else 0
    assert taken + copies == prepared.cost.workspace_bytes
    assert sum(one.nbytes for one in prepared.packed or ()) == prepared.cost.packed_bytes


# -- the doors ---------------------------------------------------------------------------------------------

PROBLEM = PARTED["strides"]


def test_arrays_of_the_device_go_in_and_come_out(monkeypatch):
    use(monkeypatch, SMALL)
    x, w, dy = made(PROBLEM)
    dx, dw = by_definition(PROBLEM, x, w, dy)
    with using(Few()) as device:
        for weights in (w, held(w)):
            found = dgrad(PROBLEM, held(dy), weights, backend="gpu")
            np.testing.assert_allclose(device.get(found), dx, atol=1e-4)
        out = held(np.full_like(w, np.nan))
        assert wgrad(PROBLEM, held(x), held(dy), backend="gpu", out=out) is out
        np.testing.assert_allclose(out.array, dw, atol=1e-4)
        prepared = plan_dgrad(PROBLEM, w, backend="gpu")
        prepared.update(held(2 * w))
    np.testing.assert_allclose(prepared(dy), 2 * dx, atol=2e-4)  # where it was made


def test_transposed_convolution_of_arrays_of_the_device(monkeypatch):
    use(monkeypatch, SMALL)
    x, w = (made(CASES["two groups"])[i] for i in (2, 1))  # (1, 9, 7, 6) and (6, 3, 3, 2)
    bias = np.arange(4, dtype=np.float32)
    how = {"stride": (2, 1), "padding": 1, "output_padding": (1, 0), "groups": 2}
    expected = conv_transpose2d(x, w, bias, **how)
    with using(Few()) as device:
        np.testing.assert_allclose(
            conv_transpose2d(x, held(w), held(bias), **how, backend="gpu"), expected, atol=1e-4
        )
        found = device.get(conv_transpose2d(held(x), w, bias, **how, backend="gpu"))
        np.testing.assert_allclose(found, expected, atol=1e-4)
        out = held(np.full_like(expected, np.nan))
        assert conv_transpose2d(held(x), w, bias, **how, backend="gpu", out=out) is out
        np.testing.assert_allclose(out.array, expected, atol=1e-4)
        with pytest.raises(UnsupportedError, match="output_padding=1 wants lines of zeros below x"):
            conv_transpose2d(held(x), w, groups=2, dilation=2, output_padding=1, backend="gpu")


def test_gradient_of_the_bias():
    """All pixels of each filter, summed in float64, in an order that is fixed."""
    dy = np.random.default_rng(0).standard_normal((3, 7, 5, 6)).astype(np.float32)
    with simulated(traced=False) as device:
        found = device.get(bgrad(held(dy)))
        assert biases.parts_of(3 * 7 * 5, 6, device.multiprocessors) == 105
    assert 0.95 < biases.parts_of(1 << 20, 64, 132) * 64 / (132 * biases.ENOUGH) <= 1
    np.testing.assert_array_equal(found, bgrad(dy))
    assert found.dtype == np.float32


@pytest.mark.parametrize("multiprocessors", [8, 20, 82, 108, 132, 148])
@pytest.mark.parametrize("less", [0, 1, 4099, 1_000_003, 77_777_777])
def test_the_last_part_of_the_longest_gradient_ends_where_32_bits_can_count(multiprocessors, less):
    """Each part is as long as the others, and the last is cut off where the rows end: its end is counted."""
    rows = COUNTED - less
    each = ceil_div(rows, biases.parts_of(rows, 1, multiprocessors))
    assert ceil_div(rows, each) * each < 1 << 32


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (
            lambda x, w, dy: wgrad(PROBLEM, held(x), dy, backend="gpu"),
            ArrayError,
            "dy is a ndarray, and x lies",
        ),
        (
            lambda x, w, dy: wgrad(PROBLEM, x, held(dy), backend="gpu"),
            ArrayError,
            "dy lies on a device, and x",
        ),
        (
            lambda x, w, dy: dgrad(PROBLEM, held(x), w, backend="gpu"),
            ShapeError,
            r"dy has shape .*\(N, P, Q, K\)",
        ),
        (lambda x, w, dy: dgrad(PROBLEM, dy, held(dy), backend="gpu"), ShapeError, r"w has shape .*C/groups"),
        (
            lambda x, w, dy: dgrad(PROBLEM, held(dy), w, backend="gpu", out=x),
            ArrayError,
            "out is a ndarray, and dy",
        ),
        (
            lambda x, w, dy: dgrad(PROBLEM, held(dy), w, backend="gpu", out=held(w)),
            ShapeError,
            r"out .*\(N, H, W, C",
        ),
        (lambda x, w, dy: dgrad(PROBLEM, held(dy), w), ArrayError, "where backend='gpu' runs"),
        (lambda x, w, dy: plan_dgrad(PROBLEM, w, backend="gpu").update(dy), ShapeError, "w has shape"),
        (lambda x, w, dy: plan_dgrad(PROBLEM, w, backend="gpu")(held(x)), ShapeError, "dy has shape"),
        (lambda x, w, dy: bgrad(held(dy[0])), ShapeError, "dy has 3 axes"),
        (lambda x, w, dy: bgrad(held(dy[:0])), ShapeError, "at least one number"),
        (
            lambda x, w, dy: dgrad(PROBLEM, dy, w, algorithm="col2im", backend="gpu"),
            UnsupportedError,
            "it has no form for backend='gpu'; implicit_gemm can",
        ),
    ],
    ids=range(12),
)
def test_what_is_wrong_is_named(wrong, kind, message):
    with simulated(), pytest.raises(kind, match=message):
        wrong(*made(PROBLEM))


def test_device_memory_that_does_not_suffice_is_refused_first(monkeypatch):
    problem = ConvProblem(8, 64, 64, 64, 64, 3, 3, padding=1)
    x, _, dy = made(problem)
    with simulated() as device:
        monkeypatch.setattr(type(device), "free", lambda self: 5 << 20)
        monkeypatch.setattr(type(device), "empty", lambda *_: pytest.fail("taken"))
        with pytest.raises(WorkspaceError, match=r"copies 16\.0 MiB.* of device memory are free"):
            wgrad(problem, x, dy, backend="gpu")


# -- machine code ------------------------------------------------------------------------------------------

TROUBLE = assembly_fault()
assembly = pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
ARCHS = "sm_80", "sm_90"
archs = pytest.mark.parametrize("arch", ARCHS)
LAYER = ConvProblem(1, 9, 9, 64, 64, 3, 3)


def built(which, tile, arch, dtype="float32", width=4):
    """Return the machine code of a product; dy is read four numbers at a time, where x cannot be."""
    flat = np.zeros(4, dtype)
    if which == "wgrad":
        kernel = tiled_product(tile, columns_loader, width, width, dtype, w_width=4, slices="both")
        sizes, matrix = columns_shape(LAYER, tile), (0,) * 13
    else:
        kernel = tiled_product(tile, implicit_loader, width, 4, dtype, apart=True)
        sizes, matrix = shape(LAYER, tile), (0,) * 19
    return assemble(kernel, flat, flat, flat, flat, sizes, matrix, arch=arch)


@in_turns
@assembly
@archs
@pytest.mark.workshop
@pytest.mark.parametrize("which", ["wgrad", "dgrad"])
def test_the_large_tile_multiplies(arch, which):
    """The share of multiply-adds, and the loads of four, are those of the forward kernel."""
    made = built(which, TILES["float32", 4][0], arch)
    assert made.main_loop.share("FFMA") >= 0.85
    assert made.main_loop.count("LDG") == made.main_loop.count("LDG.E.128") == 4
    assert made.main_loop.count("LDS") == made.main_loop.count("LDS.128")
    assert made.count("STG") == made.count("STG.E.128") == 16
    assert not made.float64


BOTH = [(which, *one) for one in EVERY_TILE for which in ("wgrad", "dgrad")]


@in_turns
@assembly
@pytest.mark.workshop
@pytest.mark.parametrize(("which", "dtype", "width", "tile"), BOTH[::2] + BOTH[1::8], ids=str)
def test_no_product_spills(which, dtype, width, tile):
    """For one kind of GPU or the other: that is enough to find what a change does to the registers."""
    made = built(which, tile, ARCHS[tile.block_m % 128 // 64], dtype, width)
    assert made.spill_bytes == made.stack_bytes == 0
    assert made.occupancy(tile.threads).blocks >= tile.resident
    assert made.main_loop.multiply_adds == 2 * tile.block_k * tile.thread_m * tile.thread_n
    if width == 4 and dtype == "float32":  # what `choose_for_sums_of_pixels` reckons with
        cost = len(made.main_loop) / made.main_loop.multiply_adds
        assert cost == pytest.approx(instructions(tile), rel=0.1)


CHANNELS_CUT = {
    "small": ("sm_80", "float32", 3, 1),
    "small, stride": ("sm_90", "float32", 3, 2),
    "middle": ("sm_80", "float32", 5, 1),
    "large, stride": ("sm_90", "float32", 7, 2),
    "double precision": ("sm_90", "float64", 5, 1),
}


@in_turns
@assembly
@pytest.mark.workshop
@pytest.mark.parametrize("case", CHANNELS_CUT)
def test_no_kernel_of_channels_spills(case):
    """Patches and strips as they are chosen for a layer of MobileNet's size."""
    arch, dtype, taps, stride = CHANNELS_CUT[case]
    problem = ConvProblem(32, 56, 56, 128, 128, taps, taps, stride, taps // 2, groups=128, dtype=dtype)
    flat, cut, how = np.zeros(4, dtype), strips.choose(problem, 132), (dtype, taps, taps, problem.stride)
    patch = patches.patched(*how, *patches.choose(problem))
    strip = strips.strips(*how, problem.dilation, cut.strip, cut.vector, cut.lanes)
    for kernel, numbers in ((patch, 10), (strip, 12)):
        made = assemble(kernel, *[flat] * 3, *[1] * numbers, arch=arch)
        assert made.spill_bytes == made.stack_bytes == 0
        assert made.occupancy(strips.THREADS).blocks >= 2
        assert made.count("LDG.E.128") == (made.count("LDG") if case.startswith("small") else 0)


@in_turns
@assembly
@pytest.mark.workshop
def test_the_other_kernels_compile_without_a_stack():
    """Loops over large filters, filters that are laid out, parts that are added, and the bias."""
    flat, one, pair = np.zeros(4, np.float32), 1, (1, 1)
    kernels = {
        patches.looped("float32"): (flat, flat, flat, *[one] * 14),
        strips.looped("float32"): (flat, flat, flat, *[one] * 11, pair, pair, *[one] * 3),
        filters.laid_out("float32"): (flat, flat, *[one] * 12),
        **{flipped.transformed(m, "float32"): (flat, flat, *[one] * 3) for m in (2, 4, 6)},
        launch.add_up("float32", True): (flat, flat, one, one, one, (one,) * 6),
        biases.add_columns: (flat, np.zeros(4), *[one] * 4),
    }
    for number, (kernel, arguments) in enumerate(kernels.items()):
        made = assemble(kernel, *arguments, arch=ARCHS[number % 2])
        assert made.spill_bytes == made.stack_bytes == 0
        assert bool(made.float64) == (kernel is biases.add_columns)
