"""A task with its clock: shown, handed in, paused, given up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from convlab.interview.coding.clock import BEGIN, GIVEN_UP, PAUSE, RESUME, SOLVED, Clock, Reading, clock_text
from convlab.lessons import progress
from convlab.lessons.checks import judge
from convlab.lessons.exercise import Exercise
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.note import Note
from convlab.lessons.tutor import next_hint
from convlab.support.checked import checked


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
    """

    hand_in = ""  # how an answer is handed over

    def __init__(
        self,
        name: str,
        exercise: Exercise | KernelExercise,
        minutes: float,
        *,
        call: str,
        then: str = "",
        anew: bool = False,
    ):
        self.name, self.exercise, self.minutes = name, exercise, minutes
        self._call, self._then = call, then
        self._clock = Clock(name)
        if anew or not self._clock.read().state:
            self._clock.press(BEGIN)

    @property
    def left(self) -> float:
        """Seconds that are left; below 0 when the time is over."""
        return 60 * self.minutes - self._clock.read().used

    def pause(self) -> Note:
        """Stop the clock."""
        return self._pressed(PAUSE, "running", "The clock stands. `task.resume()` lets it run again.")

    def resume(self) -> Note:
        """Let the clock run again."""
        return self._pressed(RESUME, "paused", "The clock runs. `task.pause()` stops it.")

    def _give_up(self) -> Note:
        """Show the solution; a clock that runs has come to its end."""
        if not self._clock.read().ended:
            self._clock.press(GIVEN_UP)
        note = self._solution()
        note.aside = self._aside()
        return note

    def _solution(self) -> Note:
        return Note(None, "One way to do it", self.exercise.why, code=self.exercise.solved)

    def _shown(self) -> Note:
        """Return the task and its clock, as a cell shows them."""
        read = self._clock.read()
        note = Note(None, f"{self.name}: {_said(read, self.minutes)}", self.exercise.statement)
        note.aside = f"{self.hand_in} {self._after(read)}".strip()
        return note

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_html_(self) -> str:
        return self._shown()._repr_html_()

    def _noted(self, note: Note) -> Note:
        """Remember a try, stop the clock if it was right, and say with the note what the clock shows."""
        before = self._clock.read()
        if note.good is not None:
            used = round(before.used, 1)
            progress.record("try", self.name, good=note.good, diagnosis=note.diagnosis, used=used)
        if note.good and not before.ended:
            self._clock.press(SOLVED)
        note.aside = self._aside()
        return note

    def _pressed(self, what: str, where: str, said: str) -> Note:
        if self._clock.read().state == where:
            self._clock.press(what)
        read = self._clock.read()
        note = Note(None, _said(read, self.minutes), "" if read.ended else said)
        note.aside = " ".join(filter(None, (read.trouble, progress.trouble())))
        return note

    def _aside(self) -> str:
        """Return what the clock shows, and what there is to say of it."""
        read = self._clock.read()
        return f"{_said(read, self.minutes).capitalize()}. {self._after(read)}".strip()

    def _after(self, read: Reading) -> str:
        """Return what comes next when the time is over, and what was wrong with it."""
        then = f"Next: `{self._then}`." if read.ended and self._then else ""
        over = read.ended or read.used > 60 * self.minutes
        again = f"From the start once more: `{self._call[:-1]}, anew=True)`." if over else ""
        return " ".join(filter(None, (then, again, read.trouble, progress.trouble())))


class CodingTask(TimedTask):
    """A function or a kernel to write from an empty cell."""

    hand_in = (
        "Write it in an empty cell. `task.submit(name)`, with its name, tries it on hidden cases; "
        "`task.hint()` helps on."
    )

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
        return self._noted(judge(self.exercise, answer, "task.submit(my_function)"))

    def hint(self) -> Note:
        """Give the next of three hints: each gives away more than the one before."""
        note = next_hint(self.name, self.exercise.hints, "interview.give_up(task)")
        note.aside = f"{self._aside()} {note.aside}".strip()
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


def _said(read: Reading, minutes: float) -> str:
    """Return what a clock shows, in words."""
    whole = f"{clock_text(60 * minutes)} minutes"
    if read.ended:
        return f"{read.state} after {clock_text(read.used)} of {whole}"
    left = 60 * minutes - read.used
    shown = f"{clock_text(left)} of {whole} left" if left >= 0 else f"{clock_text(-left)} over {whole}"
    return f"{shown}, paused" if read.state == "paused" else shown
