"""A task with its clock: shown, handed in, paused, given up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from convlab.interview.coding import view
from convlab.interview.coding.bug_rounds import BUG
from convlab.interview.coding.clock import BEGIN, GIVEN_UP, KIND, PAUSE, RESUME, SOLVED, Clock, Reading
from convlab.interview.coding.tasks import TASKS
from convlab.interview.coding.ways import IMPORTS, NOTEBOOK, Ways
from convlab.lessons import progress
from convlab.lessons.checks import judge
from convlab.lessons.exercise import Exercise
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.note import Note
from convlab.lessons.tutor import next_hint
from convlab.support.checked import checked
from convlab.support.clock_words import RUNS, clock_words


class TimedTask:
    """A task that is worked on against the clock, which keeps its time whatever is closed meanwhile.

    Parameters
    ----------
    name : str
        What it is remembered by.
    exercise : Exercise or KernelExercise
        What is asked, and how answers to it are tried.
    minutes : float
        How long one has.
    call : str
        How it is begun, in Python.
    then : str
        The call that begins what an interviewer asks next.
    anew : bool
        Begin the clock once more, with all the time; else it goes on, if it was begun before.
    ways : Ways
        How one goes on.
    """

    hand_in = ""  # how an answer is handed over, in a notebook

    def __init__(
        self,
        name: str,
        exercise: Exercise | KernelExercise,
        minutes: float,
        *,
        call: str,
        then: str = "",
        anew: bool = False,
        ways: Ways = NOTEBOOK,
    ):
        self.name, self.exercise, self.minutes = name, exercise, minutes
        self.call, self._then, self._ways = call, then, ways
        self.hand_in = ways.hand_in or self.hand_in
        self._clock = Clock(name)
        if anew or not self._clock.read().state:
            self._clock.press(BEGIN)
        view.renew(self)

    @property
    def left(self) -> float:
        """Seconds that are left; below 0 when the time is over."""
        return 60 * self.minutes - self._clock.read().used

    def pause(self) -> Note:
        """Stop the clock."""
        return self._pressed(PAUSE, "running", f"The clock stands. `{self._ways.resume}` lets it run again.")

    def resume(self) -> Note:
        """Let the clock run again."""
        return self._pressed(RESUME, "paused", f"The clock runs. `{self._ways.pause}` stops it.")

    def look(self) -> tuple[Reading, str]:
        """Return what the clock shows, and what comes next when the time is over, or was wrong with it."""
        read = self._clock.read()
        then = f"Next: `{self._then}`." if read.ended and self._then else ""
        over = read.ended or read.used > 60 * self.minutes
        again = f"{self.call.removesuffix(')')}{self._ways.anew}"
        return read, _joined(
            then, f"From the start once more: `{again}`." * (over and bool(self._ways.anew)), read.trouble
        )

    def _give_up(self) -> Note:
        """Show the solution; a clock that runs has come to its end."""
        if not self._clock.read().ended:
            self._clock.press(GIVEN_UP)
        note = self._solution()
        note.aside = self._aside()
        return note

    def _solution(self) -> Note:
        return Note(None, "One way to do it", self.exercise.why, code=self.exercise.solved)

    def shown(self) -> Note:
        """Return the task and its clock at this moment."""
        read, after = self.look()
        note = Note(None, f"{self.name}: {self._said(read)}", self.exercise.statement)
        note.aside = _joined(self.hand_in, after, self._beside(), progress.trouble())
        return note

    def __repr__(self) -> str:
        return repr(self.shown())

    def _repr_html_(self) -> str:
        return self.shown()._repr_html_()

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the clock as it ticks, and in words where nothing does."""
        return view.bundle(self, self.shown())

    def noted(self, note: Note) -> Note:
        """Remember a try, stop the clock if it was right, and say with the note what the clock shows."""
        before = self._clock.read()
        if note.good is not None:
            used = round(before.used, 1)
            progress.record("try", self.name, good=note.good, diagnosis=note.diagnosis, used=used)
        if note.good and not before.ended:
            self._clock.press(SOLVED)
        of_before = before.ended and bool(note.good) != (before.state == SOLVED)
        note.aside = self._aside("Before: " if of_before else "")
        return note

    def _pressed(self, what: str, where: str, said: str) -> Note:
        if self._clock.read().state == where:
            self._clock.press(what)
        read, _ = self.look()
        note = Note(None, self._said(read), "" if read.ended else said)
        note.aside = _joined(read.trouble, progress.trouble())
        view.renew(self)
        return note

    def _said(self, read: Reading) -> str:
        """Return what the clock shows, in words."""
        return clock_words(read.used, read.state, self.minutes)

    def _aside(self, when: str = "") -> str:
        """Return what the clock shows, and what there is to say of it; `when` that was, if not now."""
        read, after = self.look()
        view.renew(self)
        shown = self._said(read) if when else self._said(read).capitalize()
        return _joined(f"{when}{shown}.", after, self._beside(), progress.trouble())

    def _beside(self) -> str:
        """Return which other tasks run as well: nobody may have thought of them."""
        begun = dict.fromkeys(event.name for event in progress.events(KIND))
        others = [name for name in begun if name != self.name and (name in TASKS or BUG.fullmatch(name))]
        running = [name for name in others if Clock(name).read().state == RUNS]
        return f"The clock of {', '.join(running)} runs as well." if running else ""


class CodingTask(TimedTask):
    """A function or a kernel to write from an empty cell."""

    hand_in = (
        "Write it in an empty cell. `task.submit(name)`, with its name, tries it on hidden cases; "
        "`task.hint()` helps on."
    )

    def __init__(self, name: str, exercise: Exercise | KernelExercise, minutes: float, **rest: Any):
        super().__init__(name, exercise, minutes, **rest)
        if isinstance(self.exercise, KernelExercise):
            self.hand_in += f" A kernel needs `{IMPORTS[True]}`."

    def submit(self, answer: Callable[..., Any]) -> Note:
        """Try an answer on hidden cases, the smallest first, and say how it went, as `check` does.

        Parameters
        ----------
        answer : callable
            A function or a kernel: itself, not what it returns.

        Returns
        -------
        Note
            What `check` says of it; in `aside` what the clock shows. A right answer ends it.
        """
        return self.noted(judge(self.exercise, answer, self._ways.submit))

    def hint(self) -> Note:
        """Give the next of three hints: each gives away more than the one before."""
        note = next_hint(self.name, self.exercise.hints, self._ways.give_up)
        note.aside = _joined(self._aside(), note.aside)
        return note


@checked
def give_up(task: TimedTask) -> Note:
    """Show how a task can be solved. Its clock has come to its end, unless that was before.

    Parameters
    ----------
    task : TimedTask
        What `begin` or `find_the_bug` returned.

    Returns
    -------
    Note
        The solution, and why it is so.
    """
    return task._give_up()


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
