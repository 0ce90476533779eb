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
    alike = (
        _rounded(all_),
        _factor(exercise, all_),
        _offset(exercise, all_),
        _overflown(wrong),
        _coarse(all_, wrong),
    )
    yield from filter(None, alike)
    yield from filter(None, (_where(exercise, all_, wrong), _unfitting(wrong), _cast(wrong)))


def _coarse(outcomes: Sequence[Outcome], wrong: Sequence[Outcome]) -> str:
    """Find numbers of which the first digits are right, and no others: those of a short type."""
    if any(np.all(o.expected == np.trunc(o.expected)) for o in wrong):
        return ""  # a whole number that is off by one says nothing of its type
    for o in outcomes:
        expected, got = np.asarray(o.expected, np.float64), numbers(o.got)
        if got is None or got.shape != expected.shape:
            return ""
        if (np.abs(got - expected) > 2e-3 * np.abs(expected).max(initial=0)).any():
            return ""
    return (
        "The first digits are right, and the last are not: of what type are your numbers? float16 has three "
        "digits, float32 seven."
    )


def _overflown(wrong: Sequence[Outcome]) -> str:
    """Find whole numbers that went around: in 8 bits 127 + 1 is -128, in 16 bits 32767 + 1 is -32768."""
    pairs = [(np.asarray(o.expected, np.float64), numbers(o.got)) for o in wrong]
    whole = [(e, g) for e, g in pairs if (e == np.trunc(e)).all()]
    for bits in (8, 16, 32):
        if whole and all(_went_around(e, g, bits) for e, g in whole):
            return (
                f"Your numbers are off by multiples of {2**bits}: {bits} bits are too few for them, and what "
                "is too large begins again below. Of what type is the array that they are written into?"
            )
    return ""


def _went_around(expected: np.ndarray, got: np.ndarray | None, bits: int) -> bool:
    if got is None or got.shape != expected.shape or (np.abs(got) >= 2**bits).any():
        return False
    off = got - expected
    return bool(off.any() and not (off % 2**bits).any())


def _rounded(outcomes: Sequence[Outcome]) -> str:
    """Find single numbers that have lost the digits behind the first few."""
    if any(np.ndim(o.expected) or not isinstance(o.got, (int, float, np.number)) for o in outcomes):
        return ""
    if any(numbers(o.got) is None for o in outcomes):  # a whole number beyond all floats
        return ""
    for digits in range(5):
        if all(np.isclose(o.got, np.round(o.expected, digits), rtol=1e-12, atol=0) for o in outcomes):
            to = f"{digits} digits behind the point" if digits else "whole numbers"
            return f"Your results are rounded to {to}: return them as they are."
    if all(o.got == np.floor(o.expected) for o in outcomes):
        return "Your results are rounded down to whole numbers: return them as they are."
    return ""


def _factor(exercise: Exercise, outcomes: Sequence[Outcome]) -> str:
    """Find that all results are the right ones times an argument or a simple number."""
    outcomes = [o for o in outcomes if np.any(o.expected) or not same(o.expected, o.got)]  # 0 fits any factor
    ratios = [ratio for o in outcomes if (ratio := _one_ratio(o)) is not None]
    if not ratios or len(ratios) < len(outcomes) or np.allclose(ratios, 1):
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
    """Find what the cases that are right have in common, unless it may be chance."""
    bad = [any(o is w for w in wrong) for o in outcomes]
    if min(bad.count(True), bad.count(False)) < 2:
        return ""
    verb = "raises an error" if all(o.error for o in wrong) else "is wrong"
    features = _features(exercise, outcomes)
    plain = {name: 0 if "padding" in name else 1 for name in features}  # what changes nothing
    unlike = {f"{name} is {plain[name]}": [v != plain[name] for v in features[name]] for name in features}
    for a, b in (("H", "W"), ("R", "S"), ("P", "Q"), ("C", "K"), ("M", "N")):
        if {a, b} <= set(features):
            unlike[f"{a} and {b} are equal"] = [x != y for x, y in zip(features[a], features[b], strict=True)]
    if fits := [said for said, values in unlike.items() if values == bad]:
        both = " and ".join(fits)
        return f"It is right wherever {both}, and {verb} in every other case." if len(fits) < 3 else ""
    wrong_beside = {}  # how often it is wrong where a number is not the usual one, if it is right where it is
    for name in features:
        usual, others = (
            [b for u, b in zip(unlike[f"{name} is {plain[name]}"], bad, strict=True) if u is so]
            for so in (False, True)
        )
        is_size = name.isupper() or name in ("stride", "padding", "dilation", "groups")
        if is_size and len(usual) > 1 and not any(usual):
            wrong_beside[name] = sum(others) / len(others)
    best = max(wrong_beside.values(), default=0)
    names = [name for name, share in wrong_beside.items() if share == best]
    if best > 0.6 and len(names) == 1:
        return f"It {verb} only where {names[0]} is not {plain[names[0]]}."
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


def _cast(wrong: Sequence[Outcome]) -> str:
    """Find fractions that are added to an array of whole numbers."""
    found = [
        re.search(r"Cannot cast ufunc .* from dtype\('float\d+'\) to dtype\('u?int", str(o.error))
        for o in wrong
    ]
    if not all(found):
        return ""
    return "It adds numbers with a fraction to an array of whole numbers: make that array one of floats."


def _features(exercise: Exercise, outcomes: Sequence[Outcome]) -> Mapping[str, list[Any]]:
    """Return the numbers among the arguments of every case, and the sizes of arrays by their letters."""
    rows = []
    for o in outcomes:
        row: dict[str, Any] = {}
        for name, value in zip(exercise.arguments, o.arguments, strict=True):
            if isinstance(value, (int, float)):
                row[name] = value
            elif isinstance(value, np.ndarray) and len(exercise.shapes.get(name, "")) == value.ndim:
                sizes = zip(exercise.shapes[name], value.shape, strict=True)
                row |= {letter: size for letter, size in sizes if letter.isupper()} | row
        rows.append(row)
    return {name: [row[name] for row in rows] for name in rows[0] if all(name in row for row in rows)}
