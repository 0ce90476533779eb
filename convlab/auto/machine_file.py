"""What was measured on this machine, kept on disk: its speeds, and which algorithm was found to be fastest.

    speeds      roofs and overheads, measured by ``convlab bench speeds`` for each number of threads at hand
    tuned       for a problem that was tuned: the seconds of every algorithm that was tried

One small file holds it for several machines, side by side: a home folder may be shared. A machine is a
processor, what Numba compiles for, and the versions of Python and convlab. A process that may use fewer
threads, or compiles for another processor, adds to the file and deletes nothing. What is no such file is
not used, and replaced by what is measured next. A folder that cannot be written to costs no more than what
was measured, when the process ends.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from convlab.algorithms import ALGORITHMS
from convlab.auto.predict import Speeds
from convlab.machine import system
from convlab.machine.facts import cores_at_hand
from convlab.problem import ConvProblem
from convlab.support import json_store, version

SCHEMA = 3
FILE = "machine.json"

_MACHINES = 32  # so many are kept, those that were written last: versions and borrowed machines come and go
_LONGEST = 1e9  # seconds, of anything that was measured
_depending: list = []  # functions that keep what they worked out from the file


def kept_until_changed(function):
    """Return a function that keeps what it has returned until something new is known of this machine."""
    keeping = lru_cache(4096)(function)
    _depending.append(keeping)
    return keeping


def forget() -> None:
    """Forget what this process has read or measured; what is on disk stays."""
    _tuned.cache_clear()
    _changed()


def _changed() -> None:
    for function in _depending:
        function.cache_clear()


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
        "convlab": version.VERSION,
    }


# -- speeds ------------------------------------------------------------------------------------------------


def kept_speeds() -> Speeds | None:
    """Return the speeds that are kept on disk; None if there are none that can be used."""
    found = _read()["speeds"].get(str(cores_at_hand()))
    with suppress(TypeError, ValueError, LookupError, AttributeError):
        return Speeds.of(found["roofs"], found["overheads"]).checked()
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


def keep_speeds(found: dict[str, dict]) -> None:
    """Keep roofs and overheads, measured now, for as many threads as are at hand."""
    at = datetime.now().isoformat(" ", "minutes")
    _write(lambda mine: mine["speeds"].update({str(cores_at_hand()): found | {"at": at}}))


# -- tuned problems ----------------------------------------------------------------------------------------


def tuned_seconds(problem: ConvProblem, threads: int) -> dict[str, float] | None:
    """Return the measured seconds of every algorithm that was tried on a problem; None if none was."""
    return _tuned().get(key(problem, threads))


def keep_tuned(problem: ConvProblem, threads: int, found: dict[str, float]) -> None:
    """Keep what `convlab.autotune` measured."""
    name = key(problem, threads)
    _tuned()[name] = found
    _write(lambda mine: mine["tuned"].update({name: found}))


def forget_tuned() -> None:
    """Throw away what `convlab.autotune` has measured on this machine, on disk, too."""
    _tuned().clear()
    _write(lambda mine: mine["tuned"].clear())


def key(problem: ConvProblem, threads: int) -> str:
    """Return a problem, a number of threads, and how many of those can run at once, as one line of text."""
    at_once = 1 if threads == 1 else min(threads, cores_at_hand())  # the system need not be asked about one
    return json.dumps(asdict(problem) | {"threads": threads, "at once": at_once})


@lru_cache
def _tuned() -> dict[str, dict[str, float]]:
    return _good(_read()["tuned"])


def _good(entries: dict) -> dict[str, dict[str, float]]:
    """Return those entries of a file that are times of algorithms there are."""

    def good(times) -> bool:
        return (
            isinstance(times, dict)
            and len(times) > 0
            and times.keys() <= ALGORITHMS.keys()
            and all(isinstance(t, float) and 0 < t <= _LONGEST for t in times.values())
        )

    return {name: times for name, times in entries.items() if good(times)}


# -- the file ----------------------------------------------------------------------------------------------


def _read() -> dict[str, dict]:
    """Return what the file holds of this machine: "speeds" by threads at hand, and "tuned"."""
    try:
        content = json_store.read(folder() / FILE)
    except (OSError, ValueError):
        content = {}
    return _mine(_machines(content).get(_name()))


def _write(change: Callable[[dict[str, dict]], None]) -> None:
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
    _changed()


def _name() -> str:
    return json.dumps(machine())


def _machines(content: dict) -> dict[str, dict]:
    """Return what a file holds of each machine; nothing if it is of another schema."""
    machines = content.get("machines") if content.get("schema") == SCHEMA else None
    return dict(machines) if isinstance(machines, dict) else {}


def _mine(entry) -> dict[str, dict]:
    """Return what is known of a machine, each part there, if need be empty."""
    entry = entry if isinstance(entry, dict) else {}
    parts = {name: entry.get(name) for name in ("speeds", "tuned")}
    return entry | {name: dict(part) if isinstance(part, dict) else {} for name, part in parts.items()}
