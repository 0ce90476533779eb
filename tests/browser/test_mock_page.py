"""The mock interview in JupyterLab, gone on with in a second tab; its report on paper and on a telephone."""

import re
import time

import nbformat
import pytest
from browser_tools import barriers
from effort import in_turns
from notebook_tools import NOTEBOOKS

from convlab import interview
from convlab.interview.mocks import record
from convlab.interview.mocks.draw import MANY, draw
from convlab.lessons import progress
from convlab.support.learners_folder import RECORD

pytestmark = pytest.mark.browser

SEED = 3
BEGIN = f"from convlab import interview\n\ntalk = interview.mock({SEED})\ntalk"


def written(path, *cells):
    """Write a notebook of some cells."""
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(notebook, path)


@in_turns
def test_a_mock_in_jupyterlab(lab, watched):
    home = lab.settings.parent / "work" / "mock"
    home.mkdir()
    (home / RECORD).write_text("{}")
    written(home / "first.ipynb", BEGIN, "talk.next()")
    written(home / "second.ipynb", BEGIN, "talk.next()", *["talk.next(leave=True)"] * 3)
    one = watched()
    lab.run_all(one.page, "mock/first.ipynb")
    assert f"Mock interview {SEED}" in one.page.locator(".convlab-note").first.inner_text()
    card = one.page.locator(".convlab.cl-drill")
    card.wait_for()
    first, second = draw(SEED).drills[:2]
    assert first.question.split(".")[0] in card.inner_text().replace("\u00a0", " ")
    one.screenshot("mock-drills")
    card.get_by_role("textbox").fill(first.about.unit.text(first.value))
    card.get_by_role("textbox").press("Tab")
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("Enter")
    with progress.kept_in(progress.of(home)):
        one.page.wait_for_function("() => document.querySelector('.cl-drill').innerText.includes('Right')")
        end = time.monotonic() + 20
        while record.standing(SEED).waiting() == first and time.monotonic() < end:
            one.page.wait_for_timeout(100)
        assert record.standing(SEED).waiting() == second
        assert [event.detail["guess"] for event in progress.events("guess")] == [
            pytest.approx(first.value, 0.01)
        ]

    two = watched()
    lab.run_all(two.page, "mock/second.ipynb")
    card = two.page.locator(".convlab.cl-drill").last
    assert second.question.split(".")[0] in card.inner_text().replace(
        "\u00a0", " "
    )  # it goes on where it was
    two.page.locator(".cl-mock").wait_for()
    assert f"1 of {MANY} right" in two.page.locator(".cl-mock").inner_text()
    two.screenshot("mock-second-tab")
    assert one.errors == two.errors == []


@pytest.fixture
def report(tmp_path):
    """Return the file of a report that has as much to say as any: much was wrong."""
    with progress.kept_in(progress.of(tmp_path)):
        talk = interview.mock(SEED).next()
        for _ in range(MANY):
            words = record.standing(SEED).waiting().about.unit.choices
            talk.submit("memory" if words else "123", 90)
        talk.next()
        for _ in range(6):
            talk.submit(lambda *arguments: arguments)
        talk.next(leave=True).submit(1)
        return talk.next().report().save(tmp_path / "report.html")


def test_a_report_can_be_printed(report, watched, tmp_path):
    one = watched()
    one.page.goto(report.as_uri())
    one.screenshot("mock-report")
    one.page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    pages = re.findall(rb"/Type\s*/Page\b", (tmp_path / "report.pdf").read_bytes())
    assert 1 <= len(pages) <= 2
    assert barriers(one.page, colours=True) == []
    assert one.errors == one.outside == []


def test_a_report_fits_a_telephone(report, watched):
    one = watched(width=400)
    one.page.goto(report.as_uri())
    one.screenshot("mock-report-400")
    assert one.page.evaluate("document.documentElement.scrollWidth") == 400
    named = "getComputedStyle(document.querySelector('.cl-table td'), '::before').content"
    assert one.page.evaluate(named).startswith('"verdict')  # a row is a list there, with the columns' names
