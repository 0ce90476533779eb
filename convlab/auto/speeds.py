"""What is known of this machine, kept on disk: its speeds, and which algorithm was measured to be fastest.

    speeds      roofs and overheads, measured once for each number of threads at hand, in about a second
    measured    for a problem that was tuned: the seconds of every algorithm that was tried

One small file holds it for several machines, side by side: a home folder may be shared. A machine is a
processor, what Numba compiles for, and the versions of Python and convlab. A process that may use fewer
threads, or compiles for another processor, adds to the file and deletes nothing. What is no such file is
not used, and replaced: what it would say is measured anew. A folder that cannot be written to costs that
second in every process, and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import convlab
from convlab.auto.predict import Speeds
from convlab.auto.timing import on_all_cores, on_one_core
from convlab.cost.phases import OVERHEADS
from convlab.machine import system
from convlab.machine.facts import cores_at_hand
from convlab.problem import ConvProblem
from convlab.support import json_store
from convlab.support.locks import locked

SCHEMA = 2
FILE = "machine.json"

_MACHINES = 32  # so many are kept, those that were written last: versions and borrowed machines come and go
_SPEEDS = 1.0, 1e18  # a second: no machine computes or copies less, or more
_LONGEST = 1e9  # seconds, of anything that was measured
_MOST_THREADS = 1 << 20


def folder() -> Path:
    """Return where the file lies: $CONVLAB_CACHE_DIR, or the folder that this system keeps for caches."""
    if given := os.environ.get("CONVLAB_CACHE_DIR"):
        return Path(given)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a container may run as a user who has no home: then nothing can be kept
        base = os.devnull
    return Path(base) / "convlab"


def machine() -> dict[str, str]:
    """Return what must be the same for a measurement to hold; what one process may use is no part of it."""
    features = os.environ.get("NUMBA_CPU_FEATURES", "")
    return {
        "processor": str(system.processor()),
        "target": f"{system.compiler_target()} {features}".rstrip(),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "convlab": convlab.__version__,
    }


@lru_cache
def speeds() -> Speeds:
    """Return the speeds of this machine: kept ones, or measured now and kept."""
    if kept := kept_speeds():
        return kept
    with _measuring():  # of many processes that begin at once, one measures
        return kept_speeds() or _measure_and_keep()


def kept_speeds() -> Speeds | None:
    """Return the speeds that are kept on disk; None if there are none that can be used."""
    found = _read()["speeds"].get(str(cores_at_hand()))
    with suppress(TypeError, ValueError, LookupError, AttributeError):
        return checked(Speeds.of(found["roofs"], found["overheads"]))
    return None


def measured_at() -> str | None:
    """Return when the kept speeds were measured, as text; None if none are kept."""
    if not kept_speeds():
        return None
    at = _read()["speeds"].get(str(cores_at_hand()), {}).get("at")
    return at if isinstance(at, str) and re.fullmatch(r"[-0-9: ]{16}", at) else "some time ago"


def trouble() -> str | None:
    """Return why the file cannot be used, in words; None if it can be, or is not there yet."""
    try:
        json_store.read(folder() / FILE)
    except OSError as error:
        return f"{folder() / FILE} cannot be read: {error.strerror}"
    except ValueError as error:
        return f"{folder() / FILE} is not used: {error}"
    there = next(path for path in (folder(), *folder().absolute().parents) if os.path.exists(path))
    if not (os.path.isdir(there) and os.access(there, os.W_OK)):
        return f"nothing can be kept in {folder()}: set CONVLAB_CACHE_DIR to a folder that can be written to"
    return None


def renew(*, forget_tuned: bool = False) -> None:
    """Measure the speeds again and keep them; what `convlab.autotune` measured stays, unless asked."""
    forget()
    with _measuring():
        _measure_and_keep()
    if forget_tuned:
        write(measured={})


def _measuring() -> AbstractContextManager[None]:
    """Measure alone inside a ``with``: two that measure all cores at once find half of them."""
    return locked(folder() / ".speeds.lock", patience=30)


def _measure_and_keep() -> Speeds:
    measured = measure()
    write(speeds=measured | {"at": datetime.now().isoformat(" ", "minutes")})
    return Speeds.of(measured["roofs"], measured["overheads"])


def measure(*, quick: bool = True) -> dict[str, dict]:
    """Measure the roofs and the overheads of this machine, with the effort of `Roofs.here`."""
    from convlab.auto.overheads import Overheads
    from convlab.auto.roofs import Roofs

    with on_all_cores():
        roofs = Roofs.here(quick=quick)
    with on_one_core():
        return {"roofs": roofs.as_dict(), "overheads": Overheads.here(roofs.flops).as_dict()}


def checked(known: Speeds) -> Speeds:
    """Return the speeds, or say that no machine has them.

    Raises
    ------
    KeyError, TypeError, ValueError
        If one is missing, is no number, or one that is out of all bounds.
    """
    rates = [known.flops, known.flops_all, *(speed for _, speed in known.memory)]
    least, most = _SPEEDS
    if not all(least <= rate <= most for rate in rates):
        raise ValueError("a speed is none that a machine has")
    if not all(0 <= known.overheads[name] <= _LONGEST for name in OVERHEADS):
        raise ValueError("an overhead is none that a machine has")
    if not all(room > 0 for room, _ in known.memory):
        raise ValueError("a cache holds nothing")
    if not isinstance(known.threads, int) or not 1 <= known.threads <= _MOST_THREADS:
        raise ValueError("threads is no count")
    return known


def seconds(problem: ConvProblem, threads: int) -> dict[str, float] | None:
    """Return the measured seconds of every algorithm that was tried on a problem; None if none was."""
    return _measured().get(key(problem, threads))


def keep(problem: ConvProblem, threads: int, found: dict[str, float]) -> None:
    """Keep what `convlab.autotune` measured."""
    from convlab.auto.select import ranked_on_cpu

    name = key(problem, threads)
    _measured()[name] = found
    ranked_on_cpu.cache_clear()
    _update(lambda mine: mine["measured"].update({name: found}))


def forget() -> None:
    """Forget what this process has read or measured; what is on disk stays."""
    from convlab.auto.select import predicted, ranked_on_cpu

    for function in (speeds, _measured, predicted, ranked_on_cpu):
        function.cache_clear()


def key(problem: ConvProblem, threads: int) -> str:
    """Return a problem, a number of threads, and how many of those can run at once, as one line of text."""
    at_once = 1 if threads == 1 else min(threads, cores_at_hand())  # the system need not be asked about one
    return json.dumps(asdict(problem) | {"threads": threads, "at once": at_once})


@lru_cache
def _measured() -> dict[str, dict[str, float]]:
    return _good(_read()["measured"])


def _good(entries: dict) -> dict[str, dict[str, float]]:
    """Return those entries of a file that are times of algorithms there are."""
    from convlab.algorithms import ALGORITHMS

    def good(times) -> bool:
        return (
            isinstance(times, dict)
            and len(times) > 0
            and times.keys() <= ALGORITHMS.keys()
            and all(isinstance(t, float) and 0 < t <= _LONGEST for t in times.values())
        )

    return {name: times for name, times in entries.items() if good(times)}


def _read() -> dict[str, dict]:
    """Return what the file holds of this machine: "speeds" by threads at hand, and "measured"."""
    try:
        content = json_store.read(folder() / FILE)
    except (OSError, ValueError):
        content = {}
    return _mine(_machines(content).get(_name()))


def write(*, speeds: dict | None = None, measured: dict | None = None) -> None:
    """Keep speeds for as many threads as are at hand, or all that was tuned on this machine."""

    def change(mine: dict[str, dict]) -> None:
        if speeds is not None:
            mine["speeds"][str(cores_at_hand())] = speeds
        if measured is not None:
            mine["measured"] = measured

    _update(change)


def _update(change: Callable[[dict[str, dict]], None]) -> None:
    """Change what the file holds of this machine, and nothing else in it."""

    def changed(content: dict) -> None:
        machines = _machines(content)
        mine = _mine(machines.pop(_name(), None))
        change(mine)
        newest = [*machines.items(), (_name(), mine)][-_MACHINES:]
        content.clear()
        content.update(schema=SCHEMA, machines=dict(newest))

    with suppress(OSError):
        json_store.update(folder() / FILE, changed)


def _name() -> str:
    return json.dumps(machine())


def _machines(content: dict) -> dict[str, dict]:
    """Return what a file holds of each machine; nothing if it is of another schema."""
    machines = content.get("machines") if content.get("schema") == SCHEMA else None
    return dict(machines) if isinstance(machines, dict) else {}


def _mine(entry) -> dict[str, dict]:
    """Return what is known of a machine, each part there, if need be empty."""
    entry = entry if isinstance(entry, dict) else {}
    parts = {name: entry.get(name) for name in ("speeds", "measured")}
    return entry | {name: dict(part) if isinstance(part, dict) else {} for name, part in parts.items()}
