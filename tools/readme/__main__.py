"""``python -m tools.readme``: bring the tables and pictures of README.md and TESTING.md up to date.

A table stands between ``<!-- convlab: NAME -->`` and ``<!-- end -->``, and is made from the
library, the notebooks and the files in `data/`; nothing is measured. A picture is a file in `data/pictures/`.
What is already right is left alone: run twice, the command changes nothing.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from convlab.errors import ConvError
from convlab.support.files import data_path, read_text, replacing, why_kept
from convlab.workspace.notebooks import ROOT
from tools.errors import BuildError

if TYPE_CHECKING:
    from convlab.benchmark.saved import Measurement

COMMAND = "python -m tools.readme"
README, TESTING = ROOT / "README.md", ROOT / "TESTING.md"
_BLOCK = re.compile(r"(<!-- convlab: ([\w -]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_BEGIN = re.compile(r"<!-- convlab:")


def cpu_runs() -> dict:
    """Return all saved runs of `convlab bench cpu`, by the names of their files."""
    from convlab.benchmark.saved_runs import CPU, runs

    return runs(data_path("measurements"), CPU)


def shown_run() -> tuple[str, Measurement]:
    """Return the newest of them that has timed the layer of the roofline, and the name of its file."""
    from convlab.benchmark.saved_runs import newest
    from tools.readme.one_layer import LAYER, NETWORK

    found = {
        name: run
        for name, run in cpu_runs().items()
        if run.part("layers", network=NETWORK, layer=LAYER, ours=True)
    }
    if not found:
        raise BuildError("data/measurements has no run of `convlab bench cpu` that timed the layer shown")
    run = newest(found.values())
    return next((name, one) for name, one in found.items() if one is run)


def results() -> str:
    """Return the tables of that run."""
    from tools.readme.results import markdown

    name, run = shown_run()
    return markdown(run, f"data/measurements/{name}")


def machines() -> str:
    """Return the table of all runs."""
    from tools.readme.results import of_machines

    return of_machines(cpu_runs())


def roofline() -> str:
    """Return the place of that run's roofline in the page, and what it shows."""
    from tools.readme.one_layer import markdown

    return markdown(shown_run()[1], "data/pictures/roofline.png")


def roofline_picture() -> bytes:
    """Return that roofline."""
    from tools.readme.one_layer import picture

    return picture(shown_run()[1]).png


def blow_up() -> str:
    """Return the moving picture's place in the page, a link to the notebook that explains it."""
    from tools.readme.blow_up import alternative

    return f"[![{alternative()}](data/pictures/blow_up.svg)](notebooks/02_im2col.ipynb)"


def blow_up_picture() -> bytes:
    """Return that picture."""
    from tools.readme.blow_up import picture

    return picture().encode()


def markdown_of(module: str) -> Callable[[], str]:
    """Return what makes a block: `markdown` of a module here, which is imported when it is asked for."""
    return lambda: import_module(f"tools.readme.{module}").markdown()


BLOCKS: dict[str, Callable[[], str]] = {
    "blow-up": blow_up,
    "notebooks": markdown_of("map_of_notebooks"),
    "algorithms": markdown_of("algorithms"),
    "roofline": roofline,
    "results": results,
    "machines": machines,
    "gpu": markdown_of("gpu"),
    "rings": markdown_of("rings"),
}
PICTURES: dict[str, Callable[[], bytes]] = {
    "blow_up.svg": blow_up_picture,
    "roofline.png": roofline_picture,
}


def renewed(text: str, page: str = "README.md") -> str:
    """Return a page with every marked block as the library and the files in `data/` have it now.

    Raises
    ------
    BuildError
        If a block has a name that nothing is known of, or no end.
    """

    def block(match: re.Match) -> str:
        begin, name, end = match.groups()
        if name not in BLOCKS:
            raise BuildError(f"{page}: no block is called {name!r}; expected {', '.join(BLOCKS)}")
        if _BEGIN.search(match[0], len(begin)):
            raise BuildError(f"{page}: the block {name!r} has no end")
        return f"{begin}\n{BLOCKS[name]()}\n\n{end}"

    text, count = _BLOCK.subn(block, text)
    if count != len(_BEGIN.findall(text)):
        raise BuildError(f"{page}: a block has no end, or does not begin on a line of its own")
    return text


def small(png: bytes) -> bytes:
    """Return a picture in as few colours as a file of good size can name."""
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(buffer, "png", optimize=True)
    return buffer.getvalue()


def same(one: bytes, other: bytes) -> bool:
    """Return whether two PNG files show the same, whatever their bytes."""
    from PIL import Image, ImageChops

    first, second = (Image.open(io.BytesIO(png)).convert("RGB") for png in (one, other))
    return first.size == second.size and ImageChops.difference(first, second).getbbox() is None


def update(path: Path, now: bytes, same: Callable[[bytes, bytes], bool] = bytes.__eq__) -> bool:
    """Write a file where it is not right already; return whether that was needed.

    Raises
    ------
    BuildError
        If something is there that the file cannot be compared with, or it cannot be written.
    """
    try:
        if reason := why_kept(path, lambda begin: True):
            raise BuildError(f"it {reason}")
        if path.exists() and same(path.read_bytes(), now):
            return False
        with replacing(path) as draft:
            draft.write_bytes(now)
    except (OSError, SyntaxError) as error:  # Pillow has either for what is no picture
        raise BuildError(str(error)) from None
    return True


def main() -> int:
    """Bring everything up to date, and say what has changed; 1 if something could not be made."""
    failed = False
    for page in (README, TESTING):
        try:
            if update(page, renewed(read_text(page), page.name).encode()):
                print(f"changed: {page.name}")
        except (BuildError, OSError, ValueError) as error:  # a ConvError is a ValueError, and so is no UTF-8
            print(f"convlab: {page.name} is left as it is: {error}", file=sys.stderr)
            failed = True
    for name, draw in PICTURES.items():
        try:
            drawn, alike = draw(), bytes.__eq__
            if name.endswith(".png"):
                drawn, alike = small(drawn), same
            if update(data_path("pictures", name), drawn, alike):
                print(f"changed: data/pictures/{name}")
        except (BuildError, ConvError) as error:
            print(f"convlab: data/pictures/{name} is left as it is: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
