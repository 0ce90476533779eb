"""Which algorithm: the one that was asked for, if it serves and fits, or the best one for "auto".

On backend "cpu" the best is the one that is predicted to pack the weights and run in the least time: whoever
learns packs them as often as they are run. On any other it is the first by a rule (`tables.rule`). Nothing is
measured here.
"""

from __future__ import annotations

from typing import NamedTuple

from convlab.auto.machine_file import kept_until_changed
from convlab.auto.predict import seconds_of
from convlab.auto.ranking import in_order, why_predicted
from convlab.auto.speeds import speeds
from convlab.backends import choose_backend
from convlab.errors import ConvError, ParameterError, WorkspaceError
from convlab.gradients.spec import Gradient
from convlab.gradients.tables import TABLES, rule
from convlab.machine.memory import Memory
from convlab.plans.feasible import check_feasible, serves, too_many
from convlab.problem import ConvProblem
from convlab.support.checks import said


class Chosen(NamedTuple):
    """An algorithm, the backend it runs on, and why it is this one."""

    algorithm: Gradient
    backend: str
    why: str


def choose(
    problem: ConvProblem, which: str, wanted: str, backend: str, threads: int, memory: Memory
) -> Chosen:
    """Return the algorithm that is wanted of those for "dgrad" or "wgrad", or for "auto" the best that fits.

    Raises
    ------
    ConvError
        If there is none of that name, if it does not serve the problem, or if the memory does not suffice.
    """
    backend, table = choose_backend(backend), TABLES[which]
    if not isinstance(wanted, str) or (wanted != "auto" and wanted not in table):
        raise ParameterError(f"algorithm={said(wanted)}; expected 'auto' or one of {', '.join(table)}")
    if wanted == "auto":
        names, why = rank(problem, which, backend, threads)
        serving = [table[name] for name in names if serves(problem, table[name], backend)]
        fitting = (one for one in serving if not shortage(problem, one, backend, threads, memory))
        chosen = next(fitting, serving[0])
        if chosen is not serving[0]:
            why = f"it is the best that fits into the memory; {serving[0].name} does not, though {why}"
    else:
        chosen, why = table[wanted], "it was asked for"
    check_feasible(problem, chosen, backend, threads, memory, table, shortage)
    return Chosen(chosen, backend, why)


def shortage(
    problem: ConvProblem, algorithm: Gradient, backend: str, threads: int, memory: Memory
) -> str | None:
    """Return why what a plan and its run would allocate does not fit into the memory, or None."""
    form = algorithm.forms[backend]
    try:
        sizes = form.workspace(problem, threads) | {"packed weights": form.packed_bytes(problem, threads)}
    except WorkspaceError as error:
        return f"rests on a convolution for which {error}"
    if memory.device is not None and (why := too_many(problem, *_numbers(sizes, problem))):
        return why
    return memory.lacking(sizes | {"output": memory.output, "contiguous copies": memory.copied})


def _numbers(sizes: dict[str, int], problem: ConvProblem) -> list[int]:
    """Return the numbers of arrays of so many bytes."""
    return [size // problem.itemsize for size in sizes.values()]


def rank(problem: ConvProblem, which: str, backend: str, threads: int) -> tuple[list[str], str]:
    """Return the names of algorithms, the best first, and why that is the best; not all need serve."""
    order, why = rule(problem, which), f"it is the first by the rule of backend {backend!r}"
    if backend == "cpu":
        try:
            seconds = predicted(problem, which, threads)
        except ConvError as error:  # the files of the course are not whole, or no convolution inside fits
            return order, f"{why}, for {error}"
        cost = {name: TABLES[which][name].cost(problem, backend, threads) for name in seconds}
        names = in_order(seconds, lambda name: cost[name].workspace_bytes)
        why = why_predicted(seconds, ", packed and run" if which == "dgrad" else "", "allocates least")
        order = list(dict.fromkeys([*names, *order]))
    return order, why


@kept_until_changed
def predicted(problem: ConvProblem, which: str, threads: int = 1) -> dict[str, float]:
    """Return the predicted seconds of every algorithm that serves a problem on backend "cpu".

    They are those of packing the weights and of a run. What is worked out once and stays for new weights, a
    table, does not count.
    """
    here, found = speeds(), {}
    for name, algorithm in TABLES[which].items():
        if serves(problem, algorithm, "cpu") and algorithm.forms["cpu"].phases is not None:
            work = algorithm.forms["cpu"].phases(problem, threads)
            found[name] = here.overheads["call"] + sum(seconds_of(*one, here, threads) for one in work)
    return found
