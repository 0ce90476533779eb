"""One launch: the arguments, the memory, and one block after the other."""

from __future__ import annotations

import contextvars
import sys
from numbers import Number

import numpy as np

from convlab.errors import ArrayError
from convlab.gpu.occupancy import MOST_SHARED
from convlab.gpu.simulator import errors
from convlab.gpu.simulator.access_log import AccessLog
from convlab.gpu.simulator.async_copies import AsyncCopies
from convlab.gpu.simulator.bind import Binder
from convlab.gpu.simulator.casts import argument, as_dtype
from convlab.gpu.simulator.errors import KernelError, Mistake, Mistakes, Place
from convlab.gpu.simulator.global_memory import GlobalMemory, states
from convlab.gpu.simulator.kernel_source import instructions, places
from convlab.gpu.simulator.launch_checks import (
    Triple,
    block_indices,
    extents,
    kernel_array,
    kernel_function,
    named,
    unsigned_names,
)
from convlab.gpu.simulator.local_arrays import LocalArray
from convlab.gpu.simulator.loop_paths import SOME_ROUNDS, Path
from convlab.gpu.simulator.races_between_blocks import RacesBetweenBlocks
from convlab.gpu.simulator.races_within_block import within_block
from convlab.gpu.simulator.shared_memory import SharedMemory
from convlab.gpu.simulator.tensor_sums import ACCUMULATE
from convlab.gpu.simulator.thread_block import ThreadBlock
from convlab.gpu.simulator.trace import Trace
from convlab.gpu.simulator.traced_arrays import TracedArray
from convlab.gpu.simulator.vector_clocks import VectorClocks
from convlab.gpu.simulator.wraparound_checks import WraparoundChecks
from convlab.support.checks import LARGEST, check_choice, check_whole, said

CONSTANT_BYTES = 64 << 10
LOCAL_BYTES = 512 << 10  # of a thread: CUDA C++ Programming Guide, technical specifications
FEW = 8  # elements; who looks at no others, round after round, waits for something
WAITING = 16  # times as many rounds it counts for


class Simulation:
    """What `simulator.run` does; kernels meet it through the names `Binder` gives them.

    Attributes
    ----------
    lane : Lane
        The thread that runs now.
    path : Path
        Where it is.
    block_index : Triple
        Its block.
    """

    def __init__(self, kernel, grid, block, arguments, blocks, traced, shared_bytes, most_rounds, accumulate):
        self.kernel = kernel_function(kernel)
        self.grid, self.block = extents("grid", grid), extents("block", block)
        self.blocks = None if blocks is None else block_indices(blocks, self.grid)
        self.traced = traced
        self.most_rounds = check_whole("most_rounds", most_rounds, 1, LARGEST)
        self.add_products = ACCUMULATE[check_choice("accumulate", accumulate, ACCUMULATE)]
        self.log, self.memory, self.mistakes = AccessLog(), GlobalMemory(), Mistakes()
        self.order, self.copies = VectorClocks(self), AsyncCopies(self)
        self.shared = SharedMemory(self, check_whole("shared_bytes", shared_bytes, 0, MOST_SHARED))
        self.constants: dict[int, TracedArray] = {}
        self.array_names: dict[tuple, str] = {}  # where it is made -> what it is called
        self.lane = self.path = self.block_index = None
        given, self.watch = named(self.kernel, arguments), WraparoundChecks(self)
        self.function = Binder(self).bind(self.kernel, unsigned_names(given))
        self.paths: list[Path] = []
        Path(self.paths, None, self.function.__code__, -1, None)
        self.arguments = [self._argument(*pair) for pair in given]
        self.trace = Trace(self)

    def _argument(self, name, value):
        if isinstance(value, tuple):
            return tuple(self._argument(f"{name}[{i}]", part) for i, part in enumerate(value))
        if isinstance(value, np.ndarray):
            kernel_array(name, value)
            return TracedArray(self, value, name, "global", *self.memory.place(value), states(value))
        if not isinstance(value, Number | np.bool_):
            raise ArrayError(f"{name}={said(value)}; expected a NumPy array, a number, or a tuple of numbers")
        return argument(value)

    def run(self) -> Trace:
        """Run every block, and return what was seen."""
        between = RacesBetweenBlocks(self) if np.prod(self.grid) > 1 else None
        # NumPy keeps its error settings in the context: every thread runs in this one.
        with np.errstate(all="ignore"):
            self.context = contextvars.copy_context()
            for z, y, x in np.ndindex(self.grid[::-1]):
                if self.blocks is None or (x, y, z) in self.blocks:
                    try:
                        self._run_block(Triple((x, y, z)), between)
                    except KernelError as error:
                        error.trace = self._so_far()
                        raise
        self.log.numbers.clear()
        return self.trace

    def _so_far(self) -> Trace:
        """Return the trace of a launch that is stopped, with what this block did since its last barrier."""
        if self.traced:
            self.trace.add(self.block_index, self.log.take())
        return self.trace

    def _run_block(self, index, between):
        self.block_index = index
        self.shared.begin()
        self.order.begin()
        self.copies.begin_block()
        if between:
            between.begin()
        block = ThreadBlock(self)
        for rows in block.run():
            within_block(self, rows)
            self.copies.check(rows)
            if between:
                between.add(rows)
            if self.traced:
                self.trace.add(index, rows)

    # -- what threads do together: see thread_block.py -------------------------------------------------------

    def barrier(self, value, instruction: int) -> list:
        """Wait for all threads of the block; return the values they brought."""
        return self.lane.wait_for_block(value, self._spot(instruction))

    def meet(self, mask, value, instruction: int, ordered: bool = False) -> dict:
        """Wait for the lanes of a mask, or for all that get here (None); return the value of each.

        With `ordered`, what each did before comes before what the others do next.
        """
        return self.lane.wait_for_warp(mask, value, self._spot(instruction), ordered)

    def next_round(self):
        """Return the path of the next iteration of a `while`; every now and then let others have a turn."""
        path, lane = self.path.next(), self.lane
        if path.iteration % SOME_ROUNDS == 0 and path.iteration:
            numbers = self.log.numbers
            begin = lane.mark if lane.mark < len(numbers) else 0  # after a barrier the log begins anew
            touched = set(numbers[begin + 3 :: 4])
            waits = 0 < len(touched) <= FEW  # for one of these to change
            lane.waited = (lane.waited + WAITING * SOME_ROUNDS) * waits if path.iteration > SOME_ROUNDS else 0
            if max(path.iteration, lane.waited) >= self.most_rounds:
                self._spins(path.iteration, waits)
            lane.pause()
            lane.mark = len(self.log.numbers)
        return path

    def _spins(self, rounds, waits):
        text = f"this `while` has gone round {rounds} times, and may never end"
        if waits:
            text += ": what it waits for does not happen meanwhile (blocks run one after the other here, and"
            text += " on a device, too, no other block need be running)"
        text += f"; most_rounds={self.most_rounds} is the limit, `simulator.run` takes another one"
        self.stop(errors.SPIN, text)

    def _spot(self, instruction):
        """Return a name for where this thread is, in the source and in its loops."""
        return self.path, instructions(self.path.code)[instruction // 2]

    # -- arrays that the kernel makes ------------------------------------------------------------------------

    def shared_array(self, shape, dtype, instruction: int):
        """Return the shared array made at a place of the source: the same for all threads of the block."""
        name = self._name_with_shape(instruction, shape)
        return self.shared.array(shape, dtype, self._spot(instruction)[1], name)

    def local_array(self, shape, dtype, instruction: int):
        """Return a new local array."""
        name = self._name_with_shape(instruction, shape)
        size = int(np.prod(shape, dtype=object)) * as_dtype(dtype).itemsize
        if size > LOCAL_BYTES:
            text = f"{name} takes {size} bytes of a thread's own memory; it can have {LOCAL_BYTES}"
            self.stop(errors.MEMORY, text, name)
        return LocalArray(self, shape, dtype, name)

    def _name_with_shape(self, instruction, shape) -> str:
        """Return an array's name; stop if a size is no whole number: what was divided by / is none."""
        name, sizes = self._name(instruction), shape if isinstance(shape, tuple) else (shape,)
        if any(isinstance(size, float | np.floating) for size in sizes):
            text = f"{name} has the shape {shape}: it takes whole numbers (/ makes a float; // does not)"
            self.stop(errors.FRACTION, text, name)
        return name

    def constant(self, array, instruction: int):
        """Return an array in constant memory."""
        if isinstance(array, TracedArray):
            return array
        if id(array) not in self.constants:
            name = self._name(instruction)
            if array.nbytes > CONSTANT_BYTES:
                text = f"{name} takes {array.nbytes} bytes of constant memory; there are {CONSTANT_BYTES}"
                self.stop(errors.MEMORY, text)
            self.constants[id(array)] = TracedArray(self, array, name, "const", *self.memory.place(array))
        return self.constants[id(array)]

    def _name(self, instruction):
        place = places(self.path.code)[instruction // 2]
        return self.array_names.get((place.file, place.line, place.column), f"array of line {place.line}")

    # -- mistakes --------------------------------------------------------------------------------------------

    def note(self, kind: str, message: str, array: str = "", index=(), place: Place | None = None) -> None:
        """Keep a mistake the thread that runs made where it is; it goes on."""
        who = f" (thread {self.lane.index}, block {self.block_index})"
        place = place or self.place(self.path, self.instruction())
        self.mistakes.add(
            Mistake(kind, message + who, place, None, array, tuple(index), self.block_index, self.lane.index)
        )

    def stop(self, kind: str, message: str, array: str = "", index=(), place: Place | None = None) -> None:
        """End the run: the kernel cannot go on from here."""
        self.note(kind, message, array, index, place)
        raise KernelError(self.kernel.__name__, reversed(list(self.mistakes)))

    def instruction(self) -> int:
        """Return `f_lasti` of the kernel's function that runs now."""
        frame = sys._getframe(1)
        while frame.f_code is not self.path.code:
            frame = frame.f_back
        return frame.f_lasti

    def place(self, path, instruction: int) -> Place:
        """Return the place in the source of an instruction on a path."""
        return places(path.code)[instruction // 2]

    def thread_index(self, thread: int) -> Triple:
        """Return a thread's place in its block."""
        x, y, _ = self.block
        return Triple((thread % x, thread // x % y, thread // (x * y)))
