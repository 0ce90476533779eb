"""The only import of Numba's CUDA target, so that another compiler would be a change of one file.

numba-cuda takes the place of `numba.cuda` where it is installed (``pip install convlab[gpu]``); Numba's own
target serves otherwise. With either, kernels can be defined, read and run lane by lane on any machine.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from convlab.errors import UnsupportedError
from convlab.gpu.diagnose.faults import import_fault

try:
    # numba-cuda names a function that NumPy 2.5 has no longer, when the first kernel is compiled; so that
    # module is imported now, while there is one of that name.
    with patch.object(np, "row_stack", lambda arrays: np.vstack(arrays), create=not hasattr(np, "row_stack")):
        from numba import cuda, float32, float64, int32, uint32, uint64

        if find_spec("numba_cuda"):
            from numba.cuda.np import arrayobj  # noqa: F401
except Exception as error:  # without the toolkit's libraries numba-cuda raises what it likes
    raise UnsupportedError(f"kernels cannot be defined: {import_fault(error)}") from None

# A small grid is no news to a learner: pictures and tests are made of small ones.
cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0


def number_type(dtype: str):
    """Return Numba's type of a number by its name: float32 for "float32"."""
    return {"float32": float32, "float64": float64, "int32": int32, "uint32": uint32, "uint64": uint64}[dtype]


def launch_bounds(threads: int, blocks: int) -> dict:
    """Return what tells `cuda.jit` to leave enough registers for so many blocks on a multiprocessor."""
    if "launch_bounds" in inspect.signature(cuda.jit).parameters:
        return {"launch_bounds": (threads, blocks)}
    return {"max_registers": 65536 // (threads * blocks)}  # Numba's own target knows this way only


def type_of(argument):
    """Return Numba's type of what is passed to a kernel; an array on the device is contiguous, and writable.

    `argument` is a number, a tuple of numbers, an array of any kind that has `dtype` and `ndim` (it is not
    read), or already a type of Numba's.
    """
    from numba import from_dtype, typeof, types

    if isinstance(argument, types.Type):
        return argument
    if getattr(argument, "ndim", 0):
        return types.Array(from_dtype(argument.dtype), argument.ndim, "C")
    return typeof(argument)


def ptx_of(kernel, types, capability) -> str:
    """Return the PTX of a kernel for arguments of these types, made without a driver.

    `capability` is (9, 0) and the like. Every instruction carries its source line, also those of the
    functions that the kernel calls.
    """
    function, options = getattr(kernel, "py_func", kernel), getattr(kernel, "targetoptions", {})
    with _asked_for_lines_only(capability), _called_functions_afresh(function), warnings.catch_warnings():
        # Kernels of a notebook's cell or of the prompt may have no source; that is no news here.
        warnings.simplefilter("ignore")
        ptx, _ = cuda.compile(
            function,
            tuple(types),
            device=False,
            abi="numba",
            cc=capability,
            lineinfo=True,
            fastmath=bool(options.get("fastmath")),
            launch_bounds=options.get("launch_bounds"),
        )
    return ptx


@contextmanager
def _asked_for_lines_only(capability) -> Iterator[None]:
    """Let functions be compiled for `capability` (numba-cuda asks the current GPU), with lines and no more.

    With the lines numba-cuda describes the variables too, for a debugger. NVVM 13.4 refuses what it says of
    some, in kernels whose arrays become registers ("Symbol name with unsupported characters").
    """
    from numba.cuda import debuginfo, dispatcher

    device = SimpleNamespace(compute_capability=capability)
    with (
        patch.object(dispatcher, "get_current_device", lambda: device),
        patch.object(debuginfo.CUDADIBuilder, "update_variable", lambda *_, **__: None),
        patch.object(debuginfo.CUDADIBuilder, "mark_variable", lambda *_, **__: None),
    ):
        yield


@contextmanager
def _called_functions_afresh(function) -> Iterator[None]:
    """Compile the functions that a kernel calls with their lines, and forget that: a launch has its own."""
    called = _called(function, {})
    kept = [(d, d.overloads, d.targetoptions) for d in called]
    for dispatcher in called:
        dispatcher.overloads = type(dispatcher.overloads)()
        dispatcher.targetoptions = dispatcher.targetoptions | {"lineinfo": True}
    try:
        yield
    finally:
        for dispatcher, overloads, options in kept:
            dispatcher.overloads, dispatcher.targetoptions = overloads, options


def _called(function, found: dict) -> list:
    """Return the compiled functions that a function names, and those they name in turn."""
    names = inspect.getclosurevars(function)
    for value in [*names.nonlocals.values(), *names.globals.values()]:
        if hasattr(value, "py_func") and hasattr(value, "overloads") and id(value) not in found:
            found[id(value)] = value
            _called(value.py_func, found)
    return list(found.values())
