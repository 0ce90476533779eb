"""A widget's JavaScript: its module and all that this imports, joined into one that stands alone.

A page may come from a kernel, from a file or from nowhere: it cannot fetch a second file. So the imports are
followed here, each file is taken once, before those that need it, and the import lines are left out.
`import { TABLE } from "python"` names what Python writes before the first line.
"""

from __future__ import annotations

import re
from importlib.resources import files
from posixpath import dirname, join, normpath

from convlab.figures import style

FROM_PYTHON = "python"
IMPORT = re.compile(r'^import \{ (.+) \} from "(.+)";\n', re.MULTILINE)


def module(name: str) -> str:
    """Return a widget's file, such as "spectra.js", with everything it imports, as one ES module."""
    return "\n".join(IMPORT.sub("", read(file)) for file in parts_of(name))


def parts_of(name: str) -> list[str]:
    """Return the files that a module is made of, in the order in which they are read."""
    found: dict[str, None] = {}

    def follow(file: str) -> None:
        for _, source in IMPORT.findall(read(file)):
            if source != FROM_PYTHON:
                follow(normpath(join(dirname(file), source)))
        found[file] = None

    follow(name)
    return list(found)


def alone() -> str:
    """Return what starts a figure on a page that has no kernel."""
    return read("shared/alone.js").replace("export ", "") + read("shared/standalone.js")


def stylesheet() -> str:
    """Return the CSS of all widgets: the colours of `convlab.figures.style`, then the rules."""
    return style.css() + read("shared/widgets.css")


def read(name: str) -> str:
    """Return the text of one of the widgets' JavaScript or CSS files."""
    return files("convlab.widgets").joinpath(*name.split("/")).read_text(encoding="utf-8")
