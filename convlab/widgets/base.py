"""What every widget is: a JavaScript file, its data, and a still picture for the places where nothing moves.

A widget draws itself in the browser: a step takes about a millisecond and needs no answer from Python. So the
same drawing also lives in an exported page, with no kernel, no server and no network.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from convlab.errors import ParameterError, ShapeError
from convlab.figures import style
from convlab.figures.cells import no_convolution
from convlab.figures.picture import Picture
from convlab.support.checks import LARGEST, check_choice, check_whole, said
from convlab.support.markup import as_script

# What all widgets share, in the order in which it is read.
_SHARED = ("formulas.js", "numbers.js", "page.js", "grid.js")


def check_range(name: str, given, entries: Iterable[int], least: int, most: int) -> None:
    """Refuse an argument that is a valid convolution's, but more than the figure can show."""
    for entry in entries:
        if not least <= entry <= most:
            raise ParameterError(f"{name}={said(given)}; this figure shows {least} to {most}, not {entry}")


def as_word(name: str, number, words: Iterable[str]) -> str:
    """Return a whole number as one of a few words, as a `Choice` has it."""
    number = check_whole(name, number, 0, LARGEST)
    if str(number) not in words:
        raise ParameterError(f"{name}={number}; expected one of {', '.join(words)}")
    return str(number)


class Whole(traitlets.Int):
    """A trait, shared with the page, for a whole number from `least` to `most`."""

    def __init__(self, least: int, most: int, default: int):
        self.least, self.most = least, most
        super().__init__(default)
        self.tag(sync=True)

    def validate(self, obj, value):
        """Return `value`, or say which argument is wrong and what it may be."""
        return check_whole(self.name, value, self.least, self.most)


class Choice(traitlets.Unicode):
    """A trait, shared with the page, for one of a few words."""

    def __init__(self, words: tuple[str, ...], default: str | None = None):
        self.words = words
        super().__init__(words[0] if default is None else default)
        self.tag(sync=True)

    def validate(self, obj, value):
        """Return `value`, or say which argument is wrong and what it may be."""
        return check_choice(self.name, value, self.words)


class Switch(traitlets.Bool):
    """A trait, shared with the page, for True or False."""

    def __init__(self):
        super().__init__(False)
        self.tag(sync=True)

    def validate(self, obj, value):
        """Return `value`, or say which argument is wrong."""
        if not isinstance(value, bool):
            raise ParameterError(f"{self.name}={said(value)}; expected True or False")
        return value


class Live(anywidget.AnyWidget):
    """Base of the widgets: joins the JavaScript, hands it the data, and leaves a still picture behind.

    A subclass names its JavaScript in `source`, declares its state as traits, and `draw`s its still picture.
    """

    source: tuple[str, ...]
    limits = traitlets.Dict().tag(sync=True)  # of every Whole: [least, most], so that controls know them

    def __init__(self, **state):
        self._esm = self.module()
        self._css = stylesheet()
        whole = {name: trait for name, trait in self.traits().items() if isinstance(trait, Whole)}
        super().__init__(limits={name: [t.least, t.most] for name, t in whole.items()}, **state)

    @classmethod
    def _check(cls, **state) -> None:
        """Refuse a wrong value before anything is worked out with it."""
        for name, value in state.items():
            cls.class_traits()[name].validate(None, value)

    def module(self) -> str:
        """Return the widget's JavaScript: one ES module, made of what all share and of its own files."""
        return "\n".join(read(name) for name in (*_SHARED, *self.source))

    def still(self) -> Picture:
        """Return a picture of the present state, with its words for those who cannot see it."""
        try:
            return self.draw()
        except ShapeError as error:  # the learner may have turned a knob too far: the page says why, so do we
            return no_convolution(str(error))

    def draw(self) -> Picture:
        """Return that picture where the present numbers describe a convolution, else raise a `ShapeError`."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return everything the JavaScript reads: the data and the present values."""
        inherited = anywidget.AnyWidget.class_trait_names()
        return {
            name: getattr(self, name)
            for name in self.trait_names(sync=True)
            if name not in (*inherited, "_esm", "_css", "_anywidget_id")
        }

    def _repr_mimebundle_(self, **kwargs):
        """Return the live view, and what stands in for it: a page that moves by itself, a picture, words."""
        bundle, metadata = super()._repr_mimebundle_(**kwargs)
        picture = self.still()
        png = base64.b64encode(picture.png).decode()
        bundle |= {"image/png": png, "text/html": self.page(picture), "text/plain": picture.alt}
        return bundle, metadata | {"image/png": {"alt": picture.alt}}

    def page(self, picture: Picture) -> str:
        """Return HTML that shows the picture and, where scripts run, replaces it by the moving figure."""
        name = f"convlab-{uuid.uuid4().hex[:12]}"
        code = base64.b64encode(self.module().encode()).decode()
        return (
            f'<div id="{name}">{picture._repr_html_()}</div>\n<style>{stylesheet()}</style>\n'
            f'<script type="module">\nconst name = "{name}", state = {as_script(self.state())};\n'
            f'const code = "data:text/javascript;charset=utf-8;base64,{code}";\n'
            f"{read('standalone.js')}</script>"
        )


def stylesheet() -> str:
    """Return the CSS of all widgets: the colours of `convlab.figures.style`, then the rules."""
    return style.css() + read("widgets.css")


def read(name: str) -> str:
    """Return the text of one of the widgets' JavaScript or CSS files."""
    return files("convlab.widgets").joinpath("js", name).read_text(encoding="utf-8")
