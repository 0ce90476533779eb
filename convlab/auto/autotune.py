"""Which algorithm is the fastest? Measure it, and keep the answer for this machine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import median

from convlab.algorithms import ALGORITHMS
from convlab.auto import machine_file
from convlab.auto.ranking import predicted
from convlab.auto.select import fastest
from convlab.auto.timing import alone, check_output, material, take_turns, timer
from convlab.backends import choose_backend
from convlab.errors import ParameterError
from convlab.machine.memory import Memory
from convlab.plans.feasible import shortage
from convlab.plans.plan import Plan
from convlab.problem import ConvProblem, check_computed
from convlab.support.checked import Threads, checked

HOPELESS = 3.0  # who is predicted to take so many times as long as the best is not tried
SLOW = 6.0  # who takes so many times as long as the fastest has its turns apart, and few of them
ROUNDS, MOST, BUDGET = 7, 31, 0.2  # at least, at most; seconds for more than the least


@checked
def autotune(
    problems: ConvProblem | Iterable[ConvProblem],
    *,
    threads: Threads = 1,
) -> dict[ConvProblem, dict[str, float]]:
    """Time the promising algorithms on backend "cpu", and let "auto" choose by that from now on.

    Those that do not fit into the memory are left out. The algorithms take turns, in random order; each
    output is checked before anything is timed. What was found is kept on disk (`convlab.auto.machine_file`)
    and used by every process on this machine. Timed are runs of plans; for a single `conv2d` the predicted
    packing is added to them.

    Parameters
    ----------
    problems : ConvProblem, or several
    threads : int
        The threads of the plans that are to be chosen.

    Returns
    -------
    dict of ConvProblem to dict of str to float
        For each problem the median seconds of each algorithm that was tried, the fastest first.

    Raises
    ------
    ConvError
        If an argument is wrong, or an output is.

    Examples
    --------
    >>> layer = convlab.networks.load("resnet18")["layer4.0.conv2"].problem
    >>> list(convlab.autotune(layer)[layer])  # doctest: +SKIP
    ['winograd_2x2', 'winograd_4x4', 'indirect', 'precomputed_gemm', 'im2row', 'implicit_gemm']
    """
    choose_backend("cpu")  # or say why not
    problems = [problems] if isinstance(problems, ConvProblem) else list(problems)
    if wrong := [problem for problem in problems if not isinstance(problem, ConvProblem)]:
        raise ParameterError(f"problems holds a {type(wrong[0]).__name__}; expected ConvProblems")
    for problem in problems:
        check_computed(problem)
    return {problem: _tune(problem, threads) for problem in dict.fromkeys(problems)}


def promising(problem: ConvProblem, threads: int = 1) -> list[str]:
    """Return the algorithms that are worth a trial on a layer: those that are not foretold to be slow."""
    seconds = predicted(problem, threads)
    return [name for name in seconds if seconds[name] <= HOPELESS * min(seconds.values())]


def _tune(problem: ConvProblem, threads: int) -> dict[str, float]:
    """Time the promising algorithms on a layer; keep and return their medians, the fastest first."""
    names, memory = promising(problem, threads), Memory(output=problem.y_bytes)
    names = [name for name in names if not shortage(problem, ALGORITHMS[name], "cpu", threads, memory)]
    names = names or [fastest(problem, "cpu", threads, memory)[0].name]  # or say that none fits
    x, w, answer, limit = material(problem)
    with alone(threads):
        timers, once = {}, {}
        for name in names:
            algorithm = ALGORITHMS[name]
            prepared = Plan(problem, w, None, algorithm, "cpu", threads)
            output = prepared(x)  # compiles, too
            check_output(f"{name} on autotune {problem}", output, answer, limit * algorithm.rounding)
            timers[name] = timer(partial(prepared, x), threads=threads)
            once[name] = timers[name]()
        rest = threads > 1
        slow = {name for name in timers if once[name] > SLOW * min(once.values())}
        seconds = take_turns({name: timers[name] for name in slow}, ROUNDS, rest=rest)
        fast = {name: run for name, run in timers.items() if name not in slow}
        seconds |= take_turns(fast, ROUNDS, most=MOST, budget=BUDGET, rest=rest)
    medians = {name: median(seconds[name]) for name in names}
    found = {name: medians[name] for name in sorted(medians, key=medians.get)}
    machine_file.keep_tuned(problem, threads, found)
    return found
