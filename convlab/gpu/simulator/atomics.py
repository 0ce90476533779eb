"""Atomic operations: read, change and write back, while no other thread comes between."""

from __future__ import annotations

import sys

from convlab.gpu.simulator.kernel_source import dropped


def _operation(change, doc):
    def operation(self, array, index, value):
        return self._replace(array, index, lambda old: change(old, value), sys._getframe(1).f_lasti)

    operation.__doc__ = f"Let array[index] be {doc}; return what it was."
    return operation


class Atomics:
    """What a kernel sees as `cuda.atomic`."""

    def __init__(self, simulation):
        self._simulation = simulation

    add = _operation(lambda old, value: old + value, "itself + value")
    sub = _operation(lambda old, value: old - value, "itself - value")
    max = _operation(max, "the larger of itself and value")
    min = _operation(min, "the smaller of itself and value")
    exch = _operation(lambda old, value: value, "value")
    and_ = _operation(lambda old, value: old & value, "itself & value")
    or_ = _operation(lambda old, value: old | value, "itself | value")
    xor = _operation(lambda old, value: old ^ value, "itself ^ value")
    inc = _operation(lambda old, value: old + 1 if old < value else 0, "itself + 1, 0 after value")
    dec = _operation(lambda old, value: old - 1 if 0 < old <= value else value, "itself - 1, value after 0")

    def cas(self, array, index, expected, value):
        """Let array[index] be `value` if it is `expected`; return what it was."""
        change = lambda old: value if old == expected else old  # noqa: E731
        return self._replace(array, index, change, sys._getframe(1).f_lasti)

    def compare_and_swap(self, array, expected, value):
        """Let array[0] be `value` if it is `expected`; return what it was."""
        change = lambda old: value if old == expected else old  # noqa: E731
        return self._replace(array, 0, change, sys._getframe(1).f_lasti)

    def _replace(self, array, index, change, instruction):
        [old] = array.load(index, 1, instruction, "atomic")
        k = array.locate(index)
        array.put(k, change(old))
        looked_at = not dropped(self._simulation.path.code, instruction)
        self._simulation.order.atomic(array.base + k * array.itemsize, looked_at)
        return old
