"""Building the book, without a browser: exit codes, messages, and an old book that survives a failure."""

import os
import re
import signal
import subprocess
import sys
import time
import tomllib

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell
from notebook_tools import ROOT, notebook

from convlab.workspace.formulas import FormulaError, mathml
from convlab.workspace.notebooks import copy_notebooks
from tools.site.__main__ import main
from tools.site.pages import front_page, title_and_line
from tools.site.publish import MARKER

pytestmark = pytest.mark.workshop


def small_course(folder):
    """Write a course of two notebooks, beside it a learner's scratch that is none of it."""
    folder.mkdir()
    text = "Two and two.\n\n$$P = \\frac{H}{s}$$\n\n[Back here](00_sums.ipynb)"
    nbformat.write(notebook(new_markdown_cell(text), "2 + 2"), folder / "00_sums.ipynb")
    table = "from IPython.display import Markdown\nMarkdown('| rung |\\n|---|\\n| the first |')"
    nbformat.write(notebook("print(open('data.txt').read())", table), folder / "01_files.ipynb")
    nbformat.write(notebook("1 / 0"), folder / "Untitled.ipynb")
    (folder / "data.txt").write_text("read from beside the notebook")
    return folder


def older_book(folder):
    """Write what a later build takes for an older book."""
    folder.mkdir()
    (folder / MARKER).touch()
    (folder / "index.html").write_text("old")
    return folder


@pytest.fixture
def sources(tmp_path):
    """A folder with a small course."""
    return small_course(tmp_path / "notebooks")


def build(sources, out):
    command = [sys.executable, "-m", "tools.site", "--notebooks", str(sources), "--out", str(out)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The small course, built in the place of an older book; and what the build said."""
    folder = tmp_path_factory.mktemp("course")
    out = older_book(folder / "site")
    return out, build(small_course(folder / "notebooks"), out)


def test_a_book_takes_the_old_ones_place(built):
    out, said = built
    told = [line.split()[:2] for line in said.stderr.splitlines()]
    assert (said.returncode, told) == (
        0,
        [["[1/3]", "00_sums.ipynb"], ["[2/3]", "01_files.ipynb"], ["[3/3]", "making"]],
    )
    assert {path.name for path in out.parent.iterdir()} == {"notebooks", "site"}  # nothing left beside it
    page = (out / "00_sums.html").read_text(encoding="utf-8")
    assert "<mfrac><mi>H</mi><mi>s</mi></mfrac>" in page
    assert ">4\n<" in page  # the cell was run
    files = (out / "01_files.html").read_text(encoding="utf-8")
    assert "read from beside the notebook" in files
    assert re.search(r"<td><p>the first</p></td>", files)  # what a cell shows may be a table
    assert not (out / "Untitled.html").exists()
    clean = nbformat.read(out / "_sources" / "00_sums.ipynb", as_version=4)
    assert [cell.outputs for cell in clean.cells if cell.cell_type == "code"] == [[]]


def test_pages_name_no_server_and_no_folder_of_this_machine(built):
    out, _ = built
    loaded = re.compile(r"src=\"(https?:|//)|<link[^>]* href=\"(https?:|//)|url\(['\"]?(https?:|//)|@import")
    pages = [*out.rglob("*.html"), *out.glob("*.js"), out / "_static" / "book.css"]
    assert len(pages) >= 5
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not loaded.search(text), path.name
        assert str(out.parent) not in text, path.name
        assert str(ROOT) not in text, path.name


def test_a_failing_notebook_is_named_and_the_old_book_stays(sources, tmp_path):
    old_book = older_book(tmp_path / "site")
    nbformat.write(notebook("x = 1", "# the second\nx / 0"), sources / "01_files.ipynb")
    built = build(sources, old_book)
    assert built.returncode == 1
    assert "01_files.ipynb, code cell 2 (`# the second`): ZeroDivisionError: division by zero" in built.stderr
    assert "Traceback" not in built.stderr
    assert [path.name for path in sorted(old_book.iterdir())] == [MARKER, "index.html"]
    assert (old_book / "index.html").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"notebooks", "site"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
def test_ctrl_c_stops_it_and_says_so(sources, tmp_path):
    nbformat.write(notebook("import time; open('begun', 'w'); time.sleep(60)"), sources / "00_sums.ipynb")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [
        sys.executable,
        "-m",
        "tools.site",
        "--notebooks",
        str(sources),
        "--out",
        str(tmp_path / "out"),
    ]
    running = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"TMPDIR": str(scratch)}, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 60
    while not list(scratch.rglob("begun")) and time.monotonic() < end:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=30)[1]
    assert (running.returncode, said) == (130, "\nlab.py site: stopped; no book was written.\n")
    assert not (tmp_path / "out").exists()
    assert list(scratch.iterdir()) == []


def a_file(tmp_path, sources):
    (tmp_path / "out").write_text("mine")
    return ["--notebooks", str(sources), "--out", str(tmp_path / "out")]


def under_a_file(tmp_path, sources):
    (tmp_path / "file").write_text("mine")
    return ["--notebooks", str(sources), "--out", str(tmp_path / "file" / "site")]


def folder_of_others(tmp_path, sources):
    return ["--notebooks", str(sources), "--out", str(sources)]


def no_folder(tmp_path, sources):
    return ["--notebooks", str(tmp_path / "nowhere"), "--out", str(tmp_path / "site")]


def no_notebooks(tmp_path, sources):
    (tmp_path / "empty").mkdir()
    return ["--notebooks", str(tmp_path / "empty"), "--out", str(tmp_path / "site")]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (a_file, "is not a folder"),
        (under_a_file, "is not a folder"),
        (folder_of_others, "holds other files"),
        (no_folder, "nowhere is not a folder"),
        (no_notebooks, "holds no notebook"),
    ],
)
def test_wrong_folders_are_refused_in_one_line(tmp_path, sources, capsys, ask, message):
    arguments = ask(tmp_path, sources)
    before = sorted(tmp_path.rglob("*"))
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_only_the_course_is_copied(tmp_path, sources):
    (sources / ".ipynb_checkpoints").mkdir()
    copy_notebooks(sources, tmp_path / "copy")
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {"00_sums.ipynb", "01_files.ipynb", "data.txt"}


@pytest.mark.parametrize(
    ("cell", "title", "line"),
    [
        ("# im2col\n\nA matrix. More.", "im2col", "A matrix."),
        ("# 02 · im2col\n\nA\nmatrix, e.g. this one. More.", "im2col", "A matrix, e.g. this one."),
        (
            "# im2col\n\n**Why so?** Because of 3.5 bytes. More.",
            "im2col",
            "**Why so?** Because of 3.5 bytes.",
        ),
        ("# im2col\n\n![a window](w.png)\n\nWords.", "im2col", "Words."),
        ("# 3 ways to loop", "3 ways to loop", ""),
    ],
)
def test_title_and_line(cell, title, line):
    assert title_and_line(cell) == (title, line)


def test_front_page_lists_the_notebooks_in_order():
    page = front_page({"00_a": ("First", "One."), "01_b": ("Second", "Two.")})
    assert page.index("[First](00_a.ipynb)") < page.index("One.") < page.index("[Second](01_b.ipynb)")
    assert "$" not in page


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\underbrace{w^{\mathsf T}}_{RSC}", "<munder><munder><msup>"),
        (r"\begin{align}a &= b \\ c &= d\end{align}", '<mtable class="ams-align">'),
        (r"\left\lfloor\frac{H}{2}\right\rfloor", "<mo>⌊</mo><mfrac>"),
    ],
)
def test_formulas(latex, part):
    assert part in mathml(latex, as_block=True)


@pytest.mark.parametrize("latex", [r"\nonsense", "_{", "^", "&", r"\begin{nonsense}"])
def test_formula_that_cannot_be_read_is_said_to_be(latex):
    with pytest.raises(FormulaError):
        mathml(latex, as_block=False)


def test_the_wheel_holds_the_library_and_the_data_alone():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert wheel["targets"]["wheel"] == {"packages": ["convlab"], "force-include": {"data": "convlab/data"}}


def test_the_library_does_not_need_the_tools():
    for path in (ROOT / "convlab").rglob("*.py"):
        assert not re.search(r"(from|import) tools\b", path.read_text(encoding="utf-8")), path.name
