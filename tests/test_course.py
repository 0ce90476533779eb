"""How far a learner is: read from the notebooks and from what was remembered; shown as text and as a map."""

import json
import re

import nbformat
import pytest
from typer.testing import CliRunner

from convlab.cli import app
from convlab.lessons import EXERCISES, progress
from convlab.lessons.course import Chapter, Standing, chapters
from convlab.lessons.map_of_course import EMPTY, CourseMap, course_map
from convlab.lessons.progress import Event
from convlab.support.learners_folder import RECORD
from convlab.workspace.notebooks import course_notebooks
from convlab.workspace.pages import link_maps

TWO = [
    Chapter("02_im2col.ipynb", "im2col & co", ("largest_batch", "im2row"), ("over input", "a <b>"), 41.7),
    Chapter("99_end.ipynb", "The end", (), (), 3),
]
DONE = [
    Event(1, "try", "largest_batch", {"good": False}),
    Event(2, "hint", "largest_batch", {"number": 1}),
    Event(3, "hint", "largest_batch", {"number": 1}),  # the same again
    Event(4, "hint", "largest_batch", {"number": 2}),
    Event(5, "solution", "largest_batch", {"shown": False}),
    Event(6, "solution", "largest_batch", {"shown": True}),
    Event(7, "try", "largest_batch", {"good": True}),
    Event(8, "try", "largest_batch", {"good": False}),  # done stays done
    Event(9, "try", "im2row", {"good": None}),  # run, not started
    Event(10, "guess", "over input", {"guess": 49, "actual": 12.25, "sure": 90}),
    Event(11, "guess", "over input", {"guess": 12, "actual": 12.25, "sure": 90}),  # the first one counts
    Event(12, "guess", "a <b>", {"guess": -3, "actual": -2, "sure": 50}),
    Event(13, "guess", "of another version", {"guess": "many"}),
]


def test_notebooks_say_what_they_ask():
    found = chapters()
    assert [one.file for one in found] == [path.name for path in course_notebooks()]
    assert {name for one in found for name in one.exercises} == set(EXERCISES)
    (im2col,) = [one for one in found if one.number == "02"]
    assert im2col.title == "im2col"
    assert im2col.exercises == ("largest_batch", "im2row", "im2col")
    assert im2col.predictions == ("im2row over input", "im2row over direct loops")


def test_a_notebook_that_cannot_be_read_does_no_harm(tmp_path):
    texts = {
        "00_a": "{",
        "01_b": '{"cells": [{"cell_type": "code"}]}',
        "02_c": json.dumps({"cells": [{"cell_type": "code", "source": 'def f(:\n check("flip", f)'}]}),
        "03_d": json.dumps(
            {"cells": [{"cell_type": "code", "source": 'check("flip", f)\ncheck("flip", g)'}]}
        ),
        "no number": "{}",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.ipynb").write_text(text)
    assert [one.exercises for one in chapters(tmp_path)] == [(), (), (), ("flip",)]


def test_what_was_done():
    standing = Standing(DONE)
    assert [standing.of_exercise(name) for name in ("largest_batch", "im2row")] == ["done", "not seen"]
    assert Standing(DONE[:1]).of_exercise("largest_batch") == "tried"
    assert (standing.hints, standing.solutions) == ({"largest_batch": 2}, {"largest_batch": 1})
    assert {name: one.right for name, one in standing.guesses.items()} == {"over input": False, "a <b>": True}
    assert standing.calibration() == (
        "Predictions: 1 of 2 within a factor of two; 50 % sure: 1 of 1 right; 90 % sure: 0 of 1 right."
    )
    assert Standing([]).is_empty
    assert not standing.is_empty


def test_the_map_as_text_and_as_a_page():
    shown = CourseMap(TWO, Standing(DONE), "The file was damaged.")
    row = next(line for line in repr(shown).splitlines() if line.startswith("02"))
    assert re.split(r"\s{2,}", row) == ["02", "im2col & co", "42 min", "1 of 2 done", "2", "1", "2 of 2"]
    assert repr(shown).endswith("The file was damaged.")
    page = shown._repr_html_()
    assert '<a class="cl-notebook" href="02_im2col.ipynb">im2col &amp; co</a>' in page
    assert '<span class="cl-task cl-done"><span role="img" aria-label="done:">●</span> largest_batch' in page
    assert 'aria-label="not seen:">○</span> im2row' in page
    assert "a &lt;b&gt;" in page
    assert "a <b>" not in page
    (alt,) = re.findall(r'<img alt="([^"]+)"', page)
    assert alt.startswith("1 of 2 predictions were within a factor of two.")
    assert "1 of zero or less are not drawn" in alt
    assert "90 % sure, 0 of 1" in alt


def test_an_empty_map_says_what_will_be_there():
    shown = CourseMap(TWO, Standing([]))
    assert EMPTY in shown._repr_html_()
    assert "<img" not in shown._repr_html_()
    assert EMPTY in repr(shown).replace("\n", " ")  # in lines


def test_the_map_leads_to_pages_where_there_are_some():
    html = CourseMap(TWO, Standing([]))._repr_html_()
    output = nbformat.v4.new_output("execute_result", data={"text/html": html, "text/plain": ""})
    other = nbformat.v4.new_output("stream", text="02_im2col.ipynb")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("course_map()", outputs=[output, other])])
    link_maps(nb, ["02_im2col"])
    linked = nb.cells[0].outputs[0].data["text/html"]
    assert re.findall(r'href="([^"]+)"', linked) == ["02_im2col.html", "99_end.ipynb"]
    assert nb.cells[0].outputs[1].text == "02_im2col.ipynb"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A learner's folder, in which one exercise was solved; the working directory is elsewhere."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / RECORD).write_text("{}")
    progress.of(tmp_path / "mine").record("try", "im2row", {"good": True})
    monkeypatch.delenv(progress.NAMED, raising=False)
    monkeypatch.chdir(tmp_path)
    progress.here.cache_clear()
    yield tmp_path / "mine"
    progress.here.cache_clear()


def im2col_of(shown):
    return next(line for line in shown.splitlines() if line.startswith("02"))


def test_the_command_shows_it(folder, monkeypatch):
    done = CliRunner().invoke(app, ["progress", "--work", str(folder)])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "1 of 3 done" in im2col_of(done.stdout)
    monkeypatch.chdir(folder)
    progress.here.cache_clear()
    assert "1 of 3 done" in im2col_of(CliRunner().invoke(app, ["progress"]).stdout)
    assert "1 of 3 done" in im2col_of(repr(course_map()))


def test_the_command_says_what_is_wrong_with_the_file(folder):
    (folder / progress.NAME).write_bytes(b"no database" * 99)
    done = CliRunner().invoke(app, ["progress", "--work", str(folder)])
    assert done.exit_code == 0
    assert EMPTY in done.stdout.replace("\n", " ")
    assert done.stderr.startswith("convlab: The file of your progress was damaged.")
    assert len(list(folder.glob("*damaged*"))) == 1


@pytest.mark.parametrize("name", ["nothing", "w" * 5000, "mine/" + RECORD])
def test_a_folder_that_is_not_there_is_not_taken_for_one_where_nothing_was_done(folder, name):
    done = CliRunner().invoke(app, ["progress", "--work", name])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"convlab: --work={name!r} is no folder that is there; expected yours\n"


def test_a_look_makes_no_file(tmp_path):
    assert CliRunner().invoke(app, ["progress", "--work", str(tmp_path)]).exit_code == 0
    assert list(tmp_path.iterdir()) == []
