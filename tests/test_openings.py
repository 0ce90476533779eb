"""What stands on the first screen of a notebook before anything was run: its question, and a picture."""

from __future__ import annotations

import base64

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from notebook_tools import NOTEBOOKS, notebook

from convlab import widgets
from convlab.workspace.copies import KEPT

TO_MOVE_IT = "*A picture only. Run the cells down to here (Shift+Enter), and it moves.*"
FIRST_CELLS = 4  # title and question, imports, a word, the picture
MOST_WORDS = 80  # before the picture
LARGEST = 90 << 10  # bytes of it


def moves(cell):
    """Say if what a cell shows is one of the figures that move."""
    names = (*widgets.__all__, "walk_through")
    return cell.source.rpartition("\n")[2].startswith(tuple(f"{name}(" for name in names))


def before_and_picture(nb):
    """Return the cells before the picture, and the cell that shows it."""
    (place,) = [i for i, cell in enumerate(nb.cells) if KEPT in cell.metadata.get("tags", ())]
    return nb.cells[:place], nb.cells[place]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_screen_is_a_question_and_a_picture(path):
    before, shown = before_and_picture(nbformat.read(path, as_version=4))
    assert len(before) < FIRST_CELLS
    title, *_ = before
    assert "**" in title.source
    assert "?**" in title.source
    assert sum(len(cell.source.split()) for cell in before if cell.cell_type == "markdown") <= MOST_WORDS
    *rest, output = shown.outputs
    assert output.metadata["image/png"]["alt"] == output.data["text/plain"]
    assert [one.data["text/markdown"] for one in rest] == [TO_MOVE_IT] * moves(shown)
    png = base64.b64decode(output.data["image/png"])
    assert png.startswith(b"\x89PNG")
    assert len(png) < LARGEST


@pytest.mark.workshop
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_picture_is_what_the_cell_shows(path):
    from tools.needed_lines import last_shown
    from tools.openings import picture_of, same, shown_by

    _, cell = before_and_picture(nbformat.read(path, as_version=4))
    assert same(shown_by(cell), picture_of(last_shown(path, cell.source))), "run python -m tools.stills"


# -- the command itself, on a small notebook -----------------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    """Return a function that writes a notebook whose last cell is to be kept, and reads it again."""

    def written(*cells):
        nb = notebook(*cells[:-1], new_code_cell(cells[-1], metadata={"tags": [KEPT]}))
        nbformat.write(nb, tmp_path / "00_small.ipynb")
        return tmp_path / "00_small.ipynb"

    return written


SET_UP = "from convlab import figures, ConvProblem\nfrom convlab.widgets import RegisterTile\nrows = 7"
FIGURE = "figures.tensors(ConvProblem(1, rows + 1, 9, 3, 4, 3, 3))"


@pytest.mark.workshop
@pytest.mark.parametrize(
    "shown", ["RegisterTile()", "figures.tensors(ConvProblem(1, rows + 1, 9, 3, 4, 3, 3))"]
)
def test_a_picture_is_kept_once(small, shown):
    from tools.openings import renew

    path = small(SET_UP, "raise RuntimeError('nobody needs this line')", shown)
    assert renew(path)
    written = path.read_bytes()
    assert not renew(path)
    assert path.read_bytes() == written
    assert nbformat.read(path, as_version=4).cells[-1].outputs[0].data["text/plain"]


@pytest.mark.workshop
def test_a_picture_of_something_else_is_replaced(small):
    from tools.openings import renew

    path = small(SET_UP, FIGURE)
    renew(path)
    nb = nbformat.read(path, as_version=4)
    nb.cells[1].source = nb.cells[1].source.replace("rows = 7", "rows = 3")
    nbformat.write(nb, path)
    assert renew(path)


@pytest.mark.workshop
@pytest.mark.parametrize(
    ("cells", "why"),
    [((SET_UP, "rows"), "shows no picture"), ((SET_UP, "RegisterTile(rows=9)"), "shows no picture")],
    ids=["number", "widget nobody photographed"],
)
def test_what_has_no_picture_is_told(small, cells, why):
    from tools.errors import BuildError
    from tools.openings import renew

    with pytest.raises(BuildError, match=why):
        renew(small(*cells))


@pytest.mark.workshop
def test_one_cell_is_the_opening(tmp_path):
    from tools.errors import BuildError
    from tools.openings import renew

    nbformat.write(notebook("1"), tmp_path / "00_none.ipynb")
    with pytest.raises(BuildError, match="0 cells"):
        renew(tmp_path / "00_none.ipynb")
