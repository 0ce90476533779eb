"""What a launch is asked with: grid, block, arguments; what no device could do is refused here."""

from __future__ import annotations

import inspect
from math import prod

from convlab.errors import ParameterError

MOST_THREADS = 1024  # of a block
_MOST = {"grid": (2**31 - 1, 65535, 65535), "block": (1024, 1024, 64)}  # along x, y and z


class Triple(tuple):
    """Three numbers, along x, y and z."""

    x = property(lambda self: self[0])
    y = property(lambda self: self[1])
    z = property(lambda self: self[2])


def extents(name: str, value) -> Triple:
    """Return a grid or a block, one to three numbers, as three."""
    numbers = Triple((*_numbers(value), 1, 1)[:3])
    if not all(0 < number <= most for number, most in zip(numbers, _MOST[name], strict=True)):
        raise ParameterError(f"{name}={value}; along x, y and z it must be 1 to {_MOST[name]}")
    if name == "block" and prod(numbers) > MOST_THREADS:
        raise ParameterError(f"block={value} has {prod(numbers)} threads; a block has at most {MOST_THREADS}")
    return numbers


def block_index(value) -> Triple:
    """Return which block is meant, by one to three numbers."""
    return Triple((*_numbers(value), 0, 0)[:3])


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


def _numbers(value):
    return tuple(map(int, value)) if isinstance(value, tuple | list) else (int(value),)
