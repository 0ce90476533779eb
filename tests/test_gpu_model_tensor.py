"""What the product on tensor cores is said to ask of a GPU: against its machine code, and its requests."""

import numpy as np
import pytest
from cases import arrays
from lane_counts import SECTOR

from convlab import ConvProblem, plan
from convlab.algorithms.tensor_core import KINDS, TILES, WarpTile, tensor_core
from convlab.auto.predict_gpu import predict_on_gpu, predicted_on_gpu
from convlab.benchmark import datasheets
from convlab.gpu import simulator
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import using
from convlab.gpu.launch_args import as_launched
from convlab.gpu.model.count import accesses
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.model.work import MATRICES, Demand, Work, time_of
from convlab.gpu.occupancy import occupancy
from convlab.gpu.simulated_gpu import Simulator
from convlab.gpu.tensor_cores.product import product
from convlab.gpu.tensor_cores.round_inputs import ROUND

TROUBLE = assembly_fault()
assembly = pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
kinds = pytest.mark.parametrize("kind", KINDS)
WORDS, NUMBERS = np.zeros(1, np.uint32), np.zeros(1, np.float32)
LAYER = ConvProblem(32, 28, 28, 128, 128, 3, 3, padding=1)


def works(kind, problem, tile=None):
    return tensor_core(kind, tile).forms["gpu"].works(problem)


@assembly
@pytest.mark.parametrize(("tile", "arch"), [*zip(TILES, 3 * ["sm_80", "sm_90"], strict=True)], ids=str)
def test_a_piece_is_the_main_loops(tile, arch):
    """Products, ldmatrix and copies to the letter, no other store; all instructions of sm_90 within a tenth.

    For sm_80 there are up to a fifth fewer. As many blocks have room as with the compiler's registers; of the
    smallest tile nine for ten.
    """
    _, work = works("fp16", LAYER, tile)
    built, warps = (
        assemble(product("fp16", tile), WORDS, WORDS, NUMBERS, *[1] * 17, arch=arch),
        work.threads // 32,
    )
    loop = built.main_loop
    assert work.compute.matrices == warps * loop.count("HMMA") == warps * built.count("HMMA")
    assert work.compute.passes == warps * 4 * loop.count("LDSM.16.M88.4")
    assert loop.count("LDSM.16.M88.4") == loop.count("LDSM")
    assert work.bring.instructions == warps * loop.count("LDGSTS.E.BYPASS.128")
    assert loop.count("STS") == loop.count("LDG") == loop.count("FFMA") == 0
    share = (work.compute + work.bring).instructions / (warps * len(loop))
    assert 0.9 < share < {"sm_90": 1.1, "sm_80": 1.25}[arch]
    assert built.shared_bytes == work.shared_bytes
    resident = occupancy(arch, work.threads, work.registers, work.shared_bytes).blocks
    room = built.occupancy(tile.threads).blocks
    assert resident == (room if tile != TILES[-1] else 0.9 * room)


@assembly
@kinds
def test_rounding_is_its_machine_code(kind):
    first, _ = works(kind, LAYER)
    built, warps = assemble(ROUND[kind], NUMBERS, WORDS, *[1] * 5), first.threads // 32
    assert not built.loops
    assert first.compute.instructions == pytest.approx(warps * len(built), rel=0.1)
    loads, stores = built.count("LDG"), built.count("STG")
    assert first.compute.passes == pytest.approx(
        warps * (loads * loads + stores)
    )  # each load in so many lines
    assert built.registers <= first.registers


class FirstBlock(Simulator):
    """A simulator that notes launches, and runs the first block of each."""

    def __init__(self):
        super().__init__()
        self.launches = []

    def launch(self, kernel, grid, block, *arguments):
        self.launches.append((int(np.prod(grid)), int(np.prod(block))))
        given = map(as_launched, arguments)
        self.traces.append(simulator.run(kernel, grid, block, *given, blocks=[0]))


@kinds
def test_a_blocks_passes_and_sectors(kind):
    """One block, no padding: lines, passes over shared memory and sectors are those of the formula."""
    tile, channels = WarpTile(32, 32, 16, 16), 32 * KINDS[kind]  # a pixel is a line
    problem = ConvProblem(1, 9, 8, channels, 64, 2, 1)
    x, w, _ = arrays(problem)
    device = FirstBlock()
    with using(device):
        prepared = plan(problem, w, algorithm=tensor_core(kind, tile), backend="gpu")
        prepared(x)
    said = works(kind, problem, tile)
    assert [(one.blocks, one.threads) for one in said] == device.launches
    work, trace = said[1], device.traces[-1]
    seen = accesses(trace, 1)
    brought = seen["ld global"].passes + seen["st shared"].passes
    assert brought == work.bring.passes * work.turns
    assert seen["ld shared"].passes == work.compute.passes * work.turns
    loads = [site for site in trace.sites() if (site.kind, site.space) == ("ld", "global")]
    asked = SECTOR * sum(site.sectors for site in loads) * work.blocks
    assert asked == work.l2_bytes - problem.y_bytes


@pytest.mark.parametrize("board", ["nvidia_h100", "rtx_a6000"])
def test_the_rate_of_tensor_cores_is_the_datasheets(board):
    """Their clock is not always that of the rest: within a tenth."""
    sheet, speeds = datasheets.load(board), datasheets.gpu_speeds(board)
    assert speeds.matrices == pytest.approx((sheet.flops | sheet.narrow)["float16"], rel=0.1)


def test_time_is_the_tensor_cores_where_they_are_busiest():
    """By hand: 2048 multiply-adds a cycle, and as many in a product of matrices, so a cycle each."""
    speeds = GpuSpeeds.of("a GPU of one", "sm_90", 1, 1e9, memory=1e12, l2_holds=1e6)
    work = Work("work", 1, 128, 32, 1, Demand(1000, matrices=3000))
    found = time_of(work, speeds)
    assert found.seconds - speeds.begin == pytest.approx(3e-6)
    assert found.bound == MATRICES


@kinds
def test_rounded_inputs_are_predicted_to_be_faster(kind):
    """Than all that is as precise as float32; float16 is faster than tf32, which has twice the words."""
    speeds = datasheets.gpu_speeds("nvidia_h100")
    seconds = {one: sum(t.seconds for t in predict_on_gpu(LAYER, tensor_core(one), speeds)) for one in KINDS}
    assert seconds["fp16"] < seconds["tf32"]
    assert seconds[kind] < predicted_on_gpu(LAYER, speeds)["implicit_gemm"]
