"""The built book, opened as files: nothing comes from the network, figures move, everyone can read it."""

import pytest
from browser_tools import SLIDERS, barriers, figure_of, moves, open_controls, press_arrow, shown
from notebook_tools import NOTEBOOKS

pytestmark = pytest.mark.browser

NAMES = [path.stem for path in NOTEBOOKS]
PAGES = ["index", *NAMES, "search"]
COLOURED = ["index", NAMES[2], NAMES[-1], "search"]  # one set of colours serves all pages


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


@pytest.mark.parametrize(
    ("name", "scheme"),
    [*((name, "light") for name in PAGES), *((name, "dark") for name in COLOURED)],
)
def test_page_is_accessible(visit, name, scheme):
    one = visit(name, scheme=scheme)
    assert one.page.locator("html").get_attribute("data-theme") == scheme
    assert one.page.locator("h1:visible").count() == 1
    one.page.wait_for_timeout(300)  # the theme fades some colours in
    one.screenshot(f"site-{name}-{scheme}")
    assert one.errors == []
    found = barriers(one.page, colours=name in COLOURED)
    one.errors.clear()  # axe reads the style sheets, and a browser refuses that between files
    assert found == []


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_a_telephone(visit, name):
    one = visit(name, width=400)
    one.screenshot(f"site-{name}-narrow")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize("name", NAMES)
def test_figures_move_without_a_kernel(visit, name):
    one = visit(name)
    sliders = one.page.locator(SLIDERS)
    open_controls(one.page)
    figures = one.page.locator(".convlab:not(.convlab .convlab)")  # a walk-through has others in it
    assert figures.count() == one.page.locator("[id^=convlab-]").count()
    for slider in sliders.all():
        moves(slider, press_arrow)


def test_a_figure_moves_alone(visit):
    """Two figures on a page share no state."""
    one = visit(NAMES[2])
    first, *others = (figure_of(slider) for slider in one.page.locator(SLIDERS).all())
    before = [shown(other) for other in others]
    press_arrow(first.locator("input[type=range]").first)
    one.page.wait_for_timeout(200)
    assert others
    assert [shown(other) for other in others] == before


def test_a_link_leads_back_to_a_figure(visit):
    """Into sight, below the book's own header, with what was chosen; the other figure of its kind stays."""
    one = visit(NAMES[5])
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
    again.wait_for_timeout(800)
    assert figures.nth(1).locator(".cl-caption").all_inner_texts() == expected
    assert figures.nth(0).locator(".cl-step[aria-current]").count() == 1
    head = figures.nth(1).locator(".cl-title")
    assert 0 < head.bounding_box()["y"] < 300
    assert head.evaluate(
        "(title) => { const box = title.getBoundingClientRect();"
        " return document.elementFromPoint(box.x + 5, box.y + 5) === title; }"
    )


def test_front_page_leads_to_every_notebook(visit):
    page = visit("index").page
    cards = page.locator(".course li")
    assert cards.locator(".number").all_inner_texts() == [name[:2] for name in NAMES]
    for index, name in enumerate(NAMES):
        assert len(cards.nth(index).locator("p").last.inner_text()) > 20
        title = cards.nth(index).get_by_role("link").inner_text()
        cards.nth(index).click()  # anywhere on the card
        page.wait_for_url(f"**/{name}.html")
        assert title in page.locator("h1:visible").inner_text()
        page.go_back()


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


@pytest.mark.parametrize("name", NAMES)
def test_formulas_are_drawn(visit, name):
    page = visit(name).page
    text = page.locator("article").first.evaluate(  # what some cells show is one, too
        "article => { article.querySelectorAll('pre, code, script, style').forEach((e) => e.remove());"
        " return article.innerText; }"
    )
    assert "$" not in text
    assert "\\" not in text
    assert page.locator("math merror").count() == 0
    for formula in page.locator(".math-box math:visible").all():
        assert formula.bounding_box()["height"] > 10


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_download_gives_the_clean_notebook(site, visit, path):
    page = visit(path.stem).page
    link = page.locator("a.btn-download-source-button")
    assert (site / link.get_attribute("href")).read_bytes() == path.read_bytes()
