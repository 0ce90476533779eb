"""Notebook 16: what a choice of algorithms costs."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, fsum, log, prod
from statistics import median

from convlab.lessons.exercise import Exercise, Mistake


def regret(seconds, chosen):
    """Return how many times as long the chosen algorithms take as the best."""
    # your code here: seconds is a list of {algorithm: time}, chosen a list of names
    ratios = []
    for times, name in zip(seconds, chosen, strict=True):
        ratios.append(times[name] / min(times.values()))
    return prod(ratios) ** (1 / len(ratios))


def _cases() -> Iterator[tuple]:
    """(seconds, chosen)"""
    small, large = {"indirect": 2.0, "direct": 4.0}, {"indirect": 30.0, "winograd_4x4": 10.0, "direct": 90.0}
    yield [small], ["direct"]
    yield [small], ["indirect"]
    yield [small, large], ["indirect", "indirect"]
    yield [small, large, large], ["direct", "winograd_4x4", "indirect"]
    yield [small, small, large], ["direct", "direct", "indirect"]  # the same ratio twice
    yield [{"im2row": 0.5, "fft": 0.125}, large, small], ["im2row", "direct", "direct"]


def _answer(seconds, chosen) -> float:
    """The mean of logarithms."""
    gaps = [log(times[name]) - log(min(times.values())) for times, name in zip(seconds, chosen, strict=True)]
    return exp(fsum(gaps) / len(gaps))


EXERCISE = Exercise(
    notebook="16",
    statement="regret(seconds, chosen) returns how many times as long the chosen algorithms take as the "
    "best, as a geometric mean; `seconds` has a dict of times for each layer, `chosen` a name for each.",
    solution=regret,
    why="Each layer counts as a ratio, so a short layer weighs as much as a long one. Ratios multiply, and a "
    "geometric mean treats twice as long and half as long alike.",
    hints=(
        "For one layer: how many times as long does the chosen algorithm take as the fastest of that layer?",
        "times[name] / min(times.values()) is the ratio of a layer. A geometric mean of n ratios is the n-th "
        "root of their product.",
        "prod(ratios) ** (1 / len(ratios)), with a ratio for each pair of zip(seconds, chosen).",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "takes the arithmetic mean",
            {"prod(ratios) ** (1 / len(ratios))": "sum(ratios) / len(ratios)"},
            "Ratios multiply: with a geometric mean, 4 times here and 1 there is 2 times on the whole.",
        ),
        Mistake(
            "compares the sums of all layers",
            {
                "prod(ratios) ** (1 / len(ratios))": "sum(t[n] for t, n in zip(seconds, chosen)) / "
                "sum(min(t.values()) for t in seconds)"
            },
            "In a sum the longest layer decides alone. Here every layer counts as a ratio.",
        ),
        Mistake(
            "is upside down",
            {"times[name] / min(times.values())": "min(times.values()) / times[name]"},
            "Regret is at least 1: the chosen time over the best.",
        ),
        Mistake(
            "compares with the slowest",
            {"min(times": "max(times"},
            "Regret is measured against the best that could have been chosen.",
        ),
        Mistake(
            "takes the median",
            lambda seconds, chosen: median(
                times[name] / min(times.values()) for times, name in zip(seconds, chosen, strict=True)
            ),
            "The one in the middle says nothing of how bad the worst are. A geometric mean is asked for.",
        ),
        Mistake(
            "looks at the first layer only",
            lambda seconds, chosen: seconds[0][chosen[0]] / min(seconds[0].values()),
            "Every layer has a ratio of its own.",
        ),
        Mistake(
            "forgets the root",
            {" ** (1 / len(ratios))": ""},
            "A product of n ratios grows with n; its n-th root is their mean.",
        ),
        Mistake(
            "divides by the number instead of taking the root",
            {" ** (1 / len(ratios))": " / len(ratios)"},
            "The mean of factors is a root: two layers, the square root.",
        ),
        Mistake(
            "tells the worst layer",
            {"prod(ratios) ** (1 / len(ratios))": "max(ratios)"},
            "A mean over all layers is asked for.",
        ),
        Mistake(
            "tells the last layer",
            {"prod(ratios) ** (1 / len(ratios))": "ratios[-1]"},
            "Every layer has its part in the mean.",
        ),
        Mistake(
            "takes the root of two layers always",
            {"1 / len(ratios)": "1 / 2"},
            "n layers: the n-th root.",
        ),
    ),
)
