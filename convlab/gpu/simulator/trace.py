"""What `simulator.run` returns: the requests of a launch, place by place, and its mistakes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from convlab.errors import ParameterError
from convlab.gpu.simulator.access_log import AccessRows
from convlab.gpu.simulator.access_table import AccessTable
from convlab.gpu.simulator.errors import KernelError, Mistake
from convlab.gpu.simulator.requests import Request, Site
from convlab.support.checked import checked
from convlab.support.tables import lines

_COLUMNS = ("line", "what", "array", "requests", "lanes", "sectors", "least", "waves", "least", "source")


class Trace:
    """What a launch asked of the memory, and what it did wrong.

    Attributes
    ----------
    kernel : str
        The kernel's name.
    function : callable
        The kernel's Python function.
    """

    def __init__(self, simulation: Any) -> None:
        self._simulation = simulation
        self._rows: list[tuple[Any, AccessRows]] = []
        self.function, self.kernel = simulation.kernel, simulation.kernel.__name__

    def add(self, block: Any, rows: AccessRows) -> None:
        """Keep the accesses of a block."""
        self._rows.append((block, rows))

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """What the kernel did wrong, one for each kind and place."""
        return tuple(self._simulation.mistakes)

    def check(self) -> None:
        """Raise a `KernelError` if the kernel did anything wrong."""
        if self.mistakes:
            raise KernelError(self.kernel, self.mistakes)

    def sites(self) -> list[Site]:
        """Return a record for every place that touches an array, in the order of the source."""
        return list(self._table.sites)

    @checked
    def requests(self, site: Site) -> list[Request]:
        """Return the requests of a site, one by one, by block, warp and iteration."""
        if site not in self._table.sites:
            raise ParameterError(f"site is line {site.line}, which is not in the trace of {self.kernel!r}")
        return self._table.requests(site)

    @checked
    def reads(self, array: str) -> np.ndarray:
        """Return how often each element of a global array was read, by threads; the array's shape."""
        return self._table.reads(array)

    def report(self) -> str:
        """Return the sites as a table of text: how many requests, and what one of them takes on average."""
        rows: list[tuple[str, ...]] = [_COLUMNS]
        for site in self.sites():
            sectors, waves = (site.sectors, site.ideal_sectors), (site.wavefronts, site.ideal_wavefronts)
            costs = (*sectors, None, None) if site.space == "global" else (None, None, *waves)
            totals = site.lanes, *costs
            averages = ["" if total is None else f"{total / site.requests:.2f}" for total in totals]
            what = f"{site.kind} {site.space}"
            rows.append((str(site.line), what, site.array, str(site.requests), *averages, site.source))
        return "\n".join(lines(rows, right={0, *range(3, 9)}))

    @cached_property
    def _table(self) -> AccessTable:
        return AccessTable(self._simulation, self._rows)
