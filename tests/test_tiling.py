"""What tile sizes cost: the formulas against the lanes' counts, the tiles of the kernels, the compiler."""

from __future__ import annotations

import numpy as np
import pytest
from effort import in_turns

from convlab import ConvProblem, plan
from convlab.algorithms.implicit_gemm.gpu import RUNGS, rung
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import simulated
from convlab.gpu.gemm.heuristics import TILES
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.tensor_cores.fragments import holders, one_product
from convlab.inspect.tiling import (
    MOST_SHARED,
    Tiling,
    blocks,
    compulsory_bytes,
    tile_traffic,
    untiled,
    wasted,
)
from convlab.inspect.traffic import global_traffic

# Rows of 32 bytes that begin on a sector, taps that fill whole pieces, and no tile that hangs over an edge:
# then every number that is asked for is moved alone, and the count is the formula's.
LAYER = ConvProblem(1, 8, 8, 16, 32, 3, 2, padding=((1, 1), (1, 0)))
STEPS = ConvProblem(2, 8, 8, 8, 32, 2, 3, stride=(2, 1), padding=((0, 1), (1, 1)))
ALL_TILES = [tile for name, tiles in TILES.items() if name == ("float32", 4) for tile in tiles]


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("problem", [LAYER, STEPS], ids=["3x2", "stride"])
@pytest.mark.parametrize(
    "tile",
    [
        Tile(16, 16, 8, 4, 4),
        Tile(32, 32, 8, 4, 4, buffers=1),
        Tile(64, 16, 8, 8, 4),
        Tile(32, 16, 8, 4, 1, width=1),
    ],
    ids=str,
)
def test_traffic_is_what_lanes_ask_for(problem, tile):
    algorithm = rung("", tile, "", "").algorithm("implicit_gemm")
    asked, expected = _moved(problem, algorithm), tile_traffic(problem, Tiling.of(tile))
    assert asked == expected
    assert all(compulsory_bytes(problem)[name] <= asked[name] <= untiled(problem)[name] for name in asked)


def test_parts_of_sums_are_written_and_read_again():
    tile = Tile(32, 32, 8, 4, 4)
    algorithm = rung("", tile, "", "", parts=3).algorithm("implicit_gemm")
    asked = _moved(LAYER, algorithm)
    assert asked["y"] + asked["partials"] == tile_traffic(LAYER, Tiling.of(tile, 3))["y"]
    assert blocks(LAYER, Tiling.of(tile, 3)) == 3 * blocks(LAYER, Tiling.of(tile))


def _moved(problem, algorithm):
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in (problem.x_shape, problem.w_shape))
    with simulated() as device:
        plan(problem, w, algorithm=algorithm, backend="gpu")(x)
    return global_traffic(device.traces)


@pytest.mark.parametrize("tile", ALL_TILES, ids=str)
def test_a_tiling_is_its_tile(tile):
    shown = Tiling.of(tile)
    assert shown.threads == tile.threads
    assert shown.shared_bytes == tile.shared_bytes("float32") <= MOST_SHARED
    assert shown.trouble is None


def test_wasted_outputs():
    assert wasted(ConvProblem(1, 8, 16, 4, 128, 1, 1), Tiling()) == 0
    assert wasted(ConvProblem(1, 7, 7, 4, 128, 1, 1), Tiling()) == pytest.approx(1 - 49 / 128)


@in_turns
@pytest.mark.skipif(assembly_fault() is not None, reason=f"no assembly: {assembly_fault()}")
@pytest.mark.parametrize("tile", ALL_TILES, ids=str)
def test_registers_are_near_the_compilers(tile):
    from convlab.gpu.assembly import assemble
    from convlab.inspect.launches import last_launch

    problem = ConvProblem(1, 9, 9, 64, 64, 3, 3)
    built = assemble(*_one(last_launch(rung("", tile, "", "").algorithm("implicit_gemm"), problem)))
    assert Tiling.of(tile).registers == pytest.approx(built.registers, rel=0.3)


def _one(kernel_and_arguments):
    kernel, arguments = kernel_and_arguments
    return kernel, *arguments


def test_every_rung_can_be_shown():
    assert all(Tiling.of(*one.run.args).trouble is None for one in RUNGS[1:])


# -- the lanes of a tensor core ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [16, 20])
def test_one_warp_multiplies(row):
    from convlab.gpu import simulator

    rng = np.random.default_rng(1)
    x, w = (rng.integers(-99, 100, (16, 16)).astype(np.float32) for _ in range(2))  # exact in tf32
    y = simulator.poisoned((16, 16), np.float32)
    simulator.run(one_product(row), 1, 32, x.view(np.uint32), w.view(np.uint32), y).check()
    assert np.array_equal(y, x @ w.T)


def test_every_cell_has_one_lane():
    for name, each in (("A", 4), ("B", 2), ("C", 4)):
        assert np.array_equal(np.bincount(holders(name).ravel()), np.full(32, each))
