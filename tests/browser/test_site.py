"""The built book, opened as files: nothing comes from the network, figures move, everyone can read it."""

import pytest
from browser_tools import SLIDERS, at_rest, barriers, figure_of, moves, open_controls, press_arrow, until
from effort import in_turns
from notebook_tools import NOTEBOOKS, ROOT

pytestmark = pytest.mark.browser

NAMES = [path.stem for path in NOTEBOOKS]
PAGES = ["index", *NAMES, "search"]
COLOURED = ["index", NAMES[2], NAMES[-1], "search"]  # one set of colours serves all pages


def source(name):
    """Return the notebook of a page."""
    return next(path for path in NOTEBOOKS if path.stem == name)


@pytest.fixture
def visit(site, watched):
    """Return visit(name, **how): a page of the book, loaded, with no error in its console at the end."""
    pages = []

    def open_page(name, fragment="", **how):
        one = watched(**how)
        one.page.goto((site / f"{name}.html").as_uri() + fragment)
        pages.append(one)
        return one

    yield open_page
    assert [error for one in pages for error in one.errors] == []


@in_turns
@pytest.mark.parametrize("name", PAGES)
def test_page(site, visit, name):
    """One visit: everybody can read it, it fits a telephone, its formulas are drawn, its figures move."""
    one = visit(name)
    one.page.wait_for_timeout(300)  # the theme fades some colours in
    one.screenshot(f"site-{name}-light")
    is_accessible(one, "light", colours=name in COLOURED)
    if name in NAMES:
        formulas_are_drawn(one.page)
        link = one.page.locator("a.btn-download-source-button")
        assert (site / link.get_attribute("href")).read_bytes() == source(name).read_bytes()
    figures_move(one.page)
    one.page.set_viewport_size({"width": 360, "height": 740})
    one.page.wait_for_timeout(200)
    one.screenshot(f"site-{name}-narrow")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
    charts_can_be_read(one.page)


LOOK = """(figure) => {
    const [box, image, words] = ["div", "img", "[role=note]"].map((one) => figure.querySelector(one));
    const size = image.getBoundingClientRect().width / Number(image.getAttribute("width"));
    const said = getComputedStyle(words, "::before").content;
    return [size, box.scrollWidth > box.clientWidth, said.includes("scroll it sideways")];
}"""


def charts_can_be_read(page):
    """On a telephone they keep most of their size: what does not fit scrolls, and says so."""
    for size, scrolls, says in page.locator(".convlab-picture.chart:visible").evaluate_all(
        f"(all) => all.map({LOOK})"
    ):
        assert size > 0.64
        assert scrolls == says


@pytest.mark.parametrize("name", COLOURED)
def test_page_is_readable_in_the_dark(visit, name):
    one = visit(name, scheme="dark")
    one.page.wait_for_timeout(300)
    one.screenshot(f"site-{name}-dark")
    is_accessible(one, "dark", colours=True)


def is_accessible(one, scheme, *, colours):
    """Hold a page against axe; it reads the style sheets, which a browser refuses between files."""
    assert one.page.locator("html").get_attribute("data-theme") == scheme
    assert one.page.locator("h1:visible").count() == 1
    assert one.errors == []
    found = barriers(one.page, colours=colours)
    one.errors.clear()
    assert found == []


def formulas_are_drawn(page):
    text = page.locator("article").first.evaluate(  # what some cells show is one, too
        "article => { const read = article.cloneNode(true);"
        " read.querySelectorAll('pre, code, script, style').forEach((e) => e.remove());"
        " return read.textContent; }"
    )
    assert "$" not in text
    assert "\\" not in text
    assert page.locator("math merror").count() == 0
    for formula in page.locator(".math-box math:visible").all():
        assert formula.bounding_box()["height"] > 10


def figures_move(page):
    """Scroll to every figure, which lets it begin; then each of its sliders moves it."""
    begin_all(page)
    open_controls(page)
    figures = page.locator(".convlab:not(.convlab .convlab)")  # a walk-through has others in it
    assert figures.count() == page.locator("[id^=convlab-]").count()
    for slider in page.locator(SLIDERS).all():
        moves(slider, press_arrow)


def begin_all(page):
    """Let all figures of a page begin, as somebody does who reads it from end to end."""
    for place in page.locator("[id^=convlab-]").all():
        for _ in range(20):  # what comes near above it gets its height, and pushes it out of sight again
            place.scroll_into_view_if_needed()
            page.wait_for_timeout(100)
            if place.locator(".convlab").count():
                break
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)


def test_a_figure_moves_alone(visit):
    """Two figures on a page share no state."""
    one = visit(NAMES[2])
    begin_all(one.page)
    first, *others = (figure_of(slider) for slider in one.page.locator(SLIDERS).all())
    before = [at_rest(other) for other in others]
    press_arrow(first.locator("input[type=range]").first)
    assert others
    assert [at_rest(other) for other in others] == before


def test_a_link_leads_back_to_a_figure(visit):
    """Into sight, below the book's own header, with what was chosen; the other figure of its kind stays."""
    one = visit(NAMES[5])
    begin_all(one.page)
    figures = one.page.locator(".convlab.cl-tiles")
    assert figures.count() == 2
    figure = figures.nth(1)
    open_controls(one.page)
    figure.get_by_role("spinbutton", name="C", exact=True).fill("2")
    figure.get_by_role("button", name="Copy link").click()
    one.page.wait_for_function("() => location.hash.includes('C=2')")
    expected = figure.locator(".cl-caption").all_inner_texts()

    again = visit(NAMES[5], one.page.evaluate("location.hash")).page
    figures = again.locator(".convlab.cl-tiles")
    figures.nth(1).get_by_text("A link brought you here").wait_for()
    head = figures.nth(1).locator(".cl-title")
    again.wait_for_timeout(800)  # others above it begin, and push it
    until(lambda: 0 < head.bounding_box()["y"] < 300)
    assert figures.nth(1).locator(".cl-caption").all_inner_texts() == expected
    assert figures.nth(0).locator(".cl-step[aria-current]").count() == 1
    assert 0 < head.bounding_box()["y"] < 300
    assert head.evaluate(
        "(title) => { const box = title.getBoundingClientRect();"
        " return document.elementFromPoint(box.x + 5, box.y + 5) === title; }"
    )


# A browser that keeps nothing in its place, as Safari: a heading below two figures that begin to move.
UNANCHORED = """<!doctype html><meta charset="utf-8"><title>A page</title>
<style>
  * { overflow-anchor: none; margin: 0 } html { scroll-padding-top: 60px }
  div { height: 600px } main { height: 3000px }
</style>
<script>CSS.supports = () => false; window.convlabCode = { "figure.js": "" };</script><script>%s</script>
<div></div><div></div><main><h2 id="here">Here</h2></main>"""


def test_a_heading_stays_in_sight_where_the_browser_does_not_see_to_it(browser):
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.set_content(UNANCHORED % (ROOT / "tools/site/static/near.js").read_text(encoding="utf-8"))
    page.evaluate("document.getElementById('here').scrollIntoView()")
    for place, height in ((0, 900), (1, 250)):
        page.evaluate(
            """async ([place, height]) => {
              const figure = document.querySelectorAll("div")[place];
              convlabNear(figure, "figure.js");
              await new Promise((begun) => setTimeout(begun, 100));
              figure.style.height = `${height}px`;
            }""",
            [place, height],
        )
        page.wait_for_timeout(200)
        assert page.locator("h2").bounding_box()["y"] == pytest.approx(60, abs=1)
    page.close()


def search(page, address):
    """Search from the front page, with the keyboard; return the pages that were found."""
    page.goto(address)
    page.keyboard.press("Control+k")
    page.keyboard.type("im2col")
    page.keyboard.press("Enter")
    results = page.locator("#search-results a")
    results.first.wait_for()
    page.wait_for_timeout(300)
    return results.evaluate_all("links => links.map((link) => link.pathname.split('/').pop())")


def test_search_finds_a_notebook(served_site, watched):
    one = watched()
    assert "02_im2col.html" in search(one.page, f"{served_site}/index.html")
    assert one.page.locator("#search-results p.context").first.inner_text()
    assert one.errors == []


def test_search_works_in_a_folder_too(site, watched):
    """Without a server the browser keeps the extracts under each result back, but not the results."""
    assert "02_im2col.html" in search(watched().page, (site / "index.html").as_uri())
