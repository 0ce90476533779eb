"""The report of a mock interview: as a page that can be printed, and as text. Both show the same blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment, PackageLoader, select_autoescape

from convlab.errors import ParameterError
from convlab.figures.style import LIGHT, css
from convlab.interview.coding.bug_rounds import round_of
from convlab.interview.coding.clock import clock_text
from convlab.interview.coding.tasks import TASKS
from convlab.interview.console import WIDTH, command
from convlab.interview.mocks.draw import BUG, CODE, DRILLS, WALK, WELCOME, WHOLE, Part
from convlab.interview.mocks.rating import LEVELS, RULES, STRONG, SURE, Rating, rated, whole
from convlab.interview.mocks.record import Came, Standing, Try
from convlab.interview.places import Place, of_cell, of_heading
from convlab.interview.summary import Answered, sureness
from convlab.lessons.exercises import EXERCISES
from convlab.lessons.map_of_course import LINK
from convlab.support.checked import checked
from convlab.support.files import why_kept, write_atomically
from convlab.support.tables import NOTHING, lines
from convlab.support.wrapping import columns, wrapped

if TYPE_CHECKING:
    from convlab.interview.walks.walk import Walk

MARK = "<!-- a mock interview, by convlab -->"  # in each page that is saved
AGAIN = {
    CODE: ('begin("{}")', "code {}"),
    BUG: ("find_the_bug({})", "bug {}"),
    WALK: ('walk_through("{}")', "walk {}"),
}
NOT_OVER = "It is not over: what is still to come is not judged, and neither is the whole."


class Block(NamedTuple):
    """A piece of a report.

    Attributes
    ----------
    title : str
    table : tuple of tuple of str
        Its first row names the columns.
    said : tuple of str
        Sentences below it.
    points : tuple of str
        A list of short ones.
    places : tuple of (str, tuple of Place)
        What to read again, and where the course has it.
    """

    title: str
    table: tuple[tuple[str, ...], ...] = ()
    said: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    places: tuple[tuple[str, tuple[Place, ...]], ...] = ()


class Report:
    """How a mock interview went: shown in a cell, as text by `str`, and saved as a page by `save`.

    Parameters
    ----------
    now : Standing

    Attributes
    ----------
    word : str
        An interviewer's word for the whole; "" as long as it is not over.
    words : dict of str to str
        That of each part that is over, by its title.
    """

    def __init__(self, now: Standing):
        came = now.came()
        self.title = f"Mock interview {now.seed}"
        self._came = [one for one in came if one.part.kind != WELCOME]
        self._rated = [(one, rated(one)) for one in self._came if one.left]
        self._used = sum(one.clock.used for one in came)
        self._trouble = next((one.clock.trouble for one in came if one.clock.trouble), "")
        self._whole = whole(self._rated) if now.present is None else Rating(0, NOT_OVER)
        self.word = self._whole.word if now.present is None else ""
        self.words = {one.part.title: each.word for one, each in self._rated}

    @property
    def headline(self) -> str:
        """The word, or that it is not over."""
        return f"{self.title}: {self.word or 'not over yet'}"

    @property
    def sentence(self) -> str:
        """What holds it back, and how long it took."""
        took = f"{clock_text(self._used)} of {WHOLE} minutes were used."
        return " ".join(filter(None, (self._whole.sentence, took, self._trouble)))

    def blocks(self) -> Iterator[Block]:
        """Yield what the report shows, in order."""
        yield Block("In sum", tuple(self._sum()))
        for one, each in self._rated:
            yield from _details(one, each)
        if places := tuple(self._again()):
            yield Block("To read again", places=places)
        names = {DRILLS: "Drills", CODE: "Code", WALK: "Whiteboard", "": "The whole"}
        yield Block("The rule", said=tuple(f"{names[kind]}: {rule}" for kind, rule in RULES.items()))

    def _sum(self) -> Iterator[tuple[str, ...]]:
        yield "part", "verdict", "why"
        words = {one.part: each for one, each in self._rated}
        for one in self._came:
            if each := words.get(one.part):
                yield one.part.title, each.word, each.sentence
            else:
                yield one.named, NOTHING, "Not over yet."

    def _again(self) -> Iterator[tuple[str, tuple[Place, ...]]]:
        for one, each in self._rated:
            if one.part.kind == DRILLS:
                missed = [answer.drill.about for answer in one.answers if not answer.right]
                yield from ((kind.title, tuple(of_cell(*place) for place in kind.read)) for kind in missed)
            elif one.part.kind == CODE and each.level < STRONG:
                yield one.part.title, tuple(of_heading(*place) for place in TASKS[one.part.what].read)
            elif one.part.kind == BUG and each.level < STRONG:
                name, _ = round_of(int(one.part.what))
                yield one.part.title, (of_cell(EXERCISES[name].notebook, name),)
            elif one.part.kind == WALK and each.level < STRONG:
                yield one.part.title, tuple(of_heading(*place) for place in _walk(one).read)

    def __str__(self) -> str:
        width = columns(WIDTH)
        said = [self.headline, wrapped(self.sentence, width)]
        for block in self.blocks():
            said += ["", block.title, *lines(block.table, width=width)]
            said += [wrapped(line, width) for line in (*block.said, *block.points)]
            for about, places in block.places:
                said += [
                    wrapped(f"{about}:", width),
                    *(wrapped(str(place), width, " " * 4) for place in places),
                ]
        return "\n".join(said)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _page("report.html.j2", report=self)

    @checked
    def save(self, path: str | Path = "report.html") -> Path:
        """Write it as a page of its own, which can be printed; return where it is.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        ConvError
            If something else is there, or nothing can be written there.
        """
        file = Path(path)
        if reason := why_kept(file, is_ours):
            raise ParameterError(
                f"path={str(file)!r} {reason}; expected a file that is not there yet, or a report"
            )
        try:
            write_atomically(file, _page("saved.html.j2", report=self, mark=MARK))
        except OSError as error:
            raise ParameterError(
                f"path={str(file)!r} cannot be written: {error.strerror}; expected one that can be"
            ) from None
        return file


def is_ours(text: str) -> bool:
    """Say if a file that begins with this text is a report that was saved."""
    return MARK in text


def _details(one: Came, each: Rating) -> Iterator[Block]:
    """Yield what came of a part, in full."""
    title = one.part.title
    if one.part.kind == DRILLS:
        said = [sureness(one.answers)]
        if wrong := sum(not each.right and (each.sure or 0) >= SURE for each in one.answers):
            said.append(f"Sure and wrong: {wrong}. Say how you know a number, or that you would check it.")
        head = ("drill", "you said", "it is", "time", "sure", "result")
        yield Block(title, (head, *map(_answer, one.answers)), tuple(filter(None, said)))
    elif one.part.kind == WALK:
        if missed := _missed(one):
            anew = _once_more("Try it again, and walk through it", one.part)
            yield Block("Points that were missed, by your own ticks", said=(anew,), points=tuple(missed))
    else:
        again = (_once_more("Once more, and with help", one.part),) if each.level < STRONG else ()
        yield Block(
            title, (("after", "result", "what was said"), *map(_try, one.tries)) if one.tries else (), again
        )


def _once_more(said: str, part: Part) -> str:
    """Return what to call in a notebook, or to type in a terminal, to do once more what was asked."""
    call, words = (way.format(part.what) for way in AGAIN[part.kind])
    return f"{said}: interview.{call}, or in a terminal {command(words)}"


def _answer(one: Answered) -> tuple[str, ...]:
    text = one.drill.about.unit.text
    said = NOTHING if one.said is None or one.said.value is None else text(one.said.value)
    sure = NOTHING if one.sure is None else f"{one.sure:g} %"
    time = clock_text(one.seconds) if one.seconds else NOTHING
    return one.drill.about.title, said, text(one.drill.value), time, sure, one.outcome


def _try(one: Try) -> tuple[str, ...]:
    case = one.case and f"Hidden {one.case.lower()}."
    said = " ".join(filter(None, (one.title, case, one.diagnosis)))
    return clock_text(one.used), "right" if one.good else "wrong", said


def _walk(one: Came) -> Walk:
    from convlab.interview.walks.show import WALKS

    return WALKS[one.part.what]()


def _missed(one: Came) -> list[str]:
    ticked = one.said.ticked if one.said else ()
    return [point.title for point in _walk(one).points if point.title not in ticked]


def _page(template: str, **values: object) -> str:
    look = {"light": LIGHT, "colours": css().replace(".convlab", ".cl-mock")}
    return _templates().get_template(template).render(**look, levels=LEVELS, link=LINK, **values)


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("convlab.interview.mocks", "templates"),
        autoescape=select_autoescape(["html.j2"], default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
