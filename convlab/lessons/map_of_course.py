"""The map of the course: a row for each notebook, what was done in it, and how good the guesses were."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from convlab.figures import style
from convlab.figures.calibration_chart import calibration
from convlab.lessons import progress
from convlab.lessons.course import STATES, Chapter, Standing, chapters
from convlab.support.tables import lines
from convlab.support.wrapping import PLAIN, columns, wrapped

EMPTY = (
    "Nothing yet. Every exercise you try and every number you predict gets its mark here, "
    "and below the map you will see how good your guesses are, and how well you know that."
)
HEAD = ("notebook", "about", "exercises", "predictions")
# The course and the pages made of it have other names for the same notebook: `convlab.workspace.pages` knows.
LINK = '<a class="cl-notebook" href="'


class CourseMap:
    """The map, as a page shows it and as text."""

    def __init__(self, notebooks: list[Chapter], standing: Standing, trouble: str = ""):
        self.notebooks, self.standing, self.trouble = notebooks, standing, trouble

    def __repr__(self) -> str:
        head = ("", "notebook", "about", "exercises", "hints", "solutions", "predictions")
        width = columns(PLAIN)
        table = lines([head, *map(self._line, self.notebooks)], width=width)
        said = [EMPTY] if self.standing.is_empty else [self.standing.calibration()]
        return "\n".join([*table, "", *(wrapped(one, width) for one in (*said, self.trouble) if one)])

    def _line(self, chapter: Chapter) -> tuple[str, ...]:
        states = [self.standing.of_exercise(name) for name in chapter.exercises]
        exercises = f"{states.count('done')} of {len(states)} done"
        if "tried" in states:
            exercises += f", {states.count('tried')} tried"
        hints, solutions = (
            sum(found.get(name, 0) for name in chapter.exercises)
            for found in (self.standing.hints, self.standing.solutions)
        )
        made = sum(name in self.standing.guesses for name in chapter.predictions)
        predictions = f"{made} of {len(chapter.predictions)}" if chapter.predictions else ""
        shown = (exercises if states else "", str(hints or ""), str(solutions or ""), predictions)
        return (chapter.number, chapter.title, f"{chapter.minutes:.0f} min", *shown)

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{name}</th>' for name in HEAD)
        rows = "".join(map(self._row, self.notebooks))
        key = ", ".join(f"{mark} {state}" for state, mark in STATES.items())
        said = EMPTY if self.standing.is_empty else self.standing.calibration()
        guesses = self.standing.judged
        drilled = any(guess.drill for guess in guesses)
        what = "answers were right" if drilled else "predictions were within a factor of two"
        chart = calibration(guesses, what)._repr_html_() if guesses else ""
        return framed(
            f'<table class="cl-map"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
            f'<p class="cl-key">{key}</p><p>{escape(said)}</p>{chart}'
            + (f"<p>{escape(self.trouble)}</p>" if self.trouble else "")
        )

    def _row(self, chapter: Chapter) -> str:
        exercises = "".join(_mark(name, self.standing.of_exercise(name)) for name in chapter.exercises)
        predictions = "".join(_mark(name, self.standing.of_prediction(name)) for name in chapter.predictions)
        title = f'{LINK}{escape(chapter.file)}">{escape(chapter.title)}</a>'
        return (
            f'<tr><th scope="row">{chapter.number} {title}</th>'
            f"<td>{chapter.minutes:.0f} min</td><td>{exercises}</td><td>{predictions}</td></tr>"
        )


def course_map() -> CourseMap:
    """Return the map of the course: what you did in each notebook, and how good your predictions were."""
    return CourseMap(chapters(), Standing(progress.events()), progress.trouble())


def framed(page: str) -> str:
    """Return HTML in the frame that is the map's, with its style."""
    rules = files("convlab.lessons").joinpath("map_of_course.css").read_text(encoding="utf-8")
    colours = style.css().replace(".convlab", ".cl-course")
    return f'<style>{colours}{rules}</style><div class="cl-course">{page}</div>'


def _mark(name: str, state: str) -> str:
    kind = state.replace(" ", "-")
    return (
        f'<span class="cl-task cl-{kind}"><span role="img" aria-label="{state}:">{STATES[state]}</span> '
        f"{escape(name)}</span>"
    )
