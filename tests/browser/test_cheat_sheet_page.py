"""The cheat sheet and the two days in a browser: one page of paper; light, dark, and on a telephone."""

from __future__ import annotations

from functools import cache

import pytest
from browser_tools import barriers
from effort import in_turns

from convlab.interview import cheat_sheet, two_days


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return cheat_sheet().save(tmp_path_factory.mktemp("sheet") / "sheet.html")


@pytest.mark.parametrize(("width", "scheme"), [(1120, "light"), (780, "dark"), (400, "light")])
def test_it_is_read_by_everybody(width, scheme, file, watched):
    one = watched(width=width, scheme=scheme)
    one.page.goto(file.as_uri())
    one.screenshot(f"cheat_sheet_{width}_{scheme}")
    assert barriers(one.page, colours=True) == []
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    assert one.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_prints_on_one_page_in_dark_ink(scheme, file, watched):
    page = watched(scheme=scheme).page
    page.goto(file.as_uri())
    assert page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") == 1
    page.emulate_media(media="print")
    sizes = page.locator(".cl-sheet :is(h2, h3, p, li, th, td)").evaluate_all(
        "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize) * 0.75)"
    )
    assert min(sizes) >= 6.5  # points
    ink, paper = page.locator(".cl-sheet").evaluate(
        "one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]"
    )
    assert (ink, paper) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")


@in_turns
@pytest.mark.parametrize(("width", "theme"), [(900, "dark"), (400, "light")])
def test_the_plan_is_read_by_everybody(width, theme, watched):
    page = watched(width=width).page
    page.set_content(
        f'<!DOCTYPE html><html lang="en" data-theme="{theme}"><title>plan</title><main>{plan()}</main></html>'
    )
    assert barriers(page, colours=True) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".cl-plan th[scope=row]").first.bounding_box()["height"] < 40  # a time is one line


@cache
def plan():
    return two_days()._repr_html_()
