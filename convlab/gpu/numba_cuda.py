"""The only import of Numba's CUDA target, so that another compiler would be a change of one file.

numba-cuda takes the place of `numba.cuda` where it is installed (``pip install convlab[gpu]``); Numba's own
target serves otherwise. With either, kernels can be defined, read and run lane by lane on any machine.
"""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from importlib.util import find_spec
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from convlab.errors import UnsupportedError
from convlab.gpu.diagnose.faults import import_fault
from convlab.gpu.occupancy import registers_for

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
    # Numba's own target knows the second way only.
    known = _known_to(cuda.jit, launch_bounds=(threads, blocks))
    return known or {"max_registers": registers_for(threads, blocks)}


def _known_to(function, **options) -> dict:
    """Return those of some options that a function takes."""
    taken = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if name in taken}


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


_made: dict[tuple, dict] = {}  # for each kind of GPU: what was made of the functions that kernels call


def ptx_of(kernel, types, capability, made: dict | None = None) -> str:
    """Return the PTX of a kernel for arguments of these types, made without a driver.

    `capability` is (9, 0) and the like. What is made of the functions that kernels call is kept in `made`, by
    default one for each capability, so that the next kernel that calls them is compiled sooner.
    """
    made = _made.setdefault(capability, {}) if made is None else made
    from numba.cuda import dispatcher

    function, options = getattr(kernel, "py_func", kernel), getattr(kernel, "targetoptions", {})
    device = SimpleNamespace(compute_capability=capability)
    with ExitStack() as stack:
        # The functions that a kernel calls are compiled for the current GPU: let that be this one. They
        # themselves forget it then, as a launch has its own.
        stack.enter_context(patch.object(dispatcher, "get_current_device", lambda: device))
        for called in called_by(function):
            kept = made.setdefault(called, type(called.overloads)())
            stack.enter_context(patch.object(called, "overloads", kept))
        ptx, _ = cuda.compile(
            function,
            tuple(types),
            device=False,
            abi="numba",
            cc=capability,
            fastmath=bool(options.get("fastmath")),
            **_known_to(cuda.compile, launch_bounds=options.get("launch_bounds")),
        )
    return ptx


def called_by(function, found: dict | None = None) -> list:
    """Return the compiled functions that a function names, and those they name in turn.

    `found` has those that are known already, by their ``id``.
    """
    found = {} if found is None else found
    names = inspect.getclosurevars(function)
    for value in [*names.nonlocals.values(), *names.globals.values()]:
        if hasattr(value, "py_func") and hasattr(value, "overloads") and id(value) not in found:
            found[id(value)] = value
            called_by(value.py_func, found)
    return list(found.values())
