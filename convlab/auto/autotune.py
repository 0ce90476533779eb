"""Which algorithm is the fastest? Measure it, and keep the answer for this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from convlab.algorithms import ALGORITHMS
from convlab.auto import speeds
from convlab.auto.select import predicted
from convlab.auto.timing import alone
from convlab.benchmark.comparison import Comparison, Effort, WallClock
from convlab.benchmark.layers import Workload
from convlab.benchmark.saved import Row
from convlab.cpu.threads import check_threads
from convlab.errors import ParameterError
from convlab.problem import ConvProblem
from convlab.support.checked import Threads, checked

HOPELESS = 3.0  # who is predicted to take so many times as long as the best is not tried
_EFFORT = Effort(rounds=7, most=31, budget=0.2, patience=float("inf"))


@checked
def autotune(
    problems: ConvProblem | Iterable[ConvProblem],
    *,
    threads: Threads = 1,
    on_problem: Callable[[ConvProblem], None] = lambda problem: None,
) -> dict[ConvProblem, dict[str, float]]:
    """Time the promising algorithms on backend "cpu", and let "auto" choose by that from now on.

    The algorithms take turns, in random order; each output is checked before anything is timed. What was
    found is kept on disk (`convlab.auto.speeds`) and used by every process on this machine. Timed are
    runs of plans; for a single `conv2d` the predicted packing is added to them.

    Parameters
    ----------
    problems : ConvProblem, or several
    threads : int
        The threads of the plans that are to be chosen.
    on_problem : callable
        Told each problem before it is measured.

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
    >>> layer = networks.load("resnet18")["layer4.0.conv2"].problem
    >>> list(autotune(layer)[layer])  # doctest: +SKIP
    ['winograd_2x2', 'winograd_4x4', 'indirect', 'precomputed_gemm', 'im2row', 'implicit_gemm']
    """
    problems = [problems] if isinstance(problems, ConvProblem) else list(problems)
    check_threads(threads)
    if wrong := [problem for problem in problems if not isinstance(problem, ConvProblem)]:
        raise ParameterError(f"problems holds a {type(wrong[0]).__name__}; expected ConvProblems")
    return {problem: _tune(problem, threads, on_problem) for problem in dict.fromkeys(problems)}


def _tune(problem: ConvProblem, threads: int, on_problem) -> dict[str, float]:
    on_problem(problem)
    rows = timed(Workload("autotune", str(problem), problem), threads)
    found = {row.candidate: row.seconds for row in sorted(rows, key=lambda row: row.seconds)}
    speeds.keep(problem, threads, found)
    return found


def timed(workload: Workload, threads: int = 1) -> list[Row]:
    """Time the promising algorithms on a layer, and keep nothing."""
    expected = predicted(workload.problem, threads)
    promising = [name for name in expected if expected[name] <= HOPELESS * min(expected.values())]
    with alone(threads):
        comparison = Comparison(workload, _EFFORT, WallClock(threads))
        comparison.enter_ours({name: ALGORITHMS[name] for name in promising})
        return comparison.rows("autotune")
