"""May this algorithm run this problem here: does it serve it, and is there memory for its arrays?"""

from __future__ import annotations

from functools import cached_property

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.errors import UnsupportedError, WorkspaceError
from convlab.machine import facts
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text

_NOT_WORTH_ASKING = 1 << 22  # bytes; to look up the memory at hand takes as long as a small convolution


def serves(problem: ConvProblem, algorithm: Algorithm, backend: str) -> bool:
    """Say if an algorithm has a form on a backend, and does not refuse the problem."""
    return backend in algorithm.forms and not algorithm.refuses(problem)


def check_feasible(problem: ConvProblem, algorithm: Algorithm, backend: str, memory: Memory) -> None:
    """Refuse an algorithm that does not serve the problem, or whose arrays do not fit; name others that do.

    Raises
    ------
    UnsupportedError, WorkspaceError
    """
    if not serves(problem, algorithm, backend):
        reason = algorithm.supports(problem) or f"it has no form for backend={backend!r}"
        others = [name for name, other in ALGORITHMS.items() if serves(problem, other, backend)]
        raise UnsupportedError(
            f"algorithm={algorithm.name!r} cannot serve this: {reason}; {_listed(others)} can"
        )
    if shortage := memory.shortage(problem, algorithm, backend):
        others = [
            name
            for name, other in ALGORITHMS.items()
            if serves(problem, other, backend) and not memory.shortage(problem, other, backend)
        ]
        fitting = f"{_listed(others)} would fit"
        none = "no algorithm would fit: make the batch N smaller"
        raise WorkspaceError(f"algorithm={algorithm.name!r} {shortage}; {fitting if others else none}")


class Memory:
    """What a plan and its run would allocate, held against the memory that is free.

    That is looked up once, and only if much is needed.

    Parameters
    ----------
    threads : int
    output, copied : int
        Bytes of y, and of a copy of x: contiguous, or on the device.
    device : optional
        Where a GPU form runs; its memory counts then, not that of the machine.
    """

    def __init__(self, threads: int, *, output: int = 0, copied: int = 0, device=None):
        self.threads, self.output, self.copied, self.device = threads, output, copied, device

    def shortage(self, problem: ConvProblem, algorithm: Algorithm, backend: str) -> str | None:
        """Return why the arrays do not fit, or None if they do or it cannot be known."""
        form = algorithm.forms[backend]
        return self.lacking(
            {
                "workspace": form.workspace_bytes(problem, self.threads),
                "packed weights": form.packed_bytes(problem),
                "a copy of w": problem.w_bytes if self.device is None and form.pack_key else 0,
                "output": self.output,
                "a contiguous copy of x" if self.device is None else "a copy of x": self.copied,
            }
        )

    def lacking(self, sizes: dict[str, int]) -> str | None:
        """Return why arrays of so many bytes do not fit, or None."""
        needed = sum(sizes.values())
        if needed < _NOT_WORTH_ASKING or self.free is None or needed <= self.free:
            return None
        listed = ", ".join(f"{name} {bytes_text(size)}" for name, size in sizes.items() if size)
        memory = "memory" if self.device is None else "device memory"
        return f"needs {bytes_text(needed)} ({listed}) and {bytes_text(self.free)} of {memory} are free"

    @cached_property
    def free(self) -> int | None:
        """Bytes of memory that are free now."""
        return facts.memory_at_hand() if self.device is None else self.device.free()


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
