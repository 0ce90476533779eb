"""Slips that many kinds share: what is forgotten of a layer, and what goes wrong with a unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import log

from convlab.errors import ConvError
from convlab.interview.kind import Slip
from convlab.interview.units import BYTE, FLOP, SECOND, Unit
from convlab.problem import ConvProblem

MULTIPLY_ADD = "A multiply-add is a multiplication and an addition: two FLOP."
NUMBERS = "A number of this type takes more than one byte."


def rounded_up(problem: ConvProblem) -> ConvProblem:
    """Return the layer whose P and Q are rounded up where those of `problem` are rounded down."""
    (top, bottom), (left, right) = problem.padding
    down, across = problem.stride
    more = (top, bottom + down - 1), (left, right + across - 1)
    return replace(problem, padding=more)


# name: how the layer looks to one who makes the slip, and what helps on
_FORGOT: dict[str, tuple[Callable[[ConvProblem], ConvProblem], str]] = {
    "forgets the batch": (
        lambda problem: replace(problem, N=1),
        "Every picture of the batch counts.",
    ),
    "forgets the groups": (
        lambda problem: replace(problem, groups=1),
        "A filter sees the channels of its own group alone.",
    ),
    "forgets the stride": (
        lambda problem: replace(problem, stride=(1, 1)),
        "The window does not stop at every pixel.",
    ),
    "takes the stride along one axis only": (
        lambda problem: replace(problem, stride=(problem.stride[0], 1)),
        "The window moves in steps of the stride down and across.",
    ),
    "forgets the padding": (
        lambda problem: replace(problem, padding=((0, 0), (0, 0))),
        "The border of zeros widens the picture before the window moves.",
    ),
    "forgets the dilation": (
        lambda problem: replace(problem, dilation=(1, 1)),
        "Between the taps of a dilated filter are holes, and they count for how far it reaches.",
    ),
    "rounds the output size up": (
        rounded_up,
        "A window that hangs over the edge is no window: the last step that does not fit is left out.",
    ),
}


def of_layer(problem: ConvProblem, quantity: Callable[[ConvProblem], float], *names: str) -> Iterator[Slip]:
    """Yield what a quantity of a layer comes to for one who forgets something of it.

    Parameters
    ----------
    problem : ConvProblem
    quantity : callable
        ``quantity(problem)`` in the unit of the drill.
    names : str
        Which slips; by default all.
    """
    for name in names or _FORGOT:
        change, hint = _FORGOT[name]
        try:
            seen = change(problem)
        except ConvError:  # there is no such layer
            continue
        if seen != problem:
            yield Slip(name, quantity(seen), hint)


def of_unit(unit: Unit, answer: float) -> Iterator[Slip]:
    """Yield what goes wrong with the unit itself."""
    if unit is BYTE:
        yield Slip("counts bits", 8 * answer, "A byte has 8 bits.")
        if power := min(int(log(answer, 1024)), 3):
            binary, decimal = (("KiB", "kB"), ("MiB", "MB"), ("GiB", "GB"))[power - 1]
            hint = "In Ki, Mi and Gi each step is 1024; in k, M and G it is 1000."
            yield Slip(f"takes {decimal} for {binary}", answer * 1.024**power, hint)
            yield Slip(f"takes {binary} for {decimal}", answer / 1.024**power, hint)
    if unit in (BYTE, FLOP, SECOND):
        hint = f"Count the zeros once more; a number with no unit is in plain {unit.name}."
        for power, steps in enumerate(("a step", "two steps", "three steps"), 1):
            for step in (1024.0, 1000.0) if unit is BYTE else (1000.0,):
                yield Slip(f"is {steps} of the prefixes off", answer * step**power, hint)
                yield Slip(f"is {steps} of the prefixes off", answer / step**power, hint)
