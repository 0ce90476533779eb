"""What was answered: kept with the predictions, counted by calibration, and what was missed comes again."""

import sqlite3
from contextlib import closing
from threading import Thread

import pytest

from convlab.interview import KINDS, answer, drill
from convlab.interview.history import DAY, OTHERS, WAITS, boxes, keep, next_kind
from convlab.lessons import progress_file
from convlab.lessons.course import Standing
from convlab.lessons.map_of_course import CourseMap
from convlab.lessons.progress_file import Event, ProgressFile

NAMES = list(KINDS)


def events(*answers, start=1e9):
    """Return events of (kind, right, day), in their order."""
    return [
        Event(
            start + day * DAY,
            "guess",
            f"drill {kind} {number}",
            {"drill": kind, "right": right, "number": number},
        )
        for number, (kind, right, day) in enumerate(answers, 1)
    ]


# -- kept with the predictions -----------------------------------------------------------------------------


def test_an_answer_is_kept_and_counted_by_calibration(memory):
    one, other = drill("flops", 1), drill("output_size", 1)
    assert answer(one, f"{one.value:.6g}", 90).good is True
    assert answer(other, str(other.value + 1), 50).good is False  # within a factor of two, and wrong
    kept = ProgressFile(memory.path).events()
    assert [(event.kind, event.name) for event in kept] == [("guess", one.name), ("guess", other.name)]
    assert kept[0].detail["guess"] == pytest.approx(one.value)
    assert (kept[0].detail["sure"], kept[0].detail["seed"], kept[0].detail["right"]) == (90, 1, True)
    assert kept[1].detail["right"] is False
    standing = Standing(kept)
    assert standing.calibration() == (
        "Predictions: 1 of 2 drills right; 50 % sure: 0 of 1 right; 90 % sure: 1 of 1 right."
    )
    assert "1 of 2 answers were right" in CourseMap([], standing)._repr_html_()


def test_the_first_answer_to_a_drill_is_the_one_that_counts(memory):
    one = drill("flops", 1)
    answer(one, f"{9 * one.value:.6g}", 90)
    answer(one, f"{one.value:.6g}", 90)
    assert "0 of 1 drills right" in Standing(memory.events()).calibration()


def test_predictions_are_counted_as_before_beside_drills():
    guess = Event(1.0, "guess", "a", {"guess": 3, "actual": 4, "sure": 70})
    one = Event(2.0, "guess", "b", {"guess": 3, "actual": 4, "sure": 70, "drill": "flops", "right": False})
    assert Standing([guess, one]).calibration() == (
        "Predictions: 1 of 1 within a factor of two; 0 of 1 drills right; 70 % sure: 1 of 2 right."
    )


def test_what_is_not_understood_is_not_kept(memory):
    assert answer(drill("flops", 1), "many", 90).good is None
    assert memory.events() == []


def test_what_goes_wrong_with_the_file_is_said_beside_the_answer(memory):
    memory.path.write_bytes(b"no database" * 99)
    note = answer(drill("flops", 1), "1", 50)
    assert "was damaged. It is kept as" in note.aside
    assert len(memory.events()) == 1


def test_a_file_of_a_newer_version_is_left_as_it_is(memory):
    with closing(sqlite3.connect(memory.path)) as file:
        file.execute(f"PRAGMA user_version = {progress_file.VERSION + 1}")
        file.execute("CREATE TABLE other (a)")
        file.commit()
    before = memory.path.read_bytes()
    note = answer(drill("flops", 1), "1", 50)
    assert "comes from a newer version of this course, and is left alone" in note.aside
    assert memory.path.read_bytes() == before
    assert next_kind(memory.events()) in KINDS


def test_two_at_once_lose_nothing(memory):
    """Two tabs on one file; tests/test_progress.py has the same with processes."""

    def answers(first):
        tab = ProgressFile(memory.path)
        for seed in range(first, first + 20):
            one = drill("parameters", seed)
            keep(tab, one, one.verdict("5"), 50)

    both = [Thread(target=answers, args=(first,)) for first in (0, 20)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    kept = ProgressFile(memory.path).events()
    assert sorted(event.detail["seed"] for event in kept) == list(range(40))
    assert boxes(kept)["parameters"].missed


# -- the boxes ---------------------------------------------------------------------------------------------


def test_a_kind_goes_up_when_its_time_has_come_and_back_when_missed():
    levels, days = [], [0, 1, 1.5, 4, 11, 32, 60]  # the third answer comes too early to count
    for count in range(1, len(days) + 1):
        found = boxes(events(*(("flops", True, day) for day in days[:count])))
        levels.append(found["flops"].level)
    assert levels == [2, 3, 3, 4, 5, 5, 5]
    assert boxes(events(("flops", True, 0), ("flops", True, 1), ("flops", False, 2)))["flops"].level == 1


@pytest.mark.parametrize("level", range(1, len(WAITS) + 1))
def test_a_box_waits_its_days(level):
    box = boxes(events(("flops", False, 0)))["flops"]
    box = type(box)(box.kind, level, False, box.time, 1)
    assert box.due(box.time + WAITS[level - 1] * DAY) >= 0
    if WAITS[level - 1]:
        assert box.due(box.time + (WAITS[level - 1] - 0.01) * DAY) < 0


def test_to_answer_the_same_drill_again_brings_it_no_further(memory):
    one = drill("flops", 1)
    for text in ("1", f"{one.value:.6g}"):
        answer(one, text, 50)
    assert boxes(memory.events())["flops"].missed
    assert [event.detail["number"] for event in memory.events()] == [1, 2]


def test_new_kinds_come_in_the_order_of_the_course():
    asked = []
    while len(asked) < len(NAMES):
        asked.append((next_kind(events(*asked), now=1e9), True, 0))
    assert [kind for kind, _, _ in asked] == NAMES


def test_what_was_missed_comes_again_after_three_others():
    asked = [("flops", False, 0)]
    for _ in range(OTHERS + 1):
        asked.append((next_kind(events(*asked), now=1e9), True, 0))
    assert [kind for kind, _, _ in asked].count("flops") == 2
    assert asked[-1][0] == "flops"


def test_what_is_due_comes_before_what_is_new_and_the_longest_first():
    known = events(("flops", True, 0), ("parameters", True, 1))
    assert next_kind(known[:1], now=1e9 + 0.5 * DAY) == NAMES[0]
    assert next_kind(known, now=1e9 + 2.5 * DAY) == "flops"
    assert (
        next_kind(events(*((kind, True, 0) for kind in NAMES)), now=1e9) in NAMES
    )  # nothing is due: the soonest


def test_the_same_kind_does_not_come_twice_running():
    """Not even where nothing else is due or new, and it was missed."""
    only = {name: KINDS[name] for name in NAMES[:2]}
    known = events((NAMES[1], True, 0), (NAMES[0], False, 0))
    assert next_kind(known, only, now=1e9) == NAMES[1]


def test_of_some_kinds_one_is_chosen():
    only = {name: KINDS[name] for name in NAMES[:2]}
    known = events((NAMES[0], False, 0))
    assert next_kind(known, only, now=1e9) == NAMES[1]
    assert next_kind(known, {NAMES[0]: KINDS[NAMES[0]]}, now=1e9) == NAMES[0]


# -- clocks and other versions -----------------------------------------------------------------------------


def test_a_clock_that_was_ahead_and_is_set_back_hides_nothing():
    """An answer of ten years ahead: its kind is asked at once, and what follows counts."""
    ahead = events(("flops", True, 3650), *((kind, True, 0) for kind in NAMES if kind != "flops"))
    assert next_kind(ahead, now=1e9) == "flops"
    (missed,) = events(("flops", False, 0))
    missed.detail["number"] = len(ahead) + 1
    later = [*ahead, missed._replace(name="drill flops 99")]
    assert boxes(later)["flops"].missed
    assert boxes(sorted(later))["flops"].missed, "the file gives them by time"


def test_answers_are_numbered_whatever_the_clock_says(memory, monkeypatch):
    for when in (2e9, 1e9, 1.5e9):
        monkeypatch.setattr("time.time", lambda when=when: when)
        keep(memory, drill("flops", int(when)), None, None)
    assert [event.detail["number"] for event in sorted(memory.events(), key=lambda e: -e.time)] == [1, 3, 2]


@pytest.mark.parametrize(
    "detail",
    [
        {"drill": "a kind of another version"},
        {"drill": ["flops"]},
        {"drill": None},
        {"right": "yes"},
        {"right": None},
        {"number": "first"},
        {"number": float("nan")},
        {"number": None},
    ],
)
def test_what_another_version_wrote_is_passed_over(detail):
    (event,) = events(("flops", False, 0))
    strange = event._replace(detail=event.detail | detail)
    assert boxes([strange]) == {}
    assert next_kind([strange, event], now=1e9) == NAMES[0]


def test_a_drill_that_was_passed_over_comes_again_and_is_no_guess(memory):
    keep(memory, drill("flops", 1), None, None, 3.0)
    assert boxes(memory.events())["flops"].missed
    assert Standing(memory.events()).guesses == {}


def test_who_misses_all_sees_all_kinds_soon(memory):
    """Between two kinds that come again there is a new one; none is put off by what is missed for ever."""
    kept, asked = ProgressFile(memory.path), []
    for seed in range(2 * len(KINDS)):
        kind = next_kind(kept.events())
        keep(kept, drill(kind, seed), None, None)
        asked.append(kind)
    assert set(asked) == set(KINDS)
    assert asked[:6] == [*NAMES[:4], NAMES[0], NAMES[4]]
