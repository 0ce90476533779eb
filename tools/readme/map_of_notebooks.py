"""The README's map of the course: its parts, and of each notebook the question and the minutes.

A question stands once, in notebook 00, at its beginning and in the map at its end; minutes are counted, as
for the course's own map.
"""

from __future__ import annotations

import json
import re

from convlab.lessons.course import chapters
from convlab.support.units import plural
from convlab.workspace.notebooks import course_notebooks
from tools.errors import BuildError
from tools.site.way import parts

START = "00"
_BOLD = re.compile(r"\*\*(.*?)\*\*")
_ROW = re.compile(r"^\| (\d\d) \| \[[^]]*\]\([^)]*\) \| (.*) \|$", re.MULTILINE)


def questions() -> dict[str, str]:
    """Return the question of each notebook, by number, as notebook 00 asks it; its own opens it, in bold."""
    first, *_ = course_notebooks()
    cells = json.loads(first.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return {START: _BOLD.search(text)[1]} | dict(_ROW.findall(text))


def markdown() -> str:
    """Return a table for each part, under its name and its hours.

    Raises
    ------
    BuildError
        If notebook 00 asks nothing of a notebook.
    """
    asked, found = questions(), chapters()
    if missing := [each.file for each in found if each.number not in asked]:
        raise BuildError(f"the map at the end of notebook {START} has no row for {', '.join(missing)}")
    hours = sum(each.minutes for each in found) / 60
    lines = [
        f"{plural(len(found), 'notebook')}, {hours:.0f} hours for whoever reads, predicts and tries it all.",
        "",
        "| | notebook | the question | minutes |",
        "|---|---|---|--:|",
    ]
    for part in parts(found):
        shown = sum(round(each.minutes) for each in part.chapters)  # of what stands below, so that it adds up
        lines.append(f"| | **{part.name}** | | **{shown}** |")
        lines += [
            f"| {each.number} | [{each.title}](notebooks/{each.file}) | {asked[each.number]} "
            f"| {each.minutes:.0f} |"
            for each in part.chapters
        ]
    return "\n".join(lines)
