"""All that the card needs to judge as we do, as plain data: tables, patterns, sentences, kinds."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from convlab.interview import history, reading, words
from convlab.interview.drills import Drill
from convlab.interview.judge import ALIKE, CLEAR, FINE
from convlab.interview.kind import SLACK, Kind
from convlab.interview.kinds import KINDS
from convlab.interview.places import of_cell
from convlab.interview.sentences import SENTENCES
from convlab.interview.units import ALL, Unit


def rules(kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return the rules by which drills of some kinds are judged, and by which they come again."""
    return {
        "sentences": SENTENCES,
        "reading": _constants(reading),
        "words": _constants(words),
        "judge": {"ALIKE": ALIKE, "FINE": FINE, "CLEAR": CLEAR, "SLACK": SLACK},
        "history": {"WAITS": history.WAITS, "DAY": history.DAY, "OTHERS": history.OTHERS},
        "units": [_unit(unit) for unit in ALL],
        "known": list(KINDS),
        "kinds": {name: _kind(KINDS[name]) for name in kinds},
    }


def plain(one: Drill) -> dict[str, Any]:
    """Return a drill as the card is given it."""
    request = one.about.unit.request(one.tolerance)
    return {
        "kind": one.kind,
        "seed": one.seed,
        "question": one.question.removesuffix(request).rstrip(),
        "request": request,
        "value": one.value,
        "tolerance": one.tolerance,
        "steps": list(one.steps),
        "slips": [list(slip) for slip in one.slips],
        "small_slips": [list(slip) for slip in one.small_slips],
    }


def _constants(module: ModuleType) -> dict[str, Any]:
    """Return what a module names in capital letters: its tables, patterns and limits."""
    return {name: value for name, value in vars(module).items() if name.isupper()}


def _unit(unit: Unit) -> dict[str, Any]:
    taken = ("name", "measures", "written", "after", "after_one", "nouns")
    factor = getattr(unit.factor, "func", unit.factor)  # of things, that function with their nouns
    return {name: getattr(unit, name) for name in taken} | {
        "factor": factor.__name__,
        "choices": dict(unit.choices),
    }


def _kind(kind: Kind) -> dict[str, Any]:
    places = [of_cell(*read) for read in kind.read]
    read = [{"words": str(place), "file": place.file} for place in places]
    return {"title": kind.title, "unit": _unit(kind.unit), "read": read}
