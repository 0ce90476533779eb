"""The executor as a device: it stands where a GPU would, for any form, and runs what the compiler made."""

from __future__ import annotations

from typing import Any

import numpy as np

from convlab.errors import UnsupportedError
from convlab.gpu.launch_args import as_launched
from convlab.gpu.simulated_gpu import Simulator
from convlab.gpu.simulator.errors import UNWRITTEN
from tools.ptx import launch
from tools.ptx.compiled import ARCHS, ptx_for
from tools.ptx.memory import EDGE, UNTOUCHED, WRITTEN, Fault, Space
from tools.ptx.program import Program
from tools.ptx.text import parse

MEMORY = 64 << 20  # bytes; those that are never touched cost nothing
ALIGNMENT = 256  # of an array, as the driver has it
_programs: dict[tuple[str, bool], Program] = {}


def program_of(ptx: str, fused: bool = True) -> Program:
    """Return a kernel's PTX ready to be run; it is taken apart once."""
    if (ptx, fused) not in _programs:
        other = _programs.get((ptx, not fused))
        _programs[ptx, fused] = Program(other.kernel if other else parse(ptx), fused)
    return _programs[ptx, fused]


def programs() -> list[Program]:
    """Return all kernels that any executor of this process has run, as the ISA has it."""
    return [program for program in _programs.values() if program.fused]


class Executor(Simulator):
    """A device that runs PTX: put, empty, launch, get.

    Parameters
    ----------
    arch : str
        The kind of GPU that kernels are compiled for: "sm_80" or "sm_90".
    fused : bool
        False: a multiply-add rounds twice, as in the lane simulator.
    """

    name = "executor"

    def __init__(self, arch: str = "sm_80", fused: bool = True):
        super().__init__(traced=False)
        if arch not in ARCHS:
            raise UnsupportedError(f"arch={arch!r}; expected one of {', '.join(ARCHS)}")
        self.arch, self.fused, self.programs = arch, fused, []
        self.capability = ARCHS[arch]
        held = np.zeros(MEMORY + ALIGNMENT, np.uint8)
        first = -held.ctypes.data % ALIGNMENT
        held = held[first : first + MEMORY]
        self.memory = Space("global", 1, MEMORY, held.ctypes.data, held)
        self._end, self._time = ALIGNMENT, 1

    def _take(self, shape, dtype, state: int) -> np.ndarray:
        dtype = np.dtype(dtype)
        size = int(np.prod(shape)) * dtype.itemsize
        first, self._end = self._end, -(-(self._end + size + EDGE) // ALIGNMENT) * ALIGNMENT
        if self._end > MEMORY:
            raise UnsupportedError(f"the executor has {MEMORY} bytes of memory")
        self.memory.mark(first, size, state)
        return self.memory.bytes[first : first + size].view(dtype).reshape(shape)

    def put(self, array: np.ndarray) -> Any:
        """Return a copy of a NumPy array in the executor's memory."""
        there = self._take(array.shape, array.dtype, WRITTEN)
        there[...] = array
        return there

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an array of which nothing was written: to read it is a fault."""
        there = self._take(shape, dtype, UNTOUCHED)
        there.view(np.uint8)[...] = 0xFF  # no number, for the host
        return there

    def get(self, array: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return a copy of a device array; every byte of it must have been written."""
        first = array.ctypes.data - self.memory.base
        if (self.memory.shadow[first : first + array.nbytes] != WRITTEN).any():
            raise Fault(UNWRITTEN, "an array is fetched of which not all was written")
        return super().get(array, out)

    def adopt(self, array: Any) -> Any:
        """Arrays of other libraries do not lie in its memory."""
        raise UnsupportedError("the executor takes no arrays of other libraries")

    def launch(self, kernel: Any, grid: Any, block: Any, *arguments: Any) -> None:
        """Compile a kernel, and run its PTX on all threads."""
        self.execute(self.ptx_of(kernel, arguments), grid, block, *map(as_launched, arguments))

    def ptx_of(self, kernel: Any, arguments: tuple) -> str:
        """Return what is run of a kernel."""
        return ptx_for(kernel, arguments, self.arch)

    def execute(self, ptx: str, grid: Any, block: Any, *arguments: Any) -> None:
        """Run PTX; whole numbers among the arguments are passed as they are."""
        program = program_of(ptx, self.fused)
        self.programs.append(program)
        given = [self._here(argument) for argument in arguments]
        self._time = launch.run(program, self.memory, grid, block, tuple(given), self._time)
        for argument, there in zip(arguments, given, strict=True):
            if there is not argument and isinstance(argument, np.ndarray):
                argument[...] = there  # the kernel may have written to it

    def _here(self, argument: Any) -> Any:
        """Return an argument; an array that NumPy made, as its transforms do, is copied to this memory."""
        if not isinstance(argument, np.ndarray) or np.may_share_memory(argument, self.memory.bytes):
            return argument
        return self.put(argument)
