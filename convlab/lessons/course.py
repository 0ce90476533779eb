"""How far the learner is: the exercises and predictions of every notebook, and what was done of them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from convlab.lessons.length import Length, calls, is_prediction, length, name_of
from convlab.lessons.progress_file import Event, is_number
from convlab.support.files import data_path
from convlab.support.units import factor_between

QUESTIONS = "## What an interviewer asks here"  # the heading at the end of a notebook
STATES = {"done": "●", "tried": "◐", "not seen": "○"}


@dataclass(frozen=True)
class Chapter:
    """A notebook: its title, the names of what it asks, in order, and how long it takes, in minutes.

    `again` are the minutes of reading it once more, `questions` those of what an interviewer asks at its end.
    """

    file: str
    title: str
    exercises: tuple[str, ...]
    predictions: tuple[str, ...]
    minutes: float
    again: float = 0.0
    questions: float = 0.0

    @property
    def number(self) -> str:
        """Its number, e.g. "02"."""
        return self.file[:2]


@dataclass(frozen=True)
class Guessed:
    """The first guess of a prediction, the one that counts; `sure` in percent.

    `noisy`: other programs disturbed what was measured, so that nobody knows how good the guess was.
    `drill`: it answers a drill of the interview, and `within` says whether that was judged right.
    """

    name: str
    guess: float
    actual: float
    sure: float
    noisy: bool = False
    drill: bool = False
    within: bool = False

    @property
    def right(self) -> bool:
        """Whether it was within a factor of two; of a drill, within its own tolerance."""
        if self.drill:
            return self.within
        return factor_between(self.guess, self.actual) <= 2


class Standing:
    """What was done, of all that was remembered.

    Parameters
    ----------
    events : iterable of Event
        Oldest first.

    Attributes
    ----------
    guesses : dict of str to Guessed
        By prediction.
    hints, solutions : dict of str to int
        How many were shown, by exercise.
    """

    def __init__(self, events: Iterable[Event]):
        self.guesses: dict[str, Guessed] = {}
        self._hints: set[tuple[str, str]] = set()
        self.solutions: dict[str, int] = {}
        self._tries: dict[str, bool] = {}
        for event in events:
            self._take(event)
        names = [name for name, _ in self._hints]
        self.hints = {name: names.count(name) for name in names}

    def _take(self, event: Event) -> None:
        name, detail = event.name, event.detail
        if event.kind == "try" and detail.get("good") is not None:  # None: not started
            self._tries[name] = self._tries.get(name, False) or detail["good"] is True
        elif event.kind == "hint":
            self._hints.add((name, str(detail.get("number"))))
        elif event.kind == "solution" and detail.get("shown", True):
            self.solutions[name] = 1
        elif event.kind == "guess" and name not in self.guesses:
            guess, actual, sure = (detail.get(each) for each in ("guess", "actual", "sure"))
            if is_number(guess) and is_number(actual) and is_number(sure):
                told = {"noisy": detail.get("noisy") is True, "drill": isinstance(detail.get("drill"), str)}
                within = detail.get("right") is True
                self.guesses[name] = Guessed(name, guess, actual, sure, **told, within=within)

    def of_exercise(self, name: str) -> str:
        """Return "done", "tried" or "not seen"."""
        return "done" if self._tries.get(name) else "tried" if name in self._tries else "not seen"

    def of_prediction(self, name: str) -> str:
        """Return "done" or "not seen"."""
        return "done" if name in self.guesses else "not seen"

    @property
    def is_empty(self) -> bool:
        """Whether nothing was done yet."""
        return not (self._tries or self.guesses or self._hints or self.solutions)

    @property
    def judged(self) -> list[Guessed]:
        """The guesses that can be judged: all but those whose truth was too noisy to tell."""
        return [guess for guess in self.guesses.values() if not guess.noisy]

    def calibration(self) -> str:
        """Return in a line how many predictions were right, and how often "so sure" was."""
        guesses = self.judged
        if not guesses:
            return "No prediction was made yet."
        drills = [guess for guess in guesses if guess.drill]
        others = [guess for guess in guesses if not guess.drill]
        said = [f"{_of(others)} within a factor of two"] if others else []
        said += [f"{_of(drills)} drills right"] if drills else []
        said += [f"{sure:g} % sure: {_of(rows)} right" for sure, rows in by_sureness(guesses).items()]
        return f"Predictions: {'; '.join(said)}."


def by_sureness(guesses: Iterable[Guessed]) -> dict[float, list[Guessed]]:
    """Return guesses by how sure they were, the least first."""
    guesses = list(guesses)
    return {sure: [one for one in guesses if one.sure == sure] for sure in sorted({g.sure for g in guesses})}


def _of(guesses: list[Guessed]) -> str:
    return f"{sum(one.right for one in guesses)} of {len(guesses)}"


def chapters(folder: Path | None = None) -> list[Chapter]:
    """Return the notebooks of a folder, by default of the course, with what they ask.

    The notebooks themselves say it, in their calls of `check` and `predict`. Where the course is not to be
    found, it is those in the working directory.
    """
    course = data_path().parent / "notebooks"
    folder = folder or (course if course.is_dir() else Path.cwd())
    return [_chapter(path) for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))]


def _chapter(path: Path) -> Chapter:
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells]
        codes = [text for cell, text in zip(cells, texts, strict=True) if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError):  # a notebook that is not one: the others count
        return Chapter(path.name, path.stem[3:], (), (), 0)
    made = [call for code in codes for call in calls(code)]
    whole = length(cells)
    _, _, end = "\n\n".join(texts).partition(QUESTIONS)
    return Chapter(
        path.name,
        texts[0].partition("\n")[0].lstrip("# ").strip() if texts else path.stem[3:],
        _names(call for call in made if name_of(call) == "check"),
        _names(call for call in made if is_prediction(call)),
        whole.minutes,
        Length(whole.words, whole.lines).minutes,
        length([{"cell_type": "markdown", "source": end}]).minutes,
    )


def _names(calls: Iterable[ast.Call]) -> tuple[str, ...]:
    """Return the first arguments of calls, each once, in the order they stand."""
    first = [call.args[0].value for call in calls if call.args and isinstance(call.args[0], ast.Constant)]
    return tuple(dict.fromkeys(name for name in first if isinstance(name, str)))
