"""The model of a GPU's time: against figures that others measured, and its counts against the code's own."""

from dataclasses import replace
from functools import cache, partial
from itertools import combinations

import numpy as np
import pytest
from cases import arrays
from counted_work import accesses, sectors, work_of
from effort import in_turns
from lane_counts import SECTOR, traced, window
from sgemm_ladder import CUBLAS, MATRIX, RUNGS

from convlab import ALGORITHMS, ConvProblem, plan
from convlab.algorithms.direct import gpu as direct
from convlab.algorithms.direct import (
    gpu_filter,
    gpu_filter_lines,
    gpu_filter_patch,
    gpu_filter_work,
    gpu_staged,
)
from convlab.algorithms.implicit_gemm.gpu import rung
from convlab.auto.predict_gpu import predict_on_gpu, predictable_on_gpu, predicted_on_gpu
from convlab.auto.timing import Timing
from convlab.benchmark import datasheets, predicted_ladder, roofline, saved
from convlab.benchmark.gpu import climb, model_error, times
from convlab.benchmark.gpu.model_error import judge_device, speeds_of
from convlab.errors import ConvError, UnsupportedError
from convlab.gpu import simulator
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import using
from convlab.gpu.gemm.heuristics import TILES
from convlab.gpu.gemm.kernel import tiled_product
from convlab.gpu.gemm.load_implicit import implicit_loader, shape
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.work import convolution_works
from convlab.gpu.launch_args import as_launched
from convlab.gpu.model.speeds import GENERATIONS, GpuSpeeds
from convlab.gpu.model.work import PACE, Demand, Work, throughput, time_of
from convlab.gpu.occupancy import occupancy
from convlab.gpu.simulated_gpu import Simulator
from tools.bench_gpu import report

pytestmark = pytest.mark.inside

TROUBLE = assembly_fault()
assembly = pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
A6000 = replace(datasheets.gpu_speeds("rtx_a6000"), flops=CUBLAS)
LENGTH = 32  # of the sums in the simulator: one turn of the deepest pieces, at least
TUNED = ("6:", "9:", "10:")


@cache
def looked_at(rung):
    """Return a rung's machine code, and the trace of its first block on short sums."""
    kernel, (rows, columns) = rung.make(), rung.block
    array = np.zeros(4, np.float32)
    built = assemble(kernel, MATRIX, MATRIX, MATRIX, array, array, array, arch="sm_86")
    rng = np.random.default_rng(rows)
    a = rng.standard_normal((rows, LENGTH), np.float32)
    b = rng.standard_normal((LENGTH, columns), np.float32)
    c = np.zeros(rows * columns, np.float32)
    trace = simulator.run(
        kernel, (1, 1), rung.threads, rows, columns, LENGTH, a.reshape(-1), b.reshape(-1), c
    )
    trace.check()
    assert np.allclose(c.reshape(rows, columns), a.astype(float) @ b, atol=1e-4)
    return built, trace


def predicted(rung, speeds=A6000) -> float:
    """Return the predicted speed of a rung on the large matrices, in GFLOP/s."""
    built, trace = looked_at(rung)
    threads, cells = int(np.prod(rung.threads)), int(np.prod(rung.block))
    work = work_of(
        rung.name,
        built,
        trace,
        blocks=MATRIX * MATRIX // cells,
        threads=threads,
        multiply_adds=cells / threads * MATRIX,
        turns=round(cells / threads * LENGTH / built.main_loop.multiply_adds),
        cold=3 * 4 * MATRIX * MATRIX,
    )
    return 2 * MATRIX**3 / time_of(work, speeds).seconds / 1e9


@in_turns
@assembly
@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_a_published_ladder_is_predicted(rung):
    """Within a quarter each, the tuned ones within 15 %: nothing in the model was fitted to any of them."""
    ratio = predicted(rung) / rung.gflops
    limit = 0.15 if rung.name.startswith(TUNED) else 0.25
    assert abs(ratio - 1) <= limit, f"{rung.name}: {ratio:.2f} of what was measured"


@in_turns
@assembly
def test_a_published_ladder_is_in_the_right_order():
    """Of rungs that were measured a twentieth apart, none comes out before a faster one.

    The last two are both predicted at the roof of the multiply-adds: alike, to a hundredth.
    """
    speeds = {rung: predicted(rung) for rung in RUNGS}
    for low, high in combinations(sorted(RUNGS, key=lambda rung: rung.gflops), 2):
        if high.gflops > 1.05 * low.gflops:
            assert speeds[low] <= 1.01 * speeds[high], (low.name, high.name)
    assert len(set(speeds.values())) >= len(RUNGS) - 1


@in_turns
@assembly
def test_where_the_roof_counts():
    """By the datasheet's peak the tuned rungs come out too fast: a board of 300 W does not multiply so fast.

    The slow ones are held up by shared memory, and do not come near it.
    """
    promised = replace(A6000, flops=datasheets.load("rtx_a6000").flops["float32"])
    for one in RUNGS[:4]:
        assert predicted(one, promised) == pytest.approx(predicted(one))
    for one in RUNGS:
        if one.name.startswith(TUNED):
            assert predicted(one, promised) > 1.15 * one.gflops


@in_turns
@assembly
@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_loads_are_put_together_as_the_compiler_does(rung):
    """The accesses of the machine code's main loop are those of the simulator, by their number and width."""
    built, trace = looked_at(rung)
    threads, cells, loop = int(np.prod(rung.threads)), int(np.prod(rung.block)), built.main_loop
    turns = round(cells / threads * LENGTH / loop.multiply_adds)
    seen = accesses(trace, turns)
    names = {"ld global": "LDG.E", "ld shared": "LDS", "st shared": "STS"}
    for kind, opcode in names.items():
        wide = loop.count(f"{opcode}.128")
        found = {size: count / turns / (threads / 32) for size, count in seen[kind].widths.items()}
        if rung.name.startswith("8:") and kind == "ld shared":  # rows at odd places: ptxas is a little better
            assert abs(sum(found.values()) / loop.count(opcode) - 1) < 0.15
            continue
        assert found.get(16, 0) == wide, (kind, found)
        assert found.get(4, 0) == loop.count(opcode) - wide - loop.count(f"{opcode}.64"), (kind, found)


# -- what the shipped kernels are said to ask for ----------------------------------------------------------

EVERY_TILE = [
    (width, tile) for (dtype, width), tiles in TILES.items() if dtype == "float32" for tile in tiles
]


@in_turns
@assembly
@pytest.mark.parametrize(("width", "tile"), EVERY_TILE, ids=str)
def test_a_tiles_work_is_its_machine_codes(width, tile):
    """Multiply-adds, loads and stores of a turn to the letter; all instructions within a tenth."""
    problem = ConvProblem(1, 28, 28, 64 if width == 4 else 3, 256, 3, 3, padding=1)
    array = np.zeros(4, np.float32)
    kernel = tiled_product(tile, implicit_loader, width, 4, "float32", 2, 4)
    built = assemble(kernel, array, array, array, array, shape(problem, tile), (1,) * 13)
    (work,), loop, warps = convolution_works(problem, tile, 1), built.main_loop, tile.warps
    pieces = loop.multiply_adds / (tile.thread_m * tile.thread_n * tile.block_k)  # of a turn of its loop
    assert work.compute.multiply_adds * pieces == warps * loop.multiply_adds
    brought = warps * (loop.count("LDG") + loop.count("STS"))
    assert work.bring.instructions * pieces == brought
    total = (work.compute + work.bring).instructions * pieces
    assert total == pytest.approx(warps * len(loop), rel=0.1)
    assert built.registers <= work.registers


ROW_BY_ROW = (4, Tile(128, 128, 8, 8, 8, pairs=False)), (4, Tile(64, 32, 8, 8, 4, pairs=False))


@in_turns
@pytest.mark.parametrize(("width", "tile"), [*EVERY_TILE, *ROW_BY_ROW], ids=str)
def test_a_tiles_passes_are_those_of_its_requests(width, tile):
    """One block in the simulator: passes over shared memory and sectors are those of the formula.

    Padding asks for none. Of 6 channels, 24 bytes, some lie across two sectors: there within a quarter.
    """
    channels = 16 if width == 4 else 6
    problem = ConvProblem(1, 2 * tile.block_m // 8, 8, channels, tile.block_n, 1, 4, padding=((0, 0), (1, 2)))
    x, w, _ = arrays(problem)
    device = OneBlock()
    with using(device):
        prepared = plan(
            problem, w, algorithm=rung("", tile, "", "").algorithm("implicit_gemm"), backend="gpu"
        )
        prepared(x)
    (work,) = convolution_works(problem, tile, 1)
    turns = work.turns + (tile.buffers > 1)  # it brings a piece too many
    seen = accesses(device.traces[-1], 1)
    assert seen["ld shared"].passes == work.compute.passes * work.turns
    stored = seen["st shared"].passes
    assert stored <= work.bring.passes * turns
    assert stored + seen["ld global"].passes == pytest.approx(work.bring.passes * turns, rel=0.25)
    _, _, inside = window(problem, 0, np.arange(problem.Q)[:, None], 0, np.arange(problem.S))
    bytes_of_x, bytes_of_w = (4 * work.turns * tile.block_k * side for side in (tile.block_m, tile.block_n))
    assert work.l2_bytes == work.blocks * (bytes_of_x + bytes_of_w) + 4 * np.prod(problem.gemm[:2])
    asked = SECTOR * sum(traced(device.traces[-1], "ld", array)[2] for array in ("x", "w"))
    expected = bytes_of_x * inside.mean() + bytes_of_w
    assert asked == pytest.approx(expected, rel=1e-9 if width == 4 else 0.25)


@in_turns
@assembly
def test_a_taps_instructions_are_the_machine_codes():
    """Of the rungs with one output a thread: within a tenth, and no spill."""
    x, w, y = (np.zeros(shape, np.float32) for shape in ((2, 8, 8, 64), (64, 3, 3, 64), (2, 8, 8, 64)))
    packed, where = np.zeros((1, 3, 3, 64, 64), np.float32), ((1, 1),) * 3
    kernels = {
        direct.TAP: [
            assemble(direct.one_thread_per_output("float32"), x, w, y, *where, 1),
            assemble(direct.coalesced("float32"), x, packed, y, *where),
        ],
        gpu_staged.STEP: [assemble(gpu_staged.staged("float32"), x, packed, y, *where, 16)],
    }
    for said, every in kernels.items():
        for built in every:
            assert len(built.main_loop) / built.main_loop.multiply_adds == pytest.approx(said, rel=0.1)
            assert built.spill_bytes == 0


@in_turns
@assembly
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("size", [7, 9])
def test_a_filters_taps_are_the_machine_codes(size, arch):
    """Of loops to a tenth; of what is written out, which generations do differently, to a fifth."""
    problem = ConvProblem(1, 64, 64, 1, 1, size, size, padding=size // 2)
    array, taps = np.zeros(4, np.float32), size * size
    weights = np.random.default_rng(0).standard_normal(taps).astype("float32")

    def built(kernel, numbers=9):
        found = assemble(kernel, array, array, array, *[4] * numbers, arch=arch)
        assert found.spill_bytes == 0
        return found

    tall, registers = gpu_filter_patch.plan_for(problem)
    naive = built(gpu_filter.naive("float32"))
    constant = built(gpu_filter.constant("float32", size, size, weights.tobytes()))
    shared = built(gpu_filter.shared("float32", size, size))
    patch = built(gpu_filter_patch.patch("float32", size, size, size // 2, tall, registers, 4, 4), 7)

    loop, tenth = naive.main_loop, partial(pytest.approx, rel=0.1)
    assert len(loop) / loop.multiply_adds == tenth(gpu_filter_work.GLOBAL)
    assert loop.count("LDG") == 2 * loop.multiply_adds
    assert constant.count("LDG") == constant.count("FFMA") == taps
    said = gpu_filter_work.OTHERS + taps * gpu_filter_work.CONSTANT
    assert len(constant) == pytest.approx(said, rel=0.2)
    loop = shared.main_loop
    assert len(loop) / loop.multiply_adds == tenth(gpu_filter_work.SHARED)
    assert loop.count("LDS") == 2 * loop.multiply_adds
    copy = max((one for one in shared.loops if one.count("STS")), key=len)  # of the pixels, some at once
    assert len(copy) / copy.count("STS") == tenth(gpu_filter_work.COPY)
    assert max(one.registers for one in (naive, constant, shared)) <= gpu_filter_work.REGISTERS
    if gpu_filter_lines.refuses(problem) is None:
        (work,), turns = gpu_filter_work.lines(problem), (gpu_filter_lines.LEAST + size - 1) / 2
        lines = built(gpu_filter_lines.lines(size, size, size // 2, 4), 8)
        loop = lines.main_loop
        assert lines.registers <= work.registers
        assert lines.shared_bytes == work.shared_bytes
        assert loop.multiply_adds == work.compute.multiply_adds / turns == 2 * 4 * taps
        assert len(loop) == tenth(work.compute.instructions / turns)
    (work,) = gpu_filter_work.patch(problem)
    adds, both = work.compute.multiply_adds / gpu_filter_work.WARPS, patch.count("FFMA")
    assert 2 * adds == both  # the way of those inside, and of those at the border
    assert work.compute.instructions / gpu_filter_work.WARPS == tenth(adds + (len(patch) - both) / 2)


@pytest.mark.parametrize("rung", gpu_filter.RUNGS, ids=lambda rung: rung.name)
def test_a_filters_blocks_ask_for_what_is_said(rung):
    """A block in the middle of a line: its sectors are those of the formula, and its passes.

    From shared memory weights are loaded one by one, which might have been loaded together.
    """
    problem = ConvProblem(1, 70, 384, 1, 1, 7, 7, padding=((0, 0), (3, 3)))
    x, w, _ = arrays(problem)
    device = OneBlock(block=1)
    with using(device):
        algorithm = rung.algorithm("direct")
        plan(problem, w, algorithm=algorithm, backend="gpu")(x)
        (work,) = algorithm.forms["gpu"].works(problem)
    (trace,) = device.traces[-1:]
    outputs = problem.P * problem.Q / work.blocks
    assert work.l2_bytes / work.blocks == SECTOR * sectors(trace) + 4 * outputs
    seen = accesses(trace, 1)
    passes = sum(one.passes for one in seen.values()) + outputs / 32  # a line of outputs is stored at once
    assert (work.compute + work.bring).passes == pytest.approx(
        passes, rel=0.25 if work.shared_bytes else 1e-9
    )


PROBLEMS = {
    "dense": ConvProblem(2, 14, 14, 16, 32, 3, 3, padding=1),
    "first layer": ConvProblem(1, 32, 32, 3, 24, 7, 7, stride=2, padding=3),
    "pointwise": ConvProblem(1, 14, 14, 64, 48, 1, 1),
    "deep": ConvProblem(1, 7, 7, 256, 64, 3, 3, padding=1),
    "groups": ConvProblem(1, 9, 9, 16, 16, 3, 3, padding=1, groups=4),
    "depthwise": ConvProblem(1, 28, 28, 32, 32, 3, 3, padding=1, groups=32),
    "wide patches": ConvProblem(2, 56, 56, 128, 128, 3, 3, padding=1, groups=128),
    "one filter": ConvProblem(1, 40, 40, 1, 1, 5, 5, padding=2),
}

PASSES = [
    *((f"winograd_{m}x{m}", "dense") for m in (2, 4, 6)),
    *(("im2row", name) for name in ("dense", "first layer")),
    *(("depthwise", name) for name in ("depthwise", "wide patches")),
]


@in_turns
@assembly
@pytest.mark.parametrize(("name", "case"), PASSES)
def test_a_pass_is_its_machine_codes(name, case):
    """Where no loop is left: loads and stores to the letter, instructions within a tenth."""
    problem, device = PROBLEMS[case], Counter()
    x, w, _ = arrays(problem)
    with using(device):
        prepared = plan(problem, w, algorithm=name, backend="gpu")
        device.launches.clear()
        prepared(x)
        works = ALGORITHMS[name].forms["gpu"].works(problem)
    for work, (_, _, kernel, arguments) in zip(works, device.launches, strict=True):
        if work.name == "products":
            continue
        built, warps = assemble(kernel, *arguments), work.threads // 32
        accesses = built.count("LDG") + built.count("STG")
        assert not built.loops
        assert work.compute.instructions == pytest.approx(warps * len(built), rel=0.1)
        assert work.compute.passes % (warps * accesses) == 0
        assert built.registers <= work.registers
        assert built.spill_bytes == 0


class OneBlock(Simulator):
    """A simulator that runs one block of a launch."""

    def __init__(self, block=0):
        super().__init__()
        self.block = block

    def launch(self, kernel, grid, block, *arguments):
        given = map(as_launched, arguments)
        self.traces.append(simulator.run(kernel, grid, block, *given, blocks=[(self.block, 0, 0)]))


class Counter(Simulator):
    """A simulator that runs nothing: it counts blocks and threads."""

    def __init__(self):
        super().__init__()
        self.launches = []

    def launch(self, kernel, grid, block, *arguments):
        self.launches.append((int(np.prod(grid)), int(np.prod(block)), kernel, arguments))


MODELLED = [name for name, one in ALGORITHMS.items() if predictable_on_gpu(one)]


@in_turns
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("name", MODELLED)
def test_works_are_the_launches(name, problem):
    """As many launches as a run makes, of as many blocks and threads."""
    algorithm = ALGORITHMS[name]
    if reason := algorithm.refuses(problem):
        pytest.skip(reason)
    x, w, _ = arrays(problem)
    counter = Counter()
    with using(counter):
        prepared = plan(problem, w, algorithm=name, backend="gpu")
        counter.launches.clear()
        prepared(x)
        works = algorithm.forms["gpu"].works(problem)
    said = [(work.blocks, work.threads) for work in works]
    assert len(said) == len(counter.launches), [work.name for work in works]
    for (blocks, threads), (really, block, *_) in zip(said, counter.launches, strict=True):
        assert threads == block
        assert blocks == pytest.approx(really, rel=0.13, abs=1)


@pytest.mark.parametrize("board", ["nvidia_h100", "rtx_a6000"])
def test_auto_goes_by_the_prediction(board):
    """Of those that are predicted the fastest is taken, and the reason names the board."""
    device, speeds = Counter(), datasheets.gpu_speeds(board)
    device.speeds = speeds
    problem = ConvProblem(32, 56, 56, 64, 64, 3, 3, padding=1)
    _, w, _ = arrays(replace(problem, N=1))
    with using(device):
        prepared = plan(problem, w, backend="gpu")
        seconds = predicted_on_gpu(problem, speeds)
    best, second = sorted(seconds, key=seconds.get)[:2]
    if seconds[second] > 1.03 * seconds[best]:
        assert prepared.algorithm.name == best
    assert speeds.name in prepared.why
    assert "predicted" in prepared.why
    assert seconds["direct"] > 3 * seconds[best]
    assert seconds["im2col"] > seconds["implicit_gemm"]


def test_without_speeds_the_rule_chooses():
    """In the simulator no time passes; and an algorithm without a model is refused by name."""
    problem = PROBLEMS["dense"]
    with using(Counter()):
        assert "rule" in plan(problem, arrays(problem)[1], backend="gpu").why
        with pytest.raises(UnsupportedError, match="'fft'"):
            predict_on_gpu(problem, "fft", SMALL)
        with pytest.raises(UnsupportedError, match="cannot serve"):
            predict_on_gpu(problem, "pointwise", SMALL)


@pytest.mark.parametrize("board", ["nvidia_h100", "rtx_a6000"])
def test_a_ladder_is_predicted_rung_by_rung(board):
    """Nobody's clock; each rung takes longer than its bytes do, and the last is the nearest to a copy."""
    found = predicted_ladder("filter", board)
    assert [one.name for one in found] == [rung.name for rung in gpu_filter.RUNGS]
    assert not any(one.measured for one in found)
    copy = found[0].moved[climb.MEMORY] / datasheets.gpu_speeds(board).memory
    times = [one.seconds / copy for one in found]
    assert min(times) > 1
    assert times[0] == max(times)
    assert times[-1] == min(times) < 1 / 0.75
    assert [one.seconds for one in predicted_ladder("direct", board)] == [
        sum(
            time.seconds
            for time in predict_on_gpu(one.problem, rung.algorithm("direct"), datasheets.gpu_speeds(board))
        )
        for one, rung in zip(predicted_ladder("direct", board), direct.RUNGS, strict=True)
    ]
    with pytest.raises(ConvError, match="expected one of filter"):
        predicted_ladder("filters")


# -- the climb ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def climbed():
    """Return the climb where no GPU was ever measured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(times, "newest", lambda part: None)
        patch.setattr(times, "gpu_trouble", lambda: "none here")
        patch.setattr(climb, "gpu_trouble", lambda: "none here")
        yield climb.device_climb()


def test_what_was_not_measured_is_called_predicted(climbed):
    """No step claims a clock, and the source says why."""
    assert "none here" in climbed.source
    assert not any(one.measured for one in (*climbed.rungs, *climbed.others))
    assert not any(roof.measured for roof in (climbed.line.adds, *climbed.line.memories))


def test_every_predicted_step_is_below_every_roof(climbed):
    """Of each level at its own bytes; the dense ones also below the multiply-adds, or the tensor cores."""
    for one in (*climbed.rungs, *climbed.others):
        for roof in climbed.line.memories:
            assert one.speed <= 1.001 * roof.at(one.intensity(roof.name)), (one.name, roof.name)
        flat = climbed.speeds.matrices if one.name.startswith("tensor_core") else climbed.line.adds.rate
        assert one.speed <= flat or one.name.startswith("winograd"), one.name
    assert {"tensor_core_fp16", "tensor_core_tf32"} < {one.name for one in climbed.others}


def test_the_climb_goes_up(climbed):
    """Each of the rungs that change the tile is faster than the one before, and asks the caches for less."""
    by_name = {one.name: one for one in climbed.rungs}
    names = "one thread per output", "coalesced", "tile in shared memory", "column of outputs in registers"
    steps = [by_name[name] for name in (*names, "square of outputs in registers", "four numbers an access")]
    speeds = [one.speed for one in steps]
    assert speeds == sorted(speeds)
    assert steps[-1].intensity(climb.L2) > 3 * steps[2].intensity(climb.L2)
    assert by_name["two buffers"].speed >= by_name["four numbers an access"].speed


def test_a_measured_step_is_the_clocks(climbed):
    """Measured times and roofs take the places of predicted ones, and say where they are from."""
    problem = climbed.rungs[0].problem
    first, second, *_ = climb.climb(problem, climbed.speeds, {"coalesced": 2e-3}, "saved: a board")
    assert (first.measured, second.measured) == (False, True)
    assert (second.seconds, second.source) == (2e-3, "saved: a board")
    device = roofline.of_device({"flops": 50e12, "copy": 3e12, "l2": 6e12, "l2_bytes": 1 << 25}, "a board")
    line, speeds = climb.with_measured(climbed.line, climbed.speeds, device)
    assert (line.machine, line.adds.rate, line.adds.measured) == ("a board", 50e12, True)
    assert {roof.name: roof.measured for roof in line.memories} == {
        climb.REGISTERS: False,
        climb.SHARED: False,
        climb.L2: True,
        climb.MEMORY: True,
    }
    assert (speeds.flops, speeds.l2, speeds.memory) == (50e12, 6e12, 3e12)


# -- beside measurements -----------------------------------------------------------------------------------

DEVICE = {"name": "NVIDIA X1", "capability": "9.0", "multiprocessors": 132, "clock_khz": 1_980_000}
DEVICE |= {"memory_clock_khz": 2_619_000, "memory_bus_bits": 5120, "l2_bytes": 50 << 20}


def saved_run(problem, longer: float, device: dict, roofs: dict) -> saved.Measurement:
    """Return a run in which one algorithm took so many times as long as it is predicted to."""
    told = {"what": saved.GPU, "date": "2030-01-02T00:00", "device": device, "roofs": roofs}
    speeds = speeds_of(told | {"device": DEVICE})
    with using(Counter()):
        seconds = predicted_on_gpu(problem, speeds)["indirect"]
    median = longer * seconds
    timing = Timing(median, median, median)
    place = "layers_32", "resnet18", "layer", 1, problem
    rows = [
        saved.Row(*place, name, ours, 0, 5, timing) for name, ours in (("indirect", True), ("cuDNN", False))
    ]
    return saved.Measurement(told, rows)


ROOFS = {"flops": 50e12, "copy": 3e12, "l2": 6e12, "l2_bytes": 1 << 24, "empty": 5e-6}


@pytest.mark.parametrize("roofs", [{}, ROOFS])
def test_predictions_are_laid_beside_measurements(roofs):
    """Ours alone, by the run's own roofs where it has some; the ratio is predicted by measured."""
    problem = replace(PROBLEMS["dense"], N=32)
    run = saved_run(problem, 2.0, DEVICE, roofs)
    (judged,) = judge_device(run)
    assert judged.row.candidate == "indirect"
    assert judged.ratio == pytest.approx(0.5)
    assert judged.longest_phase == "products"
    speeds = speeds_of(run.header)
    assert speeds.memory == pytest.approx(roofs.get("copy", 3.35e12), rel=0.01)
    assert speeds.begin == roofs.get("empty", 2.5e-6)
    (table,) = [one for one in report.tables(run) if one.title == "Predicted time by measured time"]
    assert table.rows[0][:4] == ("indirect", "1", "0.50", "0.50")


def test_a_gpu_that_nobody_knows_is_not_judged():
    """A generation that is not in the table, or a driver that says too little."""
    problem = replace(PROBLEMS["dense"], N=32)
    for device in (DEVICE | {"capability": "12.0"}, DEVICE | {"l2_bytes": None}):
        assert judge_device(saved_run(problem, 1.0, device, {})) == []


def test_without_a_saved_run_nothing_is_judged(monkeypatch):
    monkeypatch.setattr(model_error, "newest", lambda part: None)
    words, judged = model_error.judged_device()
    assert judged == []
    assert "no measurement" in words


# -- the formula -------------------------------------------------------------------------------------------

SMALL = GpuSpeeds.of("a GPU of one", "sm_90", 1, 1e9, memory=1e12, l2_holds=1e6)


def work(**changes) -> Work:
    """Return a launch of one block that multiplies for 1000 cycles, each of its four warps in every one."""
    usual = {"blocks": 1, "threads": 128, "registers": 32, "turns": 1, "compute": Demand(4000, 4000)}
    usual["pace"] = 1
    return Work("work", **usual | changes)


def test_time_is_the_busiest_units():
    """By hand: 4000 multiply-adds of 32 lanes on 128 lanes are 1000 cycles, a microsecond at 1 GHz."""
    seconds = time_of(work(), SMALL).seconds - SMALL.begin
    assert seconds == pytest.approx(1e-6)
    passes = time_of(work(compute=Demand(4000, 4000, passes=3000)), SMALL)
    assert passes.seconds - SMALL.begin == pytest.approx(3e-6)
    assert passes.bound == "shared memory and L1"


def test_a_lone_warp_does_not_issue_in_every_cycle():
    """By hand: 1000 instructions of each warp, so many cycles apart; other blocks fill the gaps."""
    for pace in (PACE, 4.5):
        alone = time_of(work(pace=pace), SMALL).seconds - SMALL.begin
        assert alone == pytest.approx(pace * 1e-6)
        both = time_of(work(pace=pace, waits=1), SMALL).seconds - SMALL.begin
        assert both == pytest.approx(pace * 1e-6 + SMALL.wait)
        many = time_of(work(pace=pace, blocks=16), SMALL).seconds - SMALL.begin
        assert 16e-6 <= many < 1.1 * 16e-6
    narrow = time_of(work(pace=PACE, threads=1024), SMALL).seconds - SMALL.begin
    assert narrow == pytest.approx(1e-6)  # the same work by eight times as many warps


def test_blocks_that_begin_together_end_together():
    """One more than a multiprocessor holds goes round alone at the end."""
    few = work(waits=1, blocks=4, registers=128)
    assert occupancy("sm_90", few.threads, few.registers, 0).blocks == 4
    four, five, eight = (
        time_of(replace(few, blocks=blocks), SMALL).seconds - SMALL.begin for blocks in (4, 5, 8)
    )
    alone = 1e-6 + SMALL.wait
    assert four == pytest.approx(4 / throughput(4, 1e-6, alone))
    assert five == pytest.approx(four + alone)
    assert eight == pytest.approx(2 * four)


@pytest.mark.parametrize(
    ("much", "of"),
    [({"threads": 1024, "registers": 255}, "registers"), ({"shared_bytes": 1 << 20}, "shared memory")],
)
def test_a_launch_that_no_multiprocessor_holds_takes_no_time(much, of):
    with pytest.raises(UnsupportedError, match=f"{SMALL.name} has not enough {of} for one block"):
        time_of(work(**much), SMALL)


def test_a_second_block_hides_the_waiting_of_the_first():
    """One block waits and then works; many keep the unit busy; none is faster than the unit."""
    alone = time_of(work(waits=1), SMALL).seconds - SMALL.begin
    assert alone == pytest.approx(1e-6 + SMALL.wait)
    many = time_of(work(waits=1, blocks=16), SMALL).seconds - SMALL.begin
    assert 16e-6 <= many < 1.02 * 16e-6
    assert throughput(1, 1.0, 3.0) == pytest.approx(1 / 3)
    assert throughput(2, 1.0, 2.0) == pytest.approx(2 / 2.5)  # by hand: half of the time it meets the other
    assert throughput(50, 1.0, 3.0) == pytest.approx(1.0, rel=1e-3)


def test_two_buffers_hide_the_wait_behind_the_work():
    """The longer of the two counts."""
    long = work(waits=1, ahead=True)
    assert time_of(long, SMALL).seconds - SMALL.begin == pytest.approx(1e-6)
    short = replace(long, compute=Demand(400, 400))
    assert time_of(short, SMALL).seconds - SMALL.begin == pytest.approx(SMALL.wait)


def test_half_a_warp_a_cycle():
    """Loads of a single pass take two cycles where only 16 lanes are served; wide ones do not."""
    narrow = GpuSpeeds.of("another", "sm_86", 1, 1e9, memory=1e12, l2_holds=1e6)
    many = work(compute=Demand(1000, 0, passes=1000, short=1000))
    assert time_of(many, narrow).seconds - narrow.begin == pytest.approx(2e-6)
    assert time_of(many, SMALL).seconds - SMALL.begin == pytest.approx(1e-6)


def test_what_the_l2_cache_keeps_costs_no_memory():
    """An array that is handed on goes to memory only if it is larger than the cache.

    That of an H100 is in two parts, and each keeps what its own multiprocessors ask for.
    """
    single = GpuSpeeds.of("another", "sm_86", 1, 1e9, memory=1e12, l2_holds=1e6)
    for speeds, keeps in ((SMALL, 5e5), (single, 1e6)):
        assert speeds.l2_keeps == keeps
        kept, too_large = (
            time_of(work(cold=1e7, passed_on=size), speeds).seconds - speeds.begin
            for size in (keeps, keeps + 1)
        )
        assert kept == pytest.approx(1e7 / 1e12)
        assert too_large == pytest.approx((1e7 + keeps + 1) / 1e12, rel=1e-9)


def test_every_generation_says_who_measured_it():
    """And a datasheet without a chip has no speeds."""
    assert all(generation.measured for generation in GENERATIONS.values())
    with pytest.raises(UnsupportedError):
        datasheets.gpu_speeds("nvidia_t4")
