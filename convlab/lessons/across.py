"""What all cases together tell of a mistake: how far off the results are, and what the wrong cases share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from convlab.lessons.attempt import Outcome
from convlab.lessons.difference import numbers, same
from convlab.lessons.exercise import Exercise


def clues_of_cases(exercise: Exercise, all_: Sequence[Outcome], wrong: Sequence[Outcome]) -> Iterator[str]:
    """Yield what holds of all cases, the most particular first; `wrong` are those that fail."""
    if len(all_) > 2 and all(o.got is not None and same(o.got, all_[0].got) for o in all_):
        yield "It returns the same in every case: what does the result depend on?"
    yield from filter(None, (_rounded(all_), _factor(exercise, all_), _offset(exercise, all_)))
    yield from filter(None, (_where(exercise, all_, wrong), _unfitting(wrong)))


def _rounded(outcomes: Sequence[Outcome]) -> str:
    """Find single numbers that have lost the digits behind the first few."""
    if any(np.ndim(o.expected) or not isinstance(o.got, (int, float, np.number)) for o in outcomes):
        return ""
    for digits in range(5):
        if all(np.isclose(o.got, np.round(o.expected, digits), rtol=1e-12, atol=0) for o in outcomes):
            to = f"{digits} digits behind the point" if digits else "whole numbers"
            return f"Your results are rounded to {to}: return them as they are."
    return ""


def _factor(exercise: Exercise, outcomes: Sequence[Outcome]) -> str:
    """Find that all results are the right ones times an argument or a simple number."""
    ratios = [ratio for o in outcomes if (ratio := _one_ratio(o)) is not None]
    if len(ratios) < len(outcomes) or np.allclose(ratios, 1):
        return ""
    plain = {1 / n: f"{n:g} times too small" for n in (2, 3, 4, 8, 16, 100, 1000, 1024, 1e6)}
    plain |= {1 / r: said.replace("small", "large") for r, said in plain.items()}
    for ratio, said in plain.items():
        if np.allclose(ratios, ratio, rtol=1e-4):
            return f"Every result is {said}."
    features = _features(exercise, outcomes)
    both = {f"{a} and by {b}": np.multiply(features[a], features[b]) for a, b in combinations(features, 2)}
    for name, values in {**features, **both}.items():
        if all(v > 0 for v in values):
            for power, said in ((1, "large: it is multiplied"), (-1, "small: it is divided")):
                for extra in (1, *plain):
                    if np.allclose(ratios, [extra * float(v) ** power for v in values], rtol=1e-4):
                        also = "" if extra == 1 else f", and besides {plain[extra]}"
                        return f"Every result is too {said} by {name} once more than it should be{also}."
    return ""


def _one_ratio(outcome: Outcome) -> float | None:
    expected, got = np.asarray(outcome.expected, np.float64), numbers(outcome.got)
    if got is None or got.shape != expected.shape or not expected.any():
        return None
    ratios = got[expected != 0] / expected[expected != 0]
    return float(ratios.flat[0]) if np.allclose(ratios, ratios.flat[0], rtol=1e-4) else None


def _offset(exercise: Exercise, outcomes: Sequence[Outcome]) -> str:
    """Find that all numbers are too large or too small by the same."""
    steps = []
    for o in outcomes:
        expected, got = np.asarray(o.expected, np.float64), numbers(o.got)
        if got is None or got.shape != expected.shape or not got.size:
            return ""
        off = got - expected
        if not np.allclose(off, off.flat[0], rtol=1e-6, atol=1e-6 * np.abs(expected).max()):
            return ""
        steps.append(float(off.flat[0]))
    if np.allclose(steps, steps[0]) and steps[0]:
        return f"Every result is {abs(steps[0]):g} too {'large' if steps[0] > 0 else 'small'}."
    for name, values in _features(exercise, outcomes).items():
        for sign, said in ((1, "large"), (-1, "small")):
            if np.allclose(steps, [sign * float(v) for v in values]):
                return f"Every result is too {said} by just {name}."
    return ""


def _where(exercise: Exercise, outcomes: Sequence[Outcome], wrong: Sequence[Outcome]) -> str:
    """Find what the cases that are right have in common."""
    bad = [any(o is w for w in wrong) for o in outcomes]
    if all(bad):
        return ""
    verb = "raises an error" if all(o.error for o in wrong) else "is wrong"
    features = _features(exercise, outcomes)
    plain = {name: 0 if "padding" in name else 1 for name in features}  # what changes nothing
    few = bad.count(False) < 2  # one case says nothing of what others have in common with it
    for name, values in features.items():
        if [v != plain[name] for v in values] == bad and not few:
            return f"It is right wherever {name} is {plain[name]}, and {verb} in every case where it is not."
    for a, b in (("H", "W"), ("R", "S"), ("P", "Q"), ("C", "K"), ("M", "N")):
        if few or not {a, b} <= set(features):
            continue
        if [x != y for x, y in zip(features[a], features[b], strict=True)] == bad:
            return f"It is right wherever {a} and {b} are equal, and {verb} wherever they are not."
    wrong_beside = {}  # how often it is wrong where a number is not the usual one, if it is right where it is
    for name, values in features.items():
        usual, others = (
            [b for v, b in zip(values, bad, strict=True) if (v == plain[name]) is so] for so in (True, False)
        )
        is_size = name.isupper() or name in ("stride", "padding", "dilation", "groups")
        if is_size and len(usual) > 1 and not any(usual):
            wrong_beside[name] = sum(others) / len(others)
    name = max(wrong_beside, key=wrong_beside.__getitem__, default="")
    if name and wrong_beside[name] > 0.6:
        return f"It {verb} only where {name} is not {plain[name]}."
    return ""


def _unfitting(wrong: Sequence[Outcome]) -> str:
    """Find arrays that were combined number by number, and are not of one shape."""
    shapes = re.compile(r"broadcast together with shapes (\(.*?\)) (\(.*?\))")
    found = [match for o in wrong if (match := shapes.search(str(o.error)))]
    if not found or len(found) < len(wrong):
        return ""
    one, two = found[0].groups()
    return (
        f"It combines an array of the shape {one} with one of the shape {two}, number by number. That works "
        "where two sizes are equal, or one of them is 1. Which of the two has another shape than you thought?"
    )


def _features(exercise: Exercise, outcomes: Sequence[Outcome]) -> Mapping[str, list[Any]]:
    """Return the numbers among the arguments of every case, and the sizes of arrays by their letters."""
    rows = []
    for o in outcomes:
        row: dict[str, Any] = {}
        for name, value in zip(exercise.arguments, o.arguments, strict=True):
            if isinstance(value, (int, float)):
                row[name] = value
            elif isinstance(value, np.ndarray) and len(exercise.shapes.get(name, "")) == value.ndim:
                row |= dict(zip(exercise.shapes[name], value.shape, strict=True)) | row
        rows.append(row)
    return {name: [row[name] for row in rows] for name in rows[0] if all(name in row for row in rows)}
