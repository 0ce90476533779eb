"""Arrays that tell how they are multiplied, for exercises where the point is how.

A `Watched` array is a NumPy array with a name, and so is everything that is computed from it. Where what
comes from `a` meets what comes from `b` in a product, the log has an entry: how many numbers of which shapes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_PRODUCTS = ("dot", "inner", "outer", "tensordot", "convolve", "correlate", "vdot")


@dataclass
class Log:
    """What was seen.

    Attributes
    ----------
    products : list of (tuple of tuple, int)
        The shapes of both factors, and how many multiplications of one number by another it took.
    read : dict of str to list of tuple
        For every watched array by its name, the shapes of the parts that were taken out of it.
    order : list of (str, str)
        Every part that was taken out, in turn: of which array, and where.
    """

    products: list[tuple[tuple[tuple[int, ...], tuple[int, ...]], int]] = field(default_factory=list)
    read: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    order: list[tuple[str, str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Multiplications in all."""
        return sum(count for _, count in self.products)


class Watched(np.ndarray):
    """An array that notes in a log what is done with it."""

    log: Log | None = None
    names: frozenset[str] = frozenset()

    def __array_finalize__(self, source: Any) -> None:
        self.log = getattr(source, "log", None)
        self.names = getattr(source, "names", frozenset())

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if self.log is not None:
            for name in self.names:
                self.log.read.setdefault(name, []).append(np.shape(part))
                self.log.order.append((name, str(key)))
        return part if isinstance(part, np.ndarray) else _watched(part, self.names, self.log)

    def dot(self, other: Any, out: Any = None) -> Any:
        """Go the way that is watched."""
        return np.dot(self, other, out)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None:
            kwargs["out"] = tuple(_plain(o) for o in out)
        result = getattr(ufunc, method)(*(_plain(i) for i in inputs), **kwargs)
        names, log = _origin(inputs)
        if log is not None and ufunc in (np.multiply, np.matmul) and method in ("__call__", "outer"):
            _note(log, inputs[:2], _scalars(ufunc, method, inputs, result))
        if out is not None:
            for given in out:
                if isinstance(given, Watched):
                    given.names, given.log = given.names | names, given.log or log
            return out[0]
        return _watched(result, names, log)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = list(_arrays((args, kwargs)))
        names, log = _origin(found)
        result = function(*_stripped(args), **_stripped(kwargs))
        if log is not None and function is np.einsum:
            _note_einsum(log, args, kwargs)
        elif log is not None and function.__name__ in _PRODUCTS:
            _note(log, found[:2], _scalars_of(function, found, result))
        return _watched(result, names, log)


def watched(log: Log, **arrays: np.ndarray) -> list[Watched]:
    """Return arrays that note in the log what is done with them, under these names."""
    return [_watched(array.copy(), frozenset((name,)), log) for name, array in arrays.items()]


def _note(log: Log, factors: Any, count: int) -> None:
    one, two = (f.names if isinstance(f, Watched) else frozenset() for f in factors)
    if one and two and one != two:
        log.products.append(((np.shape(factors[0]), np.shape(factors[1])), count))


def _scalars(ufunc: Any, method: str, inputs: Any, result: Any) -> int:
    """Return how many numbers are multiplied by one another."""
    return math.prod(np.shape(result)) * (np.shape(inputs[0])[-1] if ufunc is np.matmul else 1)


def _note_einsum(log: Log, args: Any, kwargs: Any) -> None:
    """Note how many numbers of one factor meet numbers of another, however many stand beside them."""
    terms, factors = args[0], args[1:]
    if not isinstance(terms, str) or "." in terms or (len(factors) > 2 and kwargs.get("optimize")):
        return  # indices in another notation; products in an order that NumPy chooses
    letters = terms.replace(" ", "").partition("->")[0].split(",")
    own = [(i, f) for i, f in zip(letters, factors, strict=True) if getattr(f, "names", None)]
    if len({f.names for _, f in own}) > 1:
        sizes = {letter: size for i, f in own for letter, size in zip(i, f.shape, strict=True)}
        log.products.append(((own[0][1].shape, own[1][1].shape), math.prod(sizes.values())))


def _scalars_of(function: Any, found: Any, result: Any) -> int:
    if function.__name__ in ("convolve", "correlate", "outer"):
        return math.prod(f.size for f in found[:2])
    # dot, inner, tensordot: what is summed over is missing in the result.
    one, two = (math.prod(np.shape(f)) for f in found[:2])
    return round(math.sqrt(one * two * max(math.prod(np.shape(result)), 1)))


def _origin(inputs: Any) -> tuple[frozenset[str], Log | None]:
    own = [i for i in inputs if isinstance(i, Watched) and i.log is not None]
    return frozenset().union(*(i.names for i in own)), own[0].log if own else None


def _watched(result: Any, names: frozenset[str], log: Log | None) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(_watched(r, names, log) for r in result)
    if not isinstance(result, (np.ndarray, np.generic)):
        return result
    array = np.asarray(result).view(Watched)
    array.names, array.log = names, log
    return array


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Watched) else value


def _stripped(values: Any) -> Any:
    if isinstance(values, (tuple, list)):
        return type(values)(_stripped(v) for v in values)
    if isinstance(values, dict):
        return {k: _stripped(v) for k, v in values.items()}
    return _plain(values)


def _arrays(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        yield values
    elif isinstance(values, (tuple, list)):
        for v in values:
            yield from _arrays(v)
    elif isinstance(values, dict):
        yield from _arrays(list(values.values()))
