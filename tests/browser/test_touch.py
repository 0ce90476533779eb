"""The figures under a finger: a tap does what pointing does, and a finger that is drawn over them scrolls."""

import pytest
from browser_tools import document, open_controls
from widget_kinds import LEADING

from convlab.widgets import MemoryBlowup, PredictedTimes, SlidingWindow, Spectra

pytestmark = pytest.mark.browser


@pytest.fixture
def held(watched, tmp_path):
    """Return open(widget, width): a telephone or a tablet that shows one widget; it logs no error."""
    opened = []

    def open_page(widget, width=390):
        opened.append(watched(width=width, touch=True))
        page, file = opened[-1].page, tmp_path / f"{len(opened)}.html"
        head = '<meta name="viewport" content="width=device-width">'
        file.write_text(document(widget).replace("<title>", f"{head}<title>"), encoding="utf-8")
        page.goto(file.as_uri())
        page.locator(".convlab").wait_for()
        page.evaluate("document.querySelector('main').style.paddingBottom = '900px'")
        page.wait_for_timeout(100)
        return page

    yield open_page
    assert [error for one in opened for error in one.errors] == []


def middle(place):
    """Bring a place into sight, and return the point in its middle."""
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def tap(place):
    """Tap on the middle of a place."""
    place.page.touchscreen.tap(*middle(place))
    place.page.wait_for_timeout(100)


def draw(place, right, down):
    """Put a finger on the middle of a place, and draw it so many pixels to the right and down."""
    page, (x, y) = place.page, middle(place)
    hand = page.context.new_cdp_session(page)
    hand.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for part in (0.1, 0.2, 0.4, 0.6, 0.8, 1):
        points = [{"x": x + right * part, "y": y + down * part}]
        hand.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": points})
        page.wait_for_timeout(16)
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(400)


def cells(page, role):
    """Return the cells of a picture."""
    return page.locator(f"svg[aria-roledescription='{role}'] .cl-cell")


def test_a_tap_looks_at_a_cell_until_the_next_one(held):
    page = held(SlidingWindow())
    story = page.locator(".cl-story")
    before = story.inner_text()
    tap(cells(page, "input pixels").nth(3 * 10 + 4))
    assert "x[2, 3]" in story.inner_text()
    draw(story, 0, -150)  # it is below the picture: the page is scrolled to read it
    assert page.evaluate("scrollY") > 0
    assert "x[2, 3]" in story.inner_text()
    draw(cells(page, "input pixels").nth(3 * 10 + 1), 0, -80)  # the same from the picture
    assert "x[2, 3]" in story.inner_text()
    tap(page.locator(".cl-title"))
    assert story.inner_text() == before
    tap(cells(page, "output pixels").nth(5))
    assert "y[0, 5]" in story.inner_text()
    assert page.get_by_role("slider", name="output pixel").input_value() == "5"


def test_a_finger_points_where_nothing_scrolls(held):
    page = held(SlidingWindow(), 820)
    draw(cells(page, "input pixels").nth(3 * 10 + 1), 120, 0)
    assert "is read by" in page.locator(".cl-story").inner_text()


def test_a_wide_picture_is_scrolled_by_a_finger(held):
    page = held(SlidingWindow(), 320)
    box = page.locator(".cl-scroll").first
    assert box.evaluate("box => [box.scrollLeft, box.scrollWidth > box.clientWidth]") == [0, True]
    draw(cells(page, "input pixels").nth(3 * 10 + 4), -120, 0)
    assert box.evaluate("box => box.scrollLeft") > 20


def test_the_zeros_follow_a_finger_and_not_a_page_that_scrolls(held):
    page = held(Spectra(), 360)
    portrait, zeros = page.locator("canvas").first, page.get_by_role("slider", name="zeros")
    before = zeros.input_value()
    draw(portrait, 0, -120)
    assert page.evaluate("scrollY") > 0
    assert zeros.input_value() == before
    draw(portrait, 38, 0)
    assert int(zeros.input_value()) > int(before)
    tap(portrait)
    assert zeros.input_value() == "0"


TARGETS = """() => [...document.querySelectorAll(".convlab :is(button, input, select, summary, a, label)")]
  .filter((one) => !(one.tagName === "INPUT" && one.closest("label")))
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width && Math.min(width, height) < 23.9)
  .map(([one, { width, height }]) => `${one.className} ${one.textContent}: ${width} x ${height}`)"""
# What is beyond the edge of its panel with nothing to scroll it there, and words that are cut.
BEYOND = """() => [...document.querySelectorAll(".cl-panel, .cl-caption")].filter((place) => {
    if (getComputedStyle(place).overflowX !== "visible") return place.scrollWidth > place.clientWidth + 1;
    const { right } = place.getBoundingClientRect();
    return [...place.querySelectorAll("table, span, div")].some((one) =>
      !one.closest(".cl-scroll") && one.getBoundingClientRect().right > right + 1);
  }).map((place) => place.textContent)"""


@pytest.mark.parametrize("width", [320, 360])
@pytest.mark.parametrize("kind", LEADING, ids=lambda kind: kind.__name__)
def test_on_a_narrow_page_fingers_find_everything(held, kind, width):
    page = held(kind(), width)
    open_controls(page)
    page.wait_for_timeout(100)
    assert page.evaluate(TARGETS) == []
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_table_of_phases_scrolls_and_says_so(held):
    page = held(PredictedTimes(), 320)
    assert "more to the right" in page.locator(".cl-panel .cl-hint").first.inner_text()


def test_pages_of_layers_go_by_the_keyboard(held):
    page = held(MemoryBlowup())
    chart = page.locator("svg[aria-roledescription='bar chart']")
    first = page.locator(".cl-title").inner_text()
    chart.focus()
    page.keyboard.press("PageUp")
    page.wait_for_timeout(100)
    later = page.locator(".cl-title").inner_text()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(100)
    assert later not in (first, page.locator(".cl-title").inner_text())
    for key in ("ArrowRight", "PageDown"):
        page.keyboard.press(key)
    page.wait_for_timeout(100)
    assert page.locator(".cl-title").inner_text() == first
