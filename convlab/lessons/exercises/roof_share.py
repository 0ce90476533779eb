"""Notebook 15: how much of its roof a run used."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.lessons.exercise import Exercise, Mistake


def roof_share(done, moved, seconds, flops, rate):
    """Return the share of its nearest roof that a run used."""
    # your code here
    computing = done / flops  # seconds that the arithmetic takes at least
    moving = moved / rate
    return max(computing, moving) / seconds


def _cases() -> Iterator[tuple]:
    """(done, moved, seconds, flops, rate)"""
    yield from ((50, 10, 1.0, 100, 100), (10, 50, 1.0, 100, 100), (10, 50, 2.0, 100, 50))
    yield from ((231e6, 8.3e6, 2.1e-3, 115e9, 82e9), (1.8e6, 102e6, 5e-3, 115e9, 30e9))


def _answer(done, moved, seconds, flops, rate) -> float:
    """As the chart has it: speed over the lower of the two roofs."""
    return (done / seconds) / min(flops, rate * done / moved)


EXERCISE = Exercise(
    notebook="15",
    statement="roof_share(done, moved, seconds, flops, rate) returns the share of its nearest roof that a "
    "run used: it did `done` FLOPs and moved `moved` bytes, and the machine can do `flops` and `rate` of "
    "them a second.",
    solution=roof_share,
    why="Either roof says how long the run must take at least. The longer of the two times is the nearer "
    "roof, and the share is that time over the measured one.",
    hints=(
        "How long must the run take if only the arithmetic counted? And if only the bytes counted?",
        "done / flops and moved / rate are two times. Both happen at once, so the longer one binds.",
        "max(done / flops, moved / rate) / seconds.",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "takes the roof that is farther away",
            {"max(": "min("},
            "The nearest roof is the one that needs more time: it is what holds the run up.",
        ),
        Mistake(
            "adds the two times",
            {"max(computing, moving)": "(computing + moving)"},
            "A machine computes while it moves: the two times overlap.",
        ),
        Mistake(
            "looks at the operations alone",
            {"max(computing, moving)": "computing"},
            "A run may be bound by the memory, and then its arithmetic says little.",
        ),
        Mistake(
            "looks at the memory alone",
            {"max(computing, moving)": "moving"},
            "A run may be bound by its arithmetic, and then its bytes say little.",
        ),
        Mistake(
            "forgets the time that it took",
            {" / seconds": ""},
            "The share is the least possible time over the measured time.",
        ),
        Mistake(
            "is upside down",
            {"max(computing, moving) / seconds": "seconds / max(computing, moving)"},
            "The share is the least time over the measured one: a slower run has a smaller share.",
        ),
        Mistake(
            "gives a percentage",
            {"max(computing": "100 * max(computing"},
            "A share of one half is 0.5.",
        ),
        Mistake(
            "multiplies the time instead of dividing by it",
            {" / seconds": " * seconds"},
            "A run that takes twice as long uses half of its roof.",
        ),
    ),
)
