"""Building the book, without a browser: exit codes, messages, and an old book that survives a failure."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from effort import in_turns
from nbformat.v4 import new_markdown_cell
from notebook_tools import ROOT, notebook

from convlab.lessons.course import chapters
from convlab.workspace.formulas import FormulaError, mathml
from convlab.workspace.notebooks import copy_notebooks
from tools.errors import BuildError
from tools.site import card, links, slim
from tools.site.__main__ import main
from tools.site.front_page import front_page, title_and_line
from tools.site.launchers import LAUNCHERS
from tools.site.publish import MARKER
from tools.site.way import paths

pytestmark = pytest.mark.workshop


def small_course(folder, first_name="00_sums"):
    """Write a course of two notebooks, beside it a learner's scratch that is none of it."""
    folder.mkdir()
    text = f"Two and two.\n\n$$P = \\frac{{H}}{{s}}$$\n\n[Back here]({first_name}.ipynb)"
    first = notebook(new_markdown_cell(text), "2 + 2")
    first.cells[0].source += "\n\n**Two and *two*?** It is four."
    nbformat.write(first, folder / f"{first_name}.ipynb")
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


def build(sources, out, *more):
    command = [sys.executable, "-m", "tools.site", "--notebooks", str(sources), "--out", str(out), *more]
    outside = {name: value for name, value in os.environ.items() if name != "GITHUB_REPOSITORY"}
    return subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The small course, built in the place of an older book; and what the build said."""
    folder = tmp_path_factory.mktemp("course")
    out = older_book(folder / "site")
    return out, build(small_course(folder / "notebooks"), out)


@in_turns
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


@in_turns
def test_pages_name_no_server_and_no_folder_of_this_machine(built):
    out, _ = built
    loaded = re.compile(r"src=\"(https?:|//)|<link[^>]* href=\"(https?:|//)|url\(['\"]?(https?:|//)|@import")
    pages = [*out.rglob("*.html"), *out.glob("*.js"), out / "_static" / "style.css"]
    assert len(pages) >= 5
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not loaded.search(text), path.name
        assert str(out.parent) not in text, path.name
        assert str(ROOT) not in text, path.name


@in_turns
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


@in_turns
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


# -- the head of every page, and buttons that lead elsewhere -------------------------------------------------

ADDRESS = "https://example.org/course/"
TRANSLATED = "00_start_here"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The small course, built for an address and a repository, in two languages."""
    folder = tmp_path_factory.mktemp("published")
    notebooks = small_course(folder / "notebooks", TRANSLATED)
    more = ["--address", ADDRESS, "--repository", "some/course", "--language", "en", "de"]
    said = build(notebooks, folder / "site", *more)
    assert said.returncode == 0, said.stderr
    return folder / "site"


def tags(page):
    """Return what a page says of itself, by name."""
    return dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"', page.read_text("utf-8")))


@in_turns
def test_a_published_book_says_what_it_is(published):
    said = tags(published / f"{TRANSLATED}.html")
    assert said["description"].startswith("Two and two? ")
    assert said["og:url"] == f"{ADDRESS}{TRANSLATED}.html"
    assert said["og:image"] == f"{ADDRESS}_static/{card.CARD}"
    assert (published / "_static" / card.CARD).read_bytes()[16:24] == b"".join(
        side.to_bytes(4, "big") for side in card.SIZE
    )
    page = (published / f"{TRANSLATED}.html").read_text("utf-8")
    assert f'<link rel="canonical" href="{ADDRESS}{TRANSLATED}.html" />' in page
    sitemap = (published / "sitemap.xml").read_text("utf-8")
    assert re.findall("<loc>(.*)</loc>", sitemap) == [
        ADDRESS,
        f"{ADDRESS}{TRANSLATED}.html",
        f"{ADDRESS}01_files.html",
        f"{ADDRESS}de/{TRANSLATED}.html",
    ]
    assert f"Sitemap: {ADDRESS}sitemap.xml" in (published / "robots.txt").read_text("utf-8")
    assert tags(published / "404.html")["robots"] == "noindex"


@pytest.mark.parametrize("edition", ["", "de/"])
def test_a_page_for_wrong_addresses_leads_into_the_book_from_any_depth(published, edition):
    page = (published / edition / "404.html").read_text("utf-8")
    found = re.findall(r'(?:href|src|action)="([^"]*)"', page)
    assert f"{ADDRESS}{edition}index.html" in found
    assert [one for one in found if not one.startswith(ADDRESS + edition)] == ["#main-content"]
    assert "<base" not in page, "it would take the link to the words elsewhere"


def test_each_notebook_can_be_run_elsewhere_and_the_front_page_says_where(published):
    opens = [one.opens("some/course", TRANSLATED) for one in LAUNCHERS]
    assert (
        f"https://colab.research.google.com/github/some/course/blob/colab/notebooks/{TRANSLATED}.ipynb"
        in opens
    )
    page = (published / f"{TRANSLATED}.html").read_text("utf-8")
    assert re.findall(r'href="(https://[^"]+)" target="_blank"', page) == opens
    front = (published / "index.html").read_text("utf-8")
    assert re.findall(r'<a class="reference external" href="([^"]+)">', front) == opens


def test_a_second_language_is_a_folder_of_the_book(published):
    english, german = (published / f"{way}{TRANSLATED}.html" for way in ("", "de/"))
    there, back = english.read_text("utf-8"), german.read_text("utf-8")
    assert '<html lang="de"' in back
    leads = f'href="de/{TRANSLATED}.html">Deutsch</a>'
    assert leads in there
    assert leads in (published / "index.html").read_text("utf-8")
    assert f'href="../{TRANSLATED}.html">English</a>' in back
    assert f'<link rel="alternate" hreflang="de" href="{ADDRESS}de/{TRANSLATED}.html" />' in there
    assert f'<link rel="alternate" hreflang="en" href="{ADDRESS}{TRANSLATED}.html" />' in back
    assert f'<link rel="canonical" href="{ADDRESS}de/{TRANSLATED}.html" />' in back
    left = (published / "de" / "01_files.html").read_text("utf-8")  # nobody has translated it
    assert f'<link rel="canonical" href="{ADDRESS}01_files.html" />' in left
    assert "alternate" not in left
    assert "Deutsch" not in (published / "01_files.html").read_text("utf-8")


def test_a_book_of_no_address_leads_nowhere_outside(built):
    out, _ = built
    assert not (out / "sitemap.xml").exists()
    for path in out.glob("*.html"):
        text = path.read_text("utf-8")
        assert not re.search(r'href="https?:', text), path.name
        assert "og:" not in text


only_linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="has no folder that refuses root")


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        ("--address", "example.org", "expected an address"),
        ("--address", "https://example.org/?a=b", "expected an address"),
        ("--repository", "course", "expected OWNER/NAME"),
        ("--language", "tlh", "expected en or de"),
        ("--pdf", "nowhere/book.pdf", "nowhere is not a folder"),
        ("--pdf", "data.txt", "holds something else"),
        pytest.param("--pdf", "/proc/book.pdf", "cannot be written", marks=only_linux),
    ],
)
def test_wrong_options_are_refused_in_one_line(tmp_path, sources, capsys, option, given, message):
    given = str(sources / given) if option == "--pdf" else given
    assert main(["--notebooks", str(sources), "--out", str(tmp_path / "site"), option, given]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "site").exists()


# -- links ---------------------------------------------------------------------------------------------------

WHOLE = """<!doctype html><link rel="stylesheet" href="style.css"><script src="a.js"></script>
<h1 id="top">x</h1><a href="#top">up</a><a href="other.html#there">there</a><a href="https://example.org">out</a>
<img src="b.png"><script>begin("_static/c.js")</script>"""
FAULTS = {
    "a page": ('href="other.html#there"', 'href="gone.html"', "gone.html is not there"),
    "a place": ("#there", "#elsewhere", "other.html#elsewhere names a place that is not there"),
    "a place here": ('"#top"', '"#bottom"', "#bottom names a place that is not there"),
    "a picture": ("b.png", "c.png", "c.png is not there"),
    "a script": ("a.js", "b.js", "b.js is not there"),
    "the code of a figure": ("_static/c.js", "_static/d.js", "_static/d.js is not there"),
    "a style": ('href="style.css"', 'href="gone.css"', "gone.css is not there"),
    "out of the book": ('"other.html#there"', '"../index.html"', "../index.html leads out of the book"),
    "another host's script": (
        '"a.js"',
        '"https://cdn.example/a.js"',
        "asks another host: https://cdn.example/a.js",
    ),
    "another host's picture": ('"b.png"', '"//cdn.example/b.png"', "asks another host: //cdn.example/b.png"),
    "another host's font": (
        "<h1",
        "<style>@import 'https://f.example/f.css'</style><h1",
        "asks another host",
    ),
}


@pytest.fixture
def whole(tmp_path):
    """A tiny book in which every link resolves."""
    book = tmp_path / "book"
    (book / "_static").mkdir(parents=True)
    (book / "index.html").write_text(WHOLE)
    (book / "other.html").write_text('<p id="there">')
    (book / "style.css").write_text("p { background: url(b.png) }")
    for name in ("a.js", "b.png", "_static/c.js"):
        (book / name).touch()
    return book


def test_a_whole_book_has_no_broken_link(whole):
    links.check(whole)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_link_is_named_with_its_page(whole, fault):
    good, bad, message = FAULTS[fault]
    (whole / "index.html").write_text(WHOLE.replace(good, bad, 1))
    with pytest.raises(BuildError) as said:
        links.check(whole)
    assert "index.html" in str(said.value)
    assert message in str(said.value)


def test_a_style_that_asks_for_what_is_not_there_is_named(whole):
    (whole / "style.css").write_text("@import 'more.css';")
    with pytest.raises(BuildError, match=r"style\.css asks for more\.css"):
        links.check(whole)


@in_turns
def test_a_broken_link_stops_the_build(sources, tmp_path):
    nbformat.write(
        notebook(new_markdown_cell("![gone](gone.html)\n\n<a href='gone.html'>x</a>")),
        sources / "00_sums.ipynb",
    )
    said = build(sources, tmp_path / "site")
    assert said.returncode == 1
    assert "00_sums.html: gone.html is not there" in said.stderr
    assert not (tmp_path / "site").exists()


def test_styles_of_no_use_go():
    css = ".on > b, .off { top: 0 } @media print { .off { top: 1px } .on { top: 2px } } p { top: 3px }"
    css += "@font-face { src: url(x) }"
    assert slim.used(css, {"on"}) == ".on > b{top: 0 }@media print {.on{top: 2px }}p{top: 3px }"


# -- the front page ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "title", "line"),
    [
        ("# im2col\n\nA matrix. More.", "im2col", "A matrix."),
        ("# 02 · im2col\n\nA\nmatrix, e.g. this one. More.", "im2col", "A matrix, e.g. this one."),
        ("# im2col\n\n**Two loops. Why so?** Because. More.", "im2col", "Two loops. Why so?"),
        ("# im2col\n\n![a window](w.png)\n\nWords.", "im2col", "Words."),
        ("# 3 ways to loop", "3 ways to loop", ""),
    ],
)
def test_title_and_line(cell, title, line):
    assert title_and_line(cell) == (title, line)


@in_turns
def test_front_page_says_how_to_run_it_and_leads_to_the_printed_book():
    found = chapters()
    lines = {each.file: "" for each in found}
    page = front_page(found, lines)
    for command in ("uvx convlab", "pipx run convlab", "pip install convlab && convlab", "`python3 lab.py`"):
        assert command in page
    assert "https://" not in page
    assert "PDF" not in page
    printed = front_page(found, lines, pdf=("book.pdf", 3 << 20))
    assert '<a href="book.pdf">the whole book as a PDF</a>, 3.00 MiB.' in printed


def test_front_page_has_every_notebook_in_its_part_with_its_minutes():
    found = chapters()
    page = front_page(found, {each.file: f"Line {each.number}." for each in found})
    assert "$" not in page
    assert "**]" not in page
    places = [page.index(f"[{each.title}]({each.file}) <span") for each in found]
    assert places == sorted(places)
    assert all(f"{each.minutes:.0f} min</span>\n\n  Line {each.number}." in page for each in found)
    assert [len(path.chapters) > 2 for path in paths(found)] == [True, True, True]


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\underbrace{w^{\mathsf T}}_{RSC}", "<munder><munder><msup>"),
        (r"\begin{align}a &= b \\ c &= d\end{align}", '<mtable class="ams-align">'),
        (r"\left\lfloor\frac{H}{2}\right\rfloor", "<mo>⌊</mo><mfrac>"),
        (r"\frac{H' - 1}{2}", "<msup><mi>H</mi><mo>′</mo></msup><mo>−</mo>"),
        (r"f''(x) + \text{the filter's}", "<msup><mi>f</mi><mo>′′</mo></msup>"),
    ],
)
def test_formulas(latex, part):
    assert part in mathml(latex, as_block=True)


@pytest.mark.parametrize("latex", [r"\nonsense", "_{", "^", "&", r"\begin{nonsense}"])
def test_formula_that_cannot_be_read_is_said_to_be(latex):
    with pytest.raises(FormulaError):
        mathml(latex, as_block=False)


def test_the_library_does_not_need_the_tools():
    for path in (ROOT / "convlab").rglob("*.py"):
        assert not re.search(r"(from|import) tools\b", path.read_text(encoding="utf-8")), path.name
