"""What a launch is asked with: grid, block, arguments; what no device could do is refused here."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from convlab.errors import ArrayError, ParameterError
from convlab.gpu.occupancy import MOST_THREADS
from convlab.support.checks import LARGEST, check_whole, no_array, said

_MOST = {"grid": (2**31 - 1, 65535, 65535), "block": (1024, 1024, 64)}  # along x, y and z


class Triple(tuple):
    """Three numbers, along x, y and z."""

    x = property(lambda self: self[0])
    y = property(lambda self: self[1])
    z = property(lambda self: self[2])


def extents(name: str, value) -> Triple:
    """Return a grid or a block, one to three numbers, as three."""
    numbers = Triple((*_numbers(name, value), 1, 1)[:3])
    if not all(0 < number <= most for number, most in zip(numbers, _MOST[name], strict=True)):
        raise ParameterError(f"{name}={said(value)}; along x, y and z it must be 1 to {_MOST[name]}")
    if name == "block" and prod(numbers) > MOST_THREADS:
        raise ParameterError(f"block={value} has {prod(numbers)} threads; a block has at most {MOST_THREADS}")
    return numbers


def block_indices(value, grid: Triple) -> set[Triple]:
    """Return which blocks of a grid are meant: each is one to three numbers."""
    alone = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    if not isinstance(value, Collection) or alone:
        raise ParameterError(f"blocks={said(value)}; expected a list of blocks")
    found = {Triple((*_numbers("blocks", index), 0, 0)[:3]) for index in value}
    for index in found:
        if not all(0 <= number < size for number, size in zip(index, grid, strict=True)):
            raise ParameterError(f"blocks={said(value)}: there is no block {index} in a grid of {grid}")
    return found


def kernel_function(kernel, name: str = "kernel"):
    """Return the Python function of a kernel."""
    function = getattr(kernel, "py_func", kernel)
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        raise ParameterError(
            f"{name}={said(kernel)}; expected what `cuda.jit` made, or a function with `def`"
        )
    return function


def kernel_array(name: str, array: np.ndarray) -> None:
    """Refuse an array that no kernel can be given."""
    if isinstance(array, np.ma.MaskedArray):
        raise no_array(name, array)
    if array.dtype.kind not in "biufc":
        raise ArrayError(f"{name} has dtype {array.dtype}; expected numbers")


def named(function, arguments) -> list[tuple[str, object]]:
    """Return the arguments of a launch with the names that the kernel gives them."""
    names = list(inspect.signature(function).parameters)
    if len(names) != len(arguments):
        raise ParameterError(
            f"kernel {function.__name__} takes {len(names)} arguments ({', '.join(names)}); "
            f"{len(arguments)} were given"
        )
    return list(zip(names, arguments, strict=True))


def unsigned_names(given) -> frozenset[str]:
    """Return the names of arguments that are unsigned numbers, or arrays of them."""
    return frozenset(
        name for name, value in given if getattr(getattr(value, "dtype", None), "kind", "") == "u"
    )


def _numbers(name: str, value) -> tuple[int, ...]:
    several = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(several) <= 3:
        raise ParameterError(f"{name}={said(value)}; expected one to three integers")
    return tuple(check_whole(name, number, 0, LARGEST) for number in several)
