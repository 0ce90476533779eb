"""The plan for two days: what was missed comes first, it fits into the hours, and there is time to sleep."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from convlab.cli import app
from convlab.interview import KINDS, TASKS, two_days
from convlab.interview.history import DAY
from convlab.interview.mocks.draw import WHOLE
from convlab.interview.plan import TwoDays, days, needs
from convlab.interview.plan.needs import COMMANDS, Item
from convlab.interview.walks import show
from convlab.lessons import progress
from convlab.lessons.course import Chapter, chapters
from convlab.lessons.progress_file import Event
from convlab.support.integers import ceil_div

WALKS = [  # as far as a plan looks at them
    SimpleNamespace(
        name=name,
        question=f"What of {name}?",
        minutes=minutes,
        points=[SimpleNamespace(title=f"{name} {i}") for i in range(10)],
        read=((notebook, "a heading"),),
    )
    for name, minutes, notebook in (("gpu", 8, "12"), ("kernel", 15, "11"), ("memory", 10, "02"))
]
course = cache(chapters)


def drilled(kind, right, number):
    return Event(number, "guess", f"drill {kind} {number}", {"drill": kind, "right": right, "number": number})


def said(walk, made):
    ticked = [point.title for point in walk.points[:made]]
    return Event(5, "walk", walk.name, {"ticked": ticked, "points": 10, "seconds": None, "number": 1})


def solved(name, good=True):
    return Event(3, "try", name, {"good": good})


def all_done():
    """Return what is remembered of one who did everything, and missed nothing."""
    found = [solved(name) for chapter in course() for name in chapter.exercises]
    found += [
        Event(4, "guess", name, {"guess": 1, "actual": 1, "sure": 50})
        for chapter in course()
        for name in chapter.predictions
    ]
    found += [drilled(kind, True, number) for number, kind in enumerate(KINDS, 1)]
    return found + [solved(name) for name in TASKS] + [said(walk, 10) for walk in WALKS]


def planned(events):
    queues = {
        days.READ: needs.readings(events, course(), WALKS),
        days.CODE: needs.tasks(events),
        days.WALK: needs.walked(events, WALKS),
    }
    return days.two(events, queues)


def titles(events):
    return [item.what for day in planned(events)[0] for _, item in day.rows]


@pytest.mark.parametrize(
    "events", [[], all_done(), [drilled("flops", False, 1)]], ids=["fresh", "done", "missed"]
)
def test_it_fits_into_the_hours(events):
    found, left = planned(events)
    assert len(found) == 2
    for day in found:
        for (start, item), (after, _) in zip(day.rows, day.rows[1:], strict=False):
            assert 0 <= after - start - item.minutes < 5
        start, item = day.rows[-1]
        assert day.rows[0][0] == days.START
        assert start + item.minutes <= 18 * 60
        pauses = [start for start, item in day.rows if item.rest]
        for begin, end in zip([days.START, *pauses], [*pauses, start], strict=True):
            assert end - begin <= 100 + days.LUNCH
        assert "8 hours of sleep" in day.evening
    whats = [item.what for day in found for _, item in day.rows]
    assert sum(item.minutes for day in found for _, item in day.rows if item.door == "mock") == WHOLE
    assert not {item.what for item in left} & set(whats)
    reading = [one for one in found[0].rows if one[1].file]
    assert reading == sorted(reading, key=lambda one: one[1].file)  # in the order of the course


def test_a_fresh_learner_and_one_who_did_the_course_get_different_plans():
    fresh, done = titles([]), titles(all_done())
    assert "Notebook 02, im2col" in fresh
    assert "Against the clock: conv2d_nchw" in fresh
    assert not [what for what in done if "Against the clock" in what]
    assert [what for what in done if what == "Find the bug"]
    assert {what.rpartition(": ")[2] for what in done if what.startswith("Notebook")} == {
        "its questions, aloud"
    }
    assert {"Drills", "A mock interview, as it will be: aloud, no notes"} <= set(fresh) & set(done)


def test_what_was_missed_is_read_first():
    events = [*all_done(), drilled("flops", False, 90)]
    for number, _ in KINDS["flops"].read:
        (item,) = [
            one
            for one in needs.readings(events, course(), WALKS)
            if one.what.startswith(f"Notebook {number}")
        ]
        assert item.what.endswith(": again")
        assert item.why == f"missed: {KINDS['flops'].title}"
        assert item.what in titles(events)
        assert 0 < item.minutes < next(one.minutes for one in course() if one.number == number)
    assert needs.drills(events, 20).why == f"missed: {KINDS['flops'].title}"


def test_a_notebook_that_asks_nothing_is_no_reading():
    interview = Chapter("19_interview.ipynb", "The interview", (), (), 48, 20, 0)
    missed = [drilled(kind, False, number) for number, kind in enumerate(KINDS, 1)]
    for events in ([], all_done(), missed):
        read = needs.readings(events, course(), WALKS)
        assert needs.readings(events, [*course(), interview], WALKS) == read
        assert all(one.minutes > 0 for one in read)


def test_half_of_a_notebook_is_enough():
    chapter = next(one for one in course() if len(one.exercises + one.predictions) >= 4)
    asked = len(chapter.exercises + chapter.predictions)
    half = ceil_div(asked, 2)
    done = [*chapter.exercises][:half]
    events = [solved(name) for name in done] + [
        Event(4, "guess", name, {"guess": 1, "actual": 1, "sure": 50})
        for name in chapter.predictions[: half - len(done)]
    ]

    def why(events):
        return [one.why for one in needs.readings(events, course(), WALKS) if one.file == chapter.file]

    assert "never worked through" not in why(events)
    assert why(events[:-1]) == ["never worked through"]


def test_an_exercise_that_was_begun_leads_back_to_its_notebook():
    first = needs.readings([solved("largest_batch", good=False)], course(), WALKS)[0]
    assert (first.file[:2], first.why) == ("02", "begun: largest_batch")


def test_a_walk_with_points_left_out_comes_first_and_leads_to_its_notebook():
    events = [said(WALKS[0], 10), said(WALKS[2], 7)]
    assert [(item.given, item.why) for item in needs.walked(events, WALKS)] == [
        ("memory", "3 points left out"),
        ("kernel", "never done"),
        ("gpu", "all points made"),
    ]
    assert needs.readings(events, course(), WALKS)[0].file.startswith("02")


def test_tasks_that_were_tried_come_first_then_the_first_of_each_row():
    names = [item.given for item in needs.tasks([]) if item.door == "begin"]
    assert names[:4] == ["conv2d_nchw", "kernel_padded", "conv2d_vectorised", "kernel_coalesced"]
    assert set(names) == set(TASKS)
    tried = needs.tasks([solved("mock 3-1 code conv2d_lean", good=False), solved("conv2d_nchw")])
    assert (tried[0].given, tried[0].why) == ("conv2d_lean", "tried, not solved")
    assert "conv2d_nchw" not in [item.given for item in tried]


def test_events_of_another_version_do_no_harm():
    strange = [
        Event(1, "guess", "drill x 1", {"drill": "no_such_kind", "right": True, "number": 1}),
        Event(2, "walk", "gpu", {"ticked": 3}),
        Event(3, "try", "", {}),
        Event(DAY * 1e6, "mock", "mock 1", {"did": ["?"]}),
    ]
    assert titles(strange) == titles([])


def test_it_is_shown_with_links_and_nothing_unescaped():
    bad = Chapter("02_<b>.ipynb", "<script>", ("e",), (), 30, 10, 3)
    items = needs.readings([solved("e", good=False)], [bad], [])
    found, _ = days.two([], {days.READ: items, days.CODE: needs.tasks([]), days.WALK: []})
    page = TwoDays(found, [Item(1, "Notebook 03, <i>")], "no <disk>")._repr_html_()
    assert '<a class="cl-notebook" href="02_&lt;b&gt;.ipynb">Notebook 02, &lt;script&gt;</a>' in page
    assert "No time is left for notebooks 03, &lt;i&gt;." in page
    assert "no &lt;disk&gt;" in page
    assert "<script>" not in page
    assert "<code>interview.begin(&quot;conv2d_nchw&quot;)</code>" in page


def test_commands_are_those_of_the_terminal():
    assert Item(1, "", door="begin", given="a").command == "convlab interview code a"
    assert Item(1, "", door="cards").command == "convlab interview"
    assert Item(1, "", door="find_the_bug", given="3").call == "interview.find_the_bug(3)"
    assert Item(1, "Lunch").command == Item(1, "Lunch").call == ""
    for command in (COMMANDS["walk_through"], COMMANDS["cheat_sheet"]):
        assert CliRunner().invoke(app, ["interview", command, "--help"]).exit_code == 0


def test_through_both_doors(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.NAMED, str(tmp_path))
    monkeypatch.setattr(show, "WALKS", {walk.name: lambda walk=walk: walk for walk in WALKS})
    progress.here.cache_clear()
    progress.record("try", "conv2d_grouped", good=False)
    plan = two_days()
    text = repr(plan)
    assert "Against the clock: conv2d_grouped (tried, not solved)" in text
    assert 'interview.begin("conv2d_grouped")' in text
    assert max(map(len, text.splitlines())) <= 100
    shown = CliRunner().invoke(app, ["interview", "plan"]).output
    assert "convlab interview code conv2d_grouped" in shown
    assert plan.text(in_terminal=True) in shown
    named = CliRunner().invoke(app, ["interview", "plan", "--work", str(tmp_path)]).output
    assert f"convlab interview code conv2d_grouped --work {tmp_path}\n" in named
    assert "convlab interview sheet\n" in named  # it keeps nothing
    progress.here.cache_clear()
