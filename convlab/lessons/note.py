"""`Note`: what an exercise answers, as a few lines of plain words for the page."""

from __future__ import annotations

import html
import re

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
    ) -> None:
        self.good, self.title, self.body = good, title, body
        self.diagnosis, self.code, self.picture = diagnosis, code, picture

    def _repr_html_(self) -> str:
        parts = [f"<strong>{_marked(self.title)}</strong>"]
        if self.diagnosis:
            parts.append(f'<div style="margin:.4em 0 0;max-width:46em">{_marked(self.diagnosis)}</div>')
        if self.body:
            # A case with its arrays, whose columns must stand below each other, is set as code is.
            parts.append(_pre(_marked(self.body), mono="\n" in self.body))
        if self.code:
            parts.append(_pre(html.escape(self.code), mono=True))
        parts.append(self.picture)
        return (
            f'<div class="convlab-note" style="border-left:4px solid {_COLOURS[self.good]};'
            f'padding:.3em .9em">{"".join(parts)}</div>'
        )

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self.title, self.diagnosis, self.body, self.code)))


def _marked(text: str) -> str:
    """Return text as HTML, with what stands between backticks set as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))


def _pre(page: str, mono: bool) -> str:
    # Long lines break between words; Jupyter lets a <pre> break anywhere.
    style = "margin:.4em 0 0;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
    if mono:
        style += ";font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px)"
    return f'<pre style="{style}">{page}</pre>'
