"""Which algorithm: the one that was asked for, if it serves and fits, or a good one for "auto"."""

from __future__ import annotations

from functools import cached_property

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.base import Algorithm
from convlab.errors import ParameterError, UnsupportedError, WorkspaceError
from convlab.problem import ConvProblem
from convlab.units import bytes_text

_NOT_WORTH_ASKING = 1 << 20  # bytes; below this the memory at hand is not looked up

# Where no special case serves. As plain NumPy a copy and one product are quicker than many small ones.
_GENERAL = {
    "numpy": ("im2row", "indirect"),
    "cpu": ("indirect", "im2row"),
    "gpu": ("implicit_gemm", "precomputed_gemm", "im2row"),
}


def choose(problem: ConvProblem, wanted: str | Algorithm, backend: str, memory: Memory) -> Algorithm:
    """Return the algorithm that is wanted, or a good one for "auto".

    Raises
    ------
    ConvError
        If there is none of that name, if it does not serve the problem, or if the memory does not suffice.
    """
    if not isinstance(wanted, Algorithm) and wanted not in ("auto", *ALGORITHMS):
        raise ParameterError(f"algorithm={wanted!r}; expected 'auto' or one of {', '.join(ALGORITHMS)}")

    def serves(algorithm):
        return backend in algorithm.forms and not algorithm.supports(problem)

    def fits(algorithm):
        return not memory.shortage(problem, algorithm, backend)

    if wanted == "auto":
        order = [ALGORITHMS[name] for name in ("pointwise", "depthwise", *_GENERAL[backend], "direct")]
        serving = [algorithm for algorithm in order if serves(algorithm)]
        wanted = next(filter(fits, serving), serving[0])
    algorithm = wanted if isinstance(wanted, Algorithm) else ALGORITHMS[wanted]
    if not serves(algorithm):
        reason = algorithm.supports(problem) or f"it has no form for backend={backend!r}"
        others = [name for name, other in ALGORITHMS.items() if serves(other)]
        raise UnsupportedError(
            f"algorithm={algorithm.name!r} cannot serve this: {reason}; {_listed(others)} can"
        )
    if shortage := memory.shortage(problem, algorithm, backend):
        others = [name for name, other in ALGORITHMS.items() if serves(other) and fits(other)]
        raise WorkspaceError(
            f"algorithm={algorithm.name!r} {shortage}; "
            + (
                f"{_listed(others)} would fit"
                if others
                else "no algorithm would fit: make the batch N smaller"
            )
        )
    return algorithm


class Memory:
    """What a run would allocate, held against the memory at hand (looked up once, and only if needed).

    Parameters
    ----------
    output, copied : int
        Bytes of y, and of a copy of x: contiguous, or on the device.
    threads : int
    device : optional
        Where a GPU form runs; its memory counts then, not that of the machine.
    """

    def __init__(self, output: int, copied: int, threads: int, device=None):
        self.output, self.copied, self.threads, self.device = output, copied, threads, device

    def shortage(self, problem: ConvProblem, algorithm: Algorithm, backend: str) -> str | None:
        """Return why the arrays do not fit, or None if they do or it cannot be known."""
        cost, keeps_w = algorithm.cost(problem, backend, self.threads), algorithm.forms[backend].packs_for
        parts = {
            "workspace": cost.workspace_bytes,
            "packed weights": cost.packed_bytes,
            "a copy of w": problem.w_bytes if self.device is None and keeps_w else 0,
            "output": self.output,
            "a contiguous copy of x" if self.device is None else "a copy of x": self.copied,
        }
        needed = sum(parts.values())
        if needed < _NOT_WORTH_ASKING or self.at_hand is None or needed <= self.at_hand:
            return None
        listed = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts.items() if size)
        memory = "memory" if self.device is None else "device memory"
        return f"needs {bytes_text(needed)} ({listed}) and {bytes_text(self.at_hand)} of {memory} are free"

    @cached_property
    def at_hand(self) -> int | None:
        """Bytes of memory that are free now."""
        if self.device is not None:
            return self.device.free()
        from convlab.measure.machine import memory_at_hand

        return memory_at_hand()


def _listed(names) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
