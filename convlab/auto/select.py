"""Which algorithm: the one that was asked for, if it serves and fits, or the best one for "auto".

On backend "cpu" the best is the one that was measured to be (`convlab.autotune`), else the one that the model
predicts to be (`convlab.auto.predict`, from this machine's measured speeds). The other backends have no
such model, and follow a rule.

A plan runs often: a run alone counts. `conv2d` runs once, and packs the weights before that: both count.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.errors import ParameterError, UnsupportedError, WorkspaceError
from convlab.problem import ConvProblem
from convlab.support.checks import said
from convlab.support.units import bytes_text, time_text

_NOT_WORTH_ASKING = 1 << 22  # bytes; to look up the memory at hand takes as long as a small convolution

ALIKE = 1.03  # predictions that lie so near each other say nothing about who is the faster


def choose(
    problem: ConvProblem,
    wanted: str | Algorithm,
    backend: str,
    memory: Memory,
    once: bool = False,
    plain: bool = False,
) -> tuple[Algorithm, str]:
    """Return the algorithm that is wanted, or the best one for "auto", and why it is this one.

    With `once` it is the best one for a single run, before which the weights are packed. With `plain` it is
    the best one that is no transform.

    Raises
    ------
    ConvError
        If there is none of that name, if it does not serve the problem, or if the memory does not suffice.
    """
    if not isinstance(wanted, Algorithm) and (
        not isinstance(wanted, str) or wanted not in ("auto", *ALGORITHMS)
    ):
        raise ParameterError(f"algorithm={said(wanted)}; expected 'auto' or one of {', '.join(ALGORITHMS)}")

    def serves(algorithm):
        return backend in algorithm.forms and not algorithm.refuses(problem)

    def fits(algorithm):
        return not memory.shortage(problem, algorithm, backend)

    why = "it was asked for"
    if wanted == "auto":
        order, why = ranked(problem, backend, memory.threads, once)
        serving = [ALGORITHMS[name] for name in order if serves(ALGORITHMS[name])]
        serving = [one for one in serving if not (plain and one.mixing)]
        wanted = next(filter(fits, serving), serving[0])
        if wanted.name != serving[0].name:
            why = f"it is the best that fits into the memory; {serving[0].name} does not, though {why}"
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
    return algorithm, why


def ranked(problem: ConvProblem, backend: str, threads: int, once: bool) -> tuple[list[str], str]:
    """Return the names of algorithms, the best first, and why that is the best.

    Not all of them need serve the problem.
    """
    why = f"it is the rule on backend {backend!r}"
    if backend == "cpu":
        if not (trouble := _speeds_trouble()):
            return ranked_on_cpu(problem, threads, once)
        why = f"{why}, for the speeds of this machine could not be measured: {trouble}"
    return _by_rank(backend), why


def _by_rank(backend: str) -> list[str]:
    """Return the names of algorithms in the order of the rule, for where there is no model."""
    ranks = {name: one.forms[backend].rank for name, one in ALGORITHMS.items() if backend in one.forms}
    return sorted((name for name, rank in ranks.items() if rank is not None), key=ranks.get)


@lru_cache
def _speeds_trouble() -> str | None:
    """Return why the speeds of this machine are not known, or None. They may be measured to find out."""
    from convlab.auto import speeds

    try:
        speeds.speeds()
    except (MemoryError, RuntimeError) as error:  # no room for the arrays, or for another thread
        return str(error) or type(error).__name__
    return None


@lru_cache(4096)
def ranked_on_cpu(problem: ConvProblem, threads: int, once: bool = False) -> tuple[list[str], str]:
    """Return the same for backend "cpu"; kept, for every `conv2d` asks.

    What was measured are runs. With `once` the predicted packing is added to them, and algorithms that
    were too slow to be measured are predicted: with little to pack, they may be the best of all.
    """
    from convlab.auto import speeds

    measured, seconds = speeds.seconds(problem, threads) or {}, dict(predicted(problem, threads, once))
    if measured and not once:
        order, words = _fastest_first(measured)
        others = [name for name in order_of(seconds, problem, threads) if name not in order]
        why = f"it was the fastest of {len(order)} that were measured here, {words}"
        return order + others, why  # the others, if those do not fit
    for name in measured.keys() & seconds.keys():
        seconds[name] += measured[name] - predicted(problem, threads)[name]
    _, words = _fastest_first(seconds)
    what = ", packed and run" if once else ""
    order, alike = order_of(seconds, problem, threads), len(_alike(seconds))
    if alike == 1:
        return order, f"it is predicted to be the fastest of {len(order)}{what}, {words}"
    why = f"of the {alike} predicted to be about the fastest{what}, {words}, it rounds and allocates least"
    return order, why


def order_of(seconds: dict[str, float], problem: ConvProblem, threads: int = 1) -> list[str]:
    """Return the names of algorithms with predicted seconds, the one to choose first.

    Where predictions are alike, the least rounding decides, then the least workspace.
    """
    alike = sorted(_alike(seconds), key=lambda name: _burden(ALGORITHMS[name], problem, threads))
    return list(dict.fromkeys(alike + sorted(seconds, key=seconds.get)))


def _alike(seconds: dict[str, float]) -> list[str]:
    best = min(seconds.values())
    return [name for name in seconds if seconds[name] <= ALIKE * best]


def _burden(algorithm: Algorithm, problem: ConvProblem, threads: int) -> tuple[float, int]:
    """Return what counts where the times are alike: rounding, then bytes."""
    return algorithm.rounding, algorithm.workspace_bytes(problem, "cpu", threads)


def _fastest_first(seconds: dict[str, float]) -> tuple[list[str], str]:
    """Return the names in order, and the times of the first two in words."""
    order = sorted(seconds, key=seconds.get)
    first, *rest = (f"{time_text(seconds[name])} ({name})" for name in order[:2])
    return order, " before ".join((first, *rest))


@lru_cache(4096)
def predicted(problem: ConvProblem, threads: int = 1, once: bool = False) -> dict[str, float]:
    """Return the predicted seconds of every algorithm that serves a problem on backend "cpu".

    They are those of a run; with `once` also of what a plan does before the first.
    """
    from convlab.auto import speeds
    from convlab.auto.predict import predict, predictable

    return {
        name: predict(problem, algorithm, speeds.speeds(), threads, once=once).seconds
        for name, algorithm in ALGORITHMS.items()
        if predictable(algorithm) and not algorithm.supports(problem)
    }


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
        form = algorithm.forms[backend]
        parts = {
            "workspace": form.workspace_bytes(problem, self.threads),
            "packed weights": form.packed_bytes(problem),
            "a copy of w": problem.w_bytes if self.device is None and form.pack_key else 0,
            "output": self.output,
            "a contiguous copy of x" if self.device is None else "a copy of x": self.copied,
        }
        return self.lacking(parts)

    def lacking(self, parts: dict[str, int]) -> str | None:
        """Return why arrays of so many bytes do not fit, or None."""
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
        from convlab.machine.facts import memory_at_hand

        return memory_at_hand()


def _listed(names) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
