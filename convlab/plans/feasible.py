"""May this algorithm run this problem here: does it serve it, and is there memory for its arrays?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.errors import UnsupportedError, WorkspaceError
from convlab.gpu.launch_args import uncounted
from convlab.machine.memory import Memory
from convlab.problem import ConvProblem


def serves(problem: ConvProblem, algorithm: Any, backend: str) -> bool:
    """Say if an algorithm has a form on a backend, and does not refuse the problem."""
    return backend in algorithm.forms and not algorithm.refuses(problem)


def shortage(
    problem: ConvProblem, algorithm: Algorithm, backend: str, threads: int, memory: Memory
) -> str | None:
    """Return why what a plan and its run would allocate does not fit into the memory, or None.

    On a device it may also be that kernels could not count the numbers of an array.
    """
    form, on_host = algorithm.forms[backend], memory.device is None
    if not on_host and (why := too_many(problem, form.largest(problem))):
        return why
    return memory.lacking(
        {
            "workspace": form.workspace_bytes(problem, threads),
            "packed weights": form.packed_bytes(problem),
            "a copy of w": problem.w_bytes if on_host and form.pack_key else 0,
            "output": memory.output,
            "a contiguous copy of x" if on_host else "a copy of x": memory.copied,
        }
    )


def too_many(problem: ConvProblem, *others: int) -> str | None:
    """Return why kernels cannot count the numbers of x, of y, or of an array of so many, or None."""
    why = uncounted(max(prod(problem.x_shape), prod(problem.y_shape), *others))
    return f"needs {why}" if why else None


def check_feasible(
    problem: ConvProblem,
    algorithm: Any,
    backend: str,
    threads: int,
    memory: Memory,
    table: Mapping[str, Any] = ALGORITHMS,
    lacking: Callable[..., str | None] = shortage,
) -> None:
    """Refuse an algorithm that does not serve the problem, or whose arrays do not fit; name others that do.

    The others are those of the table; `lacking` says of one of them what `shortage` does.

    Raises
    ------
    UnsupportedError, WorkspaceError
    """
    if not serves(problem, algorithm, backend):
        reason = algorithm.supports(problem) or f"it has no form for backend={backend!r}"
        others = [name for name, other in table.items() if serves(problem, other, backend)]
        raise UnsupportedError(
            f"algorithm={algorithm.name!r} cannot serve this: {reason}; {_listed(others)} can"
        )
    if why := lacking(problem, algorithm, backend, threads, memory):
        others = [
            name
            for name, other in table.items()
            if serves(problem, other, backend) and not lacking(problem, other, backend, threads, memory)
        ]
        smaller = "the batch N" if problem.N > 1 else "the picture, or its padding,"
        none = f"no algorithm would fit: make {smaller} smaller"
        which = f"{_listed(others)} would fit" if others else none
        raise WorkspaceError(f"algorithm={algorithm.name!r} {why}; {which}")


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
