"""All accesses of a launch, sorted into requests, and these by the place they are made at."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from convlab.errors import ParameterError
from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator.access_log import AccessRows, unique_rows
from convlab.gpu.simulator.bank_conflicts import WORD, parts, wavefronts
from convlab.gpu.simulator.kernel_source import instructions, places
from convlab.gpu.simulator.requests import SECTOR, Request, Site
from convlab.support.integers import ceil_div


class AccessTable:
    """All accesses of a launch, each with its site and its request."""

    def __init__(self, simulation, blocks):
        self._simulation, self._blocks = simulation, list(dict.fromkeys(block for block, _ in blocks))
        number = {block: i for i, block in enumerate(self._blocks)}
        block = np.repeat([number[block] for block, _ in blocks], [len(rows) for _, rows in blocks])
        rows = AccessRows.together([rows for _, rows in blocks])
        accesses = simulation.log.accesses
        asked = np.array([access.kind not in ("fetched", "landed") for access in accesses], bool)[rows.access]
        rows, block = rows[asked], block[asked].astype(np.int64)
        starts = np.array([access.array.start for access in accesses], np.int64)
        spot = self._find_sites(rows, accesses)
        # A request: the same spot, loops, calls, block and warp. Sorted by site, block, warp, request, lane.
        _, request = unique_rows(self._sites, block, rows.thread // WARP, spot)
        order = np.lexsort((rows.thread, request))
        self._request, self._sites, self._block, self._rows = (
            column[order] for column in (request, self._sites, block, rows)
        )
        self._address = self._rows.address - starts[self._rows.access]

    def _find_sites(self, rows, accesses):
        """Number the sites, and return for every row the number of its path, place and kind of access.

        A site is a place, an array, a kind and a size, whatever the calls and loops around it.
        """
        (paths, instruction, access), inverse = unique_rows(rows.path, rows.instruction, rows.access)
        sites, spots, site, spot = {}, {}, [], []
        for path, f_lasti, number in zip(paths.tolist(), instruction.tolist(), access.tolist(), strict=True):
            code, use = self._simulation.paths[path].code, accesses[number]
            position = instructions(code)[f_lasti // 2]
            key = (places(code)[position], use.array, use.kind, use.size)
            site.append(sites.setdefault(key, len(sites)))
            spot.append(spots.setdefault((path, position, number), len(spots)))
        self._keys = list(sites)
        self._sites = np.array(site, np.int64)[inverse]
        return np.array(spot, np.int64)[inverse]

    @cached_property
    def sites(self) -> list[Site]:
        """The sites, in the order of the source."""
        sites = [self._site(number, key) for number, key in enumerate(self._keys)]
        self._number = {site: number for number, site in enumerate(sites)}
        return sorted(sites, key=lambda site: (site.file, site.line))  # within a line as they came

    def _rows_of(self, number):
        start, stop = np.searchsorted(self._sites, [number, number + 1])
        return slice(int(start), int(stop))

    def _site(self, number, key):
        place, array, kind, size = key
        rows = self._rows_of(number)
        request = self._request[rows] - self._request[rows.start]
        count = int(request[-1]) + 1
        address, lanes = self._address[rows], self._rows.thread[rows] % WARP
        bytes_ = size * _count_distinct(request, address, count)
        sectors = ideal_sectors = waves = ideal_waves = np.zeros(1, int)
        if array.space == "global":
            sectors = _count_distinct(request, address // SECTOR, count)
            ideal_sectors = ceil_div(bytes_, SECTOR)
        elif array.space == "shared":
            asked = request, lanes, address, size, kind
            waves, ideal_waves = wavefronts(*asked), _count_distinct(request, parts(*asked), count)
        else:
            waves, ideal_waves = _count_distinct(request, address // WORD, count), np.ones(count, int)
        totals = (int(part.sum()) for part in (bytes_, sectors, ideal_sectors, waves, ideal_waves))
        what = (kind, array.space, array.name, array.shape, array.itemsize, array.base - array.start)
        return Site(*what, place, size, count, len(address), *totals)

    def requests(self, site: Site) -> list[Request]:
        """Return the requests of a site."""
        rows = self._rows_of(self._number[site])
        starts = rows.start + np.flatnonzero(np.diff(self._request[rows], prepend=-1))
        found = [
            self._one(slice(start, stop), site)
            for start, stop in zip(starts, [*starts[1:], rows.stop], strict=True)
        ]
        return sorted(found, key=lambda one: (one.block[::-1], one.warp, one.iteration))

    def _one(self, rows, site):
        path = self._simulation.paths[self._rows.path[rows.start]]
        threads, block = self._rows.thread[rows], tuple(self._blocks[self._block[rows.start]])
        warp = int(threads[0]) // WARP
        lanes, addresses = threads % WARP, self._address[rows]
        return Request(block, warp, path.iterations(), lanes, addresses, site.size, site.kind)

    def reads(self, array: str) -> np.ndarray:
        """Return how often each element of a global array was read."""
        accesses = self._simulation.log.accesses
        mine = [(n, a) for n, a in enumerate(accesses) if (a.array.name, a.array.space) == (array, "global")]
        if not mine:
            raise ParameterError(
                f"array={array!r}; {self._simulation.kernel.__name__} has no global array of that name"
            )
        whole = mine[0][1].array
        total = np.zeros(len(whole.flat), np.int64)
        for number, access in mine:
            if access.kind == "ld":
                first = self._address[self._rows.access == number] - (whole.base - whole.start)
                items = first[:, None] // whole.itemsize + np.arange(access.size // whole.itemsize)
                total += np.bincount(items.reshape(-1), minlength=len(total))
        steps = [total.itemsize * step for _, step in whole.axes]
        return np.lib.stride_tricks.as_strided(total, whole.shape, steps).copy()


def _count_distinct(request: np.ndarray, things: np.ndarray, requests: int) -> np.ndarray:
    """Return how many different things each request has."""
    (request, _), _ = unique_rows(request, things)
    return np.bincount(request, minlength=requests)
