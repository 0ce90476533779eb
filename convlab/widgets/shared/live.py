"""What every widget is: a JavaScript file, its data, and a still and words for where nothing moves.

A widget draws itself in the browser: a step takes about a millisecond and needs no answer from Python. So the
same drawing also lives in an exported page, with no kernel, no server and no network.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import Any, ClassVar, NamedTuple

import anywidget
import traitlets

from convlab.errors import ConvError
from convlab.figures.picture import Picture
from convlab.support.markup import as_script
from convlab.widgets.shared import javascript, still
from convlab.widgets.shared.traits import Choice, Whole, Wholes

# What a page says of what it keeps itself until Python has heard of it, `shared/until_heard.js`.
WAITING = (
    "Python has not answered yet: it is busy, or gone. Your answer is kept in this browser. Run this cell "
    "again, and it is handed in."
)
# What a notebook says where neither scripts nor styles are let in, as in JupyterLab where what it shows is of
# another computer. Elsewhere the style sheet hides it.
UNRUN = "Nothing moves here before this cell is run (Shift+Enter)."


class Step(NamedTuple):
    """One of the three steps that a widget opens with: a sentence, and what it sets.

    Attributes
    ----------
    words : str
        At most 25 words: what to do, and what to look for.
    state : mapping
        Traits, by their names, that differ from the state in which the widget opens.
    """

    words: str
    state: Mapping[str, Any] = {}


class Live(anywidget.AnyWidget):
    """Base of the widgets: joins the JavaScript, hands it the data, and leaves a still and words behind.

    A subclass in NAME.py has its JavaScript in NAME.js beside it, declares its state as traits, and in
    `describe` says that state in words.
    """

    # What both the page and the words say, with {names} for what changes: `say(name, ...)`, here and there.
    sentences: ClassVar[dict[str, str]] = {}
    # Arguments that come from measurements of this machine; None: all that is shown does. No photograph then.
    measured_here: ClassVar[tuple[str, ...] | None] = ()
    # It shows a photograph of people or things, whose still must not be turned dark on a dark page.
    shows_photo: ClassVar[bool] = False

    # The steps that lead into it; the first is how it opens.
    first_steps: ClassVar[tuple[Step, ...]] = ()

    # What each value may be: [least, most] of a Whole, the words of a Choice. For controls, and for links.
    limits = traitlets.Dict().tag(sync=True)
    opening = traitlets.Dict().tag(sync=True)  # all that can be turned, as it is when the widget opens
    guide = traitlets.List().tag(sync=True)
    key = traitlets.Unicode().tag(sync=True)  # by which a link finds it: its kind, and how it opens

    def __init__(self, *, limits: Mapping[str, Sequence] | None = None, **state):
        self._esm = self.module()
        self._css = javascript.stylesheet()
        known = {}
        for trait in self.traits().values():
            if isinstance(trait, Whole | Wholes | Choice):
                known |= trait.limits()
        super().__init__(
            limits=known | {name: list(words) for name, words in (limits or {}).items()},
            layout={"flex": "1 1 auto"},  # its share of a row: it has no width of its own
            **state,
        )

    def open(self):
        """Tell the page of this widget: all at once, for a slow page draws what it has been told so far."""
        self.opening = {name: getattr(self, name) for name in sorted(self.trait_names(turned=True))}
        self.guide = [{"words": step.words, "state": dict(step.state)} for step in self.lead()]
        mark = sha256(json.dumps(self.known_by(), sort_keys=True).encode()).hexdigest()
        self.key = f"{type(self).__name__}-{mark[:4]}"
        super().open()

    def known_by(self) -> dict[str, Any]:
        """Return what tells this widget from others of its kind in a notebook: how it opens."""
        return self.opening

    def lead(self) -> Sequence[Step]:
        """Return the steps of this widget, which may depend on how it opens."""
        return self.first_steps

    @classmethod
    def file_name(cls) -> str:
        """Return the name that the widget's files share."""
        return cls.__module__.rpartition(".")[2]

    def tables(self) -> str:
        """Return what this widget's JavaScript imports from "python", beside the sentences."""
        return ""

    def module(self) -> str:
        """Return the widget's JavaScript: one ES module, made of all that it imports."""
        said = f"const SENTENCES = {json.dumps(self.sentences, ensure_ascii=False)};\n"
        return said + self.tables() + javascript.module(f"{self.file_name()}.js")

    def _say(self, name: str, **values) -> str:
        """Return one of the widget's sentences."""
        return self.sentences[name].format(**values)

    def words(self) -> str:
        """Return the present state in words, for those who cannot see it."""
        try:
            return self.describe()
        except ConvError as error:  # the learner may have turned a knob too far: the page says why, so do we
            return str(error)

    def describe(self) -> str:
        """Return those words where the present numbers describe a convolution, else raise a `ConvError`."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return everything the JavaScript reads: the data and the present values."""
        inherited = anywidget.AnyWidget.class_trait_names()
        return {
            name: getattr(self, name)
            for name in self.trait_names(sync=True)
            if name not in (*inherited, "_esm", "_css", "_anywidget_id")
        }

    def mark(self) -> str:
        """Return the mark that a photograph of the present state has."""
        code = javascript.module(f"{self.file_name()}.js") + javascript.stylesheet()
        return still.mark_of(code, self.sentences, self.photographed(), self.words())

    def photographed(self) -> dict[str, Any]:
        """Return the state that a photograph shows: all of it."""
        return self.state()

    def still(self) -> Picture | None:
        """Return a photograph of the present state, with its words; None if there is none."""
        png = still.photographs_of(self.file_name()).get(self.mark())
        return Picture(png, self.words(), still.WIDTH, photo=self.shows_photo) if png else None

    def _repr_mimebundle_(self, **kwargs):
        """Return the live view, and what stands in for it: a page that moves by itself, a still, words."""
        bundle, metadata = super()._repr_mimebundle_(**kwargs)
        picture, words = self.still(), self.words()
        bundle |= {"text/html": self.page(), "text/plain": words}
        if picture:
            bundle["image/png"] = base64.b64encode(picture.png).decode()
            metadata = metadata | {"image/png": {"alt": words}}
        return bundle, metadata

    def without_scripts(self) -> str:
        """Return HTML that stands where no script runs, or none has run yet: the still, or words."""
        picture = self.still()
        return picture._repr_html_() if picture else f"<p>{escape(self.words())}</p>"

    def page(self) -> str:
        """Return HTML that shows what stands in, and, where scripts run, the moving figure."""
        name = f"convlab-{uuid.uuid4().hex[:12]}"
        code, before = base64.b64encode(self.module().encode()).decode(), self.without_scripts()
        return (
            f'<div id="{name}" class="convlab-still" data-figure="{self.key}">{before}'
            f'<p class="cl-unrun"><em>{UNRUN}</em></p></div>\n'
            f"<style>{javascript.stylesheet()}</style>\n"
            f'<script type="module">\nconst name = "{name}", state = {as_script(self.state())};\n'
            f'const code = "data:text/javascript;charset=utf-8;base64,{code}";\n'
            f"{javascript.alone()}</script>"
        )
