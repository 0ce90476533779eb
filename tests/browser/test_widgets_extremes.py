"""Widgets at the ends of what can be turned, and in states that come together seldom."""

from math import log10

import pytest
from browser_tools import Watched, document, open_controls
from playwright.sync_api import expect

from convlab.benchmark.roofline_points import compulsory_bytes
from convlab.widgets import (
    Im2colFills,
    IndirectionExplorer,
    PredictedTimes,
    PyramidOverCut,
    RegisterTile,
    RooflineExplorer,
    SlidingWindow,
    Spectra,
    TileByTile,
    TilingExplorer,
    TransposedWindow,
)

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(watched, tmp_path):
    """Return open(widget, fragment, **how) for pages with one widget, which log no error."""
    pages = []

    def open_page(widget, fragment: str = "", **how) -> Watched:
        file = tmp_path / f"{len(pages)}.html"
        file.write_text(document(widget), encoding="utf-8")
        pages.append(watched(**how))
        pages[-1].page.goto(file.as_uri() + fragment)
        pages[-1].page.locator(".convlab .cl-title").wait_for()
        pages[-1].page.wait_for_timeout(100)
        return pages[-1]

    yield open_page
    assert [error for one in pages for error in one.errors] == []


@pytest.mark.parametrize(
    ("widget", "role", "pairs"),
    [
        (SlidingWindow(), "output pixels", "H=3&W=3"),
        (SlidingWindow(), "input pixels", "H=3&pad_bottom=0"),
        (Im2colFills(), "matrix", "H=2&W=2"),
        (Im2colFills(), "matrix", "layout_of=im2col&order=CRS&C=1"),
        (IndirectionExplorer(), "output pixels", "H=3&W=3"),
        (IndirectionExplorer(), "indirection buffer", "R=1&S=1"),
        (TransposedWindow(), "output pixels", "H=2"),
        (TransposedWindow(view="zeros"), "input pixels", "view=scatter"),
        (RegisterTile(), "tile of sums", "rows=1"),
    ],
    ids=lambda value: getattr(value, "key", value),
)
def test_what_was_pointed_at_is_forgotten_when_sizes_change(opened, widget, role, pairs):
    """The pointer rests on a cell while a link, the keyboard or Python turns a size."""
    page, fragment = opened(widget).page, f"#{widget.key}:{pairs}"
    story = page.locator(".cl-story")
    before = story.text_content()
    cell = page.locator(f"svg[aria-roledescription='{role}'] .cl-cell").last
    cell.scroll_into_view_if_needed()
    # As a pointer that stays where the cell was: a mouse would be told that something moved away under it.
    at = cell.evaluate("cell => [cell.getBoundingClientRect()].map(({ x, y }) => [x + 9, y + 9])[0]")
    cell.dispatch_event("pointermove", {"clientX": at[0], "clientY": at[1]})
    page.wait_for_function("before => document.querySelector('.cl-story').textContent !== before", arg=before)
    page.evaluate(f"location.hash = '{fragment}'")
    page.wait_for_timeout(200)
    assert page.get_by_role("alert").all_text_contents() == []
    assert story.text_content() == opened(widget, fragment).page.locator(".cl-story").text_content()


@pytest.mark.parametrize("pairs", ["block_m=8&thread_m=16", "block_m=256&block_n=256&thread_m=1&thread_n=1"])
def test_no_multiprocessor_holds_a_block_that_cannot_start(opened, pairs):
    widget = TilingExplorer()
    figure = opened(widget, f"#{widget.key}:{pairs}").page.locator(".convlab")
    assert "No kernel can be cut like this" in figure.inner_text()
    assert "0 blocks at once: 0 warps, 0 % of what it can hold." in figure.inner_text()
    assert "132 multiprocessors: none runs." in figure.inner_text()
    assert "Infinity" not in figure.inner_text()


@pytest.mark.parametrize(("kind", "tinted"), [("edges", False), ("detail", False), ("blur", True)])
def test_a_tap_of_zero_has_no_colour(opened, kind, tinted):
    """A filter of one tap is nothing but a zero, where it is what a pixel has more than its neighbours."""
    widget = Spectra(kind, taps=1, zeros=0)
    canvas = opened(widget).page.locator("canvas[aria-label^='Filter']")
    alpha = canvas.evaluate("canvas => canvas.getContext('2d').getImageData(3, 3, 1, 1).data[3]")
    assert (alpha > 0) == tinted


@pytest.mark.parametrize(
    "widget",
    [
        TransposedWindow(),
        TileByTile(),
        PredictedTimes(),
        PyramidOverCut(layers=8, H=48, taps=7, dilation=2, cut=24),
        TilingExplorer(),
    ],
    ids=lambda widget: type(widget).__name__,
)
def test_every_choice_is_in_sight_on_the_narrowest_page(opened, widget):
    """At 320 pixels, which is also a page of 1280 at four times its size."""
    page = opened(widget, width=320).page
    open_controls(page)
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText)"
    assert page.locator(".cl-segments").evaluate_all(cut) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_point_far_out_is_where_its_axes_say(opened):
    """Large filters: far more FLOPs for each byte than any layer has, and a roof far above the machine's."""
    widget = RooflineExplorer("vgg16", "features.2", algorithm="fft", batch=4096, C=4096, K=4096, R=11)
    figure = opened(widget).page.locator(".convlab")
    ticks = dict(
        figure.locator("text.cl-tick[text-anchor=middle]").evaluate_all(
            "all => all.map((one) => [one.textContent, Number(one.getAttribute('x'))])"
        )
    )
    speeds = dict(
        figure.locator("text.cl-tick[text-anchor=end]").evaluate_all(
            "all => all.map((one) => [one.textContent, Number(one.getAttribute('y'))])"
        )
    )
    ring = figure.locator("circle.cl-once")
    intensity = widget.problem.flops / compulsory_bytes(widget.problem)
    assert intensity > 2**16
    x = ticks["1"] + (ticks["1000"] - ticks["1"]) / 3 * log10(intensity)
    y = speeds["100 G"] + (speeds["1 T"] - speeds["100 G"]) * log10(widget.point.speed / 1e11)
    assert float(ring.get_attribute("cx")) == pytest.approx(x, abs=0.5)
    assert float(ring.get_attribute("cy")) == pytest.approx(y, abs=0.5)


@pytest.mark.parametrize("widget", [SlidingWindow(), RooflineExplorer()], ids=lambda one: type(one).__name__)
def test_numbers_are_not_turned_around_on_a_page_that_runs_from_the_right(opened, widget):
    """A browser that translates the page says so of it: then "6.13 TiB" would read "TiB 6.13"."""
    page = opened(widget).page
    figure = page.locator(".convlab")
    places = "figure => [...figure.querySelectorAll('text, td')].map((one) => one.getBoundingClientRect().x)"
    before = figure.evaluate(places)
    assert len(before) > 20
    page.evaluate("document.documentElement.dir = 'rtl'")
    moved = (
        page.evaluate("document.querySelector('.convlab').getBoundingClientRect().x") - 8
    )  # of the page's margin
    assert figure.evaluate(places) == pytest.approx([x + moved for x in before], abs=1)


def test_the_last_image_of_a_batch_is_the_end(opened):
    page = opened(IndirectionExplorer(N=2)).page
    open_controls(page)
    box = page.get_by_role("spinbutton", name="image of the batch")
    above = box.locator("xpath=following-sibling::button")
    assert (box.get_attribute("max"), above.is_enabled()) == ("1", True)
    above.click()
    expect(box).to_have_value("1")
    expect(above).to_be_disabled()
    page.get_by_role("spinbutton", name="batch N").fill("3")
    expect(box).to_have_attribute("max", "2")
    expect(above).to_be_enabled()
