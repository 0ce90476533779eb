"""Results that are several numbers with names, such as (n, h, w, c): which of them is wrong?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from convlab.lessons.attempt import Outcome
from convlab.lessons.difference import numbers, same

Look = Callable[[Sequence[Outcome]], Iterable[str]]


def clues_of_parts(parts: tuple[str, ...], outcomes: Sequence[Outcome], look: Look) -> Iterator[str]:
    """Yield what can be said of the parts: that they change places, or which of them are wrong, and where.

    Parameters
    ----------
    parts : tuple of str
        Their names.
    outcomes : sequence of Outcome
        All cases.
    look : callable
        Yields clues for outcomes that are one number each.
    """
    got = [found for o in outcomes if (found := numbers(o.got)) is not None and found.shape == (len(parts),)]
    if len(got) < len(outcomes):
        return
    expected = [np.asarray(o.expected) for o in outcomes]
    both = list(zip(expected, got, strict=True))
    wrong_ones = [(e, g) for e, g in both if not same(e, g)]
    for order in list(permutations(range(len(parts))))[1:]:
        if all(same(e[list(order)], g) for e, g in wrong_ones):
            always = all(same(e[list(order)], g) for e, g in both)
            begun = "The" if always else "In the cases that are wrong the"
            yield f"{begun} numbers are right, but in the order ({', '.join(parts[i] for i in order)})."
    alone = {
        name: [replace(o, expected=e[i], got=g[i]) for o, e, g in zip(outcomes, expected, got, strict=True)]
        for i, name in enumerate(parts)
    }
    wrong = {name: each for name, each in alone.items() if not all(same(o.expected, o.got) for o in each)}
    if len(wrong) < len(parts):
        *some, last = wrong
        said = f"Only {', '.join(some)} and {last} are wrong." if some else f"Only {last} is wrong."
        clues = {next(iter(look(each)), "") for each in wrong.values()}
        yield f"{said} {clues.pop()}".rstrip() if len(clues) == 1 else said
