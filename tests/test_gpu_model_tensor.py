"""What the product on tensor cores is said to ask of a GPU: against its machine code, and its requests."""

import numpy as np
import pytest
from cases import arrays
from counted_work import accesses
from effort import in_turns
from lane_counts import SECTOR

from convlab import ConvProblem, plan
from convlab.algorithms.tensor_core import KINDS, TILES, WarpTile, tensor_core
from convlab.algorithms.tensor_core import gpu as on_gpu
from convlab.algorithms.tensor_core.gpu import Plan
from convlab.auto.predict_gpu import predict_on_gpu, predicted_on_gpu
from convlab.benchmark import datasheets
from convlab.gpu import simulator
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import using
from convlab.gpu.launch_args import as_launched
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.model.work import MATRICES, Demand, Work, time_of
from convlab.gpu.occupancy import occupancy
from convlab.gpu.simulated_gpu import Simulator
from convlab.gpu.tensor_cores.product import product
from convlab.gpu.tensor_cores.round_inputs import rounding
from convlab.gpu.tensor_cores.work import product_work

pytestmark = pytest.mark.inside

TROUBLE = assembly_fault()
assembly = pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
kinds = pytest.mark.parametrize("kind", KINDS)
WORDS, NUMBERS = np.zeros(1, np.uint32), np.zeros(1, np.float32)
LAYER = ConvProblem(32, 28, 28, 128, 128, 3, 3, padding=1)


def works(kind, problem, tile=None):
    return tensor_core(kind, tile).forms["gpu"].works(problem)


@in_turns
@assembly
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_a_piece_is_the_main_loops(tile, arch):
    """Products, ldmatrix and copies to the letter, no other store; all instructions within a tenth.

    As many blocks have room as with the compiler's registers.
    """
    _, work = works("fp16", LAYER, tile)
    kernel, warps = product("fp16", tile, y_width=2), work.threads // 32
    built = assemble(kernel, WORDS, WORDS, NUMBERS, *[1] * 18, arch=arch)
    loop = built.main_loop
    assert work.compute.matrices == warps * loop.count("HMMA") == warps * built.count("HMMA")
    assert work.compute.passes == warps * 4 * loop.count("LDSM.16.M88.4")
    assert loop.count("LDSM.16.M88.4") == loop.count("LDSM")
    assert work.bring.instructions == warps * loop.count("LDGSTS.E.BYPASS.128")
    assert loop.count("STS") == loop.count("LDG") == loop.count("FFMA") == 0
    share = (work.compute + work.bring).instructions / (warps * len(loop))
    assert 0.9 < share < 1.1
    assert built.shared_bytes == work.shared_bytes
    resident = occupancy(arch, work.threads, work.registers, work.shared_bytes).blocks
    assert resident == built.occupancy(tile.threads).blocks


@in_turns
@assembly
@kinds
@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("channels", [16, 15])
def test_rounding_is_its_machine_code(kind, channels, skips):
    """Whether groups of channels fill their words, and pixels are passed over: these are other kernels."""
    layer = ConvProblem(4, 28, 28, channels, 16, 1, 1, stride=2 if skips else 1)
    first = works(kind, layer)[0]
    kernel, warps = rounding(kind, channels == 16, skips), first.threads // 32
    built = assemble(kernel, NUMBERS, WORDS, *[1] * 11)
    assert not built.loops
    assert first.compute.instructions == pytest.approx(warps * len(built), rel=0.1)
    numbers = 4 * KINDS[kind]  # of a thread, so a warp's lie in as many lines; its words lie in four
    loads, opcode = (numbers / 4, "LDG.E.128") if channels == 16 else (numbers, "LDG.E")
    assert (built.count(opcode), built.count("LDG"), built.count("STG.E.128")) == (loads, loads, 1)
    assert first.compute.passes == warps * (loads * numbers + 4)
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
@pytest.mark.parametrize("parts", [1, 2])
def test_a_blocks_passes_and_sectors(monkeypatch, kind, parts):
    """One block, no padding: lines, passes over shared memory and sectors are those of the formula."""
    chosen, channels = Plan(WarpTile(32, 32, 16, 16), parts), 32 * KINDS[kind]  # a pixel is a line
    monkeypatch.setattr(on_gpu, "plan_for", lambda *given: chosen)
    problem = ConvProblem(1, 9, 8, channels, 64, 2, 1)
    x, w, _ = arrays(problem)
    device = FirstBlock()
    with using(device):
        prepared = plan(problem, w, algorithm=tensor_core(kind), backend="gpu")
        prepared(x)
    said = works(kind, problem)
    assert [(one.blocks, one.threads) for one in said] == device.launches
    first, work, *_ = said
    rounded, trace, *_ = device.traces
    stored = 4 * first.threads // 32  # four lines for each warp
    assert accesses(rounded, 1)["ld global"].passes + stored == first.compute.passes
    seen = accesses(trace, 1)
    assert seen["ld global"].passes <= seen["st shared"].passes == work.bring.passes * work.turns
    assert seen["ld shared"].passes == work.compute.passes * work.turns
    loads = [site for site in trace.sites() if (site.kind, site.space) == ("ld", "global")]
    asked = SECTOR * sum(site.sectors for site in loads) * work.blocks
    assert asked == work.l2_bytes - parts * problem.y_bytes


@kinds
def test_of_a_strided_1x1_less_is_rounded(kind):
    """A quarter of the pixels is read, and as many words are written."""
    sparse = ConvProblem(4, 28, 28, 64, 64, 1, 1, stride=2)
    dense = ConvProblem(4, 14, 14, 64, 64, 1, 1)
    (few, *_), (all_, *_) = works(kind, sparse), works(kind, dense)
    assert (few.blocks, few.cold, few.l2_bytes) == (all_.blocks, all_.cold, all_.l2_bytes)
    assert few.cold == sparse.x_bytes / 4
    assert few.compute.instructions > all_.compute.instructions


def test_what_is_cut_into_parts_is_asked_for_once_more():
    """Each part has as many blocks, with fewer turns; its sums go through the cache and are handed on."""
    layer, tile = ConvProblem(1, 7, 7, 512, 512, 3, 3, padding=1), TILES[-1]
    whole, cut = (product_work("fp16", tile, layer, 32, parts) for parts in (1, 8))
    assert (cut.blocks, cut.turns) == (8 * whole.blocks, whole.turns / 8)
    assert cut.l2_bytes - whole.l2_bytes == 7 * layer.y_bytes
    assert whole.cold - cut.cold == layer.y_bytes
    assert cut.passed_on - whole.passed_on == 8 * layer.y_bytes


@pytest.mark.parametrize("board", ["nvidia_h100", "rtx_a6000"])
def test_the_rate_of_tensor_cores_is_the_datasheets(board):
    """Their clock is not always that of the rest: within a tenth."""
    sheet, speeds = datasheets.load(board), datasheets.gpu_speeds(board)
    assert speeds.matrices == pytest.approx((sheet.flops | sheet.narrow)["float16"], rel=0.1)


@pytest.mark.parametrize(
    ("board", "multiprocessors", "clock_khz", "tflops"),
    [
        ("NVIDIA RTX A6000", 84, 1_800_000, 154.8),
        ("NVIDIA GeForce RTX 3090", 82, 1_695_000, 71),
    ],
)
def test_a_geforce_adds_up_in_float32_at_half_the_rate(board, multiprocessors, clock_khz, tflops):
    """The white paper of GA102, appendix A: "Peak FP16 Tensor TFLOPS with FP32 Accumulate"."""
    facts = {"capability": "8.6", "memory_clock_khz": 9_751_000, "memory_bus_bits": 384, "l2_bytes": 6 << 20}
    facts |= {"name": board, "multiprocessors": multiprocessors, "clock_khz": clock_khz}
    assert GpuSpeeds.of_facts("a GPU", facts).matrices == pytest.approx(1e12 * tflops, rel=0.01)


@pytest.mark.parametrize(("arch", "cycles"), [("sm_80", 2), ("sm_90", 1.5)])
def test_time_is_the_tensor_cores_where_they_are_busiest(arch, cycles):
    """By hand: 2048 multiply-adds in a product of matrices; 1024 a cycle, or two thirds of 2048."""
    speeds = GpuSpeeds.of("a GPU of one", arch, 1, 1e9, memory=1e12, l2_holds=1e6)
    work = Work("work", 1, 128, 32, 1, Demand(1000, matrices=3000))
    found = time_of(work, speeds)
    assert found.seconds - speeds.begin == pytest.approx(3e-6 * cycles)
    assert found.bound == MATRICES


@kinds
def test_rounded_inputs_are_predicted_to_be_faster(kind):
    """Than all that is as precise as float32; float16 is faster than tf32, which has twice the words."""
    speeds = datasheets.gpu_speeds("nvidia_h100")
    seconds = {one: sum(t.seconds for t in predict_on_gpu(LAYER, tensor_core(one), speeds)) for one in KINDS}
    assert seconds["fp16"] < seconds["tf32"]
    assert seconds[kind] < predicted_on_gpu(LAYER, speeds)["implicit_gemm"]
