"""Times on a GPU for a notebook: measured here, or saved, or not known yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from convlab.algorithms import Algorithm
from convlab.auto.timing import Timing
from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Comparison, Effort
from convlab.benchmark.gpu.ladders import ladder_named, on_a_gpu
from convlab.benchmark.layers import Workload
from convlab.benchmark.roofline import Roofline, of_device
from convlab.benchmark.saved import GPU, Measurement
from convlab.benchmark.saved_runs import runs
from convlab.gpu.device import gpu_trouble
from convlab.support.checked import checked
from convlab.support.checks import check_choice
from convlab.support.files import data_path
from convlab.support.markup import as_markdown

COPY = "copy"
_QUICK = Effort(rounds=5, most=15, budget=1.0)


@dataclass(frozen=True)
class DeviceTimes:
    """What is known of some candidates.

    Attributes
    ----------
    source : str
        Where the times come from: machine and date; or why there are none.
    times : dict of str to Timing
        By the name of the candidate, and "copy" where one was timed; empty where nothing was measured.
    """

    source: str
    times: dict[str, Timing]


@checked
def ladder_times(name: str) -> DeviceTimes:
    """Return a ladder's times: measured on the GPU of this machine, else the newest that were saved.

    Parameters
    ----------
    name : str
        One of the ladders of `convlab bench gpu`: "filter", "direct", "implicit GEMM", "depthwise".
    """
    ladder, part = ladder_named(name), f"ladder {name}"
    if not (trouble := gpu_trouble()):
        return DeviceTimes(_measured_here(), _without_numbers(measure(ladder.workload, ladder.rungs())))
    kept = newest(part)
    if kept is None:
        return DeviceTimes(_not_measured(trouble), {})
    rows = kept.part(part, ours=True)
    rows += [
        row for row in kept.part("image") if row.candidate == COPY and row.problem == ladder.workload.problem
    ]
    return DeviceTimes(saved_from(kept), _without_numbers({row.candidate: row.timing for row in rows}))


@checked
def layer_times(workload: Workload, names: Iterable[str], *, beside: str = "") -> DeviceTimes:
    """Return a layer's times: measured on the GPU of this machine, else the newest that were saved.

    Parameters
    ----------
    workload : Workload
        Saved times are of this very problem, batch and all.
    names : iterable of str
        Algorithms with a form for the GPU, those on tensor cores included.
    beside : str
        A baseline, e.g. "cuDNN fp16", for a saved run that has it; it is not measured here.
    """
    known = on_a_gpu()
    chosen = {name: known[check_choice("names", name, known)] for name in names}
    if not (trouble := gpu_trouble()):
        return DeviceTimes(_measured_here(), measure(workload, chosen))
    part = f"layers_{workload.problem.N}"
    kept = newest(part)
    if kept is None:
        return DeviceTimes(_not_measured(trouble), {})
    rows = {row.candidate: row.timing for row in kept.part(part) if row.problem == workload.problem}
    return DeviceTimes(saved_from(kept), {name: rows[name] for name in (*chosen, beside) if name in rows})


def device_roofline() -> tuple[str, Roofline | None]:
    """Return the roofs of a GPU, and where they come from: measured here, else the newest that were saved.

    Returns
    -------
    source : str
        The machine and the date; or why there are no roofs.
    roofline : Roofline or None
    """
    if not (trouble := gpu_trouble()):
        from convlab.benchmark.gpu import roofs
        from convlab.benchmark.gpu.clock import EventClock
        from convlab.gpu.numba_cuda import cuda

        found = roofs.measure(EventClock(), cuda.get_current_device().MULTIPROCESSOR_COUNT).as_dict()
        return (source := _measured_here()), of_device(found, source)
    if (kept := newest("layers_32")) and kept.header["roofs"]:
        return (source := saved_from(kept)), of_device(kept.header["roofs"], source)
    return _not_measured(trouble), None


def measure(workload: Workload, algorithms: Mapping[str, Algorithm], clock=None) -> dict[str, Timing]:
    """Check each algorithm on the device, and time them in turns; one that fails is left out.

    A picture of one channel is compared with a copy, too, where that moves as many bytes.
    """
    if clock is None:
        from convlab.benchmark.gpu.clock import EventClock

        clock = EventClock()
    comparison = Comparison(workload, _QUICK, clock, on_failure=lambda name, error: None)
    problem = workload.problem
    if problem.C == problem.K == 1 and problem.x_shape == problem.y_shape and comparison.x.size % 4 == 0:
        enter_copy(comparison)
    comparison.enter_ours(algorithms)
    return {row.candidate: row.timing for row in comparison.rows("here")}


def enter_copy(comparison: Comparison) -> None:
    """Take in a copy of x to y, which are of one size: as much traffic as a perfect filter has."""
    from convlab.benchmark.gpu.kernels import copier

    clock, x, y = comparison.clock, comparison.x_there, comparison.y_there
    run, expected = copier(clock.device, x, y), comparison.expected
    comparison.expected = comparison.x[comparison.pixels]
    comparison.attempt(COPY, lambda: Call(lambda: run() or y, clock.get))
    comparison.expected = expected


def _without_numbers(times: dict[str, Timing]) -> dict[str, Timing]:
    """Name the rungs of a ladder without the ladder's name and their numbers."""
    return {name.partition(": ")[2] or name: timing for name, timing in times.items()}


def newest(part: str) -> Measurement | None:
    """Return the newest measurement of a real GPU that has this part."""
    every = runs(data_path("measurements"), GPU).values()
    real = [one for one in every if not one.header.get("simulated") and one.part(part)]
    return max(real, key=lambda one: one.header["date"], default=None)


# -- where times come from, in words -----------------------------------------------------------------------


def _measured_here() -> str:
    from convlab.gpu.numba_cuda import cuda

    name = cuda.get_current_device().name
    return f"measured here, {as_markdown(name.decode() if isinstance(name, bytes) else str(name))}"


def saved_from(kept: Measurement) -> str:
    return f"saved: {as_markdown(kept.header['device'].get('name') or 'a GPU')}, {kept.header['date'][:10]}"


def _not_measured(trouble: str) -> str:
    return f"not measured here yet, and no measurement of a GPU is kept. Why: {trouble}"
