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
