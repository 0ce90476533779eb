"""What this learner needs before an interview: what was missed first, then what was never done.

It is read from what is remembered: drills and how they were answered, exercises and timed tasks that were
tried, walk-throughs and the points that were ticked. A mock interview leaves these as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from convlab.interview.coding.mending import MINUTES as BUG_MINUTES
from convlab.interview.coding.tasks import TASKS
from convlab.interview.console import command
from convlab.interview.history import boxes
from convlab.interview.kinds import KINDS
from convlab.interview.walks.record import ticked
from convlab.interview.walks.walk import Walk
from convlab.lessons.course import Chapter, Standing
from convlab.lessons.progress_file import Event
from convlab.support.units import plural

TWICE = 2  # a walk-through is answered aloud first, then walked through in pictures
COMMANDS = {  # of `convlab interview`, by what does the same in a notebook
    "cards": "",
    "begin": "code",
    "find_the_bug": "bug",
    "walk_through": "walk",
    "mock": "mock",
    "cheat_sheet": "sheet",
}
BUGS = 6  # rounds of finding a bug that are at hand when all tasks are solved


@dataclass(frozen=True)
class Item:
    """A thing to do.

    Attributes
    ----------
    minutes : float
    what : str
    why : str
        Why just this, for just this learner.
    door : str
        What of `convlab.interview` does it: a key of `COMMANDS`.
    given : str
        What that is called with.
    file : str
        The notebook to open.
    rest : bool
        Whether it is a pause.
    """

    minutes: float
    what: str
    why: str = ""
    door: str = ""
    given: str = ""
    file: str = ""
    rest: bool = False

    @property
    def call(self) -> str:
        """How it is called in a notebook."""
        quoted = self.given if self.given.isdecimal() or not self.given else f'"{self.given}"'
        return f"interview.{self.door}({quoted})" if self.door else ""

    @property
    def command(self) -> str:
        """How it is called in a terminal."""
        if not self.door:
            return ""
        return command(f"{COMMANDS[self.door]} {self.given}".strip(), remembers=self.door != "cheat_sheet")


def readings(events: Sequence[Event], notebooks: Iterable[Chapter], walks: Iterable[Walk]) -> list[Item]:
    """Return what to read: notebooks to which misses lead, those never worked through, others' questions.

    A notebook is worked through if half of what it asks was done.
    """
    notebooks = list(notebooks)
    missed, new = _reasons(events, walks)
    standing = _standing(events)
    found: list[tuple[tuple[int, int], Item]] = []
    for chapter in notebooks:
        named = f"Notebook {chapter.number}, {chapter.title}"
        asked = [standing.of_exercise(name) for name in chapter.exercises]
        reasons = missed.get(chapter.number, []) + [
            f"begun: {name}" for name, state in zip(chapter.exercises, asked, strict=True) if state == "tried"
        ]
        asked += [standing.of_prediction(name) for name in chapter.predictions]
        if not asked:  # the interview itself: what it has to do is in the other rows
            continue
        if 2 * asked.count("done") < len(asked):
            why = ", ".join(reasons) or "never worked through"
            order = len(reasons), new.get(chapter.number, 0)
            found.append((order, Item(chapter.minutes, named, why, file=chapter.file)))
        elif reasons:
            found.append(
                (
                    (len(reasons), 0),
                    Item(chapter.again, f"{named}: again", ", ".join(reasons), file=chapter.file),
                )
            )
        elif chapter.questions:
            questions = Item(
                chapter.questions, f"{named}: its questions, aloud", "worked through", file=chapter.file
            )
            found.append(((0, -1), questions))
    return [item for _, item in sorted(found, key=lambda one: one[0], reverse=True)]


def _reasons(events: Sequence[Event], walks: Iterable[Walk]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return, by notebook, what was missed that it has; and how much it has that was never asked."""
    missed: dict[str, list[str]] = {}
    new: dict[str, int] = {}
    known = boxes(events)
    about: list[tuple[Iterable[tuple[str, str]], str, bool]] = [
        (
            kind.read,
            f"missed: {kind.title}" if name in known and known[name].missed else "",
            name not in known,
        )
        for name, kind in KINDS.items()
    ]
    for walk in walks:
        left = _left_out(events, walk)
        about.append(
            (walk.read, f"{plural(left, 'point')} of the walk “{walk.name}”" if left else "", left is None)
        )
    for places, reason, is_new in about:
        for number in dict.fromkeys(number for number, _ in places):
            if reason:
                missed.setdefault(number, []).append(reason)
            new[number] = new.get(number, 0) + is_new
    return missed, new


def tasks(events: Sequence[Event]) -> list[Item]:
    """Return the timed tasks that are not solved, those that were tried first, then the first of each row."""
    standing = _standing(events)
    after = {one.then for one in TASKS.values()}
    steps: dict[str, int] = {}
    for name in TASKS:
        steps[name] = steps.get(name, 0) if name in after else 0
        steps[TASKS[name].then] = steps[name] + 1
    state = {name: standing.of_exercise(name) for name in TASKS}
    open_ = sorted(
        (name for name in TASKS if state[name] != "done"),
        key=lambda name: (state[name] != "tried", steps[name]),
    )
    found = [
        Item(
            TASKS[name].minutes,
            f"Against the clock: {name}",
            "tried, not solved" if state[name] == "tried" else "",
            "begin",
            name,
        )
        for name in open_
    ]
    bug = Item(BUG_MINUTES, "Find the bug", door="find_the_bug")
    return found + [replace(bug, given=str(seed)) for seed in range(1, BUGS + 1)]


def walked(events: Sequence[Event], walks: Iterable[Walk]) -> list[Item]:
    """Return the walk-throughs: those with points left out first, then those never done, then the others."""
    found = []
    for walk in walks:
        left = _left_out(events, walk)
        why = (
            "never done"
            if left is None
            else f"{plural(left, 'point')} left out"
            if left
            else "all points made"
        )
        order = (left == 0, left is None, -(left or 0))
        item = Item(
            TWICE * walk.minutes, f"At the whiteboard: {walk.question}", why, "walk_through", walk.name
        )
        found.append((order, item))
    return [item for _, item in sorted(found, key=lambda one: one[0])]


def drills(events: Sequence[Event], minutes: float) -> Item:
    """Return so many minutes of drills; the card itself brings what was missed, and what is due."""
    known = boxes(events)
    missed = [KINDS[name].title for name, box in known.items() if box.missed]
    new = len(KINDS) - len(known)
    why = [f"missed: {', '.join(missed)}"] if missed else []
    why += [f"{plural(new, 'kind')} never asked"] if new else []
    return Item(minutes, "Drills", "; ".join(why) or "what is due", "cards")


def _left_out(events: Sequence[Event], walk: Walk) -> int | None:
    """Return how many points of a walk were left out the last time; None if it was never done."""
    last = ticked(events, walk.name)
    return None if last is None else sum(point.title not in last.ticked for point in walk.points)


def _standing(events: Iterable[Event]) -> Standing:
    """Return what was done; a try within a mock interview counts for the task that its name ends in."""
    return Standing(
        event._replace(name=event.name.rpartition(" ")[2]) if event.kind == "try" else event
        for event in events
    )
