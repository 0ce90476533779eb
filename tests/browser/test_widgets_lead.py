"""How widgets open: three steps, few controls, text that can be read, and a link to what is shown."""

import re

import pytest
from browser_tools import at_rest, barriers, until
from effort import in_turns
from widget_kinds import LEADING

from convlab.widgets import MemoryBlowup, SlidingWindow, TileByTile, WarpMicroscope

pytestmark = pytest.mark.browser

MOST_CONTROLS = 9
SMALLEST = 9  # pixels

# Every text on show, with its size on the screen: what an SVG shrinks is smaller than its style says.
SIZES = """root => {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) {
    const [node, words] = [texts.currentNode.parentElement, texts.currentNode.data.trim()];
    const box = node.getBoundingClientRect();
    if (!words || !box.width || !box.height || node.closest("option, style")) continue;
    const matrix = node instanceof SVGElement ? node.getScreenCTM() : { a: 1, b: 0 };
    found.push([parseFloat(getComputedStyle(node).fontSize) * Math.hypot(matrix.a, matrix.b), words]);
  }
  return found;
}"""
# What can be pressed or typed into; a group of radio buttons is one, and what only a mouse needs is none.
CONTROLS = """root => {
  const all = [...root.querySelectorAll("a[href], button, input, select, summary, textarea")];
  const shown = all.filter((one) => one.checkVisibility() && one.getAttribute("aria-hidden") !== "true");
  return [...new Set(shown.map((one) => (one.type === "radio" ? one.name : one)))].length;
}"""
# Boxes that cut something off on the right or left, and what the line below each says.
CUT_OFF = """root => {
  const wide = (one) => one.clientWidth && one.scrollWidth > one.clientWidth + 2 && one.innerText?.trim();
  const cut = [...root.querySelectorAll("*")].filter((one) => wide(one) &&
    getComputedStyle(one).overflowX !== "visible");
  const hint = (one) => one.parentElement.querySelector(":scope > .cl-hint:not([hidden])");
  return cut.map((one) => hint(one)?.textContent ?? one.outerHTML.slice(0, 120));
}"""


@pytest.fixture
def opened(watched, tmp_path):
    """Return open(*widgets, fragment=..., **how): a page with them and nothing else, and no error."""
    pages = []

    def open_page(*shown, fragment="", **how):
        file = tmp_path / f"{len(pages)}.html"
        head = "<!doctype html><meta charset=utf-8><style>body { margin: 0 }</style>"
        file.write_text(head + "".join(widget.page() for widget in shown), encoding="utf-8")
        pages.append(watched(**how))
        pages[-1].page.goto(file.as_uri() + fragment)
        pages[-1].page.locator(".convlab").nth(len(shown) - 1).wait_for()
        pages[-1].page.wait_for_timeout(150)
        return pages[-1]

    yield open_page
    assert [error for one in pages for error in one.errors] == []


@in_turns
@in_turns
@pytest.mark.parametrize("kind", LEADING, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("width", "dark"), [(854, False), (854, True), (400, False)])
def test_three_steps_lead_into_it(opened, kind, width, dark):
    """Each sets a state of its own; all that is shown can be read, and what is cut off says so."""
    widget = kind()
    one = opened(widget, width=width)
    if dark:
        one.page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    figure = one.page.locator(".convlab")
    assert figure.evaluate(CONTROLS) <= MOST_CONTROLS
    steps = figure.locator(".cl-step")
    assert steps.count() == 3
    pictures = []
    for number, step in enumerate(widget.guide):
        if number:  # it opens at the first
            steps.nth(number).focus()
            one.page.keyboard.press("Enter")
        until(lambda words=step["words"]: figure.locator(".cl-guide-words").inner_text() == words)
        at_rest(figure)
        assert figure.locator(".cl-guide-words").inner_text() == step["words"]
        current = [button.get_attribute("aria-current") for button in steps.all()]
        assert current == [None] * number + ["step"] + [None] * (2 - number)
        assert [words for size, words in figure.evaluate(SIZES) if size < SMALLEST] == []
        assert all(words.startswith("Scroll: ") for words in figure.evaluate(CUT_OFF))
        pictures.append(figure.screenshot())
        one.screenshot(f"step-{kind.__name__}-{number + 1}-{width}{'-dark' if dark else ''}")
    assert len(set(pictures)) == 3
    figure.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
    assert [words for size, words in figure.evaluate(SIZES) if size < SMALLEST] == []
    assert figure.evaluate("root => root.scrollWidth - root.clientWidth") <= 1


def test_what_is_cut_off_says_so_and_can_be_reached(opened):
    one = opened(WarpMicroscope(), width=400)
    hint = one.page.locator(".cl-figure .cl-hint").first
    hidden = int(re.match(r"Scroll: (\d+) more columns to the right", hint.inner_text())[1])
    assert 10 < hidden < 32
    assert hint.get_attribute("data-ways") == "↔"
    box = one.page.locator(".cl-figure .cl-scroll").first
    box.evaluate("box => box.scrollTo({ left: 1e4 })")
    one.page.get_by_text(re.compile(r"^Scroll: 1\d more columns to the left\.")).first.wait_for()
    one.page.set_viewport_size({"width": 1100, "height": 900})
    hint.wait_for(state="hidden")


def test_an_arrow_says_in_which_direction_there_is_more(opened):
    hints = opened(TileByTile(H=6, W=6), width=1000).page.locator(".cl-hint:visible")
    found = {(one.inner_text(), one.get_attribute("data-ways")) for one in hints.all()}
    assert found
    for words, ways in found:
        assert ("↕" in ways) == ("below" in words or "above" in words)
        assert ("↔" in ways) == ("right" in words or "left" in words)
    assert "↕" in {ways for _, ways in found}


def test_links_have_names(opened):
    assert barriers(opened(MemoryBlowup()).page, ".convlab", colours=False) == []


# -- links ---------------------------------------------------------------------------------------------------


def copied(page, figure) -> str:
    """Press the button, and return the fragment that stands in the address then."""
    figure.get_by_role("button", name="Copy link").click()
    page.wait_for_function("() => location.hash.includes(':')")
    return page.evaluate("location.hash")


def test_a_link_leads_back_to_the_state(opened):
    """Of the second figure of its kind, below another: it is brought into sight, and the others stay."""
    shown = MemoryBlowup(), SlidingWindow(), SlidingWindow(H=7, W=9), SlidingWindow(H=7, W=9)
    one = opened(*shown)
    page, figures = one.page, one.page.locator(".cl-sliding")
    figure = figures.nth(1)
    figure.get_by_role("spinbutton", name="stride, vertical").fill("3")
    figure.locator("summary").click()
    figure.get_by_role("checkbox").check()
    page.wait_for_timeout(100)
    fragment = copied(page, figure)
    assert fragment == f"#{shown[2].key}:flip=true&stride_h=3"
    expected = figure.locator(".cl-stage").inner_html()

    again = opened(*shown, fragment=fragment).page
    until(lambda: 0 <= again.locator(".cl-sliding").nth(1).bounding_box()["y"] < 90)
    others = [stage.inner_html() for stage in again.locator(".cl-sliding .cl-stage").all()]
    assert without_ids(others[1]) == without_ids(expected)
    assert without_ids(others[0]) != without_ids(others[1]) != without_ids(others[2])
    assert "A link brought you here" in again.locator(".cl-sliding").nth(1).inner_text()
    assert 0 <= again.locator(".cl-sliding").nth(1).bounding_box()["y"] < 90
    twin = copied(again, again.locator(".cl-sliding").nth(2))
    assert twin == f"#{shown[2].key}.2:"

    again.evaluate("location.hash = '#" + shown[0].key + ":batch=16&own.C=192'")
    again.get_by_text("x 16 × 224 × 224").first.wait_for()  # an address that changes is followed as well


def without_ids(text: str) -> str:
    return re.sub(r"cl\d+-[\w-]+", "", text)


@pytest.mark.parametrize(
    ("pairs", "trouble"),
    [
        ("stride_h=9", "stride_h=9"),
        ("stride_h=1.5", "stride_h=1.5"),
        ("stride_h=", "stride_h="),
        ("flip=maybe", "flip=maybe"),
        ("pixels=7", "pixels=7"),
        ("__proto__=1", "__proto__=1"),
        ("H=7&%E0=%E0", "%E0=%E0"),
        ("H", "H"),
    ],
)
def test_a_bad_link_is_ignored_in_words(opened, pairs, trouble):
    widget = SlidingWindow()
    fresh = opened(widget).page.locator(".cl-stage").inner_html()
    page = opened(widget, fragment=f"#{widget.key}:{pairs}").page
    assert f"The link says “{trouble}”, which means nothing here." in page.locator(".cl-guide").inner_text()
    assert without_ids(page.locator(".cl-stage").inner_html()) == without_ids(fresh)


def test_a_link_to_an_older_figure_is_ignored_in_words(opened):
    page = opened(SlidingWindow(), fragment="#SlidingWindow-beef:H=9").page
    assert (
        "for another figure of this kind, or for an older edition" in page.locator(".cl-guide").inner_text()
    )
    page = opened(SlidingWindow(), fragment="#the-size-of-the-output").page
    assert page.locator(".cl-step[aria-current]").inner_text() == "1"
