"""`convlab bench gpu`: tests first, then the steps of `parts.py` in a process that may fail.

A kernel that reads where it may not takes its process with it, and one that never ends would hold up all that
comes after it. So a second process (`worker.py`) takes the steps, and writes the file before and after each
of them and before each candidate; the first one watches over it (`supervise.py`). Whatever happens to either:
what was measured is on disk, and the same command with the same file goes on from there.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import convlab
from convlab.benchmark.gpu import device_tests
from convlab.benchmark.gpu.supervise import signals_as_interrupts, supervise
from convlab.benchmark.saved import GPU, Measurement, UnwritableError, read, write
from convlab.errors import ParameterError, UnsupportedError
from convlab.machine.facts import Machine
from convlab.support.files import why_kept

INTERRUPTED = "interrupted"
NOT_RUN = "not run"
TEST_SHARE = 0.2  # of the minutes, that the device tests may take


@dataclass(frozen=True)
class Options:
    """What is to be measured, and how long it may take.

    Attributes
    ----------
    words : str
        Only layers whose name or class holds this.
    rivals, tests : bool
        Measure cuDNN too; run the device tests first.
    minutes : float
        Then it ends; what is not measured until then can be measured by the same command, with the same file.
    simulate : bool
        Try every step in the lane simulator, on tiny layers; no time is taken.
    """

    words: str = ""
    rivals: bool = True
    tests: bool = True
    minutes: float = 8.0
    simulate: bool = False

    @property
    def command(self) -> str:
        """The command that has these options."""
        given = {
            f"--layers {self.words!r}": self.words,
            "--no-rivals": not self.rivals,
            "--no-tests": not self.tests,
            f"--minutes {self.minutes:g}": self.minutes != Options.minutes,
            "--simulate": self.simulate,
        }
        return " ".join([GPU, *(option for option, is_given in given.items() if is_given)])

    def same_work(self, other: dict) -> bool:
        """Say if other options, as a file has them, ask for the same measurements."""
        free = {"minutes": 0, "tests": False}  # these say how far to go, not what is measured
        return asdict(self) | free == other | free


def bench_gpu(path: Path, options: Options) -> tuple[Measurement, str | None]:
    """Measure the GPU of this machine, and write the measurement to a file.

    Parameters
    ----------
    path : Path
        The file. If a run of the same code, with the same options, on the same machine, left it incomplete,
        this one goes on there; otherwise a measurement that is there is replaced. What the device tests say
        goes to a file beside it.
    options : Options

    Returns
    -------
    Measurement, str or None
        What was measured; and why it is not complete, or None if it is.

    Raises
    ------
    ConvError
        If there is no GPU to measure, or the file cannot be written; nothing has been written then.
    """
    until = time.time() + 60 * options.minutes
    if options.tests and (reason := why_kept(_log(path), device_tests.is_ours)):
        raise ParameterError(f"--save={str(path)!r}: {str(_log(path))!r} {reason}; expected another name")
    if not options.simulate:
        _refuse_without_gpu()
    measurement = unfinished(path, options) or Measurement(first_header(options))
    write(path, measurement)
    try:
        with signals_as_interrupts():
            if options.tests and not options.simulate and _are_due(measurement.header["tests"]):
                _run_tests(path, measurement, 60 * options.minutes * TEST_SHARE)
            supervise(path, asdict(options), until)
    except KeyboardInterrupt:
        return read(path), INTERRUPTED
    except UnwritableError as error:  # what was written before is still there
        return read(path), str(error)
    measurement = read(path)
    return measurement, None if measurement.header["complete"] else why_incomplete(measurement) or None


def first_header(options: Options) -> dict:
    """Return what is known before a GPU is touched."""
    return {
        "what": GPU,
        "command": options.command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "complete": False,
        **({"simulated": True} if options.simulate else {}),
        "options": asdict(options),
        "convlab": convlab.__version__,
        "source": source(),
        "machine": Machine.here().as_dict(),
        "device": {},
        "roofs": {},
        "tests": NOT_RUN,
        "skipped": {},
        "left out": {},
        "wrong": {},
        "refused": {},
        "failed": {},
        "avoid": {},
        "done": [],
        "spent": {},
        "at": None,
    }


def source() -> str:
    """Return a few digits that change with any line of the library: another source, another measurement."""
    digest = hashlib.sha256()
    root = Path(convlab.__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def unfinished(path: Path, options: Options) -> Measurement | None:
    """Return what a run that was cut off left in a file, made ready to go on; None if there is none.

    What was not reached is tried again, and what failed as a whole; a candidate that was wrong stays so.
    """
    try:
        measurement = read(path)
    except ParameterError:
        return None
    kept, new = measurement.header, first_header(options)
    same = all(kept.get(key) == new[key] for key in ("what", "convlab", "source"))
    if not same or kept["complete"] or not options.same_work(kept["options"]):
        return None
    if any(kept["machine"][key] != new["machine"][key] for key in ("processor", "gpus", "libraries")):
        return None
    kept["done"] = [step for step in kept["done"] if step not in kept["failed"]]
    kept |= {"failed": {}, "spent": {}, "at": None, "resumed": [*kept.get("resumed", ()), new["date"]]}
    print(f"{path} is not complete: going on after {len(kept['done'])} steps", flush=True)
    return measurement


def why_incomplete(measurement: Measurement) -> str:
    """Return in a few words what is missing; nothing where all went well, but was only simulated."""
    header = measurement.header
    reasons = [f"{name} is wrong" for name in header["wrong"]]
    reasons += [f"{step}: {reason}" for step, reason in header["failed"].items()]
    return "; ".join(reasons) or ("" if header.get("simulated") else "it was stopped")


# -- the first process -------------------------------------------------------------------------------------


def _refuse_without_gpu() -> None:
    from convlab.gpu.device import gpu_trouble

    if trouble := gpu_trouble():
        raise UnsupportedError(
            f"there is no GPU to measure: {trouble}; --simulate tries every step without one"
        )


def _log(path: Path) -> Path:
    """Return where the words of the device tests go."""
    return path.with_name(path.name + ".tests.txt")


def _are_due(told: str) -> bool:
    """Say if the device tests have not been run to their end yet."""
    return told == NOT_RUN or "stopped" in told or "died" in told


def _run_tests(path: Path, measurement: Measurement, limit: float) -> None:
    log = _log(path)
    print(f"the device tests run, {log} has what they say", flush=True)
    measurement.header["tests"] = device_tests.run(log, limit)
    print(f"device tests: {measurement.header['tests']}", flush=True)
    write(path, measurement)
