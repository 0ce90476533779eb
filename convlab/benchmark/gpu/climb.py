"""From seven loops to the tuned tile: every kernel for one layer on a GPU, as points of a roofline.

A kernel asks each level for other bytes: the registers for what its instructions take and leave, shared
memory and the first cache for what its warps read, the L2 cache for what its blocks fetch, the memory for x,
w and y. So it has an intensity for each (the hierarchical roofline: C. Yang, T. Kurth, S. Williams,
"Hierarchical Roofline Analysis for GPUs", 2020), and one speed.
Measured where there is a measurement, else predicted by the model of its launches: a step says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from convlab.algorithms import Algorithm
from convlab.algorithms.direct import gpu as direct
from convlab.algorithms.implicit_gemm import gpu as implicit_gemm
from convlab.auto.predict_gpu import predictable_on_gpu
from convlab.benchmark import datasheets
from convlab.benchmark.datasheets import Datasheet
from convlab.benchmark.gpu.ladders import ladders, on_a_gpu
from convlab.benchmark.gpu.times import device_roofline, ladder_times, layer_times
from convlab.benchmark.roofline import ADDS, Roof, Roofline
from convlab.gpu.device import Gpu, gpu_trouble, planned_for
from convlab.gpu.model.speeds import ISSUED, GpuSpeeds
from convlab.gpu.model.work import L2, LINE, MEMORY, SHARED, time_of
from convlab.gpu.occupancy import WARP
from convlab.problem import ConvProblem
from convlab.support.checked import checked

MODEL = "predicted"
REGISTERS = "registers"
# Bytes of registers for each instruction of a warp: a multiply-add takes three words a lane, and leaves one.
OF_AN_INSTRUCTION = 4 * 4 * WARP


@dataclass(frozen=True)
class Step:
    """One kernel on one layer.

    Attributes
    ----------
    name : str
    problem : ConvProblem
    seconds : float
    source : str
        "predicted", or where it was measured.
    moved : dict of str to float
        Bytes that it asks of each level.
    bound : str
        What it waits for most, by the model.
    """

    name: str
    problem: ConvProblem
    seconds: float
    source: str
    moved: dict[str, float]
    bound: str

    @property
    def measured(self) -> bool:
        """Whether the seconds are of a clock."""
        return self.source != MODEL

    @property
    def speed(self) -> float:
        """FLOPs of the definition, a second."""
        return self.problem.flops / self.seconds

    def intensity(self, level: str) -> float:
        """FLOPs of the definition for each byte that is asked of a level."""
        return self.problem.flops / self.moved[level]


@checked
def step(
    name: str, algorithm: Algorithm, problem: ConvProblem, speeds: GpuSpeeds, measured: Mapping, source: str
) -> Step:
    """Return the step of a kernel, with its measured seconds if `measured` has its name."""
    with planned_for(speeds):  # which tile is taken may depend on them
        works = algorithm.forms["gpu"].works(problem)
    times = [time_of(work, speeds) for work in works]
    asked = [(work.blocks * work.turns, work.bring + work.compute) for work in works]
    longest = max(times, key=lambda time: time.seconds)
    known = name in measured
    return Step(
        name,
        problem,
        measured[name] if known else sum(time.seconds for time in times),
        source if known else MODEL,
        {
            REGISTERS: OF_AN_INSTRUCTION * sum(turns * demand.instructions for turns, demand in asked),
            SHARED: LINE * sum(turns * demand.passes for turns, demand in asked),
            L2: sum(work.l2_bytes for work in works),
            MEMORY: sum(work.cold for work in works),
        },
        longest.bound,
    )


@checked
def climb(problem: ConvProblem, speeds: GpuSpeeds, measured: Mapping = {}, source: str = "") -> list[Step]:
    """Return the rungs from one thread an output to the tuned tile, in their order.

    Parameters
    ----------
    problem : ConvProblem
        Of several channels and filters.
    speeds : GpuSpeeds
        Whom the model predicts for.
    measured : mapping of str to float
        Seconds by the name of the rung, where there are any.
    source : str
        Where those are from.
    """
    rungs = [(one, "direct") for one in direct.RUNGS] + [
        (one, "implicit_gemm") for one in implicit_gemm.RUNGS
    ]
    with planned_for(speeds):
        serving = [(rung.name, rung.algorithm(name)) for rung, name in rungs if not rung.refuses(problem)]
    return [step(name, one, problem, speeds, measured, source) for name, one in serving]


@checked
def others(problem: ConvProblem, speeds: GpuSpeeds, measured: Mapping = {}, source: str = "") -> list[Step]:
    """Return the algorithms that serve a problem and have a model, the fastest first, and tensor cores."""
    known = [one for one in on_a_gpu().values() if predictable_on_gpu(one)]
    with planned_for(speeds):
        serving = [one for one in known if not one.refuses(problem)]
    steps = [step(one.name, one, problem, speeds, measured, source) for one in serving]
    return sorted(steps, key=lambda one: one.seconds)


@dataclass(frozen=True)
class Climb:
    """What `device_climb` returns.

    Attributes
    ----------
    source : str
        Where the times are from, or why there are none.
    line : Roofline
        The roofs at every level.
    speeds : GpuSpeeds
        What the predictions go by.
    rungs, others : list of Step
    """

    source: str
    line: Roofline
    speeds: GpuSpeeds
    rungs: list[Step]
    others: list[Step]


@checked
def device_climb(board: str = "nvidia_h100") -> Climb:
    """Return all kernels for one layer of ResNet-18, 32 images, on the GPU of this machine or of a datasheet.

    Parameters
    ----------
    board : str
        The datasheet whose GPU is predicted where none is at hand; its tensor cores are drawn in any case.
    """
    direct_times, tuned_times = ladder_times("direct"), ladder_times("implicit GEMM")
    workload = {ladder.name: ladder.workload for ladder in ladders()}["direct"]
    whole = layer_times(workload, on_a_gpu())
    speeds = (None if gpu_trouble() else Gpu().speeds) or datasheets.gpu_speeds(board)
    line = of_levels(datasheets.load(board), speeds)
    _, device = device_roofline()
    if device is not None:
        line, speeds = with_measured(line, speeds, device)
    known = {name: one.median for name, one in {**direct_times.times, **tuned_times.times}.items()}
    rungs = climb(workload.problem, speeds, known, tuned_times.source)
    all_of_it = {name: one.median for name, one in whole.times.items()}
    return Climb(
        tuned_times.source, line, speeds, rungs, others(workload.problem, speeds, all_of_it, whole.source)
    )


def with_measured(line: Roofline, speeds: GpuSpeeds, device: Roofline) -> tuple[Roofline, GpuSpeeds]:
    """Return roofs and speeds with those in their places that were measured."""
    measured = {roof.name: roof for roof in device.memories}
    memories = tuple(measured.get(roof.name, roof) for roof in line.memories)
    rates = {roof.name: roof.rate for roof in memories}
    speeds = replace(speeds, flops=device.adds.rate, l2=rates[L2], memory=rates[MEMORY])
    return replace(line, machine=device.machine, adds=device.adds, memories=memories), speeds


@checked
def of_levels(sheet: Datasheet, speeds: GpuSpeeds) -> Roofline:
    """Return a GPU's roofs at each level, as its datasheet and its generation promise them.

    The flat roofs beside that of the multiply-adds are the tensor cores', by the type of their numbers.
    """
    cycles = speeds.multiprocessors * speeds.clock
    levels = {
        REGISTERS: ISSUED * OF_AN_INSTRUCTION * cycles,
        SHARED: LINE * cycles,
        L2: speeds.l2,
        MEMORY: speeds.memory,
    }
    by_rate: dict[float, list[str]] = {}
    for dtype, rate in {**sheet.flops, **sheet.narrow}.items():
        by_rate.setdefault(rate, []).append(dtype)
    flat = [
        Roof(", ".join(kinds), rate, False, False)
        for rate, kinds in by_rate.items()
        if "float32" not in kinds
    ]
    return Roofline(
        sheet.name,
        Roof(ADDS, speeds.flops, per_byte=False, measured=False),
        tuple(Roof(name, rate, measured=False) for name, rate in levels.items()),
        tuple(flat),
    )
