"""Local arrays: one thread's own, registers when all goes well. Their accesses are checked, not noted."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from convlab.gpu.simulator import errors
from convlab.gpu.simulator.casts import as_dtype, cast
from convlab.gpu.simulator.errors import element
from convlab.gpu.simulator.traced_arrays import no_whole_number, out_of_bounds


class LocalArray(dict):
    """The elements that were written, by their index.

    A kernel touches these more often than anything else, and a dictionary is the quickest thing in Python
    that can tell what is there from what is not.
    """

    def __init__(self, simulation, shape, dtype, name):
        self.simulation, self.name, self.space = simulation, name, "local"
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        self.size, self.ndim = prod(self.shape), len(self.shape)
        self.dtype = as_dtype(dtype)
        self._cast, self._indices = cast(self.dtype), _indices(self.shape)
        self._type = self.dtype.type if self.dtype.kind in "fc" else None  # what need not be cast

    def __len__(self):
        return self.shape[0]

    def __setitem__(self, index, value, put=dict.__setitem__):
        if index not in self._indices:
            index = self._index(index)
        put(self, index, value if value.__class__ is self._type else self._cast(value))

    def __missing__(self, index):
        index = self._index(index)
        if index in self:
            return self[index]
        indices = index if isinstance(index, tuple) else (index,)
        text = f"{element(self.name, indices)}, a local array, is read before anything was written there"
        self.simulation.note(errors.UNWRITTEN, text, self.name, indices)
        return self.dtype.type(np.nan) if self.dtype.kind in "fc" else self._cast(-1)

    def _index(self, index):
        """Return an index that is in order as the key it has here; any other is a mistake."""
        indices = index if isinstance(index, tuple) else (index,)
        no_whole_number(self, indices)
        if len(indices) != self.ndim or not all(isinstance(i, int | np.integer | np.bool_) for i in indices):
            raise TypeError(f"{self.name} has {self.ndim} axes; it takes so many whole numbers, not {index}")
        if not all(0 <= i < extent for i, extent in zip(indices, self.shape, strict=True)):
            out_of_bounds(self, indices)
        return indices if self.ndim > 1 else indices[0]


@lru_cache
def _indices(shape) -> frozenset:
    """Return every index an array of this shape has."""
    return frozenset(product(*map(range, shape)) if len(shape) > 1 else range(shape[0]))
