"""Measure the speeds by which "auto" chooses: ``convlab bench speeds``.

Roofs (how fast this machine multiplies and adds, and copies) and overheads (what small things cost), with the
library's own operations. That takes about two seconds; compiling what is measured takes some more the first
time. It should be done while nothing else runs: what disturbs makes a machine look slower than it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from convlab.auto import machine_file, speeds
from convlab.auto.overheads import overheads
from convlab.auto.predict import Speeds
from convlab.auto.roofs import Roofs, copy_sizes
from convlab.auto.timing import on_all_cores, on_one_core
from convlab.cost.phases import OVERHEADS
from convlab.errors import ConvError
from convlab.machine.facts import cores_at_hand
from convlab.support.locks import locked
from convlab.support.units import bytes_text, count_text, time_text

OnStep = Callable[[str], None]


def measure(*, quick: bool = True, on_step: OnStep = lambda name: None) -> dict[str, dict]:
    """Measure the roofs and the overheads of this machine, with the effort of `Roofs.here`."""
    with on_all_cores():
        roofs = Roofs.here(quick=quick, on_step=on_step)
    with on_one_core():
        return {"roofs": roofs.as_dict(), "overheads": overheads(roofs.flops, on_step)}


def steps() -> int:
    """Return how many things `measure` measures, one after the other."""
    return len({1, cores_at_hand()}) + len(copy_sizes()) + len(OVERHEADS)


def renew(*, forget_tuned: bool = False, on_step: OnStep = lambda name: None) -> tuple[Speeds | None, Speeds]:
    """Measure the speeds of this machine and keep them; two that measure at once would find half of them.

    Parameters
    ----------
    forget_tuned : bool
        Also throw away what `convlab.autotune` has measured.
    on_step : callable
        Told what is measured next, in words.

    Returns
    -------
    Speeds or None, Speeds
        Those by which "auto" chose before, if there were any, and those that were measured now.
    """
    before = None
    with suppress(ConvError):  # the files that come with convlab may not be whole
        before = speeds.speeds()
    with locked(machine_file.folder() / ".speeds.lock", patience=30):
        measured = measure(on_step=on_step)
        machine_file.keep_speeds(measured)
    if forget_tuned:
        machine_file.forget_tuned()
    return before, Speeds.of(measured["roofs"], measured["overheads"])


def in_words(speeds: Speeds) -> dict[str, str]:
    """Return each speed as people read it."""
    words = {"multiply-adds, one core": f"{count_text(speeds.flops)}FLOP/s"}
    if speeds.threads > 1:
        words[f"multiply-adds, {speeds.threads} cores"] = f"{count_text(speeds.flops_all)}FLOP/s"
    *caches, (_, memory) = speeds.memory
    words |= {f"copies in {bytes_text(room)}": f"{bytes_text(speed)}/s" for room, speed in caches}
    words["copies in memory"] = f"{bytes_text(memory)}/s"
    return words | {name: time_text(seconds) for name, seconds in speeds.overheads.items()}
