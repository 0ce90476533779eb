"""The book's front page: a figure to play with, the map of the course, and shorter paths through it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from string import Template

from convlab.lessons.course import Chapter
from convlab.support.units import bytes_text, plural, ratio_text
from convlab.widgets import MemoryBlowup
from tools.site.launchers import LAUNCHERS
from tools.site.way import Part, Path, parts, paths, time_text

FRONT_PAGE = "index.md"
FIGURE = "figure.html"
# As in notebook 02, so that its photograph is there before anything moves.
OPENS = {"network": "resnet18", "layer": "layer1.0.conv1", "batch": 32}
LISTED = ("direct", "im2row", "im2col")


def front_page(
    chapters: Sequence[Chapter],
    lines: Mapping[str, str],
    repository: str = "",
    pdf: tuple[str, int] | None = None,
) -> str:
    """Return the front page's Markdown.

    Parameters
    ----------
    chapters : sequence of Chapter
        The notebooks in the order they are read.
    lines : mapping of str to str
        What each notebook asks, by its file's name.
    repository : str
        On GitHub, for links that open the course there and elsewhere; "" for none.
    pdf : tuple of str and int, optional
        The printed book: its file beside the page, and its bytes.
    """
    figure = figure_of_the_blow_up()
    return Template(_template(FRONT_PAGE)).substitute(
        first=chapters[0].file,
        count=len(chapters),
        hours=time_text(sum(each.minutes for each in chapters)),
        ratio=ratio_text(_ratio(figure)),
        way="\n".join(map(_stage, parts(chapters))),
        parts="\n".join(_part(part, lines) for part in parts(chapters)),
        paths="\n".join(map(_path, paths(chapters))),
        elsewhere=_elsewhere(repository, chapters[0]),
        pdf=f' For paper: <a href="{pdf[0]}">the whole book as a PDF</a>, {bytes_text(pdf[1])}.'
        if pdf
        else "",
        trees=trees(chapters),
    )


def printed_front(chapters: Sequence[Chapter]) -> str:
    """Return the first page of the printed book: its title, and a chapter of contents for each part."""
    found = parts(chapters)
    contents = "\n".join(
        f"- **{part.name}**\n"
        + "".join(f"  - [{each.number} {each.title}]({each.file})\n" for each in part.chapters)
        for part in found
    )
    body = "\n".join(f"## {part.name}\n\n{part.about}\n\n{_tree(part.chapters)}" for part in found)
    return Template(_template("printed.md")).substitute(contents=contents, parts=body)


def trees(chapters: Sequence[Chapter]) -> str:
    """Return the sidebar's contents: a list for each part, under its name."""
    return "\n".join(_tree(part.chapters, f":caption: {part.name}\n") for part in parts(chapters))


def figure_of_the_blow_up() -> MemoryBlowup:
    """Return the figure that the front page opens with."""
    return MemoryBlowup(**OPENS, known=LISTED)


def title_and_line(first_cell: str) -> tuple[str, str]:
    r"""Return a notebook's title and the question under it, from its first Markdown cell.

    The question stands in bold type; where there is none, the first sentence takes its place.

    >>> title_and_line("# im2col\n\n**A *matrix*? A product?** Yes.")
    ('im2col', 'A *matrix*? A product?')
    """
    # "# 02 · im2col" counts as "im2col": the front page shows the number beside it.
    title, _, rest = first_cell.strip().partition("\n")
    paragraphs = (block for block in re.split(r"\n\s*\n", rest.strip()) if not re.match(r"[#!<>|$-]", block))
    paragraph = " ".join(next(paragraphs, "").split())
    if bold := re.match(r"\*\*(.+?)\*\*", paragraph):
        line = bold[1]
    else:
        # A sentence ends at a stop followed by a capital or an opening mark, not at "e.g. this" or "3.5".
        line = re.split(r"(?<=[.?!])\s+(?=[A-Z*_`\"“(])", paragraph)[0]
    return re.sub(r"^#\s*(\d\d\s*[.:·–—-]?\s)?", "", title).strip(), line


def _ratio(figure: MemoryBlowup) -> float:
    from convlab.widgets.memory_data import algorithm_named, workspace_of

    return workspace_of(algorithm_named(figure.algorithm, LISTED), figure.problem) / figure.problem.x_bytes


def _stage(part: Part) -> str:
    count = plural(len(part.chapters), "notebook")
    return f"1. [{part.name}](#{_anchor(part.name)})\n\n   {count}, {_time(part.chapters)}\n"


def _anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def _part(part: Part, lines: Mapping[str, str]) -> str:
    cards = "\n".join(
        f'- <span class="number">{each.number}</span> [{each.title}]({each.file}) '
        f'<span class="minutes">{each.minutes:.0f} min</span>\n\n  {lines[each.file]}\n'
        for each in part.chapters
    )
    return f"### {part.name}\n\n{part.about}\n\n:::{{container}} course\n{cards}:::\n"


def _path(path: Path) -> str:
    way = "\n".join(f"  - [{each.number} {each.title}]({each.file})" for each in path.chapters)
    time = f'<span class="minutes">{_time(path.chapters)}</span>'
    return f"- **{path.name}** {time}\n\n  {path.about}\n\n{way}\n"


def _elsewhere(repository: str, first: Chapter) -> str:
    """Return the links that open the course with nothing installed."""
    if not repository:
        return ""
    page = first.file.removesuffix(".ipynb")
    links = "\n".join(f"- [{one.name}]({one.opens(repository, page)})\\\n  {one.about}" for one in LAUNCHERS)
    return (
        f"Or install nothing, and open the course in one of these:\n\n:::{{container}} launch\n{links}\n:::"
    )


def _time(chapters: Iterable[Chapter]) -> str:
    return time_text(sum(each.minutes for each in chapters))


def _tree(chapters: Iterable[Chapter], options: str = "") -> str:
    entries = "\n".join(
        f"{each.number} {each.title} <{each.file.removesuffix('.ipynb')}>" for each in chapters
    )
    return f"```{{toctree}}\n:hidden:\n{options}\n{entries}\n```\n"


def _template(name: str) -> str:
    return resources.files("tools.site").joinpath("templates", name).read_text(encoding="utf-8")
