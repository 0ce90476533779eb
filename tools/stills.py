"""``python -m tools.stills``: photograph the widgets, as they open and as the notebooks show them.

A photograph is what a page shows where no script runs: `convlab/widgets/NAME.png` of a widget as it opens,
`NAME-07.png` as notebook 07 shows it (`NAME-07-2.png` the second one). A figure that shows other numbers on
another processor, since its register tile has another size, is photographed for each: `NAME-avx2.png`. Each
carries a mark of the code and the state that it was taken of, and one whose mark is still right is left
alone: run this again after any change of a widget, or of the code that it shows. What is measured on this
machine is not photographed. Then each notebook gets the picture it opens with, see `tools/openings.py`.
"""

from __future__ import annotations

import ast
import io
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from convlab import widgets
from convlab.cpu import product_tile, tile_size
from convlab.lessons.length import name_of
from convlab.support.files import replacing
from convlab.widgets.shared import still
from convlab.widgets.shared.live import Live
from convlab.workspace.notebooks import course_notebooks
from tools import openings
from tools.browser import launched, photograph
from tools.errors import BuildError
from tools.needed_lines import lines_of, needed_lines, run_lines

COMMAND = "python -m tools.stills"
ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "convlab" / "widgets"
COLOURS = (256, 128, 64, 48, 32)  # of a photograph: as many as leave its file below so many bytes
LARGEST = 60 << 10
PROCESSORS = {"avx512": (64, 32), "avx2": (32, 16), "neon": (16, 32)}  # bytes of a vector; vector registers


def main() -> int:
    """Take what is missing, remove what is shown nowhere, and say so; 1 if there is no browser for it."""
    wanted = all_shown()
    there = fresh(wanted)
    missing = {name: one for name, one in wanted.items() if name not in there}
    try:
        if missing:
            with launched() as browser:
                for name, shown in missing.items():
                    with compiled_for(shown.processor):
                        png = photograph(browser, shown.widget, width=still.WIDTH, sharpness=1)
                    with replacing(FOLDER / name) as draft:
                        draft.write_bytes(few_colours(png, shown.mark))
                    print(f"photographed: {name}, {(FOLDER / name).stat().st_size / 1024:.0f} KiB")
    except BuildError as error:
        print(f"convlab: no photographs: {error}", file=sys.stderr)
        return 1
    for file in sorted(FOLDER.glob("*.png")):
        if file.name not in wanted:
            file.unlink()
            print(f"removed: {file.name}")
    failed = False
    for notebook in course_notebooks():
        try:
            if openings.renew(notebook):
                print(f"opens with another picture: {notebook.name}")
        except BuildError as error:
            print(f"convlab: no opening picture: {error}", file=sys.stderr)
            failed = True
    return int(failed)


def fresh(wanted: dict[str, Shown]) -> list[str]:
    """Return the names of the photographs that show what they should."""
    there = {name: FOLDER / name for name in wanted if (FOLDER / name).exists()}
    return [name for name, file in there.items() if still.mark_in(file.read_bytes()) == wanted[name].mark]


# -- what is shown -------------------------------------------------------------------------------------------


class Shown(NamedTuple):
    """A widget, the mark that its photograph has, and the processor it is shown on, one of `PROCESSORS`."""

    widget: Live
    mark: str
    processor: str


def all_shown() -> dict[str, Shown]:
    """Return every widget that has a photograph, by the name of its file."""
    found = {}

    def add(name: str, widget: Live, processor: str) -> None:
        mark = widget.mark()
        if all(mark != other.mark for other in found.values()):
            found[name] = Shown(widget, mark, processor)

    first, *others = PROCESSORS
    with compiled_for(first):
        for kind in _photographed():
            add(f"{kind.file_name()}.png", kind(), first)
        for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
            for widget in shown_in(path):
                name, number = f"{widget.file_name()}-{path.name[:2]}", 1
                while (file := name + (f"-{number}" if number > 1 else "") + ".png") in found:
                    number += 1
                add(file, widget, first)
    for processor in others:
        with compiled_for(processor):
            for kind in _photographed():
                add(f"{kind.file_name()}-{processor}.png", kind(), processor)
    return found


def _photographed() -> list[type[Live]]:
    kinds = (getattr(widgets, name) for name in widgets.__all__)
    return [kind for kind in kinds if kind.measured_here is not None]


@contextmanager
def compiled_for(processor: str):
    """Give the register tile the size that it has on such a processor, whatever this one is."""
    sizes = dict(zip(("vector_bytes", "registers"), PROCESSORS[processor], strict=True))
    before = {name: getattr(tile_size, name) for name in sizes}
    try:
        for name, size in sizes.items():
            setattr(tile_size, name, partial(int, size))
        product_tile.forget()
        yield
    finally:
        for name, function in before.items():
            setattr(tile_size, name, function)
        product_tile.forget()


def shown_in(notebook: Path) -> list[Live]:
    """Return the widgets that a notebook shows; of its lines only those are run that they need."""
    return run_lines(needed_lines(lines_of(notebook), is_shown), is_shown)


def is_shown(node: ast.stmt) -> bool:
    """Say if a line shows a widget that does not depend on a measurement of this machine."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and name_of(call) == "walk_through":  # one that opens with a picture
        return any(keyword.arg == "at" for keyword in call.keywords)
    if not (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in widgets.__all__
    ):
        return False
    measured = getattr(widgets, call.func.id).measured_here
    return measured is not None and not any(keyword.arg in measured for keyword in call.keywords)


# -- how it is photographed ----------------------------------------------------------------------------------


def few_colours(png: bytes, mark: str) -> bytes:
    """Return a PNG in as many colours as leave the file small, with its mark."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))  # (height, width, 3)
    colours, inverse, counts = np.unique(
        pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    for number in COLOURS:
        palette = _palette(colours, counts, number)  # (number, 3)
        apart = colours[:, None].astype(int) - palette  # (colours, number, 3)
        nearest = np.square(apart).sum(axis=2).argmin(axis=1).astype(np.uint8)
        image = Image.fromarray(nearest[inverse].reshape(pixels.shape[:2]))
        image.putpalette(palette.tobytes())
        if len(found := _saved(image, mark)) <= LARGEST:
            break
    return found


def _palette(colours: np.ndarray, counts: np.ndarray, number: int) -> np.ndarray:
    """Return the most frequent colours: a role has exactly its own. The rest lies far from all others."""
    order = np.argsort(-counts)
    chosen = list(order[: 3 * number // 4])
    distance = np.full(len(colours), np.inf)
    for one in chosen:
        distance = np.minimum(distance, np.square(colours - colours[one].astype(int)).sum(axis=1))
    while len(chosen) < min(number, len(colours)):
        chosen.append((distance * np.sqrt(counts)).argmax())
        distance = np.minimum(distance, np.square(colours - colours[chosen[-1]].astype(int)).sum(axis=1))
    return colours[chosen]


def _saved(image, mark: str) -> bytes:
    from PIL.PngImagePlugin import PngInfo

    text, file = PngInfo(), io.BytesIO()
    text.add_text(still.MARK, mark)
    image.save(file, "png", optimize=True, pnginfo=text)
    return file.getvalue()


if __name__ == "__main__":
    sys.exit(main())
