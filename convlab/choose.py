"""Which algorithm: the one that was asked for, if it serves and fits, or a good one for "auto"."""

from __future__ import annotations

from functools import cached_property

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.base import Algorithm
from convlab.errors import ParameterError, UnsupportedError, WorkspaceError
from convlab.problem import ConvProblem
from convlab.units import bytes_text

_NOT_WORTH_ASKING = 1 << 20  # bytes; below this the memory at hand is not looked up


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
        # The special case first. As plain NumPy a copy and one product are quicker than many small ones.
        general = ("indirect", "im2row") if backend == "cpu" else ("im2row", "indirect")
        order = [ALGORITHMS[name] for name in ("pointwise", "depthwise", *general, "direct")]
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
    """What a run would allocate, held against the memory at hand (looked up once, and only if needed)."""

    def __init__(self, output: int, copied: int, threads: int):
        self.output, self.copied, self.threads = output, copied, threads

    def shortage(self, problem: ConvProblem, algorithm: Algorithm, backend: str) -> str | None:
        """Return why the arrays do not fit, or None if they do or it cannot be known."""
        cost = algorithm.cost(problem, backend, self.threads)
        parts = {
            "workspace": cost.workspace_bytes,
            "packed weights": cost.packed_bytes,
            "a copy of w": problem.w_bytes if algorithm.forms[backend].packs_for else 0,
            "output": self.output,
            "a contiguous copy of x": self.copied,
        }
        needed = sum(parts.values())
        if needed < _NOT_WORTH_ASKING or self.at_hand is None or needed <= self.at_hand:
            return None
        listed = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts.items() if size)
        return f"needs {bytes_text(needed)} ({listed}) and {bytes_text(self.at_hand)} of memory are free"

    @cached_property
    def at_hand(self) -> int | None:
        """Bytes of memory that are free now."""
        from convlab.measure.machine import memory_at_hand

        return memory_at_hand()


def _listed(names) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
