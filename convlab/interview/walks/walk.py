"""What a walk-through is made of: points to make, the picture that goes with each, and model answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from convlab.figures.picture import Picture
from convlab.support.wrapping import flowing
from convlab.widgets.shared.live import Live


@dataclass(frozen=True)
class Point:
    """A point that a good answer makes.

    Attributes
    ----------
    title : str
        What one ticks: a short sentence.
    words : str
        What to say there, in one to three sentences, with `code` and *emphasis*.
    figure : str
        Which of the walk's figures shows it; "" leaves the one that is there, as it is.
    state : mapping
        What of that figure is set, by its traits; all else is as the figure opens.
    must : bool
        Whether no answer is a strong one without it.
    """

    title: str
    words: str
    figure: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    must: bool = False


@dataclass(frozen=True)
class Pitfall:
    """A common mistake, and what a good candidate says in its place."""

    mistake: str
    better: str


@dataclass(frozen=True)
class Levels:
    """Model answers as they are spoken, in paragraphs with an empty line between them.

    They are written in lines, and kept without: what shows them breaks them as it has room.

    Attributes
    ----------
    borderline, hire, strong : str
    """

    borderline: str
    hire: str
    strong: str

    def __post_init__(self) -> None:
        for level in fields(self):
            object.__setattr__(self, level.name, flowing(getattr(self, level.name)))


@dataclass(frozen=True)
class FollowUp:
    """What is asked next, and the answer in a few sentences."""

    question: str
    answer: str


@dataclass(frozen=True)
class Walk:
    """A question for the whiteboard.

    Attributes
    ----------
    name : str
    question : str
        As an interviewer puts it.
    minutes : int
        How long an answer may take.
    figures : mapping of str to Live or Picture
        What the points show, by the names that they use.
    points : tuple of Point
        Ten to fifteen, in the order in which one makes them.
    answers : Levels
    pitfalls : tuple of Pitfall
    follow_ups : tuple of FollowUp
    read : tuple of (str, str)
        Where the course has it: the numbers of notebooks, and the heading there.
    """

    name: str
    question: str
    minutes: int
    figures: Mapping[str, Live | Picture]
    points: tuple[Point, ...]
    answers: Levels
    pitfalls: tuple[Pitfall, ...]
    follow_ups: tuple[FollowUp, ...]
    read: tuple[tuple[str, str], ...]
