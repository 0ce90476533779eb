"""The cheat sheet as a PDF, without a browser: text that can be selected, with its fonts in the file."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from convlab.figures.style import LIGHT, ROLES
from convlab.interview.sheet.setting import HEIGHT, WIDTH, Rule, Setting, font

_INCH = 72  # points
# TrueType, so that text is text; no second name of a colour: what is grey on the screen must print well.
_RC: dict[Any, Any] = {
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "text.usetex": False,
    "pdf.compression": 6,
}


def as_pdf(page: Setting, title: str, author: str) -> bytes:
    """Return a page as the bytes of a PDF: the same bytes for the same page."""
    import matplotlib as mpl
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with mpl.rc_context(_RC):
        figure = Figure(figsize=(WIDTH / _INCH, HEIGHT / _INCH), facecolor=LIGHT["paper"])
        for mark in page.marks:
            foot = 1 - mark.y / HEIGHT
            if isinstance(mark, Rule):
                ends = (mark.x / WIDTH, mark.end / WIDTH)
                colour, thick = (ROLES["input"], 1.2) if mark.strong else (LIGHT["line"], 0.6)
                figure.add_artist(Line2D(ends, (foot, foot), color=colour, linewidth=thick))
            else:
                colour = LIGHT["muted" if mark.muted else "ink"]
                type_ = font(mark.size, mark.bold)
                figure.text(
                    mark.x / WIDTH, foot, mark.text, fontproperties=type_, color=colour, va="baseline"
                )
        told = {"Title": f"{author}: {title}", "Author": author, "CreationDate": None}
        written = BytesIO()
        FigureCanvasPdf(figure).print_figure(written, format="pdf", metadata=told)
    return written.getvalue()
