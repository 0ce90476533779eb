"""`cards`: drills on a card that judges, remembers, and asks again what was missed."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from convlab.errors import ConvError
from convlab.interview.drill_rules import plain, rules
from convlab.interview.drills import Drill, drill
from convlab.interview.history import answers, keep, next_kind
from convlab.interview.kinds import KINDS
from convlab.lessons import progress
from convlab.lessons.progress_file import is_number
from convlab.support.checked import checked
from convlab.support.checks import check_choice, check_filled, check_whole
from convlab.widgets.drill_card import SENTENCES, DrillCard

PER_KIND = 6  # drills of each kind in a page without Python: it stays below 300 KB
MOST_SEED = 1 << 31  # of a fresh drill: JavaScript knows each whole number below it
Name = Annotated[str, partial(check_choice, words=KINDS)]


@checked
def cards(
    kinds: Name | Annotated[Sequence[Name], check_filled] | None = None,
    *,
    per_kind: Annotated[int, partial(check_whole, least=1, most=50)] = PER_KIND,
) -> DrillCard:
    """Return a card that asks drills for as long as you like.

    Which kind comes next is settled by what you missed, and by how long ago it was. Answers are kept with the
    predictions of the course. In a page without Python the card asks from a bank of drills of its own, and
    the browser remembers.

    Parameters
    ----------
    kinds : str or sequence of str, optional
        Names of `KINDS`; by default all.
    per_kind : int
        How many drills of each kind that bank has.

    Returns
    -------
    DrillCard

    Examples
    --------
    >>> card = cards("output_size")
    >>> card.answered
    []
    """
    chosen = (kinds,) if isinstance(kinds, str) else KINDS if kinds is None else kinds
    names = tuple(dict.fromkeys(chosen))
    bank = [plain(drill(name, seed)) for seed in range(per_kind) for name in names]
    return DrillCard(rules(names), bank, desk=Drawer(names))


def asked_once(
    drills: Sequence[Drill], answered: Sequence[Mapping[str, Any]] = (), after: int = 0, then: str = ""
) -> DrillCard:
    """Return a card that asks some drills one after the other, each once, with no second try.

    Parameters
    ----------
    drills : sequence of Drill
    answered : sequence of mapping
        What was answered before, as `DrillCard.answered` says it: the card goes on behind it.
    after : int
        The number of an answer (`history`): one that was given before it is given once more.
    then : str
        What is said when all are answered.
    """
    names = tuple(dict.fromkeys(one.kind for one in drills))
    asked, judging = [plain(one) for one in drills], rules(names)
    if then:
        judging["sentences"] = judging["sentences"] | {"all done": f"{SENTENCES['all done']} {then}"}
    return DrillCard(judging, asked, desk=Drawer(names, after), fixed=True, answered=answered)


class Drawer:
    """Where the cards are: draws them, takes the answers, and knows how it stands.

    Parameters
    ----------
    names : tuple of str
        The kinds that are drawn.
    after : int
        Of the answers up to this number none keeps a drill from being answered.
    """

    def __init__(self, names: tuple[str, ...], after: int = 0):
        self._kinds, self._after = {name: KINDS[name] for name in names}, after

    def draw(self) -> dict[str, Any]:
        """Return a fresh drill of the kind that comes next."""
        kind = next_kind(progress.memory().events(), self._kinds)
        return plain(drill(kind, secrets.randbelow(MOST_SEED)))

    def take(self, typed: Mapping[str, Any]) -> dict[str, Any] | None:
        """Judge what was typed, and keep it; None if it is no answer to a drill.

        An answer may come twice: a page hands in again what it does not know to be kept.
        """
        text, sure, seconds = (typed[name] for name in ("text", "sure", "seconds"))
        try:
            one = drill(typed["kind"], typed["seed"])
        except ConvError:
            return None
        verdict = one.verdict(text) if isinstance(text, str) else None
        how_sure = is_number(sure) and 0 <= sure <= 100
        understood = text is None or (verdict and verdict.value is not None and how_sure)
        if not understood or not is_number(seconds) or seconds < 0:
            return None
        memory = progress.memory()
        new = [event for event in answers(memory.events()) if event.detail["number"] > self._after]
        if all(event.name != one.name for event in new):
            keep(memory, one, verdict, sure if verdict else None, seconds)
        return {
            "kind": one.kind,
            "seed": one.seed,
            "text": text,
            "value": verdict and verdict.value,
            "right": bool(verdict and verdict.note.good),
            "slip": verdict.slip if verdict else "",
            "sure": sure if verdict else None,
            "seconds": seconds,
        }

    def tally(self) -> dict[str, list[int]]:
        """Return how many drills were right, and of how many, by how sure the answer was; "" if not said."""
        found: dict[str, list[int]] = {}
        first = {event.name: event for event in reversed(answers(progress.memory().events()))}
        for event in first.values():
            sure = event.detail.get("sure")
            both = found.setdefault(f"{sure:g}" if is_number(sure) else "", [0, 0])
            both[0] += event.detail["right"]
            both[1] += 1
        return found

    def trouble(self) -> str:
        """Return what went wrong with the memory, in words; mostly nothing."""
        return progress.trouble()
