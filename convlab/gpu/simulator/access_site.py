"""What one place of a kernel's source asked of the memory, in sum."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.gpu.simulator.errors import Place
from convlab.support.tables import lines


@dataclass(frozen=True)
class Site:
    """One place of the source that touches one array, and all the requests made there.

    Attributes
    ----------
    kind, space, array : str
        "ld", "st" or "atomic"; "global", "shared" or "const"; the array's name.
    shape, itemsize : tuple of int, int
        Of the array.
    offset : int
        Bytes from the beginning of the allocation, or of shared memory, to the array's first element.
    place : Place
        Where in the source.
    size : int
        Bytes each lane asks for at once.
    requests, lanes : int
        How many; and lanes of them all.
    bytes : int
        Different bytes they ask for, request by request.
    sectors, ideal_sectors : int
        Sectors of 32 bytes they touch, and the least that could hold these bytes. Global memory only, else 0.
    wavefronts, ideal_wavefronts : int
        Passes they take, and would take without any conflict. Shared and constant memory, else 0.
    """

    kind: str
    space: str
    array: str
    shape: tuple[int, ...]
    itemsize: int
    offset: int
    place: Place
    size: int
    requests: int
    lanes: int
    bytes: int
    sectors: int
    ideal_sectors: int
    wavefronts: int
    ideal_wavefronts: int

    file = property(lambda self: self.place.file)
    line = property(lambda self: self.place.line)
    source = property(lambda self: self.place.source)
    lanes_per_request = property(lambda self: self.lanes / self.requests)
    sectors_per_request = property(lambda self: self.sectors / self.requests)
    wavefronts_per_request = property(lambda self: self.wavefronts / self.requests)


def report(sites: list[Site]) -> str:
    """Return sites as a table: how many requests, and what one of them takes on average."""
    rows = [("line", "what", "array", "requests", "lanes", "sectors", "least", "waves", "least", "source")]
    for site in sites:
        sectors, waves = (site.sectors, site.ideal_sectors), (site.wavefronts, site.ideal_wavefronts)
        costs = (*sectors, None, None) if site.space == "global" else (None, None, *waves)
        averages = ["" if total is None else f"{total / site.requests:.2f}" for total in (site.lanes, *costs)]
        what = f"{site.kind} {site.space}"
        rows.append((str(site.line), what, site.array, str(site.requests), *averages, site.source))
    left = {1, 2, len(rows[0]) - 1}
    return "\n".join(lines(rows, right=set(range(len(rows[0]))) - left))
