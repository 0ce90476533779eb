"""``python -m tools.colab --out DIR``: the notebooks for Google Colab, with a cell that installs the course.

Colab opens one notebook from a repository and gives it a machine that has NumPy and knows nothing of convlab.
The cell put first installs it there, and lets figures move that Colab does not know. With ``--repository`` it
comes from there, at ``--revision``, so that library and notebooks are of one state; without, from PyPI. What
Colab has already stays where it is new enough: the lock is for machines that begin empty.

A workflow pushes DIR as the branch `colab`; the notebooks of the course stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools.github import EXPECTED, is_repository

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
ID = "install-convlab"
CELL = """\
# Installs the course on this machine of Google's, and lets its figures move. Elsewhere it does nothing.
import importlib.util
import sys

if "google.colab" in sys.modules:
    if importlib.util.find_spec("convlab") is None:
        %pip install --quiet "{source}"
    from google.colab import output

    output.enable_custom_widget_manager()
"""
README = """\
The notebooks of convlab for Google Colab. This branch is made by `python -m tools.colab` at every push:
changes belong in the branch `main`.
"""


def main(arguments: list[str] | None = None) -> None:
    """Write the notebooks into a folder that is new or empty."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.colab", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a folder that is new or empty"
    )
    parser.add_argument(
        "--repository", type=_repository, metavar="OWNER/NAME", help="on GitHub; default: PyPI"
    )
    parser.add_argument("--revision", default="main", help="the commit, tag or branch of it; default: main")
    asked = parser.parse_args(arguments)
    if asked.out.exists() and (not asked.out.is_dir() or any(asked.out.iterdir())):
        parser.error(f"--out={str(asked.out)!r}; expected a folder that is new or empty")
    source = requirement(asked.repository, asked.revision)
    folder = asked.out / "notebooks"
    folder.mkdir(parents=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text = for_colab(path.read_text(encoding="utf-8"), source)
        (folder / path.name).write_text(text, encoding="utf-8", newline="\n")
    (asked.out / "README.md").write_text(README, encoding="utf-8", newline="\n")
    print(f"{len(list(folder.iterdir()))} notebooks in {folder}; each installs {source}")


def requirement(repository: str | None, revision: str) -> str:
    """Return what pip is asked for: PyPI's convlab, or the one of a commit, tag or branch on GitHub."""
    return f"convlab @ https://github.com/{repository}/archive/{revision}.zip" if repository else "convlab"


def for_colab(notebook: str, source: str) -> str:
    """Return a notebook's file with the installing cell before all others."""
    content = json.loads(notebook)
    lines = CELL.format(source=source).rstrip().splitlines(keepends=True)
    first = {
        "cell_type": "code",
        "execution_count": None,
        "id": ID,
        "metadata": {},
        "outputs": [],
        "source": lines,
    }
    content["cells"].insert(0, first)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _repository(text: str) -> str:
    """Read OWNER/NAME."""
    if not is_repository(text):
        raise argparse.ArgumentTypeError(f"{text!r}; expected {EXPECTED}")
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
