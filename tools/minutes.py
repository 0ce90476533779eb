"""``python -m tools.minutes``: how long each notebook takes, and what of it takes how long."""

from __future__ import annotations

import json

from convlab.lessons.length import Length, length
from convlab.support.tables import lines
from convlab.workspace.notebooks import course_notebooks

PARTS = ("words", "lines", "predictions", "exercises", "widgets")


def main() -> None:
    """Print a row for each notebook, and their sum."""
    found = {path.stem: length(json.loads(path.read_text())["cells"]) for path in course_notebooks()}
    found["all"] = Length(*(sum(getattr(one, part) for one in found.values()) for part in PARTS))
    rows = [
        (name, f"{one.minutes:.1f}", *(f"{getattr(one, p)}" for p in PARTS)) for name, one in found.items()
    ]
    print("\n".join(lines([("", "minutes", *PARTS), *rows])))


if __name__ == "__main__":
    main()
