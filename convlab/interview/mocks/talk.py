"""`mock`: an interview of 45 minutes, begun or gone on with; what is handed in, and what comes next."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from convlab.errors import ParameterError
from convlab.interview.coding.clock import PAUSE, RESUME, Reading, clock_text
from convlab.interview.mocks import record
from convlab.interview.mocks.draw import WHOLE, Part, draw
from convlab.interview.mocks.record import Came, Standing
from convlab.interview.mocks.stages import LEAVE, NEXT, STAGES, Stage
from convlab.lessons import progress
from convlab.lessons.note import Note
from convlab.support.checked import checked
from convlab.support.checks import LARGEST, check_whole
from convlab.support.tables import lines

if TYPE_CHECKING:
    from convlab.interview.mocks.report import Report

SEEDS = 1_000_000  # of mocks that nobody chose: short enough to be typed again
OTHER_VERSION = (
    "This interview was begun with another version of the course, which asked other things. What you did is "
    "kept; this is a new attempt."
)
NOT_DONE = "This part is not done yet."
OTHER_TAB = "Another tab has gone on meanwhile; this is where you are."


@checked
def mock(
    seed: Annotated[int, partial(check_whole, least=0, most=LARGEST)] | None = None, *, anew: bool = False
) -> MockInterview:
    """Begin a mock interview of 45 minutes, or go on with it: nothing is lost when something is closed.

    Parameters
    ----------
    seed : int, optional
        The same interview for the same seed, whoever takes it. Without one, the last one goes on if it is
        not over; else a new one is drawn, with what you missed before and nothing that you solved.
    anew : bool
        Begin once more, with all the time.

    Returns
    -------
    MockInterview
        Shows where one is, and the present part. ``submit(...)`` hands in an answer, ``next()`` goes on when
        a part is done, ``next(leave=True)`` before that, ``pause()`` and ``resume()`` stop the clock and let
        it run again, ``report()`` says how it went.

    Raises
    ------
    ConvError
        If the seed is no such number.
    """
    if seed is not None:
        return MockInterview(int(seed), anew=anew)
    if not anew and (last := record.going_on()) is not None:
        return MockInterview(last)
    events, fresh = progress.events(), secrets.randbelow(SEEDS)
    while record.attempts(fresh, events):
        fresh = secrets.randbelow(SEEDS)
    return MockInterview(fresh, for_me=True)


class MockInterview:
    """A mock interview, and where one is in it.

    Parameters
    ----------
    seed : int
    anew : bool
        Begin once more, with all the time.
    for_me : bool
        If it is drawn, then with a look at what was missed and solved before.
    """

    def __init__(self, seed: int, *, anew: bool = False, for_me: bool = False):
        self.seed, self._news = seed, ""
        events, before = progress.events(), record.standing(seed)
        if before is None and record.attempts(seed, events):
            self._news = OTHER_VERSION
        if before is None or anew:
            record.begin(seed, before.draw if before else draw(seed, events if for_me else ()))
        self._seen = self._entered()

    @property
    def left(self) -> float:
        """Seconds that are left of it all; below 0 when the time is over."""
        return 60 * WHOLE - _used(self._standing().came())

    def next(self, *, leave: bool = False) -> MockInterview:
        """Go on with the next part, if the present one is done: a cell that is run again leaves nothing out.

        Parameters
        ----------
        leave : bool
            Go on whatever the present part came to; what is not done of it is passed over.
        """
        now = self._standing()
        if now.present and now.present == self._seen:
            stage = _stage(now, now.present)
            if not (leave or stage.done):
                self._news = NOT_DONE
                return self
            stage.end()
            record.leave(now, now.present)
        elif now.present:
            self._news = OTHER_TAB
        self._seen = self._entered()
        return self

    def submit(self, *answer: Any) -> Note:
        """Hand in an answer to the present part.

        Parameters
        ----------
        *answer
            For a drill a text, and how sure you are in percent; for code the function; for a bug its line
            and what should stand there; for the whiteboard the numbers of the points that you made.

        Returns
        -------
        Note
            What is said of it; in `aside` what the clock shows.

        Raises
        ------
        ConvError
            If that is no answer to the present part.
        """
        now = self._standing()
        if now.present is None:
            return Note(None, "This interview is over.", "`talk.report()` says how it went.")
        self._seen = self._entered()
        stage = _stage(now, now.present)
        note = stage.take(answer)
        read = stage.clock.read()
        shows, then = f"{_time(now.present, read)}.", f"`{NEXT}` goes on." * stage.done
        note.aside = " ".join(filter(None, (shows, then, read.trouble, progress.trouble())))
        return note

    def pause(self) -> Note:
        """Stop the clock."""
        return self._pressed(PAUSE, "running")

    def resume(self) -> Note:
        """Let the clock run again."""
        return self._pressed(RESUME, "paused")

    def report(self) -> Report:
        """Return how it went: what, how fast, how sure, and what to read again."""
        from convlab.interview.mocks.report import Report  # here: it has a template

        return Report(self._standing())

    def _standing(self) -> Standing:
        if now := record.standing(self.seed):
            return now
        raise ParameterError(
            f"seed={self.seed}: another version of the course has begun this interview anew meanwhile; "
            f"expected interview.mock({self.seed}, anew=True), which begins it once more"
        )

    def _entered(self) -> Part | None:
        """Let the clock of the present part run, if it does not yet; return the part."""
        now = self._standing()
        if now.present:
            _stage(now, now.present).begin()
        return now.present

    def _pressed(self, what: str, where: str) -> Note:
        now = self._standing()
        if now.present and (clock := now.clock(now.present)).read().state == where:
            clock.press(what)
        return self._head()

    def _head(self) -> Note:
        """Return where one is, and what the clocks show."""
        now = self._standing()
        came, present = now.came(), now.present
        left = clock_text(abs(60 * WHOLE - _used(came)))
        over = "over" if _used(came) > 60 * WHOLE else "left of"
        title = f"Mock interview {self.seed}: {left} {over} {WHOLE} minutes"
        rows = [(_state(one, present), one.named, _time(one.part, one.clock)) for one in came]
        note = Note(None, title, "\n".join(lines(rows)))
        if present is None:
            note.aside = "It is over. `talk.report()` says how it went."
        else:
            read = now.clock(present).read()
            waits = "The clock stands; `talk.resume()` lets it run again." if read.state == "paused" else ""
            again = f"From the start: `interview.mock({self.seed}, anew=True)`." * _late(present, read)
            before = "" if _stage(now, present).done else f" when it is done, `{LEAVE}` before that"
            how = f"`{NEXT}` goes on{before}."
            note.aside = " ".join(filter(None, (self._news, waits, how, again, read.trouble)))
        note.aside = " ".join(filter(None, (note.aside, progress.trouble())))
        self._news = ""
        return note

    def _ipython_display_(self) -> None:
        """Show where one is, and below it the present part; at the end the report."""
        from IPython.display import display

        display(self._head())
        now = self._standing()
        display(_stage(now, now.present).shown() if now.present else self.report())

    def __repr__(self) -> str:
        head, now = repr(self._head()), self._standing()
        return f"{head}\n\n{_stage(now, now.present).text() if now.present else self.report()}"


def _stage(now: Standing, part: Part) -> Stage:
    return STAGES[part.kind](now, part)


def _used(came: list[Came]) -> float:
    return sum(one.clock.used for one in came)


def _state(one: Came, present: Part | None) -> str:
    return "done" if one.left else "now" if one.part == present else ""


def _late(part: Part, read: Reading) -> bool:
    return read.used > 60 * part.minutes


def _time(part: Part, read: Reading) -> str:
    """Return what the clock of a part shows, in words."""
    whole = f"{clock_text(60 * part.minutes)} minutes"
    if not read.state:
        return whole
    stands = ", paused" if read.state == "paused" else ""
    over = ", its time is over: finish, and go on" if _late(part, read) and not read.ended else ""
    return f"{clock_text(read.used)} of {whole}{stands}{over}"
