"""The times of several algorithms on one layer for a notebook: measured here, or saved, or not known yet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from convlab.algorithms import ALGORITHMS
from convlab.auto.timing import Timing
from convlab.benchmark.comparison import Effort
from convlab.benchmark.gpu.ladder_times import LadderTimes, measured_here, newest, not_measured, saved_from
from convlab.benchmark.layers import Case
from convlab.gpu.device import gpu_trouble
from convlab.support.checked import checked
from convlab.support.checks import check_choice
from convlab.support.files import data_path

_QUICK = Effort(rounds=5, most=15, budget=1.0)


@checked
def layer_times(case: Case, names: Iterable[str], folder: Path | None = None) -> LadderTimes:
    """Return a layer's times: measured on the GPU of this machine, else the newest that were saved.

    Parameters
    ----------
    case : Case
        Saved times are of this very problem, batch and all.
    names : iterable of str
        Keys of `ALGORITHMS`.
    folder : Path, optional
        Where saved measurements lie; by default ``data/measurements``.
    """
    names = [check_choice("names", name, ALGORITHMS) for name in names]
    if not (trouble := gpu_trouble()):
        from convlab.benchmark.gpu.clock import EventClock

        return LadderTimes(measured_here(), measure(case, names, EventClock()))
    part = f"layers_{case.problem.N}"
    kept = newest(folder or data_path("measurements"), part)
    if kept is None:
        return LadderTimes(not_measured(trouble), {})
    rows = {row.candidate: row.timing for row in kept.part(part) if row.problem == case.problem}
    return LadderTimes(saved_from(kept), {name: rows[name] for name in names if name in rows})


def measure(case: Case, names: Iterable[str], clock) -> dict[str, Timing]:
    """Check each algorithm on the device, and time them in turns; one that fails is left out."""
    from convlab.benchmark.gpu.contest import Attempts, DeviceContest

    contest = DeviceContest(case, _QUICK, clock, Attempts())
    contest.enter_ours({name: ALGORITHMS[name] for name in names})
    return {row.candidate: row.timing for row in contest.rows("layer")}
