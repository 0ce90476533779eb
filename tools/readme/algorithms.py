"""The README's table of algorithms: what each does and serves, asked of the algorithms themselves.

An algorithm says of a problem whether it serves it. So a grid of problems is put to each of them, and a
column of the table is what is left of one axis of that grid: no list of features is kept anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import product

from convlab.algorithms import ALGORITHMS, Algorithm
from convlab.gradients.tables import DGRAD, WGRAD
from convlab.problem import ConvProblem
from convlab.support.checks import COMPUTES

CHANNELS = 6
GRID: dict[str, tuple] = {  # what is put to them
    "filter": (*range(1, 13), 33, 40),
    "stride": (1, 2, 3),
    "dilation": (1, 2),
    "groups": (1, 2, CHANNELS),
    "padding": (0, 1, ((2, 0), (0, 3))),
}
ANY = "any"
BACKENDS = {"numpy": "NumPy", "cpu": "CPU", "gpu": "GPU"}
NAMES = " and ".join([", ".join(list(BACKENDS.values())[:-1]), list(BACKENDS.values())[-1]])
GRADIENTS = {"dx": DGRAD, "dw": WGRAD}


def markdown() -> str:
    """Return a row for each algorithm, and under the table what holds for all of them and of the way back."""
    rows = (
        f"| `{one.name}` | {one.summary} | {layers(one)} | {backwards(one.name)} |"
        for one in ALGORITHMS.values()
    )
    names = (
        f"`convlab.{what}` has {', '.join(f'`{name}`' for name in table)}"
        for what, table in (("dgrad", DGRAD), ("wgrad", WGRAD))
    )
    return "\n".join(
        [
            "| algorithm | what it does | layers that it serves | backwards |",
            "|---|---|---|---|",
            *rows,
            "",
            f"All of them take batches and bias, in {' and '.join(COMPUTES)}, and have forms for "
            f"{NAMES}, where a row does not say otherwise. What one does not serve, "
            "it says in words, with the names of those that do. Backwards, to the gradients of x (dx) and of "
            f"w (dw), {'; '.join(names)}.",
        ]
    )


def layers(algorithm: Algorithm) -> str:
    """Return in words which layers an algorithm serves, and its forms where one is missing."""
    said = [f"{name} {values}" for name, values in columns(algorithm).items() if values != ANY]
    said = said or [ANY]
    there = [title for name, title in BACKENDS.items() if name in algorithm.forms]
    return ", ".join(said) + (f"; {', '.join(there)} alone" if len(there) < len(BACKENDS) else "")


def columns(algorithm: Algorithm) -> dict[str, str]:
    """Return what an algorithm serves, by the axes of the grid: "any", or which values."""
    served = [values for values, problem in _problems() if not algorithm.supports(problem)]
    if not served:
        raise ValueError(f"{algorithm.name} serves no problem of the grid")
    return {name: _said(name, {values[i] for values in served}) for i, name in enumerate(GRID)}


def backwards(name: str) -> str:
    """Return the gradients that have an algorithm of this name."""
    return ", ".join(what for what, table in GRADIENTS.items() if name in table) or "–"


@cache
def _problems() -> tuple[tuple[tuple, ConvProblem], ...]:
    return tuple(
        (
            values,
            ConvProblem(
                1,
                90,
                91,
                CHANNELS,
                2 * CHANNELS,
                values[0],
                values[0],
                *values[1:2],
                padding=values[4],
                dilation=values[2],
                groups=values[3],
            ),
        )
        for values in product(*GRID.values())
    )


_NAMED: dict[str, Callable[[object], str]] = {
    "filter": lambda size: f"{size} × {size}",
    "groups": lambda groups: "= C" if groups == CHANNELS else f"{groups}",
    "padding": lambda padding: "none" if padding == 0 else "symmetric" if padding == 1 else "one-sided",
}


def _said(name: str, left: Iterable) -> str:
    """Return what is left of an axis of the grid: "any", "1", "5 × 5 to 8 × 8"."""
    values = [value for value in GRID[name] if value in left]
    if len(values) == len(GRID[name]):
        return ANY
    named = [_NAMED.get(name, str)(value) for value in values]
    together = name == "filter" and values == list(range(values[0], values[-1] + 1)) and len(values) > 2
    return f"{named[0]} to {named[-1]}" if together else ", ".join(named)
