"""Sums over what traced kernels asked of the memory, or of the bus to it."""

from __future__ import annotations

from collections.abc import Iterable

from convlab.algorithms.spec import Algorithm
from convlab.gpu import simulator
from convlab.gpu.launch_args import as_launched
from convlab.gpu.simulated_gpu import Simulator
from convlab.gpu.simulator import Trace
from convlab.gpu.simulator.requests import SECTOR
from convlab.inspect.launches import run_on
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.checks import check_choice


@checked
def sites(traces: Trace | Iterable[Trace]) -> list:
    """Return the places of the source that touched memory, of one trace or of several."""
    several = [traces] if isinstance(traces, Trace) else list(traces)
    return [site for trace in several for site in trace.sites()]


@checked
def global_traffic(traces: Trace | Iterable[Trace], kind: str | None = None) -> dict[str, int]:
    """Return the bytes that were moved from and to global memory, in whole sectors, array by array.

    Parameters
    ----------
    traces : Trace, or several
    kind : str, optional
        "ld" or "st" alone.
    """
    if kind is not None:
        check_choice("kind", kind, ("ld", "st"))
    found: dict[str, int] = {}
    for site in sites(traces):
        if site.space == "global" and kind in (None, site.kind):
            found[site.array] = found.get(site.array, 0) + SECTOR * site.sectors
    return found


# -- of an algorithm ---------------------------------------------------------------------------------------


class FirstBlock(Simulator):
    """A simulator that runs one block of every launch: enough to count by, far quicker than all."""

    def launch(self, kernel, grid, block, *arguments) -> None:
        """Run block 0 lane by lane. What it misses from other blocks is no mistake, so none is looked for."""
        given = map(as_launched, arguments)
        self.traces.append(simulator.run(kernel, grid, block, *given, blocks=[(0, 0, 0)]))


class Bus(Simulator):
    """A simulator that counts what crosses the bus between the processor's memory and the device's.

    Attributes
    ----------
    bytes : int
        Of all arrays that were put there or fetched back.
    """

    def __init__(self):
        super().__init__(traced=False)
        self.bytes = 0

    def put(self, array):
        """Copy an array to the device."""
        self.bytes += array.nbytes
        return super().put(array)

    def get(self, array, out=None):
        """Copy an array of the device back."""
        self.bytes += array.nbytes
        return super().get(array, out)


@checked
def first_block(problem: ConvProblem, algorithm: Algorithm | str) -> list[Trace]:
    """Return the trace of the first block of every launch of an algorithm."""
    device = FirstBlock()
    run_on(device, problem, algorithm)
    return device.traces
