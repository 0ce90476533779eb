"""Walk-throughs without a browser: the form of each, what is packed for the page, what is remembered."""

import base64
import gzip
import json
import sys
from collections import Counter
from dataclasses import asdict, replace
from io import StringIO
from itertools import pairwise

import pytest
from effort import sampled
from notebook_tools import NOTEBOOKS

from convlab import ConvError, interview
from convlab.figures import Picture
from convlab.interview.coding.tasks import TASKS
from convlab.interview.console import INTERRUPTED
from convlab.interview.walks import record, terminal
from convlab.interview.walks.show import WALKS, walk_through
from convlab.lessons import progress

LARGEST = 400 << 10  # bytes of a page


@pytest.fixture(autouse=True)
def memory(tmp_path, monkeypatch):
    """Progress of this test alone, in a file."""
    one = progress.of(tmp_path)
    monkeypatch.setattr(progress, "here", lambda: one)
    return one


def headings(number):
    """Return the headings of a notebook."""
    (file,) = (file for file in NOTEBOOKS if file.name.startswith(f"{number}_"))
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return {line.lstrip("# ") for line in text.splitlines() if line.startswith("#")}


# -- what a walk is ------------------------------------------------------------------------------------------


@sampled(1)
@pytest.mark.parametrize("name", WALKS)
def test_a_walk_has_its_form(name):
    walk = WALKS[name]()
    assert walk is WALKS[name]()  # its figures are made once
    assert walk.name == name
    assert walk.question.endswith((".", "?"))
    assert 3 <= walk.minutes <= 15
    assert 10 <= len(walk.points) <= 15
    titles = [point.title for point in walk.points]
    assert [title for title, count in Counter(titles).items() if count > 1] == []
    assert [title for title in titles if len(title) > 90] == []
    assert {point.figure for point in walk.points} - {""} == set(walk.figures)
    assert len({(point.figure, repr(point.state)) for point in walk.points}) >= 6
    assert min(len(walk.pitfalls), len(walk.follow_ups)) >= 3
    assert all(len(text.split()) >= 3 for text in texts(asdict(replace(walk, figures={}, read=()))))
    levels = [len(text.split()) for text in asdict(walk.answers).values()]
    assert all(less < more for less, more in pairwise(levels))
    for number, heading in walk.read:
        assert heading in headings(number)


def texts(part):
    """Yield what a part of a walk says; not the names of figures and what is set of them."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for key, value in part.items():
            if key not in ("name", "figure", "state"):
                yield from texts(value)
    elif isinstance(part, list | tuple):
        for each in part:
            yield from texts(each)


@sampled(1)
@pytest.mark.parametrize("name", WALKS)
def test_each_point_sets_what_its_figure_knows(name):
    walk, seen = WALKS[name](), []
    for point in filter(lambda point: point.figure, walk.points):
        figure = walk.figures[point.figure]
        if isinstance(figure, Picture):
            assert point.state == {}
            continue
        assert point.state.keys() <= figure.opening.keys()
        for trait, value in (figure.opening | dict(point.state)).items():
            setattr(figure, trait, value)
        seen.append(figure.describe())  # a state that is no convolution raises
        for trait, value in figure.opening.items():
            setattr(figure, trait, value)
    assert len(set(seen)) >= 4


@sampled(1)
@pytest.mark.parametrize("name", WALKS)
def test_its_page_is_small_and_tells_the_points_without_a_script(name):
    page = walk_through(name).page()
    assert len(page.encode()) < LARGEST
    before, _, _ = page.partition("<script")
    assert before.count("<li>") == len(WALKS[name]().points)


def test_near_the_ridge_no_side_is_named():
    (words,) = (one.words for one in WALKS["gpu"]().points if one.title.startswith("Then count bytes"))
    assert "lies at 20, so arithmetic is the limit" in words
    assert words.endswith("287 against 295: there bytes and arithmetic take about as long.")


# -- the widget ----------------------------------------------------------------------------------------------


def test_each_kind_of_figure_is_packed_once():
    widget, walk = walk_through("gpu"), WALKS["gpu"]()
    packed = json.loads(gzip.decompress(base64.b64decode(widget.packed)))
    assert set(packed["figures"]) == set(walk.figures)
    kinds = {type(one).__name__ for one in walk.figures.values() if not isinstance(one, Picture)}
    assert set(packed["modules"]) == kinds
    for one in packed["figures"].values():
        assert "html" in one or (one["kind"] in kinds and one["state"]["key"] == "")
    assert walk_through("gpu").packed == widget.packed  # the figures are closed, and still there


def test_words_say_the_question_the_sum_and_the_points():
    widget = walk_through("gpu")
    words, points = widget.words(), WALKS["gpu"]().points
    assert words.startswith("How does convolution actually run on a GPU?")
    assert all(point.title in words and point.words in words for point in points)
    assert "points made" not in words
    widget.rounds = [{"ticked": [points[0].title], "seconds": 5}]
    assert f"1 of {len(points)} points made." in widget.words()


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ConvError, match="name='cpu'; expected one of gpu"):
        interview.walk_through("cpu")


# -- what is remembered --------------------------------------------------------------------------------------


def test_a_round_is_kept_and_shown_again(memory):
    titles = [point.title for point in WALKS["gpu"]().points]
    widget = walk_through("gpu")
    assert widget.rounds == []
    assert record.ticked(memory.events(), "gpu") is None
    first, second = ({"ticked": titles[:3], "seconds": 99.5}, {"ticked": titles[2:], "seconds": None})
    widget.rounds = [first]
    widget.rounds = [first, second]
    assert walk_through("gpu").rounds == [first, second]
    kept = record.rounds(memory.events(), "gpu")
    assert [(one.number, one.ticked, one.seconds) for one in kept] == [
        (1, tuple(titles[:3]), 99.5),
        (2, tuple(titles[2:]), None),
    ]
    assert record.ticked(memory.events(), "gpu") == kept[1]
    assert kept[1].points == len(titles)
    assert record.rounds(memory.events(), "memory") == []


def test_what_is_done_is_kept_where_it_is_read(memory, tmp_path):
    """Of another folder, inside a ``with``."""
    other = progress.of(tmp_path / "other")
    with progress.kept_in(other):
        walk_through("gpu").rounds = [{"ticked": [], "seconds": 1.0}]
        interview.answer(interview.drill("flops", 1), "1", 50)
    assert {event.kind for event in other.events()} == {"walk", "guess"}
    assert memory.events() == []


def test_two_tabs_add_to_one_file(tmp_path):
    title = WALKS["gpu"]().points[0].title
    tabs = [walk_through("gpu"), walk_through("gpu")]
    for seconds, tab in enumerate(tabs):
        tab.rounds = [*tab.rounds, {"ticked": [title], "seconds": seconds}]
    kept = record.rounds(progress.of(tmp_path).events(), "gpu")
    assert [one.number for one in kept] == [1, 2]


def test_a_round_that_two_views_hand_in_is_one(memory):
    """A page hands in what no kernel heard of: a mock may show the same walk in two cells."""
    views = [walk_through("gpu"), walk_through("gpu")]
    for view in views:
        view.rounds = [{"ticked": [], "seconds": None}]
    assert len(record.rounds(memory.events(), "gpu")) == 1
    assert [view.heard for view in views] == [1, 1]


@pytest.mark.parametrize(
    "one",
    [
        3,
        {},
        {"ticked": "A convolution is a matrix product.", "seconds": 1},
        {"ticked": ["<script>alert(1)</script>"], "seconds": 1},
        {"ticked": [["a"]], "seconds": 1},
        {"ticked": [], "seconds": "long"},
        {"ticked": []},
    ],
)
def test_a_message_that_is_no_round_changes_nothing(memory, one):
    widget = walk_through("gpu")
    with pytest.raises(ConvError, match="rounds has"):
        widget.rounds = [one]
    assert widget.rounds == []
    assert memory.events() == []


def test_what_another_version_wrote_is_passed_over(memory):
    for detail in (
        {},
        {"ticked": 3, "points": 12, "seconds": 9, "number": 1},
        {"ticked": [None], "points": 12, "seconds": 9, "number": 1},
        {"ticked": [], "points": "many", "seconds": 9, "number": 1},
        {"ticked": [], "points": 12, "seconds": [], "number": 1},
        {"ticked": [], "points": 12, "seconds": 9, "number": None},
    ):
        memory.record(record.KIND, "gpu", detail)
    assert walk_through("gpu").rounds == []
    still_there = WALKS["gpu"]().points[3].title
    record.keep(memory, "gpu", ["A point that was dropped since.", still_there], 13, 60)
    assert walk_through("gpu").rounds == [{"ticked": [still_there], "seconds": 60}]
    assert record.ticked(memory.events(), "gpu").number == 1


# -- in a terminal -------------------------------------------------------------------------------------------


def asked(monkeypatch, capsys, memory, typed, name="gpu"):
    """Return the exit status and what was said, in one line."""
    monkeypatch.setattr(sys, "stdin", StringIO(typed))
    status = terminal.run(memory, name)
    return status, " ".join(capsys.readouterr().out.split())


def test_point_after_point_in_a_terminal(memory, monkeypatch, capsys):
    walk = WALKS["gpu"]()
    answers = ["y", "N", "perhaps", "yes", *["n"] * (len(walk.points) - 3)]
    status, said = asked(monkeypatch, capsys, memory, "\n" + "\n".join(answers) + "\ns\np\nf\nx\n\n")
    assert status == 0
    for text in (walk.question, walk.answers.strong, walk.pitfalls[0].better, walk.follow_ups[0].answer):
        assert " ".join(text.split()) in said
    assert walk.answers.borderline.split("\n")[0] not in said
    assert f"2 of {len(walk.points)} points made in 0:00." in said
    kept = record.ticked(memory.events(), "gpu")
    assert kept.ticked == (walk.points[0].title, walk.points[2].title)
    assert 0 <= kept.seconds < 60
    assert "nothing is kept" not in said


def test_model_answers_fill_the_lines_of_a_terminal(memory, monkeypatch, capsys):
    """A line ends where the next word has no room, and not where the source breaks it."""
    monkeypatch.setenv("COLUMNS", "61")
    walk = WALKS["memory"]()
    monkeypatch.setattr(sys, "stdin", StringIO("\n" + "y\n" * len(walk.points) + "h\n\n"))
    terminal.run(memory, "memory")
    shown = capsys.readouterr().out.partition("f or Enter: h\n")[2].partition("\n\n    b, h")[0]
    paragraphs = [one.splitlines() for one in shown.strip("\n").split("\n\n")]
    assert len(paragraphs) > 2
    for line, after in (pair for one in paragraphs for pair in pairwise(one)):
        assert len(line) <= 60 < len(f"{line} {after.split()[0]}") + len(" KiB")  # a unit is not parted


@pytest.mark.parametrize("typed", ["", "\n", "\ny\nn\n", "\ny\nwhat"])
def test_the_end_of_the_input_in_the_middle_is_said(memory, monkeypatch, capsys, typed):
    status, said = asked(monkeypatch, capsys, memory, typed)
    assert status == 0
    assert "The input ended. It was not ticked to its end, so nothing is kept of it." in said
    assert memory.events() == []


def test_ctrl_c_after_the_ticks_loses_nothing(memory, monkeypatch, capsys):
    class Typed(StringIO):
        def readline(self, *size):
            if not (line := super().readline(*size)):
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr(sys, "stdin", Typed("\n" + "y\n" * len(WALKS["gpu"]().points)))
    assert terminal.run(memory, "gpu") == INTERRUPTED
    said = capsys.readouterr().out
    assert "Interrupted." in said
    assert "nothing is kept" not in said
    assert len(record.ticked(memory.events(), "gpu").ticked) == len(WALKS["gpu"]().points)


def test_without_a_name_it_asks_what_one_knows_least(memory, monkeypatch):
    monkeypatch.setattr(terminal, "WALKS", dict.fromkeys(("one", "two", "three")))
    for name, made in (("one", "ab"), ("three", "a"), ("two", "abc")):
        assert terminal._next_name(memory) == ("one" if name == "one" else "two")
        record.keep(memory, name, made, 3, None)
    assert terminal._next_name(memory) == "three"
    record.keep(memory, "three", "abc", 3, None)
    assert terminal._next_name(memory) == "one"


def test_timed_tasks_lead_to_headings():
    for task in TASKS.values():
        assert task.read
        for number, heading in task.read:
            assert heading in headings(number)
