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

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod

import numpy as np

from convlab.errors import UnsupportedError
from convlab.gpu import driver, trouble
from convlab.gpu.refusals import in_words

COUNTED = (1 << 32) - (1 << 10)  # numbers of an array, and room for the threads of a last block


WITHOUT = "; without a GPU, `with convlab.gpu.device.simulated():` runs the same kernels lane by lane"


class Gpu:
    """The NVIDIA GPU of this machine."""

    name = "gpu"

    def put(self, array: np.ndarray):
        """Return a copy of a NumPy array in the device's memory."""
        from convlab.gpu._cuda import cuda

        with in_words("copying to the GPU", array.nbytes):
            return cuda.to_device(np.ascontiguousarray(array))

    def empty(self, shape, dtype):
        """Return an array of the device's memory; what it holds is not known."""
        from convlab.gpu._cuda import cuda

        size = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
        with in_words("taking memory on the GPU", size):
            return cuda.device_array(shape, dtype)

    def get(self, array, out: np.ndarray | None = None) -> np.ndarray:
        """Return a NumPy copy of a device array, in `out` if that is given."""
        with in_words("copying from the GPU"):
            return array.copy_to_host(out)

    def adopt(self, array):
        """Return another library's device array as Numba's, in the same memory."""
        from convlab.gpu._cuda import cuda

        # It has been found contiguous. Told so, Numba makes one kernel for all, however odd the strides of
        # an axis of one are.
        interface = {**array.__cuda_array_interface__, "strides": None}
        with in_words("reading an array on the GPU"):
            return cuda.from_cuda_array_interface(interface, owner=array)

    def free(self) -> int:
        """Return the bytes of device memory that are free now."""
        from convlab.gpu._cuda import cuda

        with in_words("asking the GPU for its memory"):  # the first thing that most runs ask it
            context = cuda.current_context()
            context.deallocations.clear()  # Numba gives back in batches what is no longer used
            return int(context.get_memory_info()[0])

    def holds(self, pointer: int) -> bool:
        """Say if an address lies in the memory of this device, and not in another one's."""
        from convlab.gpu._cuda import cuda

        with in_words("asking for the GPU in use"):
            return home_of(pointer) in (None, cuda.get_current_device().id)

    def launch(self, kernel, grid, block, *arguments) -> None:
        """Run a kernel on `grid` blocks of `block` threads; whole numbers are passed as uint32."""
        with in_words("the launch of a kernel"):
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

    def get(self, array, out: np.ndarray | None = None) -> np.ndarray:
        """Return a copy of a device array, in `out` if that is given."""
        if out is None:
            return np.array(array)  # and no longer one that knows what was written
        out[...] = array
        return out

    def adopt(self, array):
        """Return another library's device array as NumPy's, in the same memory."""
        return np.asarray(_SameMemory(array.__cuda_array_interface__))

    def free(self) -> int | None:
        """Return the bytes of memory that are free now; None if that cannot be known."""
        from convlab.measure import machine

        return machine.memory_at_hand()

    def holds(self, pointer: int) -> bool:
        """Say if an address lies in this device's memory: there is just one."""
        return True

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
    if found := gpu_trouble():
        raise UnsupportedError(f"backend='gpu' cannot run here: {found}{WITHOUT}")
    return Gpu()


@contextmanager
def simulated(traced: bool = True) -> Iterator[Simulator]:
    """Let GPU forms run in the lane simulator inside a ``with``."""
    with using(Simulator(traced)) as device:
        yield device


@contextmanager
def using(device: Gpu | Simulator) -> Iterator[Gpu | Simulator]:
    """Let GPU forms run on this device inside a ``with``."""
    token = _current.set(device)
    try:
        yield device
    finally:
        _current.reset(token)


def gpu_trouble() -> str | None:
    """Return why no GPU can be used here, or None if one can."""
    found = trouble.of_running()
    return str(found) if found else None


def home_of(pointer: int) -> int | None:
    """Return the number of the device whose memory an address lies in; None if the driver does not say."""
    cuda = driver.library()
    if cuda is None:
        return None
    ordinal = ctypes.c_int()
    refused = cuda.cuPointerGetAttribute(ctypes.byref(ordinal), _DEVICE_ORDINAL, ctypes.c_uint64(pointer))
    return None if refused else ordinal.value


_DEVICE_ORDINAL = 9  # CUpointer_attribute's CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


class _SameMemory:
    """What NumPy needs to know to look at memory that is described in CUDA's way."""

    def __init__(self, interface: dict):
        self.__array_interface__ = {**interface, "version": 3}


def as_launched(value):
    """Return an argument as kernels get it: whole numbers as uint32, in tuples too, everything else as it is.

    One type for all sizes: a kernel is compiled once, and its arithmetic is the hardware's own, 32 bits.

    Raises
    ------
    UnsupportedError
        If an array has more numbers than 32 bits can count.
    """
    if isinstance(value, tuple):
        return tuple(map(as_launched, value))
    if getattr(value, "size", 0) > COUNTED:
        raise UnsupportedError(
            f"an array of {value.size:,} numbers; kernels count with 32 bits, up to {COUNTED:,}: "
            "make the batch N smaller"
        )
    return np.uint32(value) if isinstance(value, (int, np.integer)) else value
