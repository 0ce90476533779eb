"""The short form of the tests and the long one: what each runs, in a small suite of three files."""

import os
import re
import subprocess
import sys
from itertools import chain, pairwise
from pathlib import Path

import effort
import pytest

pytestmark = pytest.mark.workshop

CONFTEST = """
import effort

def pytest_addoption(parser):
    effort.add_options(parser)

def pytest_configure(config):
    config.pluginmanager.register(effort)
"""
FILES = {
    "conftest.py": CONFTEST,
    "pytest.ini": "[pytest]\ntestpaths = .\nmarkers =\n  sampled\n  in_turns\n  browser\n  workshop\n",
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
GRID = """
import effort, pytest

@effort.in_turns
@pytest.mark.parametrize("case", range(10))
@pytest.mark.parametrize("algorithm", range(11))
def test_grid(algorithm, case):
    pass

@effort.in_turns
@pytest.mark.parametrize(("one", "two", "three"), [(i, i, i) for i in range(11)])
def test_rows(one, two, three):
    pass

@effort.in_turns
def test_long():
    pass
"""
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
        said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, cwd=tmp_path, env=environment, **said)
        passed = re.findall(r"^(?=.*PASSED).*::(test\S+)", done.stdout, re.MULTILINE)
        return passed, done.stdout

    return run


def test_the_short_form_samples_and_leaves_out_without_reading(suite):
    ran, said = suite()
    assert ran == SHORT, said
    assert "error" not in said


@effort.in_turns
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


@effort.in_turns
def test_turns_share_costly_tables_and_nothing_else(suite, tmp_path):
    """Each algorithm meets every tenth case, each case every tenth algorithm; ten turns are all."""
    (tmp_path / "test_tools.py").unlink()
    (tmp_path / "browser" / "conftest.py").unlink()
    (tmp_path / "test_grid.py").write_text(GRID)
    found = []
    for turn in range(1, effort.TURNS + 1):
        ran, said = suite("--all", "--turn", str(turn))
        assert f"turn {turn} of {effort.TURNS}" in said
        assert {"test_tool", "test_what_is_inside", "test_random", "test_page"} <= set(ran), said
        assert "test_drawn" not in ran, "it drew a tenth, and expects all"
        found.append([name for name in ran if "[" in name or name == "test_long"])
    for table, size in {"test_row[": 10, "rows[": 11, "grid": 110}.items():
        counts = sorted(len([name for name in some if table in name]) for some in found)
        assert counts == sorted(len(range(turn, size, effort.TURNS)) for turn in range(effort.TURNS))
    assert sum(map(len, found)) == len({name for some in found for name in some}) == 132, "each is run once"
    for some in found:
        pairs = [re.findall(r"\d+", name) for name in some if "grid" in name]
        for axis, size in enumerate((11, 10)):
            assert {int(pair[axis]) for pair in pairs} == set(range(size))
    assert len(set(suite("--all", "--turn", "today", "-n", "2")[0]) & set().union(*found)) > 9
    assert f"expected 1 to {effort.TURNS}, or today" in suite("--all", "--turn", "11")[1]


def test_a_tenth_of_a_table_that_a_test_goes_through_by_itself(monkeypatch):
    monkeypatch.setattr(effort, "TURN", None)
    assert effort.share("abcdefghij") == list("abcdefghij")
    for number in range(3):
        parts = []
        for turn in range(1, effort.TURNS + 1):
            monkeypatch.setattr(effort, "TURN", turn)
            parts.append(effort.share("abcdefghij", number))
        assert sorted(map(len, parts)) == [1] * effort.TURNS
        assert sorted(chain(*parts)) == list("abcdefghij")


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
