"""A lock between processes, and between the threads of one: one at a time, and nobody waits for the dead.

The lock lies on a file, and the system lifts it when its process ends, however it ends. The file stays, for
another may already wait for it. It is a courtesy and no guard: where a disk knows no locks, where the file
cannot be made, or when the patience is at its end, we go on without.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def locked(path: Path, patience: float = 10.0) -> Iterator[None]:
    """Be the only one inside this ``with``; wait `patience` seconds for that, at most."""
    with ExitStack() as stack:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            stack.callback(os.close, file)
            stack.callback(_unlock, file)
            pause, end = 0.001, time.monotonic() + patience
            while not _try_lock(file) and time.monotonic() < end:
                time.sleep(pause)
                pause = min(1.5 * pause, 0.02)
        yield


def alone(path: Path) -> Callable[[], None] | None:
    """Lock a file at once, for as long as the work takes that nobody else may do at the same time.

    Returns
    -------
    function or None
        What lifts the lock and deletes the file; None if another process, or thread, has it locked.

    Raises
    ------
    OSError
        If the file cannot be made.
    """
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _try_lock(file):
            os.close(file)
            return None
        with suppress(OSError):
            if os.path.samestat(os.fstat(file), os.stat(path)):
                break
        os.close(file)  # who had it before has just deleted it: this lock is of no file any more

    def lift() -> None:
        with suppress(OSError):  # on Windows it stays while it is open, and does no harm
            os.unlink(path)
        _unlock(file)
        os.close(file)

    return lift


def _try_lock(file: int) -> bool:
    """Lock an open file; return False if another has locked it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


def _unlock(file: int) -> None:
    """Lift a lock: to close the file is not enough where a process that was forked holds it open, too."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
