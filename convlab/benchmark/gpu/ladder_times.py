"""The times of a ladder of kernels for a notebook: measured here, or saved, or not known yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convlab.auto.timing import Timing
from convlab.benchmark.comparison import Effort
from convlab.benchmark.gpu.cases import Ladder, ladders
from convlab.benchmark.rows import GPU, runs
from convlab.benchmark.saved import Measurement
from convlab.gpu.device import gpu_trouble
from convlab.support.checked import checked
from convlab.support.checks import check_choice
from convlab.support.files import data_path
from convlab.support.markup import as_markdown

_QUICK = Effort(rounds=5, most=15, budget=1.0)


@dataclass(frozen=True)
class LadderTimes:
    """What is known of a ladder.

    Attributes
    ----------
    source : str
        Where the times come from: machine and date; or why there are none.
    times : dict of str to Timing
        By the name of the rung, and "copy" where one was timed; empty where nothing was measured.
    """

    source: str
    times: dict[str, Timing]


@checked
def ladder_times(name: str, folder: Path | None = None) -> LadderTimes:
    """Return a ladder's times: measured on the GPU of this machine, else the newest that were saved.

    Parameters
    ----------
    name : str
        One of the ladders of `convlab bench gpu`: "filter", "direct", "implicit GEMM", "depthwise".
    folder : Path, optional
        Where saved measurements lie; by default ``data/measurements``.
    """
    by_name = {ladder.name: ladder for ladder in ladders()}
    check_choice("ladder", name, by_name)
    if not (trouble := gpu_trouble()):
        from convlab.benchmark.gpu.clock import EventClock

        return LadderTimes(measured_here(), measure(by_name[name], EventClock()))
    kept = newest(folder or data_path("measurements"), f"ladder {name}")
    if kept is None:
        return LadderTimes(not_measured(trouble), {})
    rows = kept.part(f"ladder {name}") + [row for row in kept.part("image") if row.candidate == "copy"]
    return LadderTimes(saved_from(kept), {_short(row.candidate): row.timing for row in rows})


def measure(ladder: Ladder, clock) -> dict[str, Timing]:
    """Check every rung of a ladder on the device, and time them in turns; with a copy where that compares."""
    from convlab.benchmark.gpu.contest import Attempts, DeviceContest

    contest = DeviceContest(ladder.case, _QUICK, clock, Attempts())
    if ladder.case.problem.x_shape == ladder.case.problem.y_shape and ladder.name == "filter":
        contest.enter_copy()
    contest.enter_ours(ladder.rungs())
    return {_short(row.candidate): row.timing for row in contest.rows(f"ladder {ladder.name}")}


def _short(candidate: str) -> str:
    """Return the name of the rung, without the name of the ladder and the number."""
    return candidate.partition(": ")[2] or candidate


# -- where times come from, in words -----------------------------------------------------------------------


def measured_here() -> str:
    """Say that times were taken on the GPU of this machine, and which one that is."""
    from convlab.benchmark.gpu.facts import gpu_facts

    return f"measured here, {as_markdown(gpu_facts()['name'])}"


def saved_from(kept: Measurement) -> str:
    """Say which GPU a saved measurement is of, and when it was taken."""
    return f"saved: {as_markdown(kept.header['device'].get('name') or 'a GPU')}, {kept.header['date'][:10]}"


def not_measured(trouble: str) -> str:
    """Say that there are no times, and why none are taken now."""
    return f"not measured here yet: {trouble}, and no measurement of one is kept"


def newest(folder: Path, part: str) -> Measurement | None:
    """Return the newest measurement of a real GPU that has this part."""
    real = [m for m in runs(folder, GPU).values() if not m.header.get("simulated")]
    return max((m for m in real if m.part(part)), key=lambda m: m.header["date"], default=None)
