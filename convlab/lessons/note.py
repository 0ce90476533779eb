"""`Note`: what an exercise answers, as a few lines of plain words for the page."""

from __future__ import annotations

import html
import re
from typing import Any

_CODE = "font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px)"
_COLOURS = {True: "#009E73", False: "#D55E00", None: "#9AA0A6"}


class Note:
    """A few lines of plain words for the page.

    Attributes
    ----------
    good : bool or None
        Right or not; None says neither.
    title, body : str
        The headline, and what stands below it.
    diagnosis : str
        Which mistake an answer behaves like, and what that means; "" if none was recognised.
    code : str
        Python that is shown below the words.
    picture : str
        HTML that is shown below all this: arrays side by side.
    aside : str
        What else the learner should know: that nothing can be remembered, and why.
    widget : Live or None
        A figure that moves, which stands below the words.
    """

    def __init__(
        self,
        good: bool | None,
        title: str,
        body: str = "",
        *,
        diagnosis: str = "",
        code: str = "",
        picture: str = "",
        widget: Any = None,
    ) -> None:
        self.good, self.title, self.body = good, title, body
        self.diagnosis, self.code, self.picture = diagnosis, code, picture
        self.widget = widget
        self.aside = ""

    def _ipython_display_(self) -> None:
        """Show the words, and the figure below them. A note with no figure is shown as anything else is."""
        if self.widget is None:
            raise NotImplementedError
        from IPython.display import display

        display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)
        display(self.widget)

    def _repr_html_(self) -> str:
        parts = [f"<strong>{_marked(self.title)}</strong>"]
        if self.diagnosis:
            parts.append(_block(_marked(self.diagnosis), "max-width:46em"))
        if self.body:
            # A case with its arrays, whose columns must stand below each other, is set as code is.
            parts.append(_block(_marked(self.body), _CODE if "\n" in self.body else "max-width:46em"))
        if self.code:
            style = f"{_CODE};white-space:pre;overflow-x:auto"
            parts.append(_block(html.escape(self.code), style, ' tabindex="0"'))  # the keyboard scrolls it
        parts.append(self.picture)
        if self.aside:
            parts.append(_block(_marked(self.aside), "max-width:46em;font-size:90%"))
        return (
            f'<div class="convlab-note" style="border-left:4px solid {_COLOURS[self.good]};'
            f'padding:.3em .9em">{"".join(parts)}</div>'
        )

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self.title, self.diagnosis, self.body, self.code, self.aside)))


def _marked(text: str) -> str:
    """Return text as HTML: what stands between backticks is code, between asterisks it is stressed."""
    text = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"(?<=\s)\*(\S[^*\n]*)\*(?=[\s.,:;?])", r"<em>\1</em>", text)


def _block(page: str, style: str, more: str = "") -> str:
    # Long lines break between words; Jupyter lets a <pre> break anywhere.
    kept = "margin:.4em 0 0;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
    return f'<div{more} style="{kept};{style}">{page}</div>'
