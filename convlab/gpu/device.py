"""Where GPU forms run: on a GPU, or in the lane simulator, which is none.

A form is written once, against four words::

    device = current()
    a = device.put(array)                        # a copy in the device's memory
    b = device.empty(shape, dtype)
    device.launch(kernel, grid, block, a, b, 7)
    array = device.get(b)

On a machine without a GPU, `simulated` puts the simulator in its place::

    with simulated() as device:
        y = conv2d(x, w, backend="gpu")
    device.traces                                # what every launch asked of the memory
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from convlab.errors import UnsupportedError


class Gpu:
    """The NVIDIA GPU of this machine."""

    name = "gpu"

    def put(self, array: np.ndarray):
        """Return a copy of a NumPy array in the device's memory."""
        from convlab.gpu._cuda import cuda

        return cuda.to_device(np.ascontiguousarray(array))

    def empty(self, shape, dtype):
        """Return an array of the device's memory; what it holds is not known."""
        from convlab.gpu._cuda import cuda

        return cuda.device_array(shape, dtype)

    def get(self, array) -> np.ndarray:
        """Return a NumPy copy of a device array."""
        return array.copy_to_host()

    def launch(self, kernel, grid, block, *arguments) -> None:
        """Run a kernel on `grid` blocks of `block` threads; whole numbers are passed as uint32."""
        kernel[grid, block](*[as_launched(value) for value in arguments])


class Simulator:
    """The lane simulator as a device: plain NumPy arrays, and a trace of every launch.

    Attributes
    ----------
    traces : list of convlab.gpu.lanes.Trace
        One a launch, in order.
    """

    name = "simulator"

    def __init__(self, traced: bool = True):
        self.traces, self.traced = [], traced

    def put(self, array: np.ndarray):
        """Return a copy of a NumPy array."""
        return np.array(array, order="C")

    def empty(self, shape, dtype):
        """Return an array whose every byte is poison: what is read before it is written shows."""
        from convlab.gpu import lanes

        return lanes.poisoned(shape, dtype)

    def get(self, array) -> np.ndarray:
        """Return a copy of a device array."""
        return array.copy()

    def launch(self, kernel, grid, block, *arguments) -> None:
        """Run a kernel lane by lane; a race, or an access out of bounds, is an error."""
        from convlab.gpu import lanes

        arguments = [as_launched(value) for value in arguments]
        trace = lanes.run(kernel, grid, block, *arguments, traced=self.traced)
        self.traces.append(trace)
        trace.check()


_current: ContextVar[Gpu | Simulator | None] = ContextVar("device", default=None)


def current() -> Gpu | Simulator:
    """Return the device that GPU forms run on: the simulator inside ``with simulated():``, else the GPU."""
    device = _current.get()
    if device is not None:
        return device
    if trouble := gpu_trouble():
        raise UnsupportedError(f"backend='gpu' cannot run here: {trouble}")
    return Gpu()


@contextmanager
def simulated(traced: bool = True) -> Iterator[Simulator]:
    """Let GPU forms run in the lane simulator inside a ``with``."""
    device = Simulator(traced)
    token = _current.set(device)
    try:
        yield device
    finally:
        _current.reset(token)


def gpu_trouble() -> str | None:
    """Return why no GPU can be used here, or None if one can."""
    try:
        from convlab.gpu._cuda import cuda
    except ImportError as error:
        return str(error).partition("\n")[0]
    if cuda.is_available():
        return None
    return "no NVIDIA GPU and driver were found"


def as_launched(value):
    """Return an argument as kernels get it: whole numbers as uint32, everything else as it is.

    One type for all sizes: a kernel is compiled once, and its arithmetic is the hardware's own, 32 bits.
    """
    return np.uint32(value) if isinstance(value, (int, np.integer)) else value
