"""What is known of this machine, kept on disk: its speeds, and which algorithm was measured to be fastest.

    speeds      roofs and paces, measured once, in about a second
    measured    for a problem that was tuned: the seconds of every algorithm that was tried

One small file, for the machine that wrote it. A file that another machine wrote (a home folder may be
shared), that is of another version, or that is no such file at all, is not used: what it would say is
measured anew. A folder that cannot be written to costs that second in every process, and nothing else.
"""

from __future__ import annotations

import json
import math
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import convlab
from convlab.algorithms.passes import PACES
from convlab.measure import readings
from convlab.measure.machine import cores_at_hand
from convlab.measure.predict import Speeds
from convlab.measure.timing import on_one_core
from convlab.problem import ConvProblem

SCHEMA = 1
FILE = "machine.json"


def folder() -> Path:
    """Return where the file lies: $CONVLAB_CACHE_DIR, or the folder that this system keeps for caches."""
    if given := os.environ.get("CONVLAB_CACHE_DIR"):
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "convlab"


def machine() -> dict[str, str]:
    """Return what must be the same for a measurement to hold."""
    return {
        "processor": str(readings.processor()),
        "target": str(readings.compiler_target()),
        "threads": str(cores_at_hand()),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "convlab": convlab.__version__,
    }


@lru_cache
def speeds() -> Speeds:
    """Return the speeds of this machine: kept ones, or measured now and kept."""
    if kept := kept_speeds():
        return kept
    measured = measure()
    write(speeds=measured | {"at": datetime.now().isoformat(" ", "minutes")})
    return Speeds.of(measured["roofs"], measured["paces"])


def kept_speeds() -> Speeds | None:
    """Return the speeds that are kept on disk; None if there are none that can be used."""
    found = _read().get("speeds")
    with suppress(TypeError, ValueError, LookupError, AttributeError):
        return checked(Speeds.of(found["roofs"], found["paces"]))
    return None


def measured_at() -> str | None:
    """Return when the kept speeds were measured, as text; None if none are kept."""
    return str(_read()["speeds"].get("at", "some time ago")) if kept_speeds() else None


def renew(*, forget_tuned: bool = False) -> None:
    """Measure the speeds again and keep them; what `convlab.autotune` measured stays, unless asked."""
    forget()
    write(speeds=None, **({"measured": {}} if forget_tuned else {}))
    speeds()


def measure(*, quick: bool = True) -> dict[str, dict]:
    """Measure the roofs and the paces of this machine, with the effort of `Roofs.here`."""
    from convlab.measure.paces import Paces
    from convlab.measure.roofs import Roofs

    roofs = Roofs.here(quick=quick)
    with on_one_core():
        return {"roofs": roofs.as_dict(), "paces": Paces.here(roofs.flops).as_dict()}


def checked(known: Speeds) -> Speeds:
    """Return the speeds, or say that no machine has them.

    Raises
    ------
    KeyError, TypeError, ValueError
        If one is missing, is no number, or is not above 0.
    """
    rates = [known.flops, known.flops_all, known.threads, *(speed for _, speed in known.memory)]
    if not all(math.isfinite(rate) and rate > 0 for rate in rates):
        raise ValueError("a speed is not above 0")
    if not all(math.isfinite(known.paces[name]) and known.paces[name] >= 0 for name in PACES):
        raise ValueError("a pace is below 0")
    return known


def seconds(problem: ConvProblem, threads: int) -> dict[str, float] | None:
    """Return the measured seconds of every algorithm that was tried on a problem; None if none was."""
    return _measured().get(key(problem, threads))


def keep(problem: ConvProblem, threads: int, found: dict[str, float]) -> None:
    """Keep what `convlab.autotune` measured."""
    from convlab.choose import ranked_on_cpu

    ranked_on_cpu.cache_clear()
    _measured()[key(problem, threads)] = found
    write(measured=_good(_read().get("measured")) | {key(problem, threads): found})


def forget() -> None:
    """Forget what this process has read or measured; what is on disk stays."""
    from convlab.choose import predicted, ranked_on_cpu

    for function in (speeds, _measured, predicted, ranked_on_cpu):
        function.cache_clear()


def key(problem: ConvProblem, threads: int) -> str:
    """Return a problem and a number of threads as one line of text."""
    return json.dumps(asdict(problem) | {"threads": threads})


@lru_cache
def _measured() -> dict[str, dict[str, float]]:
    return _good(_read().get("measured"))


def _good(entries) -> dict[str, dict[str, float]]:
    """Return those entries of a file that are times of algorithms there are."""
    from convlab.algorithms import ALGORITHMS

    def good(times) -> bool:
        return (
            isinstance(times, dict)
            and len(times) > 0
            and times.keys() <= ALGORITHMS.keys()
            and all(isinstance(t, float) and math.isfinite(t) and t > 0 for t in times.values())
        )

    entries = entries if isinstance(entries, dict) else {}
    return {name: times for name, times in entries.items() if good(times)}


def _read() -> dict:
    """Return what the file holds, if this machine wrote it; else nothing."""
    try:
        kept = json.loads((folder() / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(kept, dict) or kept.get("schema") != SCHEMA or kept.get("machine") != machine():
        return {}
    return kept


def write(**changes) -> None:
    """Write the file, with some of it changed; it is whole at any moment."""
    kept = {"schema": SCHEMA, "machine": machine()} | _read() | changes
    aside = folder() / f"{FILE}.{os.getpid()}.part"
    try:
        folder().mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        os.replace(aside, folder() / FILE)
    except OSError:
        with suppress(OSError):
            aside.unlink()
