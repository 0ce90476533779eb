"""The hardware threads this process may run on, and the one that a benchmark keeps to.

A benchmark on one core is still on a machine of many: what `allowed` tells does not change by it. And two
benchmarks at once do not share a core while there is another: each claims one that nobody has claimed. A
claim is a name that the system gives to one process at a time, and takes back when that process ends.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from convlab.support.files import text_if_there

TOPOLOGY = Path("/sys/devices/system/cpu")
CLAIM = "convlab core"

_before: list[set[int]] = []  # where the threads of this process were that are kept on some cores now
_last: int | None = None  # the hardware thread that a benchmark of this process had last


def now() -> set[int]:
    """Return the hardware threads this thread may run on, by number; empty if the system will not say."""
    try:
        return os.sched_getaffinity(0)
    except (AttributeError, OSError):
        return set()


def allowed() -> set[int]:
    """Return the same, as it was before a benchmark of this process kept to fewer."""
    return now().union(*_before)


@contextmanager
def kept_on(cores: Collection[int]) -> Iterator[None]:
    """Keep this thread on some hardware threads inside a ``with``, if the system offers that.

    Threads that it starts inside are kept there with it, and let go with it: a library's pool that begins
    on one core serves on all of them later.
    """
    with ExitStack() as stack:
        with suppress(AttributeError, OSError):
            before, there = now(), _threads()
            os.sched_setaffinity(0, cores)
            _before.append(before)
            stack.callback(_before.remove, before)
            stack.callback(_let_go, before, set(cores), there)
        yield


def _let_go(before: set[int], cores: set[int], there: set[int]) -> None:
    begun = _threads() - there if before > cores else ()
    for thread in (0, *begun):  # 0 is this one
        with suppress(OSError):  # it has ended, or the system has taken those away and chosen others
            os.sched_setaffinity(thread, before)


def _threads() -> set[int]:
    """Return the threads of this process; none where the system does not list them."""
    try:
        return {int(name) for name in os.listdir("/proc/self/task")}
    except OSError:
        return set()


@contextmanager
def claimed(cores: Collection[int]) -> Iterator[int]:
    """Give one of some hardware threads inside a ``with``, if possible one that no other benchmark has.

    Best is one whose whole core is free: two hardware threads of a core share its arithmetic. If all are
    claimed, they are shared evenly.
    """
    global _last
    cores = sorted(cores, key=lambda core: (core != _last, core))  # a benchmark in steps stays where it was
    wanted = [*((core, _siblings(core) - {core}) for core in cores), *((core, ()) for core in cores)]
    with ExitStack() as claim:
        for core, others in wanted:
            with ExitStack() as glance, ExitStack() as attempt:
                if _claim(core, attempt) and all(_claim(other, glance) for other in others):
                    claim.push(attempt.pop_all())
                    break
        else:
            core = cores[threading.get_native_id() % len(cores)]
        _last = core
        yield core


def _claim(core: int, until: ExitStack) -> bool:
    """Claim a hardware thread until a stack is closed; return False if another benchmark has it."""
    import socket

    try:
        claim = until.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        claim.bind(f"\0{CLAIM} {core}")  # the zero makes it a mere name: there is no such file
    except OSError as error:
        return error.errno != errno.EADDRINUSE  # a system without such names has no claims
    return True


def _siblings(core: int) -> set[int]:
    """Return the hardware threads of the core that one belongs to, as Linux lists them: "0,64" or "0-1"."""
    text = text_if_there(TOPOLOGY / f"cpu{core}" / "topology" / "thread_siblings_list")
    ranges = [(int(a), int(b or a)) for a, b in re.findall(r"\b(\d{1,6})(?:-(\d{1,6}))?\b", text)]
    return {one for first, last in ranges[:16] for one in range(first, min(last, first + 15) + 1)}
