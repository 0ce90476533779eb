"""One layer, everyone who can compute it: each output is checked, then they take turns.

Ours are called as a user calls them, ``plan(x)``: the output is allocated in the call, as the rivals do.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass

from convlab.algorithms import ALGORITHMS
from convlab.api import plan
from convlab.auto.timing import REST, Timer, check_output, material, on_one_core, summary, take_turns, timer
from convlab.benchmark.baselines import RIVALS, Call, Rival
from convlab.benchmark.layers import Case
from convlab.benchmark.saved import Row
from convlab.benchmark.second_blas import OtherBlas
from convlab.errors import ConvError
from convlab.support.checked import Count, Limit, NotNegative, checked

OTHER = "NumPy, other kernel"


@checked
@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes
    ----------
    rounds, most : int
        Timed calls of each candidate, at least and at most.
    budget : float
        Seconds for all candidates of a layer together; beyond the fewest rounds.
    slow : float
        Who is so many times as slow as the fastest has only the fewest rounds, and those apart.
    patience : float
        Seconds that the fewest rounds of a slow one may take; who needs more is left out, and named.
    """

    rounds: Count = 9
    most: Count = 101
    budget: NotNegative = 2.0
    slow: Limit = 6.0
    patience: Limit = 1.0


class Rivals:
    """The rivals that are here, and why the others are not. Use it in a ``with``.

    Attributes
    ----------
    here : list of Rival
    other : OtherBlas or None
    skipped : dict of str to str
        Name to the reason.
    """

    def __init__(self, wanted: Iterable[Rival] = tuple(RIVALS.values()), other: bool = True):
        wanted = list(wanted)
        reasons = {rival.name: rival.missing() for rival in wanted}
        self.here = [rival for rival in wanted if reasons[rival.name] is None]
        self.skipped = {name: reason for name, reason in reasons.items() if reason}
        self.other, self._wants_other = None, other
        self._open = ExitStack()

    def __enter__(self) -> Rivals:
        for rival in tuple(self.here):  # on all cores: some libraries count the cores when they are loaded
            if reason := rival.broken():
                self.skipped[rival.name] = reason
                self.here.remove(rival)
        if self._wants_other:
            try:
                with on_one_core():
                    self.other = self._open.enter_context(OtherBlas())
            except ConvError as reason:
                self.skipped[OTHER] = str(reason)
        return self

    def __exit__(self, *error) -> None:
        self._open.close()


class Contest:
    """Candidates for one layer.

    Parameters
    ----------
    case : Case
    effort : Effort
    threads : int

    Attributes
    ----------
    left_out : list of str
        Who took too long to be timed; known after `rows`.
    """

    def __init__(self, case: Case, effort: Effort, threads: int = 1):
        self.case, self.effort, self.threads = case, effort, threads
        self.prepare()
        self.left_out: list[str] = []
        self._timers: dict[str, Timer] = {}
        self._ours: set[str] = set()
        self._once: dict[str, float] = {}  # seconds of one call

    def prepare(self) -> None:
        """Make the arrays that all candidates get, and what they are held against."""
        self.x, self.w, self.expected, self.limit = material(self.case.problem)

    def check(self, name: str, call: Call, rounding: float = 1.0) -> None:
        """Run a candidate once, and refuse it if its output is wrong.

        Raises
        ------
        ConvError
            If it is.
        """
        output = call.array(call.run())  # compiles, too
        check_output(f"{name} on {self.case.name}", output, self.expected, self.limit * rounding)

    def enter(self, name: str, call: Call, *, ours: bool = False, rounding: float = 1.0) -> None:
        """Check a candidate and take it in."""
        self.check(name, call, rounding)
        self.enter_timer(name, timer(call.run), timer(call.run, warm=0), ours=ours)

    def enter_timer(self, name: str, seconds: Timer, once: Timer, *, ours: bool = False) -> None:
        """Take in a candidate that has been checked, or has no output; `once` times a single call."""
        self._timers[name], self._once[name] = seconds, once()
        if self._once[name] < self.effort.patience / 100:  # a first call may be slow for many reasons
            self._once[name] = min(self._once[name], once(), once())
        if ours:
            self._ours.add(name)

    def enter_ours(self, names: Iterable[str] | None = None) -> None:
        """Take in our algorithms (all of them by default), where they serve this layer."""
        for name in ALGORITHMS if names is None else names:
            algorithm, problem = ALGORITHMS.get(name), self.case.problem
            if algorithm and "cpu" in algorithm.forms and not algorithm.supports(problem):
                prepared = plan(problem, self.w, algorithm=name, backend="cpu", threads=self.threads)
                run = _bound(prepared, self.x)
                self.enter(name, Call(run), ours=True, rounding=algorithm.rounding)

    def enter_rivals(self, rivals: Rivals, names: Iterable[str] | None = None) -> None:
        """Take in the rivals that are here and serve this layer."""
        problem = self.case.problem
        for rival in rivals.here:
            if (names is None or rival.name in names) and not rival.refuses(problem):
                self.enter(rival.name, rival.prepare(problem, self.x, self.w, self.threads))
        serves = self.threads == 1 and problem.groups == 1
        if rivals.other and serves and (names is None or OTHER in names):
            self.check(OTHER, Call(lambda: rivals.other.prepare(problem, self.x, self.w)))
            self.enter_timer(OTHER, rivals.other.seconds, lambda: rivals.other.seconds(0))

    def rows(self, part: str, cache: str = "warm") -> list[Row]:
        """Let them take turns, and return what came of it.

        The very slow have their turns among themselves, and fewer: the fast ones could hardly take theirs.
        """
        effort, fastest = self.effort, min(self._once.values(), default=0.0)
        rest = 0.0 if self.threads == 1 else REST
        fast = {name: t for name, t in self._timers.items() if self._once[name] <= effort.slow * fastest}
        slow = {}
        for name in self._timers.keys() - fast.keys():
            if 3 * effort.rounds * self._once[name] > effort.patience:
                self.left_out.append(name)
            else:
                slow[name] = self._timers[name]
        times = take_turns(slow, effort.rounds, rest=rest)
        times |= take_turns(fast, effort.rounds, budget=effort.budget, most=effort.most, rest=rest)
        case = self.case
        return [
            Row(
                *(part, case.network, case.layer, case.count, case.problem, name),
                ours=name in self._ours,
                threads=self.threads,
                rounds=len(times[name]),
                timing=summary(times[name]),
                cache=cache,
            )
            for name in self._timers
            if name in times
        ]


def _bound(prepared, x):
    return lambda: prepared(x)
