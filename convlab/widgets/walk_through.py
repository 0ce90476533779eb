"""A walk-through: a question that is answered aloud, ticked, and then walked through in pictures."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import traitlets

from convlab.errors import ParameterError
from convlab.figures.picture import Picture
from convlab.support.units import plural
from convlab.widgets.shared import javascript, still
from convlab.widgets.shared.live import WAITING, Live
from convlab.widgets.shared.traits import Choice, Whole

if TYPE_CHECKING:
    from convlab.interview.walks.walk import Walk  # it imports widgets, which must not import it

VIEWS = ("try", "walk", "answers", "pitfalls", "next")
LEVELS = ("borderline", "hire", "strong")
MOST_POINTS = 15
COLOURS = 64  # of a chart
SENTENCES = {
    "try": "Answer aloud, as you would at a whiteboard, before you look. It may take {minutes} minutes.",
    "made": "{made} of {points} points made",
    "at": "Point {at} of {points}: {title} {words}",
    "waiting": WAITING,
}


class WalkThrough(Live):
    """A question that is tried alone first, then walked through, point by point, with pictures.

    The figures of the walk are moved as its points say, in the browser; no Python is asked for it.

    Parameters
    ----------
    walk : Walk
        One of `convlab.interview.WALKS`.
    read : sequence of dict
        Where the course has it: "words", and "file", a notebook's; "" if it is not here.
    at : int
        The point of the walk that it opens at, 1 is the first; 0: it opens where one tries alone.

    Attributes
    ----------
    rounds : list of dict
        Of every time that it was answered "ticked", the titles of the points that were made, and "seconds",
        None where no stopwatch ran.
    opens_after : int
        How many rounds there must be before all but the first part can be seen; in a mock, one more.
    """

    sentences = SENTENCES
    measured_here = None  # its look is the reader's own: no photograph

    name, question = traitlets.Unicode().tag(sync=True), traitlets.Unicode().tag(sync=True)
    minutes = traitlets.Int().tag(sync=True)
    points, pitfalls, follow_ups, read = (traitlets.List().tag(sync=True) for _ in range(4))
    answers = traitlets.Dict().tag(sync=True)
    packed = traitlets.Unicode().tag(sync=True)  # the figures: their modules and how they open
    rounds = traitlets.List().tag(sync=True)
    heard = traitlets.Int().tag(sync=True)  # how many of them Python has; the page keeps the others
    opens_after = traitlets.Int().tag(sync=True)
    trouble = traitlets.Unicode().tag(sync=True)  # what the reader should know, of their memory
    view, level, point = Choice(VIEWS), Choice(LEVELS, "hire"), Whole(0, MOST_POINTS - 1, 0)

    def __init__(self, walk: Walk, read: Sequence[dict[str, str]] = (), at: int = 0):
        super().__init__(
            **{"view": "walk" if at else "try", "point": max(at - 1, 0)},
            **{"name": walk.name, "question": walk.question, "minutes": walk.minutes},
            **{"points": [asdict(point) for point in walk.points], "answers": asdict(walk.answers)},
            **{"pitfalls": [asdict(one) for one in walk.pitfalls], "read": list(read)},
            follow_ups=[asdict(one) for one in walk.follow_ups],
            packed=(packed := _packed(walk.figures)).text,
        )
        self._marks = packed.marks

    @traitlets.validate("rounds")
    def _check_rounds(self, proposal):
        titles = [point["title"] for point in self.points]
        for one in proposal["value"]:
            known = isinstance(one, dict) and isinstance(one.get("ticked"), list)
            if not known or not all(title in titles for title in one["ticked"]):
                raise ParameterError(f"rounds has {one!r}; expected dicts with the titles that were ticked")
            if not isinstance(one.get("seconds", "nothing"), int | float | None):
                raise ParameterError(f"rounds has {one!r}; expected its seconds, or None")
        return proposal["value"]

    @traitlets.observe("rounds")
    def _hear(self, change):
        self.heard = len(change["new"])

    def photographed(self) -> dict[str, Any]:
        """Return the state, of its figures without their modules' tables, which depend on this machine."""
        return self.state() | {"packed": self._marks}

    def known_by(self) -> dict[str, Any]:
        """Return what tells it from other walks: its name."""
        return {"name": self.name}

    def describe(self) -> str:
        """Return the question, and the point that is shown; else what came of it last, and all points."""
        if self.view == "walk":
            shown = self.points[min(self.point, len(self.points) - 1)]
            at, points = 1 + self.points.index(shown), len(self.points)
            told = self._say("at", at=at, points=points, title=shown["title"], words=shown["words"])
            return f"{self.question} {told}"
        said = [self.question, self._say("try", minutes=self.minutes)]
        if self.rounds:
            said.append(self._say("made", made=len(self.rounds[-1]["ticked"]), points=len(self.points)) + ".")
        points = enumerate(self.points, 1)
        return " ".join([*said, *(f"{i}. {one['title']} {one['words']}" for i, one in points)])

    def without_scripts(self) -> str:
        """Return the question and the points, as they can be read and printed."""
        points = "".join(
            f"<li><b>{escape(one['title'])}</b> {escape(one['words'])}</li>" for one in self.points
        )
        return f"<p><b>{escape(self.question)}</b> ({plural(self.minutes, 'minute')})</p><ol>{points}</ol>"


class _Packed(NamedTuple):
    """Figures as the page unpacks them, and by their names the marks of what they show."""

    text: str
    marks: dict[str, str]


def _packed(figures: Mapping[str, Live | Picture]) -> _Packed:
    """Return figures as the page unpacks them: each kind's module once, each figure's state or its HTML.

    None of them is a figure of the notebook, so they have no name there, and no widget of the kernel stays.
    """
    modules, shown, marks = {}, {}, {}
    for name, figure in figures.items():
        if isinstance(figure, Picture):
            shown[name] = {"html": _smaller(figure)._repr_html_()}
            marks[name] = figure.alt
        else:
            kind = type(figure).__name__
            modules[kind] = figure.module()
            shown[name] = {"kind": kind, "state": figure.state() | {"key": "", "guide": []}}
            code = javascript.module(f"{figure.file_name()}.js")
            marks[name] = still.mark_of(code, figure.sentences, figure.state(), "")
            figure.close()
    text = json.dumps({"modules": modules, "figures": shown})
    return _Packed(base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(), marks)


@cache
def _smaller(picture: Picture) -> Picture:
    """Return a chart in few colours: a third of the bytes, and nothing that one could see is lost."""
    from PIL import Image

    if picture.photo:
        return picture
    file = io.BytesIO()
    image = Image.open(io.BytesIO(picture.png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(file, "png", optimize=True)
    return Picture(file.getvalue(), picture.alt, picture.width)
