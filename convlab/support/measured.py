"""A number that was measured, and how sure it is: it keeps an interval, and writes no more than it knows.

    gain = times["im2row"].median / times["winograd_4x4"].median
    f"{gain:.1f} times as fast"     2.8, or "2.4 to 3.1" where the rounds leave that open,
                                    or "? (too noisy to tell)" where they leave everything open

It is a float. One that comes of others knows its interval by theirs; what came of the same rounds is
compared round by round, so that a drifting clock, which hits all of a round alike, cancels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from convlab.support.checked import Filled, Positive, checked

TOO_NOISY = "? (too noisy to tell)"
WIDE = 2.0  # a ratio whose interval spans more than this factor says nothing
PRECISE = 1.1  # one that spans less is told as a single number
LONE = 10.0  # a single round may be off by this factor, for all one knows


@dataclass(frozen=True, eq=False)
class Rounds:
    """The seconds of one candidate in each round, and the comparison it took part in."""

    seconds: tuple[float, ...]
    comparison: object


class Measured(float):
    """A float with an interval.

    Attributes
    ----------
    low, high : float
        Where the true value lies, in 19 of 20 cases.
    noisy : bool
        It says nothing: the interval is too wide.
    rounds : Rounds or None
        What it is the median of.
    """

    low: float
    high: float
    noisy: bool
    rounds: Rounds | None

    def __new__(cls, value, low=None, high=None, *, noisy=False, rounds=None):
        self = super().__new__(cls, value)
        self.low = float(value if low is None else low)
        self.high = float(value if high is None else high)
        self.noisy, self.rounds = noisy, rounds
        return self

    @classmethod
    def of(cls, seconds: Sequence[float], comparison: object = None) -> Measured:
        """Return the median of some rounds."""
        low, high = interval(seconds)
        low = min(low, _floor(seconds))
        return cls(median(seconds), low, high, rounds=Rounds(tuple(seconds), comparison))

    @classmethod
    def shortest(cls, seconds: Sequence[float]) -> Measured:
        """Return the shortest of some rounds, for what is asked for at its best."""
        return cls(min(seconds), _floor(seconds), median(seconds))

    @property
    def count(self) -> int:
        """How many rounds it is the median of."""
        return len(self.rounds.seconds) if self.rounds else 0

    def __format__(self, spec: str) -> str:
        if self.noisy:
            return TOO_NOISY
        ends = [format(end, spec) for end in (self.ends if spec else (float(self),))]
        return ends[0] if len(set(ends)) == 1 else " to ".join(end.strip() for end in ends)

    @property
    def ends(self) -> tuple[float, ...]:
        """The number that tells it, or the two between which it lies.

        One tells it if the interval is narrow, and does not leave open who is first.
        """
        open_question = any(self.low < even < self.high for even in (0, 1))  # a gain of 0 %, a ratio of 1
        if not open_question and abs(self.high - self.low) <= (PRECISE - 1) * abs(self):
            return (float(self),)
        return self.low, self.high

    def _with(self, other, do: Callable, turned: bool = False):
        """Return what an operation makes of both values, and of the ends of both intervals."""
        if not isinstance(other, int | float):
            return NotImplemented
        other = other if isinstance(other, Measured) else Measured(other)
        left, right = (other, self) if turned else (self, other)
        value = do(float(left), float(right))
        if do is operator.truediv and left.rounds and right.rounds and _same_turns(left.rounds, right.rounds):
            ends = _ratio(left.rounds.seconds, right.rounds.seconds)
        else:
            ends = [do(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = min(value, *ends), max(value, *ends)
        wide = do is operator.truediv and not 0 < high <= WIDE * low
        return Measured(value, low, high, noisy=left.noisy or right.noisy or wide)

    def __add__(self, other):
        return self._with(other, operator.add)

    def __sub__(self, other):
        return self._with(other, operator.sub)

    def __mul__(self, other):
        return self._with(other, operator.mul)

    def __truediv__(self, other):
        return self._with(other, operator.truediv)

    def __radd__(self, other):
        return self._with(other, operator.add, turned=True)

    def __rsub__(self, other):
        return self._with(other, operator.sub, turned=True)

    def __rmul__(self, other):
        return self._with(other, operator.mul, turned=True)

    def __rtruediv__(self, other):
        return self._with(other, operator.truediv, turned=True)


@checked
def fastest(seconds: Filled[Mapping[str, Positive]]) -> str:
    """Return who takes least time, or all who may: "winograd_4x4 or winograd_6x6".

    No winner is named where the ratio of two leaves open which is the faster.
    """
    first = min(seconds, key=lambda name: seconds[name])
    behind = {name: taken / seconds[first] for name, taken in seconds.items() if name != first}
    may_be = [name for name, ratio in behind.items() if getattr(ratio, "low", ratio) <= 1]
    return " or ".join([first, *may_be])


def _same_turns(left: Rounds, right: Rounds) -> bool:
    same = left.comparison is right.comparison is not None
    return same and len(left.seconds) == len(right.seconds)


def _ratio(left: Sequence[float], right: Sequence[float]) -> list[float]:
    """Return the ends of the interval of a ratio: by its rounds, and by the shortest of each."""
    if left is right:
        return [1.0]
    by_rounds = interval([a / b for a, b in zip(left, right, strict=True)])
    return [*by_rounds, _floor(left) / min(right), min(left) / _floor(right)]


def _floor(seconds: Sequence[float]) -> float:
    """Return what an undisturbed round may have taken: as far below the shortest as the next ones lie above.

    What disturbs only lengthens. If it hits every round, the shortest is too long by about as much as the
    shortest quarter differ.
    """
    ordered = sorted(seconds)
    near = ordered[min(max(3, len(ordered) // 4), len(ordered) - 1)]
    return max(2 * ordered[0] - near, ordered[0] / 2)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return where the median of what some positive values were drawn from lies, in 19 of 20 cases.

    Each value lies above it or below, like a coin: so many of the smallest and of the largest are left out
    as a fair coin allows. No shape of the distribution is assumed. Where fewer than six are all there is,
    their range is stretched to three times as much.
    """
    ordered, count = sorted(values), len(values)
    first, last = ordered[0], ordered[-1]
    if count == 1:
        return first / LONE, first * LONE
    if count < 6:
        return first * first / last, last * last / first
    out, chance = 0, 2 / 2**count  # that the median lies outside of all
    while (chance := chance + 2 * comb(count, out + 1) / 2**count) <= 0.05:
        out += 1
    return ordered[out], ordered[count - 1 - out]
