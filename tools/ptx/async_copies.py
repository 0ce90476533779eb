"""Copies that take their time: cp.async. PTX ISA, "Data Movement and Conversion Instructions: cp.async".

A copy arrives when its thread waits for its group, and no earlier: the latest moment that the ISA allows.
Until then the bytes it goes to count as not written, so that whoever reads them too early is told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from convlab.gpu.simulator.errors import PENDING
from tools.ptx.lanes import Mask, Step, chosen
from tools.ptx.memory import UNTOUCHED, Fault
from tools.ptx.text import Instruction, PtxError
from tools.ptx.transfers import address_of

if TYPE_CHECKING:
    from tools.ptx.wave import Wave


class AsyncCopies:
    """The copies of a wave that are under way."""

    def __init__(self, wave: Wave):
        self.wave = wave
        self.closed = np.zeros(wave.lanes.count, np.int64)  # groups that each lane has closed
        self._open: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    def begin(self, lanes: np.ndarray, addresses: np.ndarray, values: np.ndarray) -> None:
        """Begin a copy of each of some lanes to shared memory: values (lanes, bytes // 4), uint32."""
        width = values.itemsize * values.shape[1]
        places = self.wave.places("shared", lanes, addresses, width, written=False)
        self.wave.note("shared", lanes, addresses, places, width, stores=True)
        self.wave.spaces["shared"].set_shadow(places, width, UNTOUCHED)
        self._open.append((lanes, addresses, values, self.closed[lanes]))

    def wait(self, lanes: np.ndarray, groups: int) -> None:
        """Let arrive what these lanes began, but for what is open and the last groups they closed."""
        waits = np.zeros(self.wave.lanes.count, bool)
        waits[lanes] = True
        left = []
        for some, addresses, values, group in self._open:
            due = waits[some] & (group < self.closed[some] - groups)
            if due.any():
                self.wave.store("shared", some[due], addresses[due], values[due])
            if not due.all():
                left.append((some[~due], addresses[~due], values[~due], group[~due]))
        self._open = left

    def check_none(self) -> None:
        """Say if a copy was begun that nobody waited for."""
        if self._open:
            lane = int(self._open[0][0][0])
            raise Fault(PENDING, f"a copy that nobody waited for, by {self.wave.lanes.who(lane)}")


def copy(width: int):
    """Return what binds ``cp.async``: with a fourth operand so many bytes are read, then come zeros."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source, size, *wanted = instruction.operands
        if size != str(width):
            raise PtxError(f"{instruction}: expected {width} bytes")
        to, start = address_of(target, wave), address_of(source, wave)
        read = wave.lanes.read(wanted[0], "u32") if wanted else np.uint32(width)

        def step(mask: Mask) -> None:
            lanes = chosen(mask, wave.lanes.count)
            sizes = np.broadcast_to(read, wave.lanes.count)[lanes]
            if not np.isin(sizes, (0, width)).all():
                raise PtxError(f"{instruction}: copies of a part are not known here")
            values = np.zeros((len(lanes), width // 4), np.uint32)
            if (some := sizes > 0).any():
                there = lanes[some]
                values[some] = wave.load("global", there, start()[there], np.dtype(np.uint32), width // 4)
            wave.copies.begin(lanes, to()[lanes], values)

        return step

    return bind


def commit(instruction: Instruction, wave: Wave) -> Step:
    """Close each lane's group."""

    def step(mask: Mask) -> None:
        wave.copies.closed[chosen(mask, wave.lanes.count)] += 1

    return step


def wait(instruction: Instruction, wave: Wave) -> Step:
    """Wait for all groups but the last so many."""
    if not re.fullmatch(r"\d+", instruction.operands[0]):
        raise PtxError(f"{instruction}: expected a number of groups")
    groups = int(instruction.operands[0])
    return lambda mask: wave.copies.wait(chosen(mask, wave.lanes.count), groups)


def wait_all(instruction: Instruction, wave: Wave) -> Step:
    """Wait for everything, closed or not."""
    return lambda mask: wave.copies.wait(chosen(mask, wave.lanes.count), -1)


TABLE = {
    "cp.async.cg.shared.global": copy(16),
    "cp.async.ca.shared.global": copy(16),
    "cp.async.commit_group": commit,
    "cp.async.wait_group": wait,
    "cp.async.wait_all": wait_all,
}
