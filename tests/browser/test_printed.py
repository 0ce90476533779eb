"""The book on paper: one PDF with an outline, and a page that is printed by its reader."""

import re
import shutil
import warnings

import nbformat
import pytest
from browser_tools import document
from nbformat.v4 import new_markdown_cell
from notebook_tools import NOTEBOOKS, notebook
from widget_kinds import LEADING

from convlab.lessons.course import chapters
from convlab.widgets import RegisterTile
from tools.site import front_page, languages, printed
from tools.site.slim import slim

pytestmark = pytest.mark.browser

ANSWER = "<details><summary>How many?</summary>\n\nForty-two.\n\n</details>"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a course of two notebooks, to be printed."""
    folder = tmp_path_factory.mktemp("source")
    for name, title in (("00_sums", "Sums"), ("10_lanes", "Lanes")):
        made = notebook(new_markdown_cell("## A heading\n\nWords."), new_markdown_cell(ANSWER))
        made.cells[0].source = f"# {title}"
        nbformat.write(made, folder / f"{name}.ipynb")
    (folder / printed.FRONT_PAGE).write_text(front_page.printed_front(chapters(folder)), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Sphinx and its extensions about each other
        return printed.page_to_print(folder, tmp_path_factory.mktemp("made"))


def test_the_book_is_one_pdf_with_an_outline(page, browser):
    pdf = printed.as_pdf(browser, page)
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 3  # the title, and two parts
    titles = re.findall(rb"/Title\s*\(([^)]*)\)", pdf)
    for title in (b"On a processor", b"00 Sums", b"A heading", b"10 Lanes"):
        assert title in titles


def test_answers_are_unfolded_on_paper(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("<details open>") == 2
    assert "<script" not in text


def test_a_translated_notebook_is_printed_in_its_language(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(NOTEBOOKS[0], source)
    (source / printed.FRONT_PAGE).write_text(front_page.printed_front(chapters(source)), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Sphinx and its extensions about each other
        page = printed.page_to_print(source, tmp_path / "made", languages.settings("de", tmp_path))
    assert ">00 Hier geht es los<" in page.read_text(encoding="utf-8")


def test_a_dark_page_is_printed_light_and_unfolded(site, watched):
    one = watched(scheme="dark")
    one.page.goto(next(site.glob("02_*.html")).as_uri())
    look = """() => [document.documentElement.dataset.theme,
      document.querySelectorAll("article details:not(.hide, .cl-more, [open])").length]"""
    before = one.page.evaluate(look)
    assert before[0] == "dark"
    assert before[1] > 0
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert one.page.evaluate(look) == ["light", 0]
    one.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert one.page.evaluate(look) == before
    one.page.emulate_media(media="print")
    for part in ("#pst-primary-sidebar", ".bd-header-article", ".prev-next-footer", "#jb-print-docs-body"):
        assert not one.page.locator(part).is_visible()
    assert one.page.locator("article h1").is_visible()
    assert one.errors == []


def test_the_hooks_of_the_light_pages_are_those_of_the_figures(tmp_path):
    """`slim` looks for what `convlab.widgets` writes: neither changes without the other."""
    static = tmp_path / "_static"
    static.mkdir()
    (static / "documentation_options.js").write_text("")
    (tmp_path / "page.html").write_text(
        document(front_page.figure_of_the_blow_up(), RegisterTile()).replace("<body", "<head></head><body")
    )
    slim(tmp_path)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "base64" not in text
    assert "<style>" not in text.replace("<style>@media not print{body[data-jp", "")
    assert 'class="without-scripts"' in text
    scripts = list((static / "figures").iterdir())
    assert len(scripts) == 3  # the code of each, and all the networks that the first of them knows
    assert all(f"_static/figures/{script.name}" in text for script in scripts)
    assert len(text) < 30_000
    waits = ['loading="lazy"' in picture for picture in re.findall("<img [^>]*>", text)]
    assert waits == [False, True], "only what is seen first comes at once"


BOXES = """() => [...document.querySelectorAll(".convlab .cl-scroll, .convlab .cl-source")].filter((box) =>
  box.scrollWidth > box.clientWidth + 4 || box.scrollHeight > box.clientHeight + 4).length"""


@pytest.mark.parametrize("kind", LEADING, ids=lambda kind: kind.__name__)
def test_a_figure_on_paper_is_light_and_whole(kind, watched, tmp_path):
    """Also where a browser prints no backgrounds, and nobody has told the page that it is printed."""
    file = tmp_path / "page.html"
    file.write_text(document(kind(), scheme="dark"), encoding="utf-8")
    one = watched(width=680)
    one.page.goto(file.as_uri())
    figure = one.page.locator(".convlab")
    figure.wait_for()
    look = "f => [getComputedStyle(f).backgroundColor, getComputedStyle(f).printColorAdjust]"
    dark, _ = figure.evaluate(look)
    one.page.emulate_media(media="print")
    assert figure.evaluate(look) == ["rgb(255, 255, 255)", "exact"] != [dark, "exact"]
    one.page.wait_for_timeout(200)
    assert one.page.evaluate(BOXES) == 0
    assert figure.get_by_role("button").count() == 0
    assert not figure.locator(".cl-guide").or_(figure.locator("summary")).first.is_visible()
    assert one.errors == []
