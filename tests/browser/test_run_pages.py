"""A page of `convlab run` stands alone: formulas, figures and widgets, and no request to anywhere."""

import pytest
from typer.testing import CliRunner

from convlab.cli import app

pytestmark = pytest.mark.browser


def test_page_stands_alone(watched, tmp_path):
    done = CliRunner().invoke(app, ["run", "01", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    one = watched()
    one.page.goto((tmp_path / "01_seven_loops.html").as_uri())
    one.page.locator(".convlab input[type=range]").first.wait_for()
    assert one.errors == []
    assert one.page.locator("math").count() > 0
