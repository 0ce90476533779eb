"""The still of a widget: a photograph of just this state, where one was taken.

`python -m tools.stills` takes them: of every widget as it opens, and as the notebooks show it. A photograph
carries a mark of all that it was taken of. Where a widget has another mark no photograph is shown: a picture
that disagrees with its words would lie.
"""

from __future__ import annotations

import hashlib
import io
import json
from importlib.resources import files

WIDTH = 854  # of a photographed widget, in CSS pixels: the column of the book
MARK = "convlab"  # the name of the PNG's text that holds the mark


def mark_of(*all_that_is_seen) -> str:
    """Return a mark of what a photograph is taken of: the same for the same code, state and words."""
    text = json.dumps(all_that_is_seen, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def photographs_of(name: str) -> dict[str, bytes]:
    """Return a widget's photographs as PNG files, by their marks."""
    here = files("convlab.widgets").iterdir()
    taken = [file.read_bytes() for file in here if file.name.endswith(".png") and name_of(file.name) == name]
    return {mark_in(png): png for png in taken}


def name_of(file: str) -> str:
    """Return whose photograph a file is: "spectra.png" as it opens, "spectra-07.png" in notebook 07."""
    return file.removesuffix(".png").partition("-")[0]


def mark_in(png: bytes) -> str:
    """Return the mark in a photograph; "" if it has none."""
    from PIL import Image

    return Image.open(io.BytesIO(png)).info.get(MARK, "")
