"""The rule by which a mock interview gets an interviewer's words; `RULES` says it, and reports show it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low
from typing import NamedTuple

from convlab.interview.coding.clock import SOLVED, clock_text
from convlab.interview.mocks.draw import CODE, DRILLS, MANY, ROUNDS, WALK, WELCOME
from convlab.interview.mocks.record import Came
from convlab.support.units import plural

LEVELS = ("no hire", "borderline", "hire", "strong hire")
NO, BORDERLINE, HIRE, STRONG = range(len(LEVELS))

RIGHT = {STRONG: MANY, HIRE: MANY - 1, BORDERLINE: MANY - 2}  # drills
SURE = 90  # percent; who is as sure and wrong would have been believed
TRIES = {STRONG: 1, HIRE: 3}
POINTS = {STRONG: 80, HIRE: 60, BORDERLINE: 40}  # percent of a walk-through's


def _limits(limits: dict[int, int], unit: str = "") -> str:
    steps = [f"{least}{unit}: {LEVELS[level]}" for level, least in limits.items()]
    return ", ".join([*steps, f"less: {LEVELS[NO]}"])


RULES = {
    DRILLS: f"How many of {MANY} are right ({_limits(RIGHT)}). A wrong answer that was given as {SURE} % "
    "sure takes one of the right ones away. Over the minutes: one level lower.",
    CODE: f"Solved within the minutes at the first try: {LEVELS[STRONG]}; within {TRIES[HIRE]} tries: "
    f"{LEVELS[HIRE]}. Solved later, or with more tries: {LEVELS[BORDERLINE]}. Not solved: {LEVELS[NO]}. "
    f"Of {ROUNDS} rounds of finding a bug each is judged so, and their mean counts, rounded down.",
    WALK: f"How many of the points were made ({_limits(POINTS, ' %')}). You tick them yourself: nobody heard "
    f"you. Without one that no strong answer lacks: {LEVELS[HIRE]} at most. Over the minutes: one level "
    "lower.",
    "": "The middle one of drills, code and whiteboard, and at most one level above the weakest. What is "
    f"passed over counts as {LEVELS[NO]}.",
}


class Rating(NamedTuple):
    """An interviewer's word for a part, as a number of `LEVELS`, and a sentence that says why."""

    level: int
    sentence: str

    @property
    def word(self) -> str:
        """The word itself."""
        return LEVELS[self.level]


def rated(came: Came) -> Rating:
    """Return what an interviewer would say of a part."""
    return {DRILLS: _drills, WALK: _walk}.get(came.part.kind, _code)(came)


def _drills(came: Came) -> Rating:
    right = sum(one.right for one in came.answers)
    believed = sum(not one.right and one.sure is not None and one.sure >= SURE for one in came.answers)
    level = _level(right - believed, RIGHT)
    said = f"{right} of {MANY} right {_time(came)}."
    if believed:
        wrong = "answer was" if believed == 1 else "answers were"
        said += f" {believed} wrong {wrong} given as {SURE} % sure: that is what an interviewer remembers."
    return _late(came, level, said)


def _code(came: Came) -> Rating:
    tries = plural(len(came.tries), "try", "tries")
    if came.clock.state != SOLVED:
        return Rating(
            NO, f"Not solved, with {tries}." if came.tries else "Passed over: nothing was handed in."
        )
    said = f"Solved with {tries}, {_time(came)}."
    if not came.in_time or len(came.tries) > TRIES[HIRE]:
        return Rating(BORDERLINE, said)
    return Rating(STRONG if len(came.tries) <= TRIES[STRONG] else HIRE, said)


def _walk(came: Came) -> Rating:
    from convlab.interview.walks.show import WALKS  # here: walk-throughs have pictures, which take their time

    if came.said is None:
        return Rating(NO, "Passed over: nothing was ticked.")
    made = len(came.said.ticked)
    said = f"{made} of {came.said.points} points {_time(came)}, ticked by yourself."
    level = _level(100 * made / max(came.said.points, 1), POINTS)
    must = [point.title for point in WALKS[came.part.what]().points if point.must]
    if missing := [title for title in must if title not in came.said.ticked]:
        said += f" What no strong answer lacks, and this one did: {' '.join(missing)}"
        level = min(level, HIRE)
    return _late(came, level, said)


def _level(value: float, limits: dict[int, int]) -> int:
    return next((level for level, least in limits.items() if value >= least), NO)


def _time(came: Came) -> str:
    return f"in {clock_text(came.clock.used)} of {clock_text(60 * came.part.minutes)} minutes"


def _late(came: Came, level: int, said: str) -> Rating:
    if came.in_time:
        return Rating(level, said)
    return Rating(max(level - 1, NO), f"{said} That is over the time.")


def whole(rows: Sequence[tuple[Came, Rating]]) -> Rating:
    """Return what an interviewer would say of it all, when all parts are over."""
    code = [one.level for came, one in rows if came.part.kind not in (WELCOME, DRILLS, WALK)]
    areas = {"the code": sum(code) // len(code)}
    for came, one in rows:
        if came.part.kind == DRILLS:
            areas["the drills"] = one.level
        elif came.part.kind == WALK:
            areas["the whiteboard"] = one.level
    weakest, best = min(areas.values()), max(areas.values())
    level = min(median_low(areas.values()), weakest + 1)
    low = " and ".join(area for area, each in areas.items() if each == weakest)
    if weakest == best:
        return Rating(level, f"All three say the same: {LEVELS[level]}.")
    return Rating(level, f"What holds it back is {low}: {LEVELS[weakest]}. The best is {LEVELS[best]}.")
