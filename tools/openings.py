"""The picture that a notebook opens with, before anything was run: kept as the output of its first figure.

The cell that shows it has the tag ``keep_output``, which nbstripout knows, too. The picture is a widget's
still or a figure; both are made by code, of numbers that are the same on every machine. `python -m
tools.stills` renews them.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path

import nbformat
import numpy as np
from PIL import Image

from convlab.figures.picture import Picture
from convlab.support.files import write_atomically
from convlab.widgets.shared.live import Live
from convlab.workspace.copies import KEPT
from tools.errors import BuildError
from tools.needed_lines import last_shown

TO_MOVE_IT = "*A picture only. Run the cells down to here (Shift+Enter), and it moves.*"
CHANGED = 32  # grey levels, of 255: fewer colours change a pixel by less
FEW = 1e-3  # of all pixels: a word that changed is more


def renew(notebook: Path) -> bool:
    """Put the opening picture into a notebook; return whether it had another one.

    Raises
    ------
    BuildError
        If it has no such cell, or more than one, or the cell shows no picture.
    """
    nb = nbformat.read(notebook, as_version=4)
    cells = [cell for cell in nb.cells if KEPT in cell.metadata.get("tags", ())]
    if len(cells) != 1:
        raise BuildError(f"{notebook.name} has {len(cells)} cells with the tag {KEPT}; expected one")
    shown = last_shown(notebook, cells[0].source)
    picture = picture_of(shown)
    if picture is None:
        raise BuildError(f"{notebook.name}: its cell with the tag {KEPT} shows no picture that is kept")
    if cells[0].outputs and same(shown_by(cells[0]), picture):
        return False
    cells[0].outputs = [*([_note()] if isinstance(shown, Live) else []), _output(picture)]
    write_atomically(notebook, nbformat.writes(nb) + "\n")
    return True


def picture_of(shown: object) -> Picture | None:
    """Return the picture of what a cell shows: of a widget its still; None if there is none."""
    return shown.still() if isinstance(shown, Live) else shown if isinstance(shown, Picture) else None


def shown_by(cell: nbformat.NotebookNode) -> Picture:
    """Return the picture that is kept in a cell."""
    *_, output = cell.outputs
    about = output.metadata["image/png"]
    return Picture(base64.b64decode(output.data["image/png"]), about["alt"], about["width"])


def same(one: Picture, other: Picture) -> bool:
    """Say if two pictures look alike and say the same."""
    first, second = (Image.open(io.BytesIO(picture.png)).convert("L") for picture in (one, other))
    if (one.alt, one.width, first.size) != (other.alt, other.width, second.size):
        return False
    changed = np.abs(np.asarray(first, float) - np.asarray(second, float)) > CHANGED
    return bool(changed.mean() < FEW)


def _note() -> nbformat.NotebookNode:
    """Return what says that a picture of controls has none."""
    return nbformat.v4.new_output(
        "display_data", data={"text/markdown": TO_MOVE_IT, "text/plain": TO_MOVE_IT}
    )


def _output(picture: Picture) -> nbformat.NotebookNode:
    image = Image.open(io.BytesIO(picture.png))
    small = io.BytesIO()
    image.convert("RGB").quantize(128).save(small, "png", optimize=True)
    about = {"alt": picture.alt, "width": picture.width}
    png = min(picture.png, small.getvalue(), key=len)
    data = {"image/png": base64.b64encode(png).decode(), "text/plain": picture.alt}
    return nbformat.v4.new_output("display_data", data=data, metadata={"image/png": about})
