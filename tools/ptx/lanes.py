"""Many threads at once: a register is an array with a number for each, and so is what tells them apart.

A wave is some whole blocks of a launch; its threads are its lanes, block after block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tools.ptx.kinds import DTYPES, number
from tools.ptx.text import Instruction, Kernel, PtxError

WARP = 32
Mask = Any  # (lanes,) bool, or None where every lane takes part
Step = Callable[[Mask], None]  # an instruction that knows its registers


class Lanes:
    """The registers of some blocks.

    Parameters
    ----------
    kernel : Kernel
        Says which registers there are.
    grid, block : tuple of int
        Blocks of the launch, and threads of a block, along x, y and z.
    first, blocks : int
        The first block of the wave, and how many there are.
    symbols : dict of str to int
        Addresses by the name of an array.
    """

    def __init__(self, kernel: Kernel, grid, block, first: int, blocks: int, symbols: dict[str, int]):
        self.kernel, self.symbols = kernel, symbols
        self.grid, self.block = grid, block
        self.threads = int(np.prod(block))
        self.count = blocks * self.threads
        lane = np.arange(self.count)
        self.thread, self.in_wave = lane % self.threads, lane // self.threads
        self.block_number = self.in_wave + first
        self.number_of = lane + first * self.threads  # of a lane in the whole launch
        self.warp_start = lane - self.thread % WARP  # the lane that is the first of its warp
        self._registers: dict[str, np.ndarray] = {}
        self._read: dict[tuple[str, str], Any] = {}  # what was asked for before
        self._special = self._specials()

    def _specials(self) -> dict[str, np.ndarray]:
        lane, one = (self.thread % WARP).astype(np.uint32), np.uint32(1)
        found = {
            "%laneid": lane,
            "%warpid": self.thread // WARP,
            "%lanemask_eq": one << lane,
            "%lanemask_lt": (one << lane) - one,
        }
        for name, index, sizes in (
            ("tid", self.thread, self.block),
            ("ctaid", self.block_number, self.grid),
        ):
            for axis in "xyz":
                size = sizes["xyz".index(axis)]
                found[f"%{name}.{axis}"], index = index % size, index // size
                found[f"%n{name}.{axis}"] = np.full(self.count, size)
        return {name: values.astype(np.uint32) for name, values in found.items()}

    def who(self, lane: int) -> str:
        """Return a lane's place in the launch, in words."""
        at = [
            tuple(int(self._special[f"%{name}.{axis}"][lane]) for axis in "xyz") for name in ("tid", "ctaid")
        ]
        return f"thread {at[0]}, block {at[1]}"

    def register(self, name: str) -> np.ndarray | None:
        """Return a register of all lanes, or None if it is not declared."""
        if name not in self._registers:
            kind = self.kernel.register_kind(name)
            if kind is None:
                return None
            self._registers[name] = np.zeros(self.count, DTYPES[kind])
        return self._registers[name]

    def read(self, text: str, kind: str) -> Any:
        """Return what an operand is: a view of a register as numbers of this type, or one number for all.

        Of a register that is wider than the type its lower bits count.
        """
        if (text, kind) not in self._read:
            self._read[text, kind] = self._operand(text, kind)
        return self._read[text, kind]

    def _operand(self, text: str, kind: str) -> Any:
        dtype = DTYPES[kind]
        held = self._special.get(text) if text in self._special else self.register(text)
        if held is None:
            return dtype.type(self.symbols[text]) if text in self.symbols else number(text, kind)
        if held.itemsize < dtype.itemsize or (kind == "pred") != (held.dtype == np.bool_):
            raise PtxError(f"{text} has {8 * held.itemsize} bits; {kind} is read from it")
        return held.view(dtype)[:: held.itemsize // dtype.itemsize]

    def write(self, text: str, kind: str) -> np.ndarray:
        """Return a register as numbers of this type, to be written; it has as many bits as the type."""
        held = self.register(text)
        if held is None or held.itemsize != DTYPES[kind].itemsize or (kind == "pred") != (held.dtype == bool):
            raise PtxError(f"{text} is no register for {kind}")
        return held.view(DTYPES[kind])

    def extended(self, text: str, kind: str) -> np.ndarray:
        """Return a register as numbers that values of this type are assigned to.

        A wider register takes a number as it is, with its sign: what `ld` and `cvt` do.
        """
        held = self.register(text)
        if text == "_":  # what nobody wants
            return np.empty(self.count, DTYPES[kind])
        if held is None or held.itemsize < DTYPES[kind].itemsize:
            raise PtxError(f"{text} is no register for {kind}")
        letter = "iu"[kind[0] != "s"] if kind[0] != "f" else "f"
        return held.view(f"{letter}{held.itemsize}")

    def guard(self, instruction: Instruction) -> np.ndarray | None:
        """Return the register that guards an instruction, or None."""
        return self.read(instruction.guard, "pred") if instruction.guard else None


def among(mask: Mask, guard: np.ndarray | None, negated: bool) -> Mask:
    """Return those of some lanes for which a guard holds."""
    if guard is None:
        return mask
    guard = ~guard if negated else guard
    return guard if mask is None else mask & guard


def chosen(mask: Mask, count: int) -> np.ndarray:
    """Return the numbers of the lanes that take part."""
    return np.arange(count) if mask is None else np.flatnonzero(mask)
