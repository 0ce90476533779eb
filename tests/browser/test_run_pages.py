"""A page of `convlab run` stands alone: formulas, figures and widgets, and no request to anywhere."""

import pytest
from notebook_tools import NOTEBOOKS

from convlab.workspace.pages import write_page

pytestmark = pytest.mark.browser


def test_page_stands_alone(watched, executed, tmp_path):
    notebook, _ = executed(NOTEBOOKS[1])
    assert write_page(notebook, NOTEBOOKS[1], tmp_path) is None
    one = watched()
    one.page.goto((tmp_path / f"{NOTEBOOKS[1].stem}.html").as_uri())
    one.page.locator(".convlab input[type=range]").first.wait_for()
    assert one.errors == []
    assert one.page.locator("math").count() > 0

    figure = one.page.locator(".convlab.cl-sliding").get_attribute("data-figure")
    two = watched()
    two.page.goto(f"{(tmp_path / NOTEBOOKS[1].stem).as_uri()}.html#{figure}:stride_h=3")
    two.page.get_by_text("A link brought you here").wait_for()
    stride = two.page.get_by_role("spinbutton", name="stride, vertical")
    assert stride.input_value() == "3"
    assert 0 <= two.page.locator(".convlab.cl-sliding").bounding_box()["y"] < 300
    assert two.errors == []
