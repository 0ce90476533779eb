"""What each part of a mock interview shows, and how an answer to it is taken."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from convlab.errors import ParameterError
from convlab.interview.coding.clock import BEGIN, GIVEN_UP, SOLVED
from convlab.interview.coding.mending import BugRound
from convlab.interview.coding.tasks import TASKS
from convlab.interview.coding.timed import CodingTask, Ways
from convlab.interview.history import keep
from convlab.interview.mocks.draw import BUG, CODE, DRILLS, MANY, MINUTES, WALK, WELCOME, WHOLE, Part
from convlab.interview.mocks.record import Standing, tried
from convlab.interview.walks import record as rounds
from convlab.lessons import progress
from convlab.lessons.note import Note
from convlab.support.checked import checked
from convlab.support.checks import check_number, check_whole, said

NEXT, LEAVE = "talk.next()", "talk.next(leave=True)"
Percent = Annotated[float, partial(check_number, least=0, most=100)]
Number = Annotated[int, partial(check_whole, least=1)]


class Stage:
    """A part, as it stands.

    Parameters
    ----------
    now : Standing
        Of the whole interview.
    part : Part
    how : str
        How an answer is handed in, if not by the calls of a notebook.
    """

    how = ""  # in a notebook
    submit: Callable[..., Note]  # takes an answer, and says what there is to say of it

    def __init__(self, now: Standing, part: Part, how: str = ""):
        self.now, self.part, self.clock = now, part, now.clock(part)
        self.how = how or self.how

    def begin(self) -> None:
        """Let its clock run, unless it was begun before."""
        if not self.clock.read().state:
            self.clock.press(BEGIN)

    def end(self, how: str = GIVEN_UP) -> None:
        """Stop its clock for good."""
        if not self.clock.read().ended:
            self.clock.press(how)

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.clock.read().ended

    def take(self, answer: tuple[Any, ...]) -> Note:
        """Take what was handed in, if that is an answer to this part.

        Raises
        ------
        ConvError
            If it is none.
        """
        try:
            inspect.signature(self.takes).bind(*answer)
        except TypeError:
            raise ParameterError(f"answer={said(answer)}; expected another form: {self.how}") from None
        return self.submit(*answer)

    @property
    def takes(self) -> Callable[..., Note]:
        """What is called with an answer."""
        return self.submit

    def shown(self) -> Any:
        """Return what a cell shows of it."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the same for a terminal."""
        return repr(self.shown())


class Welcome(Stage):
    """What comes, said before it begins."""

    how = f"`{NEXT}` begins with the drills. No clock runs before that."
    done = True

    def begin(self) -> None:
        """Let no clock run: whoever runs all cells of a notebook has not begun."""

    def shown(self) -> Note:
        """Return what an interviewer says first."""
        note = Note(
            None,
            "What comes",
            f"{WHOLE} minutes, {MINUTES[WELCOME]} of them for this: {MANY} drills to warm up, "
            f"{MINUTES[DRILLS]} minutes; code to write, or bugs to find, {MINUTES[CODE]}; a question for the "
            f"whiteboard, answered aloud, {MINUTES[WALK]}. Have paper and a pencil there, and nothing to "
            "look anything up in. Each part has its own clock: when its time is over that is said, and you "
            "may finish. What you do not know you may leave. At the end there is a report.",
        )
        note.aside = self.how
        return note

    def submit(self) -> Note:
        """Say that it has not begun."""
        return Note(None, "Nothing is asked yet.", self.how)


class Drills(Stage):
    """Drills one after the other; no second try."""

    how = '`talk.submit("1.2 GFLOP", 70)` answers it, here with 70 % sureness.'

    def end(self, how: str = GIVEN_UP) -> None:
        """Stop its clock for good; what is not answered is passed over, and comes again in other drills."""
        answered = {one.drill.name for one in self.now.of(self.part).answers}
        for one in self.now.draw.drills if how == GIVEN_UP else ():
            if one.name not in answered:
                keep(progress.memory(), one, None, None)
        super().end(how)

    def shown(self) -> Any:
        """Return the card that asks them; the last answer ends the part."""
        from convlab.interview.drill_cards import asked_once

        answered = [
            {"kind": one.drill.kind, "seed": one.drill.seed, "right": one.right, "sure": one.sure}
            for one in self.now.of(self.part).answers
        ]
        card = asked_once(self.now.draw.drills, answered, self.now.after["answers"], f"{NEXT} goes on.")

        def end_at_the_last(change: Any) -> None:
            if len(change["new"]) == MANY:
                self.end(SOLVED)

        card.observe(end_at_the_last, "answered")
        return card

    def asked(self) -> Note:
        """Return the drill that is asked, in words."""
        one = self.now.waiting()
        if one is None:
            return Note(None, f"All {MANY} drills are answered.")
        number = 1 + len(self.now.of(self.part).answers)
        note = Note(None, f"Drill {number} of {MANY}: {one.about.title}", one.question)
        note.aside = self.how
        return note

    def text(self) -> str:
        """Return the same for a terminal."""
        return repr(self.asked())

    @checked
    def submit(self, text: str, sure: Percent) -> Note:
        """Judge an answer to the drill that is asked; what is not understood is asked again."""
        one = self.now.waiting()
        if one is None:
            return self.asked()
        verdict, came = one.verdict(text), self.now.of(self.part)
        if verdict.value is not None:
            seconds = came.clock.used - sum(each.seconds for each in came.answers)
            keep(progress.memory(), one, verdict, float(sure), round(max(seconds, 0.0), 1))
            verdict.note.code = "\n".join(one.steps)
            if len(came.answers) == MANY - 1:
                self.end(SOLVED)
        return verdict.note


class Code(Stage):
    """A task to write from an empty cell, on a clock of its own."""

    how = "Write it in an empty cell. `talk.submit(name)`, with its name, tries it on hidden cases."

    def __init__(self, now: Standing, part: Part, how: str = ""):
        super().__init__(now, part, how)
        ways = Ways(
            "talk.pause()", "talk.resume()", submit="talk.submit(my_function)", anew="", hand_in=self.how
        )
        self._task = self._made(call=f"interview.mock({now.seed})", then=NEXT, ways=ways)

    def _made(self, **rest: Any) -> CodingTask | BugRound:
        exercise = TASKS[self.part.what].exercise
        return CodingTask(self.clock.name, exercise, self.part.minutes, **rest)

    @property
    def takes(self) -> Callable[..., Note]:
        """What is called with an answer."""
        return self._task.submit

    def shown(self) -> CodingTask | BugRound:
        """Return the task with its clock."""
        return self._task

    def submit(self, *answer: Any) -> Note:
        """Try an answer as the task does; what was said is remembered, up to the first that is right."""
        return self._remembered(lambda: self._task.submit(*answer))

    def noted(self, note: Note) -> Note:
        """Do the same with what was said of an answer elsewhere."""
        return self._remembered(lambda: self._task.noted(note))

    def asked(self) -> Note:
        """Return the task in words."""
        return self._task.shown()

    def _remembered(self, said_of: Callable[[], Note]) -> Note:
        ended = self.clock.read().ended
        note = said_of()
        if note.good is not None and not ended:
            tried(self.now, self.part, note)
        return note


class Bug(Code):
    """A round of finding a bug."""

    how = "One line is wrong. `talk.submit(line, text)` says which, and what should stand there."

    def _made(self, **rest: Any) -> BugRound:
        return BugRound(self.clock.name, int(self.part.what), self.part.minutes, **rest)


class Board(Stage):
    """A walk-through: answered aloud, then ticked by the one who answered."""

    how = "Answer aloud, as at a whiteboard. Then `talk.submit()` shows the points, to tick those you made."

    def shown(self) -> Any:
        """Return the question; what is ticked there ends the part, and opens what the course has on it."""
        from convlab.interview.walks.show import walk_through

        widget = walk_through(self.part.what)
        widget.opens_after = len(widget.rounds) + (self.now.of(self.part).said is None)
        widget.observe(lambda _: self.end(SOLVED), "rounds")
        return widget

    def text(self) -> str:
        """Return the question alone, and how it is answered."""
        from convlab.interview.walks.show import WALKS

        return f"{WALKS[self.part.what]().question}\n{self.how}"

    @checked
    def submit(self, *points: Number) -> Note:
        """Tick the points that were made, by their numbers; without any, say which there are."""
        from convlab.interview.walks.show import WALKS

        titles = [point.title for point in WALKS[self.part.what]().points]
        listed = "\n".join(f"{number:>2}  {title}" for number, title in enumerate(titles, 1))
        if not points:
            return Note(
                None, "Which of these did you make?", "`talk.submit(1, 2, 5)` ticks them.", code=listed
            )
        for number in points:
            check_whole("points", number, 1, len(titles))
        if self.now.of(self.part).said is not None:
            return Note(None, "That is ticked already.")
        ticked = [title for number, title in enumerate(titles, 1) if number in points]
        rounds.keep(progress.memory(), self.part.what, ticked, len(titles), self.clock.read().used)
        self.end(SOLVED)
        return Note(None, f"{len(set(points))} of {len(titles)} points.")


STAGES: dict[str, type[Stage]] = {
    WELCOME: Welcome,
    DRILLS: Drills,
    CODE: Code,
    BUG: Bug,
    WALK: Board,
}
