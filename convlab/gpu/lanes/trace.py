"""What a launch asked of the memory, place by place, and what it did wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from convlab.errors import ParameterError
from convlab.gpu.lanes.log import Rows
from convlab.gpu.lanes.mistakes import KernelError, Mistake, Place
from convlab.gpu.lanes.requests import SECTOR, WARP, WORD, Request, count_distinct, lanes_a_pass, wavefronts
from convlab.gpu.lanes.source import instructions, places


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


class Trace:
    """What a launch asked of the memory, and what it did wrong.

    Attributes
    ----------
    kernel : str
        The kernel's name.
    function : callable
        The kernel's Python function.
    """

    def __init__(self, machine):
        self._machine, self._rows = machine, []
        self.function, self.kernel = machine.kernel, machine.kernel.__name__

    def add(self, block, rows: Rows) -> None:
        """Keep the accesses of a block."""
        self._rows.append((block, rows))

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """What the kernel did wrong, one for each kind and place."""
        return tuple(self._machine.mistakes)

    def check(self) -> None:
        """Raise a `KernelError` if the kernel did anything wrong."""
        if self.mistakes:
            raise KernelError(self.kernel, self.mistakes)

    def sites(self) -> list[Site]:
        """Return a record for every place that touches an array, in the order of the source."""
        return list(self._table.sites)

    def requests(self, site: Site) -> list[Request]:
        """Return the requests of a site, one by one, by block, warp and iteration."""
        return self._table.requests(site)

    def reads(self, array: str) -> np.ndarray:
        """Return how often each element of a global array was read, by threads; the array's shape."""
        return self._table.reads(array)

    def report(self) -> str:
        """Return the sites as a table of text."""
        return _report(self.sites())

    @cached_property
    def _table(self):
        return _Table(self._machine, self._rows)


class _Table:
    """All accesses of a launch, each with its site and its request."""

    def __init__(self, machine, blocks):
        self._machine, self._blocks = machine, [block for block, _ in blocks]
        accesses = machine.log.accesses
        columns = [
            np.concatenate([np.zeros(0, np.int64), *[getattr(rows, name) for _, rows in blocks]])
            for name in ("thread", "path", "instruction", "access", "address")
        ]
        block = np.repeat(np.arange(len(blocks)), [len(rows) for _, rows in blocks])
        landed = np.array([access.kind == "landed" for access in accesses], bool)
        kept = ~landed[columns[3]] if len(accesses) else slice(None)
        self.block = _first_of(self._blocks)[block][kept] if blocks else block
        self.thread, self.path, instruction, self.access, address = (column[kept] for column in columns)
        self.address = address - np.array([access.array.start for access in accesses] or [0])[self.access]
        self._find_sites(instruction, accesses)
        self._find_requests(accesses)

    def _find_sites(self, instruction, accesses):
        """Number the sites: the same place, array, kind and size, whatever the calls and loops around it."""
        step = 1 + int(instruction.max(initial=0))
        spots, of_access = np.unique(
            np.stack([self.path * step + instruction, self.access]), axis=1, return_inverse=True
        )
        keys, number, exact, seen = {}, [], [], {}
        for spot, access in spots.T:
            code = self._machine.paths.nodes[spot // step].code
            position = instructions(code)[spot % step // 2]
            use = accesses[access]
            place = places(code)[position]
            key = (place, use.array, use.kind, use.size)
            number.append(keys.setdefault(key, len(keys)))
            exact.append(seen.setdefault((spot // step, position, access), len(seen)))
        self._keys = list(keys)
        self.site = np.array(number, np.int64)[of_access]
        self._spot = np.array(exact, np.int64)[of_access]

    def _find_requests(self, accesses):
        """Number the requests: the same spot, loops, calls, block and warp; sorted by site, block, warp."""
        columns = [self.site, self.block, self.thread // WARP, self._spot]
        found, self.request = np.unique(np.stack(columns), axis=1, return_inverse=True)
        order = np.argsort(self.request, kind="stable")
        for name in ("block", "thread", "path", "access", "address", "site", "request"):
            setattr(self, name, getattr(self, name)[order])
        self._site_of_request = found[0]

    @cached_property
    def sites(self) -> list[Site]:
        sites = [self._site(number, key) for number, key in enumerate(self._keys)]
        self._number = {site: number for number, site in enumerate(sites)}
        return sorted(sites, key=lambda site: (site.file, site.line))  # within a line as they came

    def _rows_of(self, number):
        start, stop = np.searchsorted(self.site, [number, number + 1])
        return slice(start, stop)

    def _site(self, number, key):
        place, array, kind, size = key
        rows = self._rows_of(number)
        request = self.request[rows] - self.request[rows.start]
        count = int(request[-1]) + 1
        address, lanes = self.address[rows], self.thread[rows] % WARP
        bytes_ = size * count_distinct(request, address, count)
        sectors = ideal_sectors = waves = ideal_waves = np.zeros(1, int)
        if array.space == "global":
            sectors = count_distinct(request, address // SECTOR, count)
            ideal_sectors = -(-bytes_ // SECTOR)
        elif array.space == "shared":
            waves = wavefronts(request, lanes, address, size)
            ideal_waves = count_distinct(request, lanes // lanes_a_pass(size), count)
        else:
            waves, ideal_waves = count_distinct(request, address // WORD, count), np.ones(count, int)
        totals = (int(part.sum()) for part in (bytes_, sectors, ideal_sectors, waves, ideal_waves))
        what = (kind, array.space, array.name, array.shape, array.itemsize, array.base - array.start)
        return Site(*what, place, size, count, len(address), *totals)

    def requests(self, site: Site) -> list[Request]:
        if site not in self.sites:
            raise ParameterError("this site is of another trace")
        rows = self._rows_of(self._number[site])
        starts = rows.start + np.flatnonzero(np.diff(self.request[rows], prepend=-1))
        found = []
        for start, stop in zip(starts, [*starts[1:], rows.stop], strict=True):
            one = slice(start, stop)
            block, path = self._blocks[self.block[start]], self._machine.paths.nodes[self.path[start]]
            warp, lanes = int(self.thread[start]) // WARP, self.thread[one] % WARP
            found.append(Request(tuple(block), warp, path.iterations(), lanes, self.address[one], site.size))
        return sorted(found, key=lambda one: (self._blocks.index(one.block), one.warp, one.iteration))

    def reads(self, array: str) -> np.ndarray:
        accesses = self._machine.log.accesses
        mine = [(n, a) for n, a in enumerate(accesses) if (a.array.name, a.array.space) == (array, "global")]
        if not mine:
            raise ParameterError(f"{self._machine.kernel.__name__} has no global array {array!r}")
        whole = mine[0][1].array
        total = np.zeros(len(whole.flat), np.int64)
        for number, access in mine:
            if access.kind == "ld":
                first = self.address[self.access == number] - (whole.base - whole.start)
                items = first[:, None] // whole.itemsize + np.arange(access.size // whole.itemsize)
                total += np.bincount(items.reshape(-1), minlength=len(total))
        steps = [total.itemsize * step for _, step in whole.axes]
        return np.lib.stride_tricks.as_strided(total, whole.shape, steps).copy()


def _first_of(blocks) -> np.ndarray:
    """Return for every item the number of the first equal one."""
    first = {}
    return np.array([first.setdefault(block, number) for number, block in enumerate(blocks)])


def _report(sites) -> str:
    head = ("line", "what", "array", "requests", "lanes", "sectors", "least", "waves", "least", "source")
    rows = [head]
    for site in sites:
        per = [site.lanes_per_request]
        values = (site.sectors, site.ideal_sectors) if site.space == "global" else (None, None)
        waves = (None, None) if site.space == "global" else (site.wavefronts, site.ideal_wavefronts)
        per += [None if value is None else value / site.requests for value in values + waves]
        figures = ["" if value is None else f"{value:.2f}" for value in per]
        rows.append(
            (
                str(site.line),
                f"{site.kind} {site.space}",
                site.array,
                str(site.requests),
                *figures,
                site.source[:60],
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    lines = [
        "  ".join(
            cell.ljust(width) if i in (1, 2) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row[:-1], widths, strict=True))
        )
        + "  "
        + row[-1]
        for row in rows
    ]
    return "\n".join(lines)
