"""Where the links of a Markdown page lead, as GitHub shows it: to files, and to headings in them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tools.readme.rings import anchor

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\))?)\)")
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
OUTSIDE = re.compile(r"(?:https?|mailto):")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page, as GitHub names them: a heading that comes again gets a number."""
    plain = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    met: Counter = Counter()
    found = set()
    for heading in re.findall(r"^#{1,6} (.+?)#*$", plain, re.MULTILINE):
        name = anchor(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading))
        found.add(f"{name}-{met[name]}" if met[name] else name)
        met[name] += 1
    return found


def broken(page: Path, text: str) -> list[str]:
    """Return the links of a page that lead nowhere: to no file, out of the checkout, or to no heading."""
    lost = []
    for target in LINK.findall(CODE.sub("", text)):
        if OUTSIDE.match(target):
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or not file.is_relative_to(ROOT):
            lost.append(target)
        elif heading:
            there = text if file == page else file.read_text(encoding="utf-8")
            lost += [target] if heading not in anchors(there) else []
    return lost
