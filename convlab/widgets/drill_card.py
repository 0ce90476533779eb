"""A card of the interview: a numeric question, what is said of the answer, and the arithmetic behind it.

The questions, and the rules by which answers are judged, come from `convlab.interview`. In a page that has no
Python the card judges by them itself, and asks from a bank of questions; what was missed comes again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

import traitlets

from convlab.errors import ParameterError
from convlab.support.checked import checked
from convlab.support.checks import check_filled, check_names, said
from convlab.widgets.guess import SURE
from convlab.widgets.shared.live import WAITING, Live
from convlab.widgets.shared.traits import Choice

RULES = ("sentences", "reading", "words", "judge", "history", "units", "known", "kinds")
SLIPS = ("slips", "small_slips")
DRILL = ("kind", "seed", "question", "request", "value", "tolerance", "steps", *SLIPS)
TYPED = ("kind", "seed", "text", "sure", "seconds")
SENTENCES = {
    "intro": "A card of drills, one after the other, with fresh numbers. Each is answered in the head and "
    "judged at once, and the arithmetic is shown. The first, {title}:",
    "how sure": "How sure are you that this is right?",
    "choose": "And how sure are you? Choose one of the five.",
    "was sure": "You were {sure} % sure, after {time}.",
    "passed": "Passed over. It is {answer}.",
    "try": "One more try, if you like. The first answer is the one that counts.",
    "tally": "{right} of {of} right",
    "level": "{sure} % sure: {right} of {of} right",
    "no answer yet": "No card is answered yet.",
    "laid out": "Python lays out the next card.",
    "waiting": WAITING,
    "all done": "That was the last card.",
}


@runtime_checkable
class Desk(Protocol):
    """Where a card's answers go, and where fresh drills come from, while Python is there."""

    def draw(self) -> Mapping[str, Any]:
        """Return the drill that comes next."""

    def take(self, typed: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Judge an answer, remember it, and return what is said of it; None if it is none."""

    def tally(self) -> Mapping[str, Sequence[int]]:
        """Return how many were right, and of how many, by how sure: ``{"70": [3, 4]}``; "" if not said."""

    def trouble(self) -> str:
        """Return what the reader should know, of their memory."""


@checked
class DrillCard(Live):
    """A card that asks drills, one after the other.

    Parameters
    ----------
    rules : mapping
        By which it judges; `convlab.interview.drill_rules` makes them.
    drills : sequence of mapping
        What is asked in a page without Python; with `fixed`, all that is asked.
    desk : Desk, optional
        Without one, nothing is remembered here.
    fixed : bool
        Ask the drills one after the other, each once, with no second try.
    answered : sequence of mapping
        What was answered before, as the attribute of this name says it.

    Attributes
    ----------
    answered : list of dict
        Of each drill that was answered here "kind", "seed", "text" (None: passed over), "value" (what was
        read), "right", "slip" (its name, or ""), "sure" (in percent) and "seconds".

    Raises
    ------
    ConvError
        If an argument is none of these.
    """

    sentences = SENTENCES
    measured_here = None  # its look is the reader's own: no photograph

    fixed = traitlets.Bool().tag(sync=True)
    bank, card = (traitlets.Unicode().tag(sync=True) for _ in range(2))  # drills, sealed
    typed = traitlets.List().tag(sync=True)  # what the page hands in
    answered = traitlets.List().tag(sync=True)
    tally = traitlets.Dict().tag(sync=True)
    trouble = traitlets.Unicode().tag(sync=True)
    sure = Choice(("", *SURE))  # what is chosen, and not locked yet

    def __init__(
        self,
        rules: Mapping[str, Any],
        drills: Annotated[Sequence[Mapping], check_filled],
        *,
        desk: Desk | None = None,
        fixed: bool = False,
        answered: Sequence[Mapping] = (),
    ):
        check_names("rules", rules, RULES)
        for i, one in enumerate(drills):
            check_names(f"drills[{i}]", one, DRILL)
        for i, one in enumerate(answered):
            check_names(f"answered[{i}]", one, ("kind", "seed"))
        self._rules, self._drills, self._desk = rules, list(drills), desk
        self.sentences = SENTENCES | rules["sentences"]
        self._bank = sealed(drills)
        super().__init__(fixed=bool(fixed), answered=[dict(one) for one in answered])
        if fixed or desk is None:
            self.bank = self._bank
        self._go_on()

    def tables(self) -> str:
        """Return the rules, and the five of "how sure"."""
        rules = {name: value for name, value in self._rules.items() if name != "sentences"}
        return f"const RULES = {json.dumps(rules)};\nconst SURE = {json.dumps(SURE)};\n"

    def state(self) -> dict[str, Any]:
        """Return what a page without Python reads: it asks from the bank."""
        return super().state() | {"bank": self._bank, "card": "", "typed": []}

    @traitlets.validate("typed")
    def _check_typed(self, proposal):
        for one in proposal["value"]:
            if not (isinstance(one, dict) and one.keys() >= set(TYPED)):
                raise ParameterError(f"typed has {said(one)}; expected dicts with {', '.join(TYPED)}")
        return proposal["value"]

    @traitlets.observe("typed")
    def _take(self, change):
        """Judge what the page hands in. Two tabs may hand in the same; what is no answer changes nothing."""
        if self._desk is None:
            return
        before = len(self.answered)
        for one in change["new"]:
            known = {(each["kind"], each["seed"]) for each in self.answered}
            asked = {(each["kind"], each["seed"]) for each in self._drills} if self.fixed else None
            name = (one["kind"], one["seed"])
            if not all(isinstance(part, str | int) for part in name) or name in known:
                continue
            if (asked is None or name in asked) and (taken := self._desk.take(one)):
                self.answered = [*self.answered, dict(taken)]
        if len(self.answered) > before:
            self._go_on()

    def _go_on(self) -> None:
        """Say how it stands, and lay the next card out."""
        if self._desk is None:
            return
        if not self.fixed:
            self.card = sealed([self._desk.draw()])
            self.tally = dict(self._desk.tally())
        self.trouble = self._desk.trouble()

    def describe(self) -> str:
        """Return what this is, and the first question."""
        first = self._drills[0]
        title = self._rules["kinds"][first["kind"]]["title"]
        return f"{self._say('intro', title=title)} {first['question']} {first['request']}"


def sealed(drills: Sequence[Mapping]) -> str:
    """Return drills as the page opens them; what many have in common is written once."""
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    def numbered(slips: Sequence[Sequence]) -> list[list]:
        return [[number(name), value, number(hint)] for name, value, hint in slips]

    short = [
        {name: one[name] for name in DRILL}
        | {"request": number(one["request"])}
        | {name: numbered(one[name]) for name in SLIPS}
        for one in drills
    ]
    return base64.b64encode(json.dumps({"texts": list(texts), "drills": short}).encode()).decode()
