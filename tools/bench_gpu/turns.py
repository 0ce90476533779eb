"""The processes of a run's steps: they get ready side by side, and measure one after the other.

A process is told that its turn has come by a line on its standard input. If that ends without one, nobody
waits for it any more.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress


class Turn:
    """In the process of a step: whether its turn has come.

    Parameters
    ----------
    told : int
        The file descriptor on which a line says so.
    patience : float
        Seconds until it has to be ready then; a process that is not ends.
    """

    def __init__(self, told: int = 0, patience: float = 90.0):
        self._come, self._patience = threading.Event(), patience
        threading.Thread(target=self._listen, args=(told,), daemon=True).start()

    def _listen(self, told: int) -> None:
        if not os.read(told, 1):
            os._exit(1)  # whatever it is doing: nobody waits for it
        faulthandler.dump_traceback_later(self._patience, exit=True, file=sys.__stderr__)
        self._come.set()

    def has_come(self) -> bool:
        """Say if it has."""
        return self._come.is_set()

    def wait(self) -> None:
        """Wait for it, ready."""
        self._come.wait()
        faulthandler.cancel_dump_traceback_later()


class Turns:
    """In the process of the run: the processes of its steps, of which one measures at a time.

    Parameters
    ----------
    command : callable
        ``command(step)`` returns what starts the process of a step.
    steps : sequence of str
        In the order in which they are to measure.
    together : int
        How many processes there may be at once; each keeps a core busy until it is ready.
    """

    def __init__(self, command: Callable[[str], list], steps: Sequence[str], together: int):
        self._command, self._steps, self._together = command, list(steps), together
        self._started: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> Turns:
        self._start()
        return self

    def __exit__(self, *error) -> None:
        for step in list(self._started):
            self._end(step)

    def take(self, step: str, seconds: float) -> int | None:
        """Let a step measure; return the exit code of its process, or None if the seconds were not enough.

        It is asked for once more where a process died before the step was done.
        """
        self._steps = [one for one in self._steps if one != step]
        process = self._started.get(step) or self._begin(step)
        self._start()
        try:
            with suppress(OSError):  # it may have died; its exit code tells
                process.stdin.write(b"\n")
                process.stdin.flush()
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self._end(step)

    def _start(self) -> None:
        """Start the processes of the next steps, as many as there may be."""
        while self._steps and len(self._started) < self._together:
            self._begin(self._steps.pop(0))

    def _begin(self, step: str) -> subprocess.Popen:
        process = subprocess.Popen(self._command(step), stdin=subprocess.PIPE)
        self._started[step] = process
        return process

    def _end(self, step: str) -> None:
        process = self._started.pop(step)
        process.kill()
        process.wait()
        with suppress(OSError):  # what it has not read is lost with it
            process.stdin.close()
