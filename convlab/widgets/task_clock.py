"""A task against the clock: what is asked, the time that is left, and what stops the clock."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import traitlets

from convlab.figures.style import Words
from convlab.support import clock_words
from convlab.support.checked import NotNegative, Positive, checked
from convlab.support.checks import check_choice
from convlab.widgets.shared.live import Live

PRESSED = ("look", "pause", "resume")  # what a page may ask for
Stands = Annotated[
    str, partial(check_choice, words=("", clock_words.RUNS, clock_words.STOPPED, *clock_words.ENDS))
]
SENTENCES = {
    **clock_words.SENTENCES,
    "is over": "The time is over.",
    "minutes": "{minutes} minutes left.",
    "own": "There is no Python behind this page: the clock is the page's own, and runs once you start it. "
    "Answers are tried by the course itself, on cases that it hides: `{call}` begins the task there.",
    "silent": "Python does not answer: it is busy, or its kernel is gone. What shows is from {when}, and may "
    "be so no more. Run the cell again to see the clock as it is.",
}


@checked
class TaskClock(Live):
    """A task and its clock, which ticks.

    Who keeps the time is asked when the page shows the clock, when it is pressed, and now and then between;
    the page counts on from what it was told. With nobody to ask the page has a clock of its own.

    Parameters
    ----------
    name : str
        The task, by which a page without Python remembers its clock.
    statement : str
        What is asked, with `code` and *emphasis*.
    minutes : float
        How long one has.
    hand_in : str
        How an answer is handed over where there is Python.
    call : str
        What begins the task in Python, for a page that has none.
    lines : str
        A program that is shown below the statement.
    press : callable, optional
        Called with what the page asks for, "look", "pause" or "resume"; it answers with `tell`.

    Attributes
    ----------
    shown : str
        HTML that stands there where no script runs, in place of words alone.
    """

    sentences = SENTENCES
    measured_here = None  # it shows another moment each time: no photograph

    name, statement, hand_in, call, lines, stands, aside = (
        traitlets.Unicode().tag(sync=True) for _ in range(7)
    )
    minutes, used = (traitlets.Float().tag(sync=True) for _ in range(2))
    told = traitlets.Float().tag(sync=True)  # when Python said what the clock shows; 0: it never does
    asked = traitlets.Dict().tag(sync=True)  # what the page asks for

    def __init__(
        self,
        name: Words = "conv2d_nchw",
        statement: Words = "Write `conv2d` for pictures (N, C, H, W) from an empty cell.",
        minutes: Positive = 30,
        hand_in: str = "",
        call: str = 'interview.begin("conv2d_nchw")',
        lines: str = "",
        press: Callable[[str], Any] | None = None,
    ):
        self._press, self.shown = press, ""
        super().__init__(
            name=name,
            statement=statement,
            minutes=minutes,
            hand_in=hand_in,
            call=call,
            lines=lines,
        )

    def known_by(self) -> dict[str, str]:
        """Return its name: tasks open alike."""
        return {"name": self.name}

    def tables(self) -> str:
        """Return how a clock may stand."""
        stopped, ends = json.dumps(clock_words.STOPPED), json.dumps(clock_words.ENDS)
        return f"const STOPPED = {stopped};\nconst ENDS = {ends};\n"

    @checked
    def tell(self, used: NotNegative, stands: Stands, aside: str = "") -> None:
        """Say to all pages what the clock shows now.

        Parameters
        ----------
        used : float
            Seconds that have passed on it.
        stands : str
            "running", "paused", "solved" or "given up"; "" where it was never begun.
        aside : str
            What comes next, and what was wrong.
        """
        with self.hold_sync():
            self.used, self.stands, self.aside = used, stands, aside
            self.told = max(time.time(), self.told + 1e-3)  # another each time: the page hears of it

    @traitlets.observe("asked")
    def _answer(self, change: Any) -> None:
        what = change["new"].get("what")
        if self._press is not None and what in PRESSED:
            self._press(what)

    def without_scripts(self) -> str:
        """Return what was given for where no script runs; without it, words."""
        return self.shown or super().without_scripts()

    def describe(self) -> str:
        """Return what the clock shows, and what is asked."""
        shown = clock_words.clock_words(self.used, self.stands, self.minutes)
        said = (self.hand_in, self.aside) if self.told else (self._say("own", call=self.call),)
        return " ".join(filter(None, (f"{self.name}: {shown}.", self.statement, *said)))
