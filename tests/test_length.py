"""A notebook is one sitting: not too long, and with a place to pause."""

from __future__ import annotations

import json

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebook_tools import NOTEBOOKS

from convlab.lessons.length import Length, length

MOST_MINUTES = 50
MOST_HOURS = 16  # of the whole course
PAUSE_FROM = 30  # minutes; who reads less needs no pause
PAUSE = "half-way"  # the tag of the cell that offers one


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_sitting(path):
    assert length(cells(path)).minutes <= MOST_MINUTES


def test_the_course():
    assert sum(length(cells(path)).minutes for path in NOTEBOOKS) <= 60 * MOST_HOURS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_there_is_a_pause_half_way(path):
    found = cells(path)
    whole = length(found).minutes
    places = [i for i, cell in enumerate(found) if PAUSE in cell["metadata"].get("tags", ())]
    assert len(places) == (whole > PAUSE_FROM)
    for place in places:
        assert "".join(found[place]["source"]).startswith("**Half way.**")
        assert 0.4 <= length(found[:place]).minutes / whole <= 0.6


def test_what_is_counted():
    hidden = new_code_cell("from convlab.widgets import Spectra\nx = 1", metadata={"tags": ["hide-input"]})
    shown = new_code_cell('x = 2\n\ncheck("a", f)\ncheck("a", g)\npredict("b", question="?")\npredict(x)')
    found = length([new_markdown_cell("Three <b>short</b> words"), hidden, shown, new_code_cell("Spectra()")])
    assert found == Length(words=3, lines=6, predictions=1, exercises=1, widgets=1)
    assert found.minutes == pytest.approx(3 / 200 + 6 / 15 + 1.5 + 8 + 3)


def test_half_a_line_is_no_call():
    assert length([new_code_cell("check(")]) == Length(lines=1)
