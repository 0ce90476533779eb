"""Running somebody else's function: it may never return, print without end, or take all the memory."""

from __future__ import annotations

import contextlib
import ctypes
import io
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_AGAIN = 0.2  # seconds; a bare `except:` may swallow the first alarm
_OURS = (__file__, contextlib.__file__)  # where nothing is stopped any more
_LIBRARIES = "<frozen", sys.prefix, sys.base_prefix, str(Path(__file__).parents[1])
_FAST = 4e-5  # seconds until a further alarm, at most
_SOON = 1e-3  # seconds until the next look for a line of the learner's
_PATIENCE = 0.5  # seconds for which such a line is looked for
_MEMORY = 2 << 30  # bytes that a function may take
_LINES, _LINE = 20, 200  # lines that are kept of what it prints, and characters of each


def of_a_library(file: str) -> bool:
    """Return whether a file of code is Python's, a library's or ours: no code of a learner's."""
    return file.startswith(_LIBRARIES) or "site-packages" in file


class TimeUp(BaseException):
    """The time is over. No `Exception`, so that a learner's `except Exception` lets it pass."""


class Printed(io.TextIOBase):
    """Keeps the first lines of what is printed, and counts the others."""

    def __init__(self) -> None:
        self.kept, self.lines = [""], 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        first, *more = text.split("\n")
        self._add(first)
        for line in more:
            self.lines += 1
            if self.lines < _LINES:
                self.kept.append("")
            self._add(line)
        return len(text)

    def _add(self, text: str) -> None:
        if self.lines < _LINES and text:
            self.kept[-1] = (self.kept[-1] + text)[:_LINE]

    def __str__(self) -> str:
        rest = self.lines - len([line for line in self.kept if line])
        return "\n".join(self.kept).rstrip() + (f"\n... and {rest:,} more lines" if rest > 0 else "")


@contextlib.contextmanager
def guarded(seconds: float) -> Iterator[Printed]:
    """Run what is below `with` for at most so many seconds; what it prints is kept back.

    Parameters
    ----------
    seconds : float
        After this time `TimeUp` is raised in it. What runs in C alone, as one large NumPy product does, comes
        to its end first.

    Yields
    ------
    Printed
        What was printed.
    """
    printed = Printed()
    with _memory_limit(), contextlib.redirect_stdout(printed), _alarm(seconds):
        yield printed


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        with _alarm_by_thread(seconds):
            yield
        return

    over = rung = False
    anywhere = time.monotonic() + seconds + _PATIENCE

    def ring(_: int, frame: FrameType | None) -> None:
        nonlocal rung
        if over:
            return
        file = frame.f_code.co_filename if frame else ""
        own = not of_a_library(file)
        rung = rung or own
        # What begins or cleans up is to be left alone; and a library's line may be a finalizer's, which drops
        # what is raised in it.
        leave = not own and (rung or file in _OURS or time.monotonic() < anywhere)
        # A bare `except:` swallows an alarm, and one around that the next: so they come fast, at any line.
        again(_FAST * random.random() if rung else _SOON if leave else _AGAIN)
        if not leave:
            raise TimeUp

    def again(after: float) -> None:
        # Once, from here on: alarms at a fixed rate would overtake a handler that is slow, on a busy machine.
        signal.setitimer(signal.ITIMER_REAL, max(after, 1e-6))

    before = signal.signal(signal.SIGALRM, ring)
    again(seconds)
    try:
        yield
    finally:
        over = True  # before anything else: what follows is not to be stopped
        signal.setitimer(signal.ITIMER_REAL, 0)
        # An alarm that is still on its way must find somebody who takes it.
        signal.signal(signal.SIGALRM, before if callable(before) else _nothing)


def _nothing(*_: object) -> None:
    pass


@contextlib.contextmanager
def _alarm_by_thread(seconds: float) -> Iterator[None]:
    """Do the same where there are no timers that signal: on Windows, and in a thread beside the main one."""
    runs, over = ctypes.c_ulong(threading.get_ident()), threading.Event()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(runs, ctypes.py_object(TimeUp))
            wait = _AGAIN

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        try:
            over.set()
        finally:  # the last alarm may have struck in that very line; the next is far
            over.set()
        watcher.join()


@contextlib.contextmanager
def _memory_limit() -> Iterator[None]:
    """Let the process grow by 2 GiB and no further, where the system can be told so."""
    if sys.platform != "linux":
        yield
        return
    import resource

    with open("/proc/self/statm") as sizes:
        taken = int(sizes.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = taken + _MEMORY if soft == resource.RLIM_INFINITY else min(soft, taken + _MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
