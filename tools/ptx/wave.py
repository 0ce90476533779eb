"""How the threads of some blocks go through a program.

Every thread has a place in the program of its own. The threads at the lowest place go on, all together, to
the end of the basic block they are in; so those who took the shorter way round wait for the others where both
ways meet. (A compiler lays code out in the order it is run: what lies behind a branch has a higher place.)

At a barrier a thread is held until no thread of the wave can go on; then all threads of each block must be
held, at the same barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from convlab.gpu.simulator.errors import BARRIER, RACE, SPIN
from tools.ptx.async_copies import AsyncCopies
from tools.ptx.lanes import WARP, Lanes, Mask, among
from tools.ptx.memory import Fault, Space
from tools.ptx.program import Block, Program
from tools.ptx.text import Instruction, PtxError
from tools.ptx.transfers import WINDOW, WINDOWS

HELD, DONE = 1 << 29, 1 << 30  # places of threads that wait at a barrier, and that are through
MOST_BLOCKS = 1 << 17  # basic blocks that a wave may go through before it is taken for one that never ends


class Wave:
    """Some blocks of a launch, on their way.

    Parameters
    ----------
    program : Program
        What they run.
    lanes : Lanes
        Their threads.
    parameters : dict of str to numpy.generic
        The kernel's parameters by name.
    spaces : dict of str to Space
        "global", "shared", "local" and "const".
    start : int
        The time when the launch began (see `races`).
    """

    def __init__(self, program: Program, lanes: Lanes, parameters, spaces: dict[str, Space], start: int):
        self.program, self.lanes, self.parameters, self.spaces = program, lanes, parameters, spaces
        self.copies = AsyncCopies(self)
        self.place = np.zeros(lanes.count, np.int64)
        self._resume = np.zeros(lanes.count, np.int64)  # of a thread that is held
        self._steps: dict[int, list[tuple[Instruction, Any]]] = {}
        # Who it is, and what time it is, for `races`.
        by_warp = any(name.startswith("bar.warp") for name in program.kernel.opcodes)
        number = lanes.number_of // WARP if by_warp and lanes.threads % WARP == 0 else lanes.number_of
        self._me, self._start, self._blocks = number.astype(np.int32), start, int(np.prod(lanes.grid))
        self._now = start + lanes.block_number.astype(np.int64)
        # For each warp, at its first lane, a bit for each thread it has.
        self.present = np.zeros(lanes.count, np.uint32)
        bit = np.uint32(1) << (lanes.thread % WARP).astype(np.uint32)
        np.bitwise_or.at(self.present, lanes.warp_start, bit)

    @property
    def time(self) -> int:
        """The latest time of any thread (see `races`)."""
        return int(self._now.max())

    # -- control ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run all threads to their end."""
        for _ in range(MOST_BLOCKS):
            first = int(self.place.min())
            if first >= HELD:
                if not self._release():
                    return self.copies.check_none()
                continue
            here = self.place == first
            self._advance(self.program.blocks[first], None if here.all() else here)
        raise Fault(SPIN, f"{MOST_BLOCKS} basic blocks run, and not at the end")

    def _advance(self, block: Block, mask: Mask) -> None:
        if block.first not in self._steps:
            self._steps[block.first] = [(one, self._step(one)) for one in block.body]
        instruction = block.last
        try:
            for instruction, step in self._steps[block.first]:  # noqa: B007  (told if it fails)
                step(mask)
        except Fault as fault:
            raise Fault(fault.kind, f"{str(fault).partition(': ')[2]}: {instruction}") from None
        visits, ran = self.program.visits, self.lanes.count if mask is None else int(np.count_nonzero(mask))
        visits[block.first] = visits.get(block.first, 0) + ran
        self._leave(block, mask)

    def _step(self, instruction: Instruction):
        """Return an instruction on the registers of this wave; a guard leaves lanes out."""
        step = self.program.binder(instruction)(self)
        guard, negated = self.lanes.guard(instruction), instruction.negated
        if guard is None:
            return step

        def guarded(mask: Mask) -> None:
            mask = among(mask, guard, negated)
            if mask.any():
                step(mask)

        return guarded

    def _leave(self, block: Block, mask: Mask) -> None:
        """Send the threads that ran a block to where they go on."""
        last, after = block.last, block.after
        self._go(mask, after if after < len(self.program.kernel.instructions) else DONE)
        if last is None:
            return
        some = among(mask, self.lanes.guard(last), last.negated)
        if last.opcode in ("ret", "exit"):
            self._go(some, DONE)
        elif last.opcode == "bar.sync":
            if last.operands != ("0",):
                raise PtxError(f"{last}: barriers of a part of a block are not known here")
            self._go(some, after, self._resume)
            self._go(some, HELD)
        elif last.operands[0] in self.program.kernel.labels:
            self._go(some, self.program.kernel.labels[last.operands[0]])
        else:
            raise PtxError(f"{last}: no such label")

    def _go(self, mask: Mask, place: int, of: np.ndarray | None = None) -> None:
        np.copyto(self.place if of is None else of, place, where=True if mask is None else mask)

    def _release(self) -> bool:
        """Let all go on who wait at a barrier; return whether there were any."""
        held = self.place == HELD
        if not held.any():
            return False
        shape = -1, self.lanes.threads
        waits = held.reshape(shape)
        some = waits.any(1) & ~waits.all(1)
        if some.any():
            lane = int(np.flatnonzero(held & some[self.lanes.in_wave])[0])
            raise Fault(BARRIER, f"others of its block have ended, at {self.lanes.who(lane)}")
        where = self._resume.reshape(shape)
        apart = waits.all(1) & (where != where[:, :1]).any(1)
        if apart.any():
            lane = int(np.flatnonzero(apart)[0]) * self.lanes.threads
            raise Fault(BARRIER, f"threads of a block wait at different ones, at {self.lanes.who(lane)}")
        np.copyto(self.place, self._resume, where=held)
        self._now[held] += self._blocks
        return True

    # -- memory ----------------------------------------------------------------------------------------------

    def split(self, space: str, lanes: np.ndarray, addresses: np.ndarray) -> Iterator[tuple]:
        """Yield (space, lanes, their addresses); a generic address says by itself which space it is in."""
        addresses = addresses[lanes]
        if space:
            yield space, lanes, addresses
            return
        window = addresses // WINDOW
        for name, first in WINDOWS.items():
            some = window == first // WINDOW
            if some.any():
                yield name, lanes[some], addresses[some] - np.uint64(first)
        some = window > max(WINDOWS.values()) // WINDOW
        if not some.all():
            some |= window == 0
        if some.any():
            yield "global", lanes[some], addresses[some]

    def places(self, space: str, lanes, addresses, width: int, written: bool) -> np.ndarray:
        """Return where accesses lie (see `Space.places`)."""
        row = {"shared": self.lanes.in_wave, "local": np.arange(self.lanes.count)}.get(space)
        rows = row[lanes] if row is not None else 0
        return self.spaces[space].places(addresses, rows, width, lambda i: self.lanes.who(lanes[i]), written)

    def note(self, space: str, lanes, addresses, places, width: int, stores: bool) -> None:
        """Tell `races` of accesses."""
        memory = self.spaces[space]
        if memory.races is None:
            return
        clash = memory.races.look(
            places, width, self._me[lanes], self._now[lanes], self._start, self._blocks, stores
        )
        if clash is not None:
            i = int(np.flatnonzero(clash)[0]) // max(1, width // memory.races.width)
            does = "writes" if stores else "reads"
            text = (
                f"{self.lanes.who(lanes[i])} {does} byte {int(addresses[i]) - memory.base} of {space} memory"
            )
            raise Fault(RACE, f"{text}, and another thread uses it with nothing between them")

    def load(self, space: str, lanes, addresses, dtype, count: int) -> np.ndarray:
        """Return what lanes read: (lanes, count)."""
        places = self.places(space, lanes, addresses, dtype.itemsize * count, written=True)
        self.note(space, lanes, addresses, places, dtype.itemsize * count, stores=False)
        return self.spaces[space].load(places, dtype, count)

    def store(self, space: str, lanes, addresses, values: np.ndarray) -> None:
        """Write values (lanes, count)."""
        width = values.itemsize * values.shape[1]
        places = self.places(space, lanes, addresses, width, written=False)
        self.note(space, lanes, addresses, places, width, stores=True)
        self.spaces[space].store(places, values)
