"""`convlab bench cpu`: take the tasks of the suite one by one, and keep what they find.

After every task all that is known is on disk: a run that is stopped, or that finds a wrong output, has lost
nothing but the task it was at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import convlab
from convlab.auto.disturbance import watched
from convlab.auto.measure import measure
from convlab.benchmark.baselines import Baseline, at_hand
from convlab.benchmark.pass_baselines import EVERY
from convlab.benchmark.saved import CPU, Measurement, write
from convlab.benchmark.suite import Suite, Task
from convlab.errors import ConvError
from convlab.machine.facts import Machine

INTERRUPTED = "interrupted"


def bench_cpu(
    path: Path,
    *,
    quick: bool = False,
    words: str = "",
    part: str = "",
    baselines: Iterable[Baseline] = EVERY,
    suite: type[Suite] = Suite,
    command: str = CPU,
    also: dict | None = None,
    on_start: Callable[[int], None] = lambda tasks: None,
    on_task: Callable[[Task], None] = lambda task: None,
) -> tuple[Measurement, str | None]:
    """Measure this machine, and write the measurement to a file.

    Parameters
    ----------
    path : Path
        The file; a measurement that is there is replaced, anything else is not.
    quick : bool
        One layer of each class only.
    words : str
        Only layers whose name or class holds this.
    part : str
        Only this one of the suite's `PARTS`.
    baselines : iterable of Baseline
        Measured beside ours, where they are installed.
    suite : type
        What is measured.
    command : str
        What the file says it was made by, without the options.
    also : dict, optional
        More for the header of the file.
    on_start, on_task : callable
        Told the number of tasks, then each task before it is taken.

    Returns
    -------
    Measurement, str or None
        What was measured; and why it is not complete, or None if it is.
    """
    _begin_our_threads()
    here, skipped = at_hand(baselines)
    options = {"--quick": quick, f"--layers {words!r}": words, f"--part {part}": part}
    options |= {"--no-baselines": not (here or skipped)}
    command = " ".join([command, *(option for option, given in options.items() if given)])
    chosen = suite(here, words, quick)
    with watched() as watch:
        header = first_header(CPU, command) | measure(quick=False)
        header |= {"skipped": skipped, "left out": chosen.left_out} | (also or {})
        measurement = Measurement(header)
        tasks = [task for task in chosen.tasks() if part in ("", task.part)]
        on_start(len(tasks))
        try:
            write(path, measurement)
            for task in tasks:
                on_task(task)
                measurement.rows += task.run(measurement.rows)
                header["taken"] = watch.share
                write(path, measurement)
            measurement.header["complete"] = True
            write(path, measurement)
        except KeyboardInterrupt:
            return measurement, INTERRUPTED
        except ConvError as error:
            return measurement, str(error)
    return measurement, None


def _begin_our_threads() -> None:
    """Begin Numba's pool before others are loaded: it would take a TBB that OpenVINO brings, if it is there.

    TBB's threads fall asleep sooner than OpenMP's; ours would be measured on another pool than without it.
    """
    import numba

    numba.get_num_threads()


def first_header(what: str, command: str | None = None) -> dict:
    """Return where and how a run happens: which benchmark, by which command, date, machine, versions."""
    return {
        "what": what,
        "command": command or what,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "complete": False,
        "convlab": convlab.__version__,
        "machine": Machine.here().as_dict(),
    }
