"""Sums over what a traced kernel asked of the memory."""

from __future__ import annotations

from collections.abc import Iterable

from convlab.gpu.lanes import Trace

SECTOR = 32  # bytes


def sites(traces: Trace | Iterable[Trace]) -> list:
    """Return the places of the source that touched memory, of one trace or of several."""
    listed = [traces] if isinstance(traces, Trace) else list(traces)
    return [site for trace in listed for site in trace.sites()]


def moved(traces: Trace | Iterable[Trace], kind: str | None = None) -> dict[str, int]:
    """Return the bytes that were moved from and to global memory, in whole sectors, array by array.

    Parameters
    ----------
    traces : Trace, or several
    kind : str, optional
        "ld" or "st" alone.
    """
    found: dict[str, int] = {}
    for site in sites(traces):
        if site.space == "global" and kind in (None, site.kind):
            found[site.array] = found.get(site.array, 0) + SECTOR * site.sectors
    return found


def passes(traces: Trace | Iterable[Trace], array: str | None = None) -> dict[str, int]:
    """Return the requests to shared memory ("ld", "st"), their passes, and the least that would do."""
    total = {"ld": 0, "st": 0, "passes": 0, "least": 0}
    for site in sites(traces):
        if site.space == "shared" and array in (None, site.array):
            total[site.kind] += site.requests
            total["passes"] += site.wavefronts
            total["least"] += site.ideal_wavefronts
    return total
