"""What the numbers themselves tell of a mistake that has no name in the bank.

Each clue is a function that looks at all cases or at the first wrong one, and says a sentence or nothing.
They are asked from the most particular to the most general.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from convlab.lessons.attempt import Outcome
from convlab.lessons.difference import numbers, same, wrong_cells
from convlab.lessons.exercise import Exercise
from convlab.lessons.parts import clues_of_parts

AXES = {
    "N": "picture",
    "H": "row",
    "W": "column",
    "C": "channel",
    "K": "filter",
    "P": "row",
    "Q": "column",
    "R": "row of taps",
    "S": "column of taps",
    "NPQ": "window",
    "RSC": "tap and channel",
    "CRS": "channel and tap",
}

Letters = str | tuple[str, ...]


def clue(exercise: Exercise, outcomes: Sequence[Outcome]) -> str:
    """Return the first clue that fits, or ""."""
    wrong = [o for o in outcomes if not same(o.expected, o.got)]
    kinds = (_clues_of_parts, _clues_of_a_case, _clues_of_all)
    found = (said for kind in kinds for said in kind(exercise, outcomes, wrong))
    return next(found, "") if wrong else ""


def _clues_of_parts(exercise: Exercise, all_: Sequence[Outcome], _: Sequence[Outcome]) -> Iterator[str]:
    def look(each: Sequence[Outcome]) -> Iterator[str]:
        return _clues_of_all(exercise, each, [o for o in each if not same(o.expected, o.got)])

    return clues_of_parts(exercise.parts, all_, look) if exercise.parts else iter(())


def _clues_of_a_case(exercise: Exercise, _: Sequence[Outcome], wrong: Sequence[Outcome]) -> Iterator[str]:
    """Yield what holds of the arrays of every wrong case."""
    arrays = [(np.asarray(o.expected, np.float64), numbers(o.got)) for o in wrong]
    pairs = [(e, g) for e, g in arrays if g is not None and e.ndim]
    if pairs and len(pairs) == len(wrong):
        yield from of_arrays(pairs, exercise.shapes.get("return", ""))


def of_arrays(pairs: Sequence[tuple[np.ndarray, np.ndarray]], letters: Letters) -> Iterator[str]:
    """Yield what holds of all pairs of an array that was expected and one that came out; there are some."""
    for look in (_empty, _whole, _unordered, _turned, _sized, _shifted, _placed):
        each = [list(look(e, g, letters if len(letters) == e.ndim else "")) for e, g in pairs]
        yield from (sentence for sentence in each[0] if all(sentence in other for other in each))


def _clues_of_all(exercise: Exercise, all_: Sequence[Outcome], wrong: Sequence[Outcome]) -> Iterator[str]:
    if len(all_) > 2 and all(o.got is not None and same(o.got, all_[0].got) for o in all_):
        yield "It returns the same in every case: what does the result depend on?"
    yield from filter(None, (_rounded(all_), _factor(exercise, all_), _offset(exercise, all_)))
    yield from filter(None, (_where(exercise, all_, wrong),))


# -- one array beside another: all that may be said of it --------------------------------------------------


def _empty(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    if np.isnan(got).any():
        yield "There are NaN among your numbers: 0/0, or something that was read before it was written."
    elif not got.any():
        yield "Everything that you return is 0: are the sums written into what you return?"


def _whole(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    if got.shape != expected.shape or (got != np.trunc(got)).any() or (expected == np.trunc(expected)).all():
        return
    if (np.abs(got - expected) <= 1 + 1e-3 * np.abs(expected)).all():
        yield "Your numbers lost their fractions: of what type is the array that they are written into?"


def _unordered(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    """Find the right numbers at other places."""
    if got.size != expected.size or not np.allclose(np.sort(got, None), np.sort(expected, None), rtol=1e-4):
        return
    for axes in permutations(range(expected.ndim)):
        if same(expected.transpose(axes), got) and axes != tuple(range(expected.ndim)):
            order = ", ".join(letters[a] for a in axes) if letters else str(axes)
            yield f"The numbers are right, but their axes lie in another order: yours is ({order})."
    for axes in _subsets(expected.ndim):
        if got.shape == expected.shape and same(np.flip(expected, axes), got):
            yield f"The numbers are right, but back to front along {_axes(axes, letters)}."
    for axis in range(expected.ndim):
        if got.shape == expected.shape and same(np.sort(expected, axis), np.sort(got, axis)):
            yield f"The numbers are right, but they lie in another order along {_axes([axis], letters)}."
    if got.shape != expected.shape:
        yield "The numbers are right, but in an array of another shape."
    yield "These are the right numbers in another order: look at the order of the axes."


def _turned(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    if expected.shape == got.shape and same(expected, -got):
        yield "All signs are turned around."


def _sized(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    """Find the right numbers in an array of another size."""
    if got.ndim != expected.ndim or got.shape == expected.shape:
        return
    common = tuple(slice(0, min(a, b)) for a, b in zip(expected.shape, got.shape, strict=True))
    off = [a for a in range(got.ndim) if got.shape[a] != expected.shape[a]]
    more = all(got.shape[a] > expected.shape[a] for a in off)
    fewer = all(got.shape[a] < expected.shape[a] for a in off)
    if (more or fewer) and same(expected[common], got[common]):
        amount = "much" if more else "little"
        yield f"What is there is right, but there is too {amount} of it along {_axes(off, letters)}."


def _shifted(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    if got.shape != expected.shape:
        return
    for axis, step in product(range(got.ndim), (1, 2)):
        if got.shape[axis] <= step + 1:
            continue
        late, early = (_cut(axis, slice(*ends)) for ends in ((step, None), (None, -step)))
        for ours, theirs, where in ((late, early, "late"), (early, late, "early")):
            if same(expected[theirs], got[ours]) and expected[theirs].any():
                yield f"The numbers are right, but {step} too {where} along {_axes([axis], letters)}."


def _placed(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    """Say where in the array the wrong numbers are, if that is a place that has a name."""
    if got.shape != expected.shape:
        return
    wrong = wrong_cells(expected, got)
    for axis, size in enumerate(wrong.shape):
        if size == 1:
            continue
        each = [bool(part.any()) for part in np.moveaxis(wrong, axis, 0)]
        name = AXES.get(letters[axis], letters[axis]) if letters else f"entry along axis {axis}"
        if not each[0] and all(each[1:]):
            yield f"Only the first {name} is right."
        if each[-1] and not any(each[:-1]):
            yield f"Only the last {name} is wrong: what is different about it?"
        if each[0] and not any(each[1:]):
            yield f"Only the first {name} is wrong: what is different about it?"
    long = [axis for axis, size in enumerate(wrong.shape) if size > 2]
    inside = tuple(slice(1, -1) if axis in long else slice(None) for axis in range(wrong.ndim))
    if long and not wrong[inside].any():
        yield "Only the border is wrong: what lies beside the first and the last window?"


# -- all cases together --------------------------------------------------------------------------------------


def _rounded(outcomes: Sequence[Outcome]) -> str:
    """Find single numbers that have lost the digits behind the first few."""
    if any(np.ndim(o.expected) or not isinstance(o.got, (int, float, np.number)) for o in outcomes):
        return ""
    for digits in range(5):
        if all(np.isclose(o.got, np.round(o.expected, digits), rtol=1e-12, atol=0) for o in outcomes):
            return f"Your results are rounded to {digits} digits behind the point: return them as they are."
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
    for name, values in (features | both).items():
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


def _cut(axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, part)


def _axes(axes: Sequence[int], letters: Letters) -> str:
    return " and ".join(letters[a] if letters else f"axis {a}" for a in axes)


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    for chosen in product((False, True), repeat=count):
        if any(chosen):
            yield tuple(i for i, one in enumerate(chosen) if one)
