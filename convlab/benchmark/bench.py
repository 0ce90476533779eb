"""`convlab bench cpu`: take the steps of `parts.py` one by one, and keep what they find.

After every step all that is known is on disk: a run that is stopped, or that finds a wrong output, has lost
nothing but the step it was at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import convlab
from convlab.auto.measure import measure
from convlab.benchmark.baselines import RIVALS
from convlab.benchmark.comparison import Rivals
from convlab.benchmark.saved import CPU, Measurement, write
from convlab.benchmark.second_blas import kernel
from convlab.benchmark.suite import Parts, Step
from convlab.errors import ConvError
from convlab.machine.facts import Machine

INTERRUPTED = "interrupted"


def bench_cpu(
    path: Path,
    *,
    quick: bool = False,
    words: str = "",
    rivals: bool = True,
    on_start: Callable[[int], None] = lambda steps: None,
    on_step: Callable[[Step], None] = lambda step: None,
) -> tuple[Measurement, str | None]:
    """Measure this machine, and write the measurement to a file.

    Parameters
    ----------
    path : Path
        The file; a measurement that is there is replaced, anything else is not.
    quick, rivals : bool
        One layer of each class only; measure NumPy, SciPy and PyTorch as well.
    words : str
        Only layers whose name or class holds this.
    on_start, on_step : callable
        Told the number of steps, then each step before it is taken.

    Returns
    -------
    Measurement, str or None
        What was measured; and why it is not complete, or None if it is.
    """
    options = {"--quick": quick, f"--layers {words!r}": words, "--no-rivals": not rivals}
    command = " ".join(["convlab bench cpu", *(option for option, given in options.items() if given)])
    with Rivals(RIVALS.values() if rivals else (), other=rivals) as here:
        parts = Parts(here, words, quick)
        measurement, steps = Measurement(header(command, here) | {"left out": parts.left_out}), parts.steps()
        on_start(len(steps))
        try:
            run(steps, measurement, path, on_step)
        except KeyboardInterrupt:
            return measurement, INTERRUPTED
        except ConvError as error:
            return measurement, str(error)
    return measurement, None


def run(
    steps: Iterable[Step],
    measurement: Measurement,
    path: Path,
    on_step: Callable[[Step], None] = lambda step: None,
) -> None:
    """Take the steps one by one and write the measurement after each, so that a run cut short is not lost.

    Raises
    ------
    ConvError
        If an output is wrong. The steps before are on disk.
    """
    write(path, measurement)
    for step in steps:
        on_step(step)
        measurement.rows += step.run(measurement.rows)
        write(path, measurement)
    measurement.header["complete"] = True
    write(path, measurement)


def header(command: str, rivals: Rivals) -> dict:
    """Return where and how the run happens: command, date, machine, versions, roofs, who is missing."""
    return {
        "what": CPU,
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "complete": False,
        "convlab": convlab.__version__,
        "machine": Machine.here().as_dict(),
        **measure(quick=False),  # roofs and overheads
        "blas": {"NumPy": kernel(), "NumPy, other kernel": rivals.other.kernel if rivals.other else None},
        "skipped": rivals.skipped,
    }
