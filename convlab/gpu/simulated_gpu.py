"""The lane simulator as a device: it stands where a GPU would, for any form, and keeps what it saw.

It has the four words of `convlab.gpu.device`: put, empty, launch, get. The memory is NumPy's, filled with
poison, and a launch is `convlab.gpu.simulator.run`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from convlab.gpu.launch_args import as_launched
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.occupancy import GPUS
from convlab.support.checked import checked
from convlab.support.checks import check_choice

if TYPE_CHECKING:
    from convlab.gpu.simulator import Trace


@checked
class Simulator:
    """A device of plain NumPy arrays, with a trace of every launch.

    Parameters
    ----------
    traced : bool
        Whether traces keep the requests.
    accumulate : str
        How tensor cores add, "rounded" or "truncated"; see `convlab.gpu.simulator.run`.

    Attributes
    ----------
    traces : list of convlab.gpu.simulator.Trace
        One a launch, in order.
    """

    name = "simulator"
    capability = 9, 0  # an H100's; so are its multiprocessors
    multiprocessors = GPUS["H100"][1]  # which tiles it is given depends on that, not how they are run
    speeds: GpuSpeeds | None = None  # no time passes here; a GPU's, to choose what that would take
    stream_per_thread = False  # it is done when it has been asked for

    def __init__(self, traced: bool = True, accumulate: str = "rounded"):
        from convlab.gpu.simulator.tensor_sums import ACCUMULATE

        self.traced, self.accumulate = traced, check_choice("accumulate", accumulate, ACCUMULATE)
        self.traces: list[Trace] = []

    def put(self, array: np.ndarray) -> Any:
        """Return a copy of a NumPy array."""
        return np.array(array, order="C")

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an array whose every byte is poison: what is read before it is written shows."""
        from convlab.gpu import simulator

        return simulator.poisoned(shape, dtype)

    def get(self, array: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return a copy of a device array, in `out` if that is given."""
        if out is None:
            return np.array(array)  # and no longer one that knows what was written
        out[...] = array
        return out

    def adopt(self, array: Any) -> Any:
        """Return another library's device array as NumPy's, in the same memory."""
        interface = {**array.__cuda_array_interface__, "version": 3}
        return np.asarray(SimpleNamespace(__array_interface__=interface))

    def hand_back(self, *arrays: Any) -> None:
        """Nobody need wait: a launch is over when it returns."""

    def free(self) -> int | None:
        """Return the bytes of memory that are free now; None if that cannot be known."""
        from convlab.machine import facts

        return facts.memory_at_hand()

    def holds(self, pointer: int) -> bool:
        """Say if an address lies in this device's memory: there is just one."""
        return True

    def launch(self, kernel: Any, grid: Any, block: Any, *arguments: Any) -> None:
        """Run a kernel lane by lane; a race, or an access out of bounds, is an error."""
        from convlab.gpu import simulator

        given = map(as_launched, arguments)
        trace = simulator.run(kernel, grid, block, *given, traced=self.traced, accumulate=self.accumulate)
        self.traces.append(trace)
        trace.check()
