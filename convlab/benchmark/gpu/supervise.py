"""The process that watches over a run: it starts the worker that takes the steps, and starts it again.

Who was at work when a worker died, or fell silent, is noted as wrong, and left out by the next one.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from convlab.benchmark.saved import UnwritableError, read, write
from convlab.support import another_python

TIME_UP = "time was up"
WORKER = another_python.module("convlab.benchmark.gpu.worker")
LOST = 75  # exit code of a process whose device does not answer
UNWRITABLE = 74  # ... that could not write the file
SILENT = 120.0  # seconds without a sign of life


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Let a signal that asks for an end (`timeout`, a lost terminal) end the run as Ctrl-C does."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    wanted = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        wanted = []  # only the main thread may say what a signal does
    before = {number: signal.signal(number, interrupt) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with(parent: int) -> None:
    """Have Linux end this process as soon as the one that started it has ended, whatever ended that."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # 1: PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it ended before this
        sys.exit(1)


def supervise(path: Path, options: dict, until: float) -> None:
    """Have the steps taken, by one process after the other if need be, until all are done or time is up."""
    while True:
        given = str(path), str(until), json.dumps(options), str(os.getpid())
        # In a group of its own Ctrl-C does not reach it: this process ends it.
        apart = {"process_group": 0} if os.name == "posix" else {}
        process = subprocess.Popen([sys.executable, *WORKER, *given], **apart)
        try:
            code = _wait(process, path, until)
        except BaseException:
            process.kill()
            process.wait()
            raise
        if code == 0:
            return
        if code == UNWRITABLE:  # it has said why
            raise UnwritableError(f"{str(path)!r} could not be written any more, see above")
        if time.time() > until:
            _note_time_up(path)
            return
        how = {None: f"gave no sign of life for {SILENT:g} s", LOST: "the device did not answer any more"}
        if not _note(path, how.get(code, f"took its process with it (exit code {code})")):
            return


def _wait(process: subprocess.Popen, path: Path, until: float) -> int | None:
    """Return the exit code of a process; None if it had to be stopped."""
    while True:
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            if time.time() - path.stat().st_mtime > SILENT or time.time() > until:
                process.kill()
                process.wait()
                return None


def _note_time_up(path: Path) -> None:
    """Write down that time was up; nobody is to blame for that."""
    measurement = read(path)
    step, _ = measurement.header["at"] or (TIME_UP, None)
    measurement.header["failed"][step] = TIME_UP
    measurement.header["at"] = None
    write(path, measurement)


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
