"""What other programs do to a measurement: the one detector that all that measures here goes by.

Three signs, each where it is good:

*The thread was pushed aside.* Its CPU time is less than the time on the wall, and it never gave up its core
by itself: somebody else had it. Then the CPU time counts (`seconds_of`), and what was taken is noted
(`watched`). Linux tells this of each thread, macOS of the process. Windows counts CPU time in steps of 16 ms,
far longer than a call: there the wall counts, and only the other two signs are left.

*The rounds disagree.* The interval of a ratio is that of the median of its rounds, and it reaches to the
ratio of the shortest rounds: what disturbs only lengthens, caches that somebody else has filled, too. No
constant has to be known of a quiet machine; each candidate is its own canary (`convlab.support.measured`).

*Physics.* No memory is slower than one farther away, no kernel faster than its roof: what says otherwise is
looked at again (`in_order`), and if it stays, it is told with its likely reason (`out_of_order`).

Not used: the load average, which tells of the last minute and of all cores; counts of context switches, most
of which cost nothing. What slows down every round alike is not seen: that is a slower machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:  # Windows
    getrusage = None
else:
    try:
        from resource import RUSAGE_THREAD as WHO
    except ImportError:  # macOS
        WHO = RUSAGE_SELF

TOUCH = 0.02  # of a call: so much of it may be gone before we say that the thread was pushed aside
QUIET = 0.05  # of the time that was measured: so much the system itself may take
SAME = 0.03  # two speeds that differ by less are the same
NAP, LONGEST_REST = 0.002, 0.5  # seconds of a look at threads that should fall asleep, and of all looks

AGAIN = "Run it again when the machine is quiet."

# What breaks physics, and stays when it is looked at again.
INVERTED = (
    "{near} was slower than {far}, also at a second look: another program uses that cache, or what a loop "
    "costs beside its bytes weighs more there"
)


@dataclass
class Watch:
    """How long calls took that were measured, and how much of it other programs had the core.

    Attributes
    ----------
    wall, taken : float
        Seconds.
    """

    wall: float = 0.0
    taken: float = 0.0

    @property
    def share(self) -> float:
        """The share of the time that was taken."""
        return self.taken / self.wall if self.wall else 0.0

    @property
    def quiet(self) -> bool:
        """Was it the machine of this program alone?"""
        return self.share <= QUIET

    def __str__(self) -> str:
        if self.quiet:
            return "No other program disturbed this."
        return f"Other programs had the core for {self.share:.0%} of the time that was measured."


_watches: list[Watch] = []


@contextmanager
def watched() -> Iterator[Watch]:
    """Watch all calls that are timed inside a ``with``."""
    watch = Watch()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches[:] = [one for one in _watches if one is not watch]


def seconds_of(call: Callable[[], object], warm: int = 0, threads: int = 1) -> float:
    """Return the seconds of a call on this thread, without those in which another program had its core.

    A call that waits, for a disk or for threads of its own, is timed by the wall. So is one on many threads:
    they may push each other aside, and what one of them lacks the call lacks.

    Parameters
    ----------
    call : callable
    warm : int
        So many calls before it, not timed, in which the thread was not pushed aside either: whoever had the
        core has filled its caches. There are at most twice as many calls as it takes on a quiet machine.
    threads : int
        That the call may run on.
    """
    left_alone = 0
    for tries_left in range(2 * warm + 1, -1, -1):
        seconds, pushed_aside = _clocked(call, threads)
        left_alone = 0 if pushed_aside else left_alone + 1
        if left_alone > warm or not tries_left:
            break
    return seconds


def _clocked(call: Callable[[], object], threads: int) -> tuple[float, bool]:
    """Return the seconds of a call, and whether the thread was pushed aside meanwhile."""
    waits, cpu = _waits(), time.thread_time()
    start = time.perf_counter()
    call()
    wall = time.perf_counter() - start
    cpu = time.thread_time() - cpu  # around the wall: less than it only if the thread did not run
    stayed = threads == 1 and waits is not None and _waits() == waits
    pushed_aside = stayed and cpu < (1 - TOUCH) * wall
    note(wall, wall - cpu if pushed_aside else 0.0)
    return (cpu, True) if pushed_aside else (wall, False)


def note(wall: float, taken: float) -> None:
    """Tell all who watch that a call was timed, and how much of that was taken."""
    for watch in _watches:
        watch.wall += wall
        watch.taken += taken


def _waits() -> int | None:
    """Return how often this thread gave up its core by itself; None if the system does not tell."""
    return None if getrusage is None else getrusage(WHO).ru_nvcsw


def until_quiet() -> None:
    """Wait until the threads of this process are asleep, at most for `LONGEST_REST`.

    A pool whose work is done waits for more by asking again and again, each on a core: GNU OpenMP's for a
    millisecond or ten, ONNX Runtime's for fifty.
    """
    end, naps, busy = time.perf_counter() + LONGEST_REST, 0, True
    while (busy or naps < 2) and time.perf_counter() < end:
        before = time.process_time()
        time.sleep(NAP)
        naps, busy = naps + 1, time.process_time() - before > 0.1 * NAP


def in_order(speeds: Mapping, measure: Callable) -> dict:
    """Return speeds by memory, the nearest first; one slower than the next is measured again, twice at most.

    Parameters
    ----------
    speeds : mapping
    measure : callable
        Measures one of them again; the faster look counts, for what disturbs can only slow down.
    """
    speeds = dict(speeds)
    for _ in range(2):
        for near in {near for near, _ in _inverted(speeds)}:
            speeds[near] = max(speeds[near], measure(near))
    return speeds


def out_of_order(speeds: Mapping) -> list[str]:
    """Say which memories are slower than one farther away, and why that may be."""
    return [INVERTED.format(near=near, far=far) for near, far in _inverted(speeds)]


def _inverted(speeds: Mapping) -> list[tuple]:
    """Return the pairs of neighbours of which the nearer is slower."""
    return [(near, far) for near, far in pairwise(speeds) if speeds[near] < (1 - SAME) * speeds[far]]
