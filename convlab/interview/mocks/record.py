"""What is kept of a mock interview, and what came of each of its parts.

Events "mock" say what was drawn, which parts were left, and what was said of each try. All else is where it
always is: answers to drills among the guesses, the time of a part on a clock of its own. Nothing depends on
the order of times: a clock may be set back, and two tabs may write at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from convlab.interview.coding.clock import Clock, Reading
from convlab.interview.drills import Drill
from convlab.interview.history import answers, last_number
from convlab.interview.judge import Judged
from convlab.interview.mocks.draw import DRILLS, WALK, Draw, Part, is_seed, understood
from convlab.interview.summary import Answered
from convlab.interview.walks.record import Round, rounds
from convlab.lessons import progress
from convlab.lessons.note import Note
from convlab.lessons.progress_file import Event, is_number

KIND = "mock"  # of the events
BEGIN, LEFT, TRY = "begin", "left", "try"


class Try(NamedTuple):
    """What was handed in, and what was said of it; `case` is the hidden case that it failed at."""

    good: bool
    title: str
    diagnosis: str
    case: str
    used: float


@dataclass(frozen=True)
class Came:
    """What came of a part.

    Attributes
    ----------
    part : Part
    clock : Reading
    left : bool
        Whether it is over; else it is still to come, or goes on.
    answers : tuple of Answered
        To its drills, as far as they were asked.
    tries : tuple of Try
        Of code, in order.
    said : Round, optional
        Of a walk-through what was ticked; None if nothing was.
    """

    part: Part
    clock: Reading
    left: bool
    answers: tuple[Answered, ...] = ()
    tries: tuple[Try, ...] = ()
    said: Round | None = None

    @property
    def named(self) -> str:
        """What the part is called; of one that is still to come not what is asked."""
        return self.part.title if self.clock.state else self.part.about

    @property
    def in_time(self) -> bool:
        """Whether it took no longer than it may."""
        return self.clock.used <= 60 * self.part.minutes


class Standing:
    """How a mock stands.

    Parameters
    ----------
    seed, attempt : int
    draw : Draw
    began : Event
        By which it was begun.
    events : list of Event
        All that was remembered.

    Attributes
    ----------
    after : dict of str to int
        The numbers of the last answer to a drill, and of the last round of its walk-through, before it began.
    """

    def __init__(self, seed: int, attempt: int, draw: Draw, began: Event, events: list[Event]):
        self.seed, self.attempt, self.draw = seed, attempt, draw
        self.after = {key: _whole(began.detail.get(key)) for key in ("answers", "rounds")}
        self._events = events
        self._own = [event.detail for event in events if _is_of(event, seed, attempt)]
        left = {str(detail.get("part")) for detail in self._own if detail.get("did") == LEFT}
        self.left = {part for part in draw.parts if part.name in left}

    @property
    def present(self) -> Part | None:
        """The part that is next to be done; None at the end."""
        return next((part for part in self.draw.parts if part not in self.left), None)

    def clock(self, part: Part) -> Clock:
        """Return the clock of a part."""
        return Clock(f"{name_of(self.seed)}-{self.attempt} {part.name}")

    def came(self) -> list[Came]:
        """Return what came of each part, in order."""
        return [self.of(part) for part in self.draw.parts]

    def of(self, part: Part) -> Came:
        """Return what came of a part."""
        return Came(
            part,
            self.clock(part).read(),
            part in self.left,
            tuple(self._answers()) if part.kind == DRILLS else (),
            tuple(self._tries(part)),
            self._round(part.what) if part.kind == WALK else None,
        )

    def waiting(self) -> Drill | None:
        """Return the drill that is asked next; None if all are answered."""
        answered = {one.drill.name for one in self._answers()}
        return next((one for one in self.draw.drills if one.name not in answered), None)

    def _answers(self) -> list[Answered]:
        """Return the first answer to each drill since this was begun, in the order of the drills."""
        first: dict[str, Event] = {}
        for event in answers(self._events):
            if event.detail["number"] > self.after["answers"]:
                first.setdefault(event.name, event)
        return [_answer(one, first[one.name].detail) for one in self.draw.drills if one.name in first]

    def _round(self, walk: str) -> Round | None:
        """Return the first round of a walk-through since this was begun."""
        new = (one for one in rounds(self._events, walk) if one.number > self.after["rounds"])
        return next(new, None)

    def _tries(self, part: Part) -> list[Try]:
        """Return what was handed in, by the part's own clock: that of the computer may have been set back."""
        told = [one for one in self._own if one.get("did") == TRY and one.get("part") == part.name]
        return sorted(map(_try, told), key=lambda one: one.used)


def standing(seed: int) -> Standing | None:
    """Return how the last attempt stands; None if there is none that this version can go on with."""
    events = progress.events()
    attempt = attempts(seed, events)
    for event in events:
        begun = _is_of(event, seed, attempt) and event.detail.get("did") == BEGIN
        if begun and (draw := understood(event.detail)):
            return Standing(seed, attempt, draw, event, events)
    return None


def attempts(seed: int, events: Iterable[Event]) -> int:
    """Return the number of the last attempt; 0 if there is none."""
    own = (event for event in events if event.kind == KIND and event.name == name_of(seed))
    return max((_whole(event.detail.get("attempt")) for event in own), default=0)


def going_on() -> int | None:
    """Return the seed of the mock that was begun last, if it is not over."""
    begun = [event.name for event in progress.events(KIND) if event.detail.get("did") == BEGIN]
    seed = begun[-1].removeprefix(name_of("")) if begun else ""
    now = standing(int(seed)) if is_seed(seed) else None
    return now.seed if now and now.present else None


def begin(seed: int, draw: Draw) -> None:
    """Note a new attempt, with what was drawn for it."""
    events = progress.events()
    known = [one.number for part in draw.parts for one in rounds(events, part.what)]
    after = {"answers": last_number(events), "rounds": max(known, default=0)}
    _note(seed, attempts(seed, events) + 1, BEGIN, **draw.detail(), **after)


def leave(now: Standing, part: Part) -> None:
    """Note that a part is over."""
    _note(now.seed, now.attempt, LEFT, part=part.name)


def tried(now: Standing, part: Part, note: Note) -> None:
    """Note what was said of a try."""
    said = {"good": note.good, "title": note.title, "diagnosis": note.diagnosis}
    case = re.search(r"Case \d+ of \d+", note.body)
    used = round(now.clock(part).read().used, 1)
    _note(now.seed, now.attempt, TRY, part=part.name, case=case[0] if case else "", used=used, **said)


def _note(seed: int, attempt: int, did: str, **detail: Any) -> None:
    progress.record(KIND, name_of(seed), did=did, attempt=attempt, **detail)


def name_of(seed: int | str) -> str:
    """Return what a mock is remembered by."""
    return f"mock {seed}"


def _is_of(event: Event, seed: int, attempt: int) -> bool:
    told = event.kind == KIND and event.name == name_of(seed)
    return told and _whole(event.detail.get("attempt")) == attempt


def _whole(value: Any) -> int:
    return int(value) if is_number(value) else 0


def _answer(one: Drill, detail: dict[str, Any]) -> Answered:
    """Return an answer as it was kept; one without a number says that the drill was passed over."""
    guess, sure, seconds = (
        float(value) if is_number(value := detail.get(key)) else None for key in ("guess", "sure", "seconds")
    )
    slip = str(detail.get("slip") or "")
    said = None if guess is None else Judged(guess, slip, Note(detail["right"], ""))
    return Answered(one, said, sure, seconds or 0.0)


def _try(detail: dict[str, Any]) -> Try:
    title, diagnosis, case = (str(detail.get(key) or "") for key in ("title", "diagnosis", "case"))
    used = detail.get("used")
    return Try(detail.get("good") is True, title, diagnosis, case, float(used) if is_number(used) else 0.0)
