"""The short form of the tests and the long one: what each runs, in a small suite of three files."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import effort
import pytest

pytestmark = pytest.mark.workshop

CONFTEST = """
import effort

def pytest_addoption(parser):
    parser.addoption("--all", action="store_true")

def pytest_configure(config):
    config.pluginmanager.register(effort)
"""
FILES = {
    "conftest.py": CONFTEST,
    "pytest.ini": "[pytest]\ntestpaths = .\nmarkers =\n    sampled\n    browser\n    workshop\n",
    "test_table.py": """
import effort, pytest
from hypothesis import given, settings, strategies

@effort.sampled(3)
@pytest.mark.parametrize("row", range(10))
def test_row(row):
    pass

@pytest.mark.workshop
def test_tool():
    pass

@pytest.mark.inside
def test_what_is_inside():
    pass

drawn = []

@settings(max_examples=effort.examples(20), database=None)
@given(strategies.integers())
def test_random(number):
    drawn.append(number)

def test_drawn():
    assert len(drawn) == (2 if effort.SHORT else 20)
""",
    "browser/conftest.py": "import no_such_library\n",
    "browser/test_page.py": "def test_page(): pass\n",
    "test_tools.py": "import pytest, no_such_library\npytestmark = pytest.mark.workshop\n",
}
SHORT = ["test_row[0]", "test_row[4]", "test_row[9]", "test_random", "test_drawn"]


@pytest.fixture
def suite(tmp_path):
    """Return run(*arguments): the names of the tests that pytest ran in the small suite."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def run(*arguments: str) -> tuple[list[str], str]:
        quiet = ["-v", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *quiet, *arguments]
        environment = os.environ | {"PYTHONPATH": str(Path(effort.__file__).parent)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        passed = re.findall(r"^(?=.*PASSED).*::(test\S+)", done.stdout, re.MULTILINE)
        return passed, done.stdout

    return run


def test_the_short_form_samples_and_leaves_out_without_reading(suite):
    ran, said = suite()
    assert ran == SHORT, said
    assert "error" not in said


def test_several_processes_take_the_same_form(suite):
    ran, said = suite("-n", "2", "--dist", "loadfile")
    assert sorted(ran) == sorted(SHORT), said


def test_all_is_all(suite, tmp_path):
    assert "no_such_library" in suite("--all")[1]
    (tmp_path / "browser" / "conftest.py").unlink()
    (tmp_path / "test_tools.py").write_text("def test_one(): pass\n")
    ran, said = suite("--all")
    assert set(ran) == {
        "test_page",
        "test_one",
        "test_tool",
        "test_what_is_inside",
        "test_random",
        "test_drawn",
    } | {f"test_row[{row}]" for row in range(10)}, said


def test_a_file_that_is_named_is_run_whole(suite):
    assert len(suite("test_table.py")[0]) == 14


@pytest.mark.parametrize("count", [0, 1, 2, 5, 40, 489])
@pytest.mark.parametrize("most", [1, 2, 3, 11, 110])
def test_a_spread_is_even(count, most):
    chosen = sorted(effort.spread(count, most))
    assert len(chosen) == min(count, most)
    assert set(chosen) <= set(range(count))
    steps = {after - before for before, after in pairwise(chosen)}
    assert max(steps, default=0) - min(steps, default=0) <= 1
    if count > most > 1:
        assert (chosen[0], chosen[-1]) == (0, count - 1)
