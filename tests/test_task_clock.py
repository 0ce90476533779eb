"""A timed task as a cell shows it: a clock that asks Python, one for all that show the same task."""

import subprocess
import sys

import pytest
from effort import sampled

from convlab import interview
from convlab.interview.coding import view
from convlab.interview.coding.tasks import TASKS
from convlab.lessons import progress
from convlab.lessons.progress_file import ProgressFile
from convlab.support.clock_words import clock_text, clock_words
from convlab.widgets import TaskClock


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of a learner's, and no clock that was shown before."""
    monkeypatch.setattr(view, "_CLOCKS", {})
    with progress.kept_in(progress.of(tmp_path)):
        yield tmp_path


def clock_of(task):
    return view._CLOCKS[task.name]


def asks(clock, what):
    """Let a page ask for something."""
    clock.asked = {"what": what, "number": clock.told}


def test_a_cell_shows_a_clock_and_words_as_before():
    task = interview.find_the_bug(1)
    bundle, _ = task._repr_mimebundle_()
    clock = clock_of(task)
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == clock.model_id
    assert bundle["text/plain"] == repr(task)
    assert bundle["text/plain"].startswith("find_the_bug 1: 8:00 of 8:00 minutes left\n")
    before, _, after = bundle["text/html"].partition("<style>")
    assert task._repr_html_() in before
    assert "\n 1  def " in "\n" + clock.lines
    assert clock.lines in repr(task)
    assert "image/png" not in bundle
    assert task._mistake.name not in after.partition("const code")[0]  # it is not given away in the page
    assert clock.words().startswith("find_the_bug 1: 8:00 of 8:00 minutes left.")
    assert "`bug.submit(line, text)`" in clock.words()


def test_all_that_show_a_task_show_one_clock():
    one, two = interview.begin("conv2d_lean"), interview.begin("conv2d_lean")
    for task in one, two, one:
        task._repr_mimebundle_()
    assert len(view._CLOCKS) == 1
    clock = clock_of(one)
    two.pause()
    assert clock.stands == "paused"
    one.resume()
    assert clock.stands == "running"
    told = clock.told
    interview.begin("conv2d_lean", anew=True)
    assert clock.told > told
    assert clock.used < 1
    interview.give_up(two)
    assert clock.stands == "given up"
    assert 'Next: `interview.begin("conv2d_dgrad")`.' in clock.aside
    interview.begin("conv2d_wgrad")._repr_mimebundle_()
    assert len(view._CLOCKS) == 2


def test_what_a_page_asks_for_is_done():
    task = interview.begin("conv2d_nchw")
    task._repr_mimebundle_()
    clock = clock_of(task)
    assert (clock.stands, len(progress.events("clock"))) == ("running", 1)
    for what, stands, pressed in (("pause", "paused", 2), ("pause", "paused", 2), ("resume", "running", 3)):
        told = clock.told
        asks(clock, what)
        assert (clock.stands, len(progress.events("clock"))) == (stands, pressed)
        assert clock.told > told
    for what in ("look", "begin", "give up", "__class__", None, 3, ["pause"], {"pause": 1}):
        asks(clock, what)
    asks(clock, "look")
    assert len(progress.events("clock")) == 3
    with progress.kept_in(progress.of(None)):  # another tab has begun it, which this file does not know
        asks(clock, "look")
        assert clock.stands == ""


def test_a_solved_task_stops_its_clock():
    task = interview.begin("conv2d_nchw")
    task._repr_mimebundle_()
    task.submit(lambda x, w, padding: 0)
    assert clock_of(task).stands == "running"
    task.submit(TASKS["conv2d_nchw"].exercise.solution)
    assert clock_of(task).stands == "solved"


def test_what_is_wrong_with_the_memory_stays_on_the_page(folder):
    (folder / progress.NAME).write_bytes(b"no database" * 99)
    with progress.kept_in(ProgressFile(folder / progress.NAME)):
        task = interview.begin("conv2d_nchw")
        assert "was damaged" in task._repr_mimebundle_()[0]["text/plain"]
        for _ in range(2):
            asks(clock_of(task), "look")
            assert "was damaged" in clock_of(task).aside
        assert "was damaged" not in repr(task)  # said once


def test_text_is_no_markup():
    bad = "<script>alert(1)</script><b>"
    clock = TaskClock(name=bad, statement=bad, hand_in=bad, call=bad, lines=bad)
    for page in (clock.page(), clock.tell(1, "running", bad) or clock.page()):
        assert page.count("<script") == 1
        assert "<b>" not in page


def test_a_clock_nobody_keeps_is_the_pages_own():
    clock = TaskClock()
    asks(clock, "pause")
    assert (clock.told, clock.stands) == (0, "")
    assert "There is no Python behind this page" in clock.words()


def test_a_clock_that_was_closed_is_made_anew():
    task = interview.begin("conv2d_nchw")
    task._repr_mimebundle_()
    before = clock_of(task)
    before.close()
    task.pause()
    task._repr_mimebundle_()
    assert clock_of(task) is not before
    assert clock_of(task).stands == "paused"


def test_what_a_clock_says():
    assert clock_words(60, "running", 30) == "29:00 of 30:00 minutes left"
    assert clock_words(1810, "paused", 30) == "0:10 over 30:00 minutes, paused"
    assert clock_words(3661, "given up", 90) == "given up after 1:01:01 of 1:30:00 minutes"
    assert clock_text(59.6) == "1:00"


@sampled(0)  # a process of its own takes its time
def test_no_widget_is_made_before_a_cell_shows_one():
    code = (
        "import sys; from convlab import interview; task = interview.begin('conv2d_nchw'); task.pause(); "
        "repr(task); task._repr_html_(); assert 'anywidget' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_can_be_another_for_a_while(tmp_path):
    other = progress.of(None)
    with progress.kept_in(other):
        progress.record("try", "here")
        assert progress.file() is None
    assert progress.events("try", "here") == []
    assert [event.name for event in other.events()] == ["here"]
