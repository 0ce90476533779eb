"""Where the course has something: a notebook, and the cell or the heading there, in words and as a link."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from convlab.lessons.course import chapters


class Place(NamedTuple):
    """A place in the course.

    Attributes
    ----------
    notebook : str
        Its number.
    title, file : str
        Those of the notebook; "" where it is not there.
    where : str
        What to look for in it, in words.
    """

    notebook: str
    title: str
    file: str
    where: str

    @property
    def named(self) -> str:
        """The notebook, in words."""
        return f"notebook {self.notebook}" + (f" ({self.title})" if self.title else "")

    def __str__(self) -> str:
        return f"{self.named}, {self.where}"


def of_cell(notebook: str, name: str) -> Place:
    """Return the place of an exercise or a prediction."""
    return _place(notebook, f'the cell of "{name}"')


def of_heading(notebook: str, heading: str) -> Place:
    """Return the place of a heading."""
    return _place(notebook, f'"{heading}"', "#" + heading.replace(" ", "-"))


def _place(notebook: str, where: str, anchor: str = "") -> Place:
    title, file = _notebooks().get(notebook, ("", ""))
    return Place(notebook, title, f"{file}{anchor}" if file else "", where)


@cache
def _notebooks() -> dict[str, tuple[str, str]]:
    return {chapter.number: (chapter.title, chapter.file) for chapter in chapters()}
