"""A walk-through in a page without Python: tried, ticked, walked by keyboard, kept by the browser."""

import json

import pytest
from browser_tools import barriers
from effort import in_turns
from test_widgets_lead import CUT_OFF, SIZES, SMALLEST

from convlab.figures import Picture
from convlab.interview.walks.show import WALKS, walk_through

pytestmark = pytest.mark.browser

SCHEMES = {"light": "", "dark": ' data-jp-theme-light="false" style="background: #111"'}
KEY = "convlab walk: gpu"


@pytest.fixture
def opened(watched, tmp_path):
    """Return open(name, scheme, **how): a page with a walk-through and nothing else, and no error."""
    pages = []

    def open_page(name="gpu", scheme="light", **how):
        file = tmp_path / "page.html"
        file.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
            f"<body{SCHEMES[scheme]}><main>{walk_through(name).page()}</main></body></html>",
            encoding="utf-8",
        )
        pages.append(watched(**how))
        pages[-1].page.goto(file.as_uri())
        pages[-1].page.locator(".convlab.cl-walk").wait_for()
        return pages[-1]

    yield open_page
    assert [error for one in pages for error in one.errors] == []


def view(page, name):
    page.get_by_role("radio", name=name, exact=True).check()


def shown(page):
    """Return the figure on the stage, once it has settled."""
    page.locator(".cl-walk-stage:not([aria-busy])").wait_for()
    page.wait_for_timeout(60)
    return page.locator(".cl-walk-figure:visible")


def fits(page):
    """Say if nothing is wider than the page or too small to read, and what is cut off says so."""
    body = page.locator(".convlab.cl-walk")
    assert [words for size, words in body.evaluate(SIZES) if size < SMALLEST] == []
    assert all(words.startswith("Scroll: ") for words in body.evaluate(CUT_OFF))
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def press(page, name):
    page.get_by_role("button", name=name).click()


def test_it_is_tried_alone_ticked_and_kept(opened):
    page, points = opened().page, WALKS["gpu"]().points
    body = page.locator(".convlab.cl-walk")
    assert not any(point.title in body.inner_text() for point in points)  # nothing is given away
    press(page, "Start the stopwatch")
    assert page.evaluate("document.activeElement.textContent") == "Done: what did I say?"
    page.get_by_text("0:01").wait_for()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
    assert body.get_by_text(f"3 of {len(points)} points made").is_visible()
    press(page, "That is all")
    for _ in range(2):
        verdict = page.locator(".cl-verdict").inner_text()
        assert verdict.startswith(f"3 of {len(points)} points made in 0:0")
        missed = page.locator(".cl-walk-missed li").all_inner_texts()
        assert missed == [point.title for point in points[3:]]
        page.reload()
        page.locator(".cl-verdict").wait_for()
    (kept,) = json.loads(page.evaluate(f"localStorage.getItem('{KEY}')"))
    assert kept["ticked"] == [point.title for point in points[:3]]
    press(page, points[5].title)
    page.get_by_text(f"6. {points[5].title}").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("point 6: ")
    assert page.locator(".cl-walk-said").inner_text() == "Not said yet."
    assert page.locator(".cl-walk-dot.cl-made").count() == 3


def test_another_round_stands_beside_the_first(opened):
    page = opened().page
    number = len(WALKS["gpu"]().points)
    press(page, "Tick without one")
    press(page, "That is all")
    press(page, "Try again")
    page.evaluate(  # another tab, meanwhile
        "key => localStorage.setItem(key, JSON.stringify("
        "[...JSON.parse(localStorage.getItem(key)), { ticked: [], seconds: 65 }]))",
        KEY,
    )
    press(page, "Tick without one")
    for box in page.get_by_role("checkbox").all():
        box.check()
    press(page, "That is all")
    words = page.locator(".cl-verdict").inner_text()
    assert words.startswith(f"{number} of {number} points made.")
    assert f"Before: 0 of {number} points made; 0 of {number} points made in 1:05." in words
    assert page.locator(".cl-walk-missed").count() == 0


@pytest.mark.parametrize(
    "kept", ["{", "3", "null", '[{"ticked": 3}]', '[null, {"ticked": [], "seconds": ""}]']
)
def test_what_the_browser_kept_and_is_no_round_does_no_harm(opened, kept):
    page = opened().page
    page.evaluate("([key, kept]) => localStorage.setItem(key, kept)", [KEY, kept])
    page.reload()
    press(page, "Tick without one")
    press(page, "That is all")
    page.locator(".cl-verdict").wait_for()


@in_turns
@pytest.mark.parametrize("name", WALKS)
def test_the_keyboard_walks_and_each_picture_is_as_its_point_says(opened, name):
    page, walk = opened(name, width=400).page, WALKS[name]()
    view(page, "The walk")
    page.get_by_role("button", name="Next point").focus()
    figure, pictures = "", []
    for number, point in enumerate(walk.points, 1):
        if number > 1:
            page.keyboard.press("Enter" if number % 2 else "ArrowRight")
        figure = point.figure or figure
        current = page.locator(".cl-walk-dot[aria-current]")
        assert current.get_attribute("aria-label") == f"point {number}: {point.title}"
        if figure:
            stage = shown(page)
            assert stage.count() == 1
            assert stage.locator("img, svg, canvas").count() > 0
            assert page.locator(".cl-walk-figure [role=alert]").count() == 0
            assert fits(page)
            if point.figure and not isinstance(walk.figures[figure], Picture):
                pictures.append(stage.inner_html())
    assert len(set(pictures)) > 3
    assert page.evaluate("document.activeElement.textContent") == "Model answers"
    page.keyboard.press("Enter")
    assert page.locator(".cl-walk-answer").is_visible()
    for level, text in (("Borderline", walk.answers.borderline), ("Strong hire", walk.answers.strong)):
        view(page, level)
        first = text.split("\n")[0].replace("`", "").replace("*", "")
        assert first in page.locator(".cl-walk-answer").inner_text()


def test_a_figure_turned_by_hand_is_set_again_by_the_next_point(opened):
    page = opened().page
    view(page, "The walk")
    slider = page.locator(".cl-walk-figure input[type=range]").first
    slider.focus()
    at = slider.input_value()
    page.keyboard.press("ArrowRight")
    assert slider.input_value() != at
    press(page, "Next point")
    press(page, "Back")
    shown(page)
    assert slider.input_value() == at
    press(page, "point 4: ")  # it leaves the picture as it is
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    turned = slider.input_value()
    press(page, "point 3: ")
    shown(page)
    assert slider.input_value() != turned


def test_one_can_go_on_faster_than_the_figures_start(opened):
    page = opened().page
    view(page, "The walk")
    for _ in range(12):
        press(page, "Next point")
    assert shown(page).count() == 1
    assert page.locator(".cl-walk-figure:visible img").count() == 1


def test_it_leads_to_the_pages_of_the_book(opened):
    page, (notebook, heading) = opened().page, WALKS["gpu"]().read[0]
    view(page, "Follow-ups")
    link = page.locator(".cl-walk-read a").first
    assert heading in link.inner_text()
    href = link.get_attribute("href")
    assert href.startswith(f"{notebook}_")
    assert href.endswith(f".html#{heading.lower().replace(' ', '-')}")


@in_turns
@pytest.mark.parametrize(("width", "scheme"), [(854, "light"), (400, "dark")])
def test_it_is_open_to_all(opened, width, scheme):
    """In each of its parts, and with each of its figures."""
    page, points = opened("gpu", scheme, width=width).page, WALKS["gpu"]().points

    def look(colours=False):
        assert barriers(page, ".convlab", colours=colours) == []
        assert fits(page)

    look()
    press(page, "Start the stopwatch")
    look(colours=True)
    press(page, "Done: what did I say?")
    page.get_by_role("checkbox").first.check()
    look(colours=True)
    press(page, "That is all")
    look()
    for part in ("Answers", "Pitfalls", "Follow-ups"):
        view(page, part)
        look(colours=True)
    page.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
    look()
    view(page, "The walk")
    figures = [point.figure for point in points]
    for number in sorted({figures.index(figure) for figure in figures if figure}):
        press(page, f"point {number + 1}: ")
        shown(page)
        look()
