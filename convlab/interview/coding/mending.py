"""A round of finding a bug: which line is wrong, and what should stand there?"""

from __future__ import annotations

from functools import partial
from itertools import count
from textwrap import dedent, indent
from typing import Annotated, Any

from convlab.interview.coding.bug_rounds import plain, round_of, wrong_line
from convlab.interview.coding.timed import TimedTask
from convlab.lessons.checks import judge
from convlab.lessons.exercises import EXERCISES
from convlab.lessons.note import Note
from convlab.support.checked import checked
from convlab.support.checks import check_whole

MINUTES = 8
_TRIES = count(1)  # each text has a name of its own, by which its lines are found


class BugRound(TimedTask):
    """A function of the course with one line that is wrong, and a clock.

    Parameters
    ----------
    name : str
        What it is remembered by.
    seed : int
        The round's number.
    minutes : float
        How long one has.
    call, then, anew
        As of every `TimedTask`.
    """

    hand_in = (
        "One line is wrong, or wastes what it need not. `bug.submit(line, text)` says which, and what "
        "stands there instead; text of several lines is fine."
    )

    def __init__(self, name: str, seed: int, minutes: float = MINUTES, **rest: Any):
        exercise, self._mistake = round_of(seed)
        super().__init__(name, EXERCISES[exercise], minutes, **rest)
        self._lines = plain(self.exercise, self._mistake)
        self._line = wrong_line(self.exercise, self._mistake)

    @checked
    def submit(self, line: Annotated[int, partial(check_whole, least=1)], text: str) -> Note:
        """Try the function with another text in one line.

        Parameters
        ----------
        line : int
            The number of the line that is wrong.
        text : str
            What should stand there; it is set as far in as the line is.

        Returns
        -------
        Note
            Whether the function is right so; the first case that fails, if not.
        """
        check_whole("line", line, 1, len(self._lines))
        return self.noted(self._judged(int(line), text))

    def _judged(self, line: int, text: str) -> Note:
        try:
            mended = self._with(line, text)
        except SyntaxError as error:
            return Note(False, f"With that in line {line} it is no Python: {error.msg}.")
        except Exception as error:  # a head that is no head, for instance
            gone = f"With that in line {line} there is no `{self.exercise.solution.__name__}`."
            return Note(False, gone, f"{type(error).__name__}: {error}")
        found = judge(self.exercise, mended, "")
        if found.good:
            return Note(True, "Mended.", f"It was one that {self._mistake.name}. {self._mistake.meaning}")
        title = "That is the line; it is not mended yet." if line == self._line else "Not mended."
        body = "\n".join(filter(None, (found.title, found.body)))
        return Note(False, title, body, picture=found.picture)  # no diagnosis: it would name the bug

    def _with(self, line: int, text: str) -> Any:
        """Return the function with another text in a line."""
        old = self._lines[line - 1]
        margin = old[: len(old) - len(old.lstrip())]
        lines = [*self._lines[: line - 1], indent(dedent(text), margin).strip("\n"), *self._lines[line:]]
        return self.exercise.compiled("\n".join(lines) + "\n", f"{self.name}, try {next(_TRIES)}")

    def shown(self) -> Note:
        """Return the lines, numbered, and the clock."""
        note = super().shown()
        note.code = "\n".join(f"{number:>2}  {line}" for number, line in enumerate(self._lines, 1))
        return note

    def _solution(self) -> Note:
        """Return which line it is, and what is wrong with it."""
        mistake, right = self._mistake, plain(self.exercise)[self._line - 1]
        said = f"It is one that {mistake.name}. {mistake.meaning}"
        return Note(None, f"It is line {self._line}", said, code=right.strip())
