"""`convlab bench gpu`: tests first, then the steps of `parts.py` in a process that may fail.

A kernel that reads where it may not takes its process with it, and one that never ends would hold up all that
comes after it. So a second process takes the steps, and writes the file before and after each of them and
before each candidate. If it ends early, or is silent for long, the first process notes who was at work, and
starts another that goes on with the rest. Whatever happens, also to the first: what was measured is on disk.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import convlab
from convlab.errors import UnsupportedError
from convlab.measure.machine import Machine
from convlab.measure.saved import Measurement, read, write

WHAT = "convlab bench gpu"
INTERRUPTED = "interrupted"
WORKER = "-m", "convlab.measure.gpu.worker"
LOST = 75  # exit code of a process whose device does not answer
SILENT = 120.0  # seconds without a sign of life
TEST_TIME = 180.0  # seconds that the device tests may take
TESTS = "tests/test_on_gpu.py"


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
        No step begins later than this.
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
        return " ".join([WHAT, *(option for option, is_given in given.items() if is_given)])


def bench_gpu(path: Path, options: Options) -> tuple[Measurement, str | None]:
    """Measure the GPU of this machine, and write the measurement to a file.

    Parameters
    ----------
    path : Path
        The file; one that is there is replaced.
    options : Options

    Returns
    -------
    Measurement, str or None
        What was measured; and why it is not complete, or None if it is.

    Raises
    ------
    ConvError
        If there is no GPU to measure; nothing has been written then.
    """
    until = time.time() + 60 * options.minutes
    if not options.simulate:
        _refuse_without_gpu()
    measurement = Measurement(first_header(options))
    write(path, measurement)
    try:
        if options.tests and not options.simulate:
            log = path.with_name(path.name + ".tests.txt")
            print(f"the device tests run, {log} has what they say", flush=True)
            measurement.header["tests"] = device_tests(log, min(TEST_TIME, 60 * options.minutes / 2))
            print(f"device tests: {measurement.header['tests']}", flush=True)
            write(path, measurement)
        _supervise(path, options, until)
    except KeyboardInterrupt:
        return read(path), INTERRUPTED
    measurement = read(path)
    return measurement, None if measurement.header["complete"] else why_incomplete(measurement) or None


def first_header(options: Options) -> dict:
    """Return what is known before a GPU is touched."""
    return {
        "what": WHAT,
        "command": options.command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "complete": False,
        **({"simulated": True} if options.simulate else {}),
        "convlab": convlab.__version__,
        "machine": Machine.here().as_dict(),
        "device": {},
        "roofs": {},
        "tests": "not run",
        "skipped": {},
        "left out": {},
        "wrong": {},
        "refused": {},
        "failed": {},
        "avoid": {},
        "done": [],
        "at": None,
    }


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


def device_tests(log: Path, limit: float) -> str:
    """Run the tests that need a GPU, and return what came of them; they are part of a checkout only.

    Parameters
    ----------
    log : Path
        Where all they say is written.
    limit : float
        Seconds they may take.
    """
    root = Path(convlab.__file__).parents[1]
    if not (root / TESTS).exists() or not find_spec("pytest"):
        return "not run: they need a checkout and pytest"
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-v", "--maxfail=25", TESTS]
    stopped = ""
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=root, stdout=out, stderr=subprocess.STDOUT)
        try:
            process.wait(timeout=limit)
        except BaseException as error:  # whatever it is, Ctrl-C too, the tests do not go on alone
            process.kill()
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            stopped = f", stopped after {limit:g} s"
    words = Counter(re.findall(r" (PASSED|FAILED|ERROR|SKIPPED)\b.*\[", log.read_text()))
    counts = ", ".join(f"{count} {word.lower()}" for word, count in sorted(words.items()))
    return f"{counts or 'none'}{stopped}"


def _supervise(path: Path, options: Options, until: float) -> None:
    """Have the steps taken, by one process after the other if need be, until all are done or time is up."""
    while True:
        given = str(path), str(until), json.dumps(asdict(options))
        process = subprocess.Popen([sys.executable, *WORKER, *given])
        try:
            code = _wait(process, path, until)
        except BaseException:
            process.kill()
            process.wait()
            raise
        if code == 0:
            return
        how = {None: f"gave no sign of life for {SILENT:g} s", LOST: "the device did not answer any more"}
        if not _note(path, how.get(code, f"took its process with it (exit code {code})")):
            return
        if time.time() > until:
            return


def _wait(process: subprocess.Popen, path: Path, until: float) -> int | None:
    """Return the exit code of a process; None if it had to be stopped."""
    while True:
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            silent = time.time() - path.stat().st_mtime
            if silent > SILENT or time.time() > until + SILENT:
                process.kill()
                process.wait()
                return None


def _note(path: Path, how: str) -> bool:
    """Write down who was at work when the process ended, so that the next one leaves it out.

    Returns False if nobody was: then another process would fare no better.
    """
    measurement = read(path)
    header = measurement.header
    if header["at"] is None:
        header["failed"]["start"] = how
        write(path, measurement)
        return False
    step, candidate = header["at"]
    if reason := header["wrong"].get(candidate, {}).get(step):
        how = f"{reason}; {how}"
    avoided = header["avoid"].setdefault(step, [])
    if candidate is None or candidate in avoided:
        header["failed"][step] = how
        header["done"].append(step)
    else:
        avoided.append(candidate)
        header["wrong"].setdefault(candidate, {})[step] = how
    header["at"] = None
    write(path, measurement)
    return True
