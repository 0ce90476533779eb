"""What a mock interview consists of: drawn by its seed, and kept as it was drawn.

Of code it has either one of `TASKS` or two rounds of finding a bug. The part has as many minutes whatever is
drawn: so only a task that has no more by its own table is drawn, and a shorter one has some to spare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from convlab.interview.coding.tasks import TASKS
from convlab.interview.drills import MOST, Drill, drill
from convlab.interview.history import boxes
from convlab.interview.kinds import KINDS
from convlab.lessons.progress_file import Event
from convlab.support.checks import LARGEST

WELCOME, DRILLS, CODE, BUG, WALK = "welcome", "drills", "code", "bug", "walk"  # kinds of parts
MINUTES = {WELCOME: 3, DRILLS: 10, CODE: 20, BUG: 10, WALK: 12}  # two rounds have those of one task
WHOLE = MINUTES[WELCOME] + MINUTES[DRILLS] + MINUTES[CODE] + MINUTES[WALK]
MANY = 5  # drills
ROUNDS = MINUTES[CODE] // MINUTES[BUG]
SEEDS = 10_000  # of rounds
ONE_IN = 4  # mocks in which bugs are looked for

_ABOUT = {
    WELCOME: "What comes",
    DRILLS: f"{MANY} drills",
    CODE: "Code",
    BUG: "Find the bug",
    WALK: "At the whiteboard",
}


class Part(NamedTuple):
    """A part of a mock.

    Attributes
    ----------
    kind : str
        A key of `MINUTES`.
    what : str
        The task, the round's seed or the walk-through; "" where the kind says all.
    """

    kind: str
    what: str = ""

    @property
    def minutes(self) -> int:
        """How long one has for it."""
        return MINUTES[self.kind]

    @property
    def name(self) -> str:
        """What it is called, in a mock of its own."""
        return f"{self.kind} {self.what}".strip()

    @property
    def about(self) -> str:
        """What it is, in a few words that give nothing away."""
        return _ABOUT[self.kind]

    @property
    def title(self) -> str:
        """The same with what is asked."""
        return f"{self.about}: {self.what}" if self.what else self.about


@dataclass(frozen=True)
class Draw:
    """What was drawn.

    Attributes
    ----------
    asked : tuple of (str, int)
        The drills: of each its kind and its seed.
    parts : tuple of Part
        In the order in which they come.
    """

    asked: tuple[tuple[str, int], ...]
    parts: tuple[Part, ...]

    @property
    def drills(self) -> list[Drill]:
        """The drills themselves."""
        return [drill(kind, seed) for kind, seed in self.asked]

    def detail(self) -> dict[str, Any]:
        """Return it as an event keeps it."""
        return {"drills": [list(one) for one in self.asked], "parts": [list(part) for part in self.parts]}


def draw(seed: int, events: Iterable[Event] = ()) -> Draw:
    """Draw a mock: without events the same for the same seed, whoever asks.

    Parameters
    ----------
    seed : int
    events : iterable of Event
        What the learner did: kinds that were missed come first, and of a task that is solved what is asked
        next after it.
    """
    from convlab.interview.walks.show import WALKS  # here: walk-throughs have pictures, which take their time

    events, random = list(events), Random(f"mock {seed}")
    known = boxes(events)
    kinds = random.sample(list(KINDS), len(KINDS))
    kinds.sort(key=lambda kind: kind not in known or not known[kind].missed)
    asked = tuple((kind, random.randrange(LARGEST)) for kind in kinds[:MANY])
    task = _unsolved(random.choice([name for name in TASKS if fits(name)]), solved(events))
    first = random.randrange(SEEDS)  # neighbours: no two of them are of one exercise
    rounds = [Part(BUG, str(first + number)) for number in range(ROUNDS)]
    bugs = random.randrange(ONE_IN) == 0 or not task
    walk = random.choice(list(WALKS))
    code = rounds if bugs else [Part(CODE, task)]
    return Draw(asked, (Part(WELCOME), Part(DRILLS), *code, Part(WALK, walk)))


def fits(task: str) -> bool:
    """Return whether a task has no more minutes than there are for code."""
    return TASKS[task].minutes <= MINUTES[CODE]


def solved(events: Iterable[Event]) -> set[str]:
    """Return the tasks that were solved, by themselves or in a mock."""
    good = (event.name for event in events if event.kind == "try" and event.detail.get("good") is True)
    return {task for name in good if (task := name.rpartition(" ")[2]) in TASKS}


def _unsolved(task: str, done: set[str]) -> str:
    """Return a task, or if it is solved what follows on it; "" if nothing does that is new and fits."""
    while task and (task in done or not fits(task)):
        task = TASKS[task].then
    return task


def understood(detail: Mapping[str, Any]) -> Draw | None:
    """Return what an event kept of a draw; None if this version of the course cannot ask it."""
    from convlab.interview.walks.show import WALKS

    known = {CODE: TASKS.__contains__, BUG: is_seed, WALK: WALKS.__contains__}
    try:
        asked = tuple((str(kind), seed) for kind, seed in detail["drills"])
        parts = tuple(Part(str(kind), str(what)) for kind, what in detail["parts"])
    except (KeyError, TypeError, ValueError):
        return None
    drills = all(kind in KINDS and type(seed) is int and 0 <= seed <= MOST for kind, seed in asked)
    ours = all(part.kind in MINUTES and known.get(part.kind, "".__eq__)(part.what) for part in parts)
    return Draw(asked, parts) if drills and ours and asked and parts else None


def is_seed(text: str) -> bool:
    """Return whether a text is a seed."""
    short = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST))
    return short and int(text) <= LARGEST
