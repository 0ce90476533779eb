"""Notebook 16: the central line of the model of time."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.lessons.exercise import Exercise, Mistake


def phase_seconds(flops, moved, peak, speed, begun, each):
    """Return the predicted seconds of a phase."""
    # your code here: what happens at the same time, what does not?
    computing = flops / peak
    moving = moved / speed
    beginning = begun * each
    return max(computing, moving) + beginning


def _cases() -> Iterator[tuple]:
    """(flops, moved, peak, speed, begun, each)"""
    yield 100, 10, 50, 10, 0, 1
    yield 100, 90, 50, 10, 0, 1
    yield 100, 10, 50, 10, 6, 0.5
    yield 2e9, 8e6, 1e11, 4e10, 3e4, 2e-8
    yield 0, 3e7, 1e11, 2e10, 1e5, 5e-9


def _answer(flops, moved, peak, speed, begun, each) -> float:
    """The longer of two, from their sum and their difference."""
    a, b = flops / peak, moved / speed
    return (a + b + abs(a - b)) / 2 + begun * each


EXERCISE = Exercise(
    notebook="16",
    statement="phase_seconds(flops, moved, peak, speed, begun, each) returns the predicted seconds of a "
    "phase: `flops` operations at `peak` a second while `moved` bytes flow past at `speed`; then `begun` "
    "things that take `each`.",
    solution=phase_seconds,
    why="A processor computes while memory delivers, so the longer of the two counts. What has to be "
    "begun, a call or a tile, happens before and between, and is added.",
    hints=(
        "Three times: computing, moving, beginning. Which of them overlap?",
        "Computing and moving happen at once: the longer of the two counts. Beginning comes on top.",
        "max(flops / peak, moved / speed) + begun * each.",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "adds what happens at once",
            {"max(computing, moving)": "computing + moving"},
            "The processor computes while the memory delivers: the longer time counts.",
        ),
        Mistake(
            "takes the faster half",
            {"max(": "min("},
            "Who is ready first has to wait for the other.",
        ),
        Mistake(
            "forgets what is begun",
            {" + beginning": ""},
            "Every call, every tile has to be begun, and in small phases that is most of the time.",
        ),
        Mistake(
            "counts beginnings once",
            {"begun * each": "each * (begun > 0)"},
            "There are `begun` of them, one after the other.",
        ),
        Mistake(
            "hides beginnings behind the rest",
            {"max(computing, moving) + beginning": "max(computing, moving, beginning)"},
            "Nothing else happens while something is begun.",
        ),
        Mistake(
            "looks at the operations only",
            {"max(computing, moving)": "computing"},
            "A phase that only copies has no operations at all, and takes its time.",
        ),
        Mistake(
            "looks at the bytes only",
            {"max(computing, moving)": "moving"},
            "A phase may be bound by its arithmetic.",
        ),
        Mistake(
            "lets beginnings overlap with what moves meanwhile",
            {"max(computing, moving) + beginning": "max(computing + beginning, moving)"},
            "Nothing else happens while something is begun, and nothing moves.",
        ),
        Mistake(
            "lets beginnings overlap with moving",
            {"max(computing, moving) + beginning": "max(computing, moving + beginning)"},
            "What is begun comes on top, whichever of the two is longer.",
        ),
    ),
)
