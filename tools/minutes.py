"""``python -m tools.minutes``: how long each notebook takes, and what of it takes how long."""

from __future__ import annotations

import json

from convlab.lessons.length import Length, length
from convlab.support.tables import lines
from convlab.workspace.notebooks import course_notebooks

PARTS = ("words", "lines", "predictions", "exercises", "widgets")


def main() -> None:
    """Print a row for each notebook, and their sum."""
    notebooks = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in course_notebooks()}
    found = {name: length(notebook["cells"]) for name, notebook in notebooks.items()}
    found["all"] = Length(*(sum(getattr(one, part) for one in found.values()) for part in PARTS))
    rows = [
        (name, f"{one.minutes:.1f}", *(f"{getattr(one, p)}" for p in PARTS)) for name, one in found.items()
    ]
    print("\n".join(lines([("", "minutes", *PARTS), *rows])))


if __name__ == "__main__":
    main()
