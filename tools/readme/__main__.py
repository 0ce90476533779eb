"""``python -m tools.readme``: bring the README's tables and pictures up to date.

A table stands in README.md between ``<!-- convlab: NAME -->`` and ``<!-- end -->``, and is made from the
files in `data/`; nothing is measured. A picture is a file in `data/pictures/`, drawn by the library's own
figures. What is already right is left alone: run twice, the command changes nothing.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from convlab.errors import ConvError
from convlab.support.files import data_path, read_text, replacing, why_kept
from convlab.workspace.notebooks import ROOT
from tools.errors import BuildError

if TYPE_CHECKING:
    from convlab.benchmark.saved import Measurement

COMMAND = "python -m tools.readme"
README = ROOT / "README.md"
_BLOCK = re.compile(r"(<!-- convlab: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_BEGIN = re.compile(r"<!-- convlab:")


def cpu_runs() -> dict:
    """Return all saved runs of `convlab bench cpu`, by the names of their files."""
    from convlab.benchmark.saved_runs import CPU, runs

    return runs(data_path("measurements"), CPU)


def shown_run() -> Measurement:
    """Return the first of them that has timed the layer of the main picture."""
    from tools.readme.one_layer import LAYER, NETWORK

    for run in cpu_runs().values():
        if run.part("layers", network=NETWORK, layer=LAYER, ours=True):
            return run
    raise BuildError("data/measurements has no run of `convlab bench cpu` that timed the layer shown")


def results() -> str:
    """Return the tables of all saved runs."""
    from tools.readme.results import markdown

    return "\n\n".join(markdown(run, f"data/measurements/{name}") for name, run in cpu_runs().items())


def roofline() -> str:
    """Return the place of the first run's roofline in the page, and what it shows."""
    from tools.readme.one_layer import markdown

    return markdown(shown_run(), "data/pictures/roofline.png")


def roofline_picture() -> bytes:
    """Return that roofline."""
    from tools.readme.one_layer import picture

    return picture(shown_run()).png


def memory_explorer() -> bytes:
    """Return the memory explorer as a page shows it."""
    from convlab.widgets import MemoryBlowup
    from tools.browser import launched, photograph

    with launched() as browser:
        return photograph(browser, MemoryBlowup(layer="layer1.0.conv1", algorithm="im2col"))


BLOCKS: dict[str, Callable[[], str]] = {"roofline": roofline, "results": results}
PICTURES: dict[str, Callable[[], bytes]] = {
    "roofline.png": roofline_picture,
    "memory_explorer.png": memory_explorer,
}


def renewed(text: str) -> str:
    """Return a README with every marked block as the files in `data/` have it now.

    Raises
    ------
    BuildError
        If a block has a name that nothing is known of, or no end.
    """

    def block(match: re.Match) -> str:
        begin, name, end = match.groups()
        if name not in BLOCKS:
            raise BuildError(f"README.md: no block is called {name!r}; expected {', '.join(BLOCKS)}")
        if _BEGIN.search(match[0], len(begin)):
            raise BuildError(f"README.md: the block {name!r} has no end")
        return f"{begin}\n{BLOCKS[name]()}\n\n{end}"

    text, count = _BLOCK.subn(block, text)
    if count != len(_BEGIN.findall(text)):
        raise BuildError("README.md: a block has no end, or does not begin on a line of its own")
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
    try:
        if update(README, renewed(read_text(README)).encode()):
            print("changed: README.md")
    except (BuildError, OSError, ValueError) as error:  # a ConvError is a ValueError, and so is no UTF-8
        print(f"convlab: README.md is left as it is: {error}", file=sys.stderr)
        failed = True
    for name, draw in PICTURES.items():
        try:
            if update(data_path("pictures", name), small(draw()), same):
                print(f"changed: data/pictures/{name}")
        except (BuildError, ConvError) as error:
            print(f"convlab: data/pictures/{name} is left as it is: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
