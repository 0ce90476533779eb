"""A run of `convlab bench gpu`: the device tests, then one process for every step, as long as there is time.

The processes are started before the tests are: they compile meanwhile.

What a process finds it appends to a journal beside the file (`journal.py`), so nothing is lost that was
measured, whatever becomes of it. A candidate that takes its process with it is named and left out, and
another process goes on with the rest. The same command with the same file goes on where a run stopped.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import convlab
from convlab.benchmark.bench import INTERRUPTED, first_header
from convlab.benchmark.saved import GPU, Measurement, write
from convlab.errors import ParameterError
from convlab.support import another_python
from convlab.support.files import why_kept
from tools.bench_gpu import device_tests, places
from tools.bench_gpu.journal import Journal
from tools.bench_gpu.steps import DeviceSuite
from tools.bench_gpu.turns import Turns

STEP = another_python.module("tools.bench_gpu.steps")
TIME_UP, NOT_RUN = "time was up", "not run"
TEST_SHARE = 0.35  # of the minutes, that the device tests may take
LAST = 5.0  # seconds in which no step begins


def bench_gpu(
    path: Path, options: dict, minutes: float = 8.0, tests: bool = True
) -> tuple[Measurement, str | None]:
    """Measure the GPU of this machine, and write the measurement to a file.

    Parameters
    ----------
    path : Path
        The file; a measurement that is there is replaced, unless this run goes on with it. What the device
        tests say goes to a file beside it, and so does the journal, until the measurement is complete.
    options : dict
        ``words``: only layers whose name or class holds this. ``baselines``: measure cuDNN too. ``place``:
        where it is run; anywhere but on the GPU every step is tried, on tiny layers, and no time is taken.
    minutes : float
        Then it ends; what is not measured until then the same command measures, with the same file.
    tests : bool
        Run the device tests first.

    Returns
    -------
    Measurement, str or None
        What was measured; and why it is not complete, or None if it is.

    Raises
    ------
    ConvError
        If a file would be written over that is none of ours; nothing has been written then.
    """
    until = time.monotonic() + 60 * minutes
    log, record = (path.with_name(path.name + end) for end in (".tests.txt", ".journal"))
    for file, first in ((log, device_tests.FIRST_LINE), (record, '{"begin"')):
        if reason := why_kept(file, lambda text, first=first: text.startswith(first)):
            raise ParameterError(f"--save={str(path)!r}: {str(file)!r} {reason}; expected another name")
    journal, stopped = opened(record, options), None
    write(path, journal.measurement)
    if threading.current_thread() is threading.main_thread():  # `timeout` ends it as Ctrl-C does
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    steps: dict[str, list[str]] = {}
    for task in DeviceSuite(journal).tasks():
        steps.setdefault(task.part, []).append(task.label)
    left = [step for step, labels in steps.items() if not journal.done.issuperset(labels)]
    try:
        with Turns(lambda step: [sys.executable, *STEP, journal.path, step], left, together()) as turns:
            told, on_gpu = journal.header["tests"], options["place"] == places.GPU
            if tests and on_gpu and (told == NOT_RUN or "stopped" in told or "died" in told):
                print(f"the device tests run, {log} has what they say", flush=True)
                journal.add("tests", device_tests.run(log, 60 * minutes * TEST_SHARE))
                print(f"device tests: {journal.header['tests']}", flush=True)
            for step, labels in steps.items():
                take(turns, journal, step, labels, until)
                write(path, journal.measurement)
    except KeyboardInterrupt:
        journal.read()
        stopped = INTERRUPTED
    header = journal.header
    reasons = [f"{name} is wrong" for name in header["wrong"]]
    reasons += [f"{layer}: {reason}" for layer, reason in header["failed"].items()]
    stopped = stopped or "; ".join(reasons) or None
    header["complete"] = not (stopped or options["place"] != places.GPU)
    write(path, journal.measurement)
    if not stopped:
        record.unlink()
    return journal.measurement, stopped


def take(turns: Turns, journal: Journal, step: str, labels: list[str], until: float) -> None:
    """Have one step taken, by one process after the other if need be, until it is done or time is up."""

    def to_do() -> list[str]:
        return [one for one in labels if one not in journal.done | journal.header["failed"].keys()]

    while left := to_do():
        seconds = until - time.monotonic()
        if seconds < LAST:
            journal.add("failed", dict.fromkeys(left, TIME_UP))
            return
        print(f"{step}: {len(left)} to do, {seconds:.0f} s left", flush=True)
        code = turns.take(step, seconds)
        journal.read()
        at = journal.at
        journal.add("at", None)
        if code and at:
            journal.add("wrong", [*at, f"took its process with it (exit code {code})"])
        elif code is not None:  # what it has left another process would leave, too
            journal.add("failed", dict.fromkeys(to_do(), f"its process ended with code {code}"))


def together() -> int:
    """Return how many processes get ready at once: for each a core, and another that nobody has to share."""
    return max(1, (os.cpu_count() or 1) // 2)


def opened(record: Path, options: dict) -> Journal:
    """Return the journal to go on with, if it is of the same code, options and machine; else a new one."""
    journal = Journal(record)
    new = first_header(GPU) | {"options": options, "source": source(), "device": {}, "roofs": {}}
    kept = journal.header
    same = all(kept.get(key) == new[key] for key in ("source", "options"))
    if same and all(
        kept["machine"][key] == new["machine"][key] for key in ("processor", "gpus", "libraries")
    ):
        journal.add("resumed", new["date"])
        print(f"{record} is here: going on after {len(journal.done)} layers", flush=True)
    else:
        simulated = {"simulated": True} if options["place"] != places.GPU else {}
        journal.begin(new | {"tests": NOT_RUN, "skipped": {}} | simulated)
    return journal


def source() -> str:
    """Return a few digits that change with any line of the code: another source, another measurement."""
    digest = hashlib.sha256()
    for root in (Path(convlab.__file__).parent, Path(__file__).parent):
        for file in sorted(root.rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:16]
