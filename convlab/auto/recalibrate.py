"""Measure the speeds of this machine anew, and show them beside those that were known.

"auto" believes what was measured once (`convlab.auto.speeds`). That may have been an unlucky second: other
programs ran, or a laptop saved its battery.
"""

from __future__ import annotations

from convlab.auto import speeds as known
from convlab.auto.predict import Speeds
from convlab.support.units import bytes_text, count_text, time_text


def renew(*, forget_tuned: bool = False) -> list[tuple[str, str, str]]:
    """Measure and keep the speeds.

    Parameters
    ----------
    forget_tuned : bool
        Also throw away what `convlab.autotune` has measured.

    Returns
    -------
    list of (str, str, str)
        For each speed its name, what was known of it, and what was measured now.
    """
    kept = known.kept_speeds()
    before = _in_words(kept) if kept else {}
    known.renew(forget_tuned=forget_tuned)
    return [(name, before.get(name, ""), now) for name, now in _in_words(known.speeds()).items()]


def _in_words(speeds: Speeds) -> dict[str, str]:
    """Return each speed as people read it."""
    words = {"multiply-adds, one core": f"{count_text(speeds.flops)}FLOP/s"}
    if speeds.threads > 1:
        words[f"multiply-adds, {speeds.threads} cores"] = f"{count_text(speeds.flops_all)}FLOP/s"
    *caches, (_, memory) = speeds.memory
    words |= {f"copies in {bytes_text(room)}": f"{bytes_text(speed)}/s" for room, speed in caches}
    words["copies in memory"] = f"{bytes_text(memory)}/s"
    return words | {name: time_text(overhead) for name, overhead in speeds.overheads.items()}
