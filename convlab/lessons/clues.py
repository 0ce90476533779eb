"""What the numbers themselves tell of a mistake that has no name in the bank.

Each clue is a function that looks at a wrong array beside the right one, and yields sentences that are so.
Said is the first that is so in every wrong case. After these come clues from all cases together: `across`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product

import numpy as np

from convlab.lessons.across import clues_of_cases
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
_PLANES = ("PQ", "HW")  # what has a border with padding beside it
_FEW = 12  # different numbers; fewer lie in the same way by chance, unless it is so in another case, too

Letters = str | tuple[str, ...]
Look = Callable[[np.ndarray, np.ndarray, Letters], Iterator[str]]


def clue(exercise: Exercise, outcomes: Sequence[Outcome]) -> str:
    """Return the first clue that fits, or ""."""
    wrong = [o for o in outcomes if not same(o.expected, o.got)]
    kinds = (_clues_of_parts, _clues_of_a_case, clues_of_cases)
    found = (said for kind in kinds for said in kind(exercise, outcomes, wrong))
    return next(found, "") if wrong else ""


def _clues_of_parts(exercise: Exercise, all_: Sequence[Outcome], _: Sequence[Outcome]) -> Iterator[str]:
    def look(each: Sequence[Outcome]) -> Iterator[str]:
        return clues_of_cases(exercise, each, [o for o in each if not same(o.expected, o.got)])

    return clues_of_parts(exercise.parts, all_, look) if exercise.parts else iter(())


def _clues_of_a_case(exercise: Exercise, _: Sequence[Outcome], wrong: Sequence[Outcome]) -> Iterator[str]:
    """Yield what holds of the arrays of every wrong case."""
    arrays = [(np.asarray(o.expected, np.float64), numbers(o.got)) for o in wrong]
    pairs = [(e, g) for e, g in arrays if g is not None and e.ndim]
    if pairs and len(pairs) == len(wrong):
        looks = _LOOKS_AT_PARTS if exercise.parts else _LOOKS
        yield from of_arrays(pairs, exercise.shapes.get("return", ""), looks)


def of_arrays(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]], letters: Letters, looks: Sequence[Look] | None = None
) -> Iterator[str]:
    """Yield what holds of all pairs of an array that was expected and one that came out; there are some."""
    different = np.unique(np.concatenate([np.ravel(e) for e, _ in pairs])).size
    telling = different >= _FEW or (different > 2 and len(pairs) > 1)
    for look in looks or _LOOKS:
        if look in _BY_CHANCE and not telling:
            continue
        each = [list(look(e, g, letters if len(letters) == e.ndim else "")) for e, g in pairs]
        yield from (sentence for sentence in each[0] if all(sentence in other for other in each))


# -- one array beside another: all that may be said of it --------------------------------------------------


def _nan(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    if np.isnan(got).any():
        yield "There are NaN among your numbers: 0/0, or something that was read before it was written."


def _empty(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    if got.size and not got.any() and expected.any():
        yield "Everything that you return is 0: is anything written into what you return?"


def _whole(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    if got.shape != expected.shape or (got != np.trunc(got)).any() or (expected == np.trunc(expected)).all():
        return
    if (np.abs(got - expected) <= 1 + 1e-3 * np.abs(expected)).all():
        yield "Your numbers lost their fractions: of what type is the array that they are written into?"


def _repeated(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    """Find the last part of the result in the place of all: one array that was put there again and again."""
    if got.shape == expected.shape and len(got) > 1 and same(np.broadcast_to(expected[-1], got.shape), got):
        yield (
            "What comes last is everywhere: is it one array that is filled anew, and put there each time? "
            "Put a copy there."
        )


def _running(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    if got.shape == expected.shape and same(np.cumsum(expected).reshape(got.shape), got):
        yield "Each number has all those before it in it: a sum has to begin at 0 for every number."


def _order(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    """Find the right numbers with their axes in another order, or in another shape."""
    if not _same_numbers(expected, got):
        return
    for axes in permutations(range(expected.ndim)):
        if same(expected.transpose(axes), got) and axes != tuple(range(expected.ndim)):
            order = ", ".join(letters[a] for a in axes) if letters else str(axes)
            yield f"The numbers are right, but their axes lie in another order: yours is ({order})."
    if got.shape != expected.shape:
        yield "The numbers are right, but in an array of another shape."


def _unordered(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    """Find the right numbers at other places."""
    if not _same_numbers(expected, got) or got.shape != expected.shape:
        return
    subsets = sorted(_subsets(expected.ndim), key=len)
    for axes in subsets:
        if same(np.flip(expected, axes), got):
            yield f"The numbers are right, but back to front along {_axes(axes, letters)}."
    for axes in subsets[:-1]:
        if same(_sorted(expected, axes), _sorted(got, axes)):
            yield f"The numbers are right, but they lie in another order along {_axes(axes, letters)}."


def _same_numbers(expected: np.ndarray, got: np.ndarray) -> bool:
    return got.size == expected.size and np.allclose(np.sort(got, None), np.sort(expected, None), rtol=1e-4)


def _sorted(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Sort along several axes as if they were one."""
    last = np.moveaxis(array, axes, range(-len(axes), 0))
    return np.sort(last.reshape(*last.shape[: -len(axes)], -1), axis=-1)


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
    long = [axis for axis in _plane(letters, wrong.ndim) if wrong.shape[axis] > 2]
    inside = tuple(slice(1, -1) if axis in long else slice(None) for axis in range(wrong.ndim))
    if long and not wrong[inside].any():
        yield "Only the border is wrong: what lies beside the first and the last window?"


def _somewhere(expected: np.ndarray, got: np.ndarray, letters: Letters) -> Iterator[str]:
    """Say what little can be said where the places of the numbers follow no rule."""
    if got.shape != expected.shape:
        return
    if not expected[wrong_cells(expected, got)].any():
        yield "Only numbers that should be 0 are wrong: what puts the zeros there?"
    elif _same_numbers(expected, got):
        yield "These are the right numbers in another order."


_LOOKS: tuple[Look, ...] = (
    *(_nan, _empty, _whole, _order, _turned, _sized, _repeated, _running, _shifted, _unordered, _placed),
    _somewhere,
)
# Zeros and ones lie in these ways by chance: with few different numbers they say nothing.
_BY_CHANCE: tuple[Look, ...] = (_empty, _repeated, _running, _shifted, _unordered, _placed, _somewhere)
_LOOKS_AT_PARTS: tuple[Look, ...] = (_nan, _whole)  # numbers of different things have no places


def _plane(letters: Letters, axes: int) -> list[int]:
    """Return the axes of a picture, beside which there is padding; all, where they have no letters."""
    if not letters:
        return list(range(axes))
    return next(([letters.index(a) for a in plane] for plane in _PLANES if set(plane) <= set(letters)), [])


def _cut(axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, part)


def _axes(axes: Sequence[int], letters: Letters) -> str:
    names = (letters[a] if letters else f"axis {a}" for a in axes)
    return " and ".join(f"the {name}s" if name.islower() and " " not in name else name for name in names)


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    for chosen in product((False, True), repeat=count):
        if any(chosen):
            yield tuple(i for i, one in enumerate(chosen) if one)
