"""A page of `convlab run` stands alone: formulas, figures and widgets, and no request to anywhere."""

import pytest
from typer.testing import CliRunner

from convlab.cli import app

pytestmark = pytest.mark.browser


def test_page_stands_alone(watched, tmp_path):
    done = CliRunner().invoke(app, ["run", "00", "01", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    formulas = 0
    for name in ("00_start_here.html", "01_seven_loops.html"):
        one = watched()
        one.page.goto((tmp_path / name).as_uri())
        one.page.locator(".convlab input[type=range]").first.wait_for()
        assert one.errors == []
        formulas += one.page.locator("math").count()
    assert formulas > 0
