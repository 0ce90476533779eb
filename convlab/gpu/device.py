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
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from convlab.errors import UnsupportedError
from convlab.gpu.availability import launch_fault
from convlab.gpu.diagnose.driver_errors import translated
from convlab.gpu.launch_args import as_launched
from convlab.gpu.model.speeds import GpuSpeeds, driver_facts
from convlab.gpu.simulated_gpu import Simulator
from convlab.gpu.streams import LEGACY, PER_THREAD, follow, precede, stream_of
from convlab.machine import cuda_driver
from convlab.support.checked import checked

WITHOUT = "; without a GPU, `with convlab.gpu.device.simulated():` runs the same kernels lane by lane"


def _cuda() -> Any:
    from convlab.gpu.numba_cuda import cuda  # says what is missing where it cannot be had

    return cuda


AMPERE = 8, 0  # the capability of the first GPUs with `cp.async`, and with `mma.sync` of 16 x 8 x 16 numbers


class Gpu:
    """The NVIDIA GPU of this machine."""

    name = "gpu"

    @property
    def stream_per_thread(self) -> bool:
        """Is the default stream one of each thread? Then the work of two threads is in no order."""
        return bool(getattr(_cuda().config, "CUDA_PER_THREAD_DEFAULT_STREAM", False))

    @property
    def capability(self) -> tuple[int, int]:
        """What it can do, by NVIDIA's count: (9, 0) and the like."""
        with translated("asking for the GPU in use"):
            return tuple(_cuda().get_current_device().compute_capability)

    @property
    def multiprocessors(self) -> int:
        """How many blocks, at least, it can work on at once: each multiprocessor has its own."""
        with translated("asking for the GPU in use"):
            return _cuda().get_current_device().MULTIPROCESSOR_COUNT

    @cached_property
    def speeds(self) -> GpuSpeeds | None:
        """How fast its units are, by what the driver tells; None if that is too little, or it is too new."""
        with translated("asking for the GPU in use"):
            return GpuSpeeds.of_facts("this GPU", driver_facts(_cuda().get_current_device()))

    def wait(self) -> None:
        """Wait until all work that this thread has asked for is done."""
        with translated("waiting for the GPU"):
            _cuda().default_stream().synchronize()

    def put(self, array: np.ndarray) -> Any:
        """Return a copy of a NumPy array in the device's memory."""
        with translated("copying to the GPU", array.nbytes):
            return _cuda().to_device(np.ascontiguousarray(array))

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an array of the device's memory; what it holds is not known."""
        size = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
        with translated("taking memory on the GPU", size):
            return _cuda().device_array(shape, dtype)

    def get(self, array: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return a NumPy copy of a device array, in `out` if that is given."""
        with translated("copying from the GPU"):
            return array.copy_to_host(out)

    def adopt(self, array: Any) -> Any:
        """Return another library's device array as Numba's, in the same memory."""
        # It has been found contiguous. Told so, Numba makes one kernel for all, however odd the strides of
        # an axis of one are.
        # And on no stream: Numba would let the host wait for it, where `follow` lets the kernels' stream.
        interface = {**array.__cuda_array_interface__, "strides": None, "stream": None}
        with translated("reading an array on the GPU"):
            follow(_cuda(), self._others((array,)))
            return _cuda().from_cuda_array_interface(interface, owner=array)

    def hand_back(self, *arrays: Any) -> None:
        """Let the streams of other libraries' arrays wait for the kernels that were launched with them."""
        with translated("handing arrays back on the GPU"):
            precede(_cuda(), self._others(arrays))

    def _others(self, arrays: tuple) -> set[int]:
        """Return the streams that arrays are written on, without that of the kernels."""
        streams = {stream for stream in map(stream_of, arrays) if stream is not None}
        return streams and streams - {PER_THREAD if self.stream_per_thread else LEGACY}

    def free(self) -> int:
        """Return the bytes of device memory that are free now."""
        with translated("asking the GPU for its memory"):  # the first thing that most runs ask it
            context = _cuda().current_context()
            context.deallocations.clear()  # Numba gives back in batches what is no longer used
            return int(context.get_memory_info()[0])

    def holds(self, pointer: int) -> bool:
        """Say if an address lies in the memory of this device, and not in another one's."""
        with translated("asking for the GPU in use"):
            return cuda_driver.home_of(pointer) in (None, _cuda().get_current_device().id)

    def launch(self, kernel: Any, grid: Any, block: Any, *arguments: Any) -> None:
        """Run a kernel on `grid` blocks of `block` threads; whole numbers are passed as uint32."""
        with translated("the launch of a kernel"):
            kernel[grid, block](*self.passed(arguments))

    def passed(self, arguments: tuple) -> list:
        """Return the arguments of a launch as a kernel gets them."""
        return [as_launched(value) for value in arguments]


_current: ContextVar[Gpu | Simulator | None] = ContextVar("device", default=None)


def current() -> Gpu | Simulator:
    """Return the device that GPU forms run on: the simulator inside ``with simulated():``, else the GPU."""
    device = _current.get()
    if device is not None:
        return device
    if fault := launch_fault():
        raise UnsupportedError(f"backend='gpu' cannot run here: {fault}{WITHOUT}")
    return Gpu()


@checked
@contextmanager
def simulated(traced: bool = True, accumulate: str = "rounded") -> Iterator[Simulator]:
    """Let GPU forms run in the lane simulator inside a ``with``; see `Simulator` for what it may be told."""
    device = Simulator(traced, accumulate)
    with using(device):
        yield device


@checked
@contextmanager
def using(device: Gpu | Simulator) -> Iterator[Gpu | Simulator]:
    """Let GPU forms run on this device inside a ``with``."""
    token = _current.set(device)
    try:
        yield device
    finally:
        _current.reset(token)


@contextmanager
def planned_for(speeds: GpuSpeeds) -> Iterator[None]:
    """Let launches be planned for a GPU of these speeds inside a ``with``; it is not here."""
    device = Simulator(traced=False)
    device.multiprocessors, device.speeds = speeds.multiprocessors, speeds
    device.capability = speeds.capability
    with using(device):
        yield


def device_multiprocessors() -> int:
    """Return the multiprocessors of the device that kernels run on now.

    Where there is no GPU, that is what the simulator states: a launch can be looked at on any machine.
    """
    return _at_hand().multiprocessors


def device_speeds() -> GpuSpeeds:
    """Return the speeds of the device that kernels run on now; if they are not known, of one of its size."""
    device = _at_hand()
    return device.speeds or GpuSpeeds.of_size(device.multiprocessors)


def lacks_ampere() -> str | None:
    """Say why a kernel that needs `AMPERE` does not serve the device at hand; None if it does."""
    has = _at_hand().capability
    if has >= AMPERE:
        return None
    need, told = (".".join(map(str, one)) for one in (AMPERE, has))
    return f"its instructions need compute capability {need}, and this GPU has {told}"


def _at_hand() -> Gpu | Simulator | type[Simulator]:
    # What is asked of it are facts. A simulator has them before it is made, which takes the import of Numba.
    return _current.get() or (Simulator if launch_fault() else Gpu())


def gpu_trouble() -> str | None:
    """Return why no GPU can be used here, or None if one can."""
    fault = launch_fault()
    return str(fault) if fault else None
