"""`check`, `hint` and `solution`: what they say, and what they stand."""

import sys
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from convlab import ConvError
from convlab.lessons import EXERCISES, check, hint, progress, reveal, solution
from convlab.lessons.attempt import Outcome, attempt
from convlab.lessons.diagnosis import diagnosis
from convlab.lessons.exercise import Mistake
from convlab.lessons.guard import TimeUp, guarded
from convlab.lessons.note import Note


@pytest.fixture
def memory(monkeypatch, tmp_path):
    monkeypatch.setenv(progress.NAMED, str(tmp_path))
    progress.here.cache_clear()
    yield progress
    progress.here.cache_clear()


def wrong(name, mistake):
    exercise = EXERCISES[name]
    return exercise.wrong(next(m for m in exercise.mistakes if m.name == mistake))


# -- what it says ------------------------------------------------------------------------------------------


def test_the_first_case_that_fails_is_told_as_a_call():
    said = repr(check("output_size", wrong("output_size", "forgets the padding")))
    assert "(H=5, R=3, stride=1, padding=1, dilation=1)" in said
    assert "expected 5\ngot      3" in said
    with pytest.raises(ConvError, match="output_size"):
        check("nothing", len)


def test_the_diagnosis_is_there_or_empty():
    assert (
        "dilation moves the taps"
        in check("convolve", wrong("convolve", "steps the taps by the stride")).diagnosis
    )
    assert check("flip", EXERCISES["flip"].solution).diagnosis == ""
    rng = np.random.default_rng(1)
    assert check("flip", lambda w: rng.standard_normal(w.shape)).diagnosis == ""


def test_an_error_of_another_kind_is_no_known_mistake():
    broken = Mistake("is broken", lambda H, R, s, p, d: 1 / 0, "It divides by zero.")
    exercise = replace(EXERCISES["output_size"], mistakes=(broken,))
    outcomes = [
        attempt(answer, exercise) for answer in (lambda *a: 1 / 0, lambda *a: [][0], lambda *a: 1 % 0)
    ]
    assert [bool(diagnosis(exercise, each)) for each in outcomes] == [True, False, False]


def test_a_right_answer_that_cannot_be_watched_is_right():
    def flat(a, b, size):
        assert type(a) is np.ndarray
        return a @ b

    assert check("blocked_product", flat).good
    assert check("blocked_product", lambda a, b, size: a @ b).good is False


def test_a_wrong_answer_of_the_bank_that_never_ends_is_passed_over():
    def count(n):
        # your code here
        left = n
        while left > 0:
            left -= 1
        return n - left

    mistakes = (
        Mistake("steps by nothing", {"left -= 1": "left -= n - n"}, "?"),
        Mistake("stops too early", {"left > 0": "left > 1"}, "?"),
    )
    exercise = replace(EXERCISES["output_size"], solution=count, mistakes=mistakes)
    assert "stops too early" in diagnosis(exercise, [Outcome((3,), 3, 2)])


def test_not_started():
    assert check("flip", lambda w: None).good is None
    assert check("output_size", lambda H, R, s, p, d: 3 if (H, p) == (5, 0) else None).good is False


def test_a_changed_input_is_told():
    def adds(x, w, stride, padding):
        y = EXERCISES["convolve"].answer(x, w, stride, padding)
        x += 1
        return y

    assert "changes its input" in repr(check("convolve", adds))


def test_a_view_and_a_list_are_fine():
    assert check("flip", lambda w: w[:, ::-1, ::-1]).good
    assert check("flip", lambda w: w[:, ::-1, ::-1].tolist()).good


def test_the_line_that_failed():
    def broken(w):
        zero = 0
        return 1 / zero

    said = repr(check("flip", broken))
    assert "ZeroDivisionError" in said
    assert "return 1 / zero" in said


def test_what_was_printed_is_shown():
    def loud(w):
        print("w is", w.shape)
        return w

    assert "w is (1, 2, 2, 1)" in check("flip", loud).body


def test_the_difference_is_a_picture_with_the_window():
    note = check("convolve", wrong("convolve", "flips the filter"))
    assert note.picture.count("<table") == 4
    assert "what [0, 0, 0, 0] reads" in note.picture
    outlined = note.picture.count("border:2px")
    assert outlined == 4 + 3  # the 2 x 2 pixels that are read; the first wrong number in the other three


def test_arrays_of_another_shape_are_shown_without_a_difference():
    note = check("convolve", wrong("convolve", "ignores the padding"))
    assert note.picture.count("<table") == 2
    assert "yours - expected" not in note.picture


def test_a_note_sets_code_and_stress():
    page = Note(True, "a < `b`", "the *first* of p * stride + r, q * stride")._repr_html_()
    assert "a &lt; <code>b</code>" in page
    assert "<em>first</em> of p * stride + r, q * stride" in page


# -- what it stands ----------------------------------------------------------------------------------------


class Classy:
    pass


async def coroutine(x, w, stride, padding):
    return x


def generator(x, w, stride, padding):
    yield x


def recursive(*a):
    return recursive(*a)


ODD = {
    "a class": (Classy, "is a class"),
    "a coroutine": (coroutine, "is a coroutine"),
    "a generator": (generator, "is a generator"),
    "other arguments": (lambda x, w: x, "called with (x, w, stride, padding); yours takes (x, w)"),
    "no function": (5, "without calling"),
    "nothing": (None, "without calling"),
    "endless recursion": (recursive, "calls itself without end"),
    "exit": (lambda *a: sys.exit(3), "SystemExit"),
    "text": (lambda *a: "5", "a str: 5"),
    "a ragged list": (lambda *a: [[1, 2], [3]], "a list"),
    "objects": (lambda *a: np.array([object()]), "a ndarray"),
    "complex": (lambda *a: EXERCISES["convolve"].answer(*a) + 0j, "`.real` leaves them out"),
    "NaN": (lambda *a: EXERCISES["convolve"].answer(*a) * np.nan, "NaN"),
    "infinity": (lambda *a: EXERCISES["convolve"].answer(*a) / 0.0, "numbers differ"),
    "empty": (lambda *a: np.zeros((0, 0, 0, 0)), "shape (0, 0, 0, 0)"),
    "a number": (partial(lambda *a: 5.5), "a number, 5.5"),
    "too much memory": (lambda *a: np.zeros(1 << 50), "too much memory"),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("odd", ODD)
def test_odd_answers_are_answered(odd):
    function, words = ODD[odd]
    note = check("convolve", function)
    assert note.good is False
    assert words in repr(note)
    note._repr_html_()


def swallows(x, w, stride, padding):
    while True:
        try:
            while True:
                try:
                    stride += 1
                except:  # noqa: E722 (as learners write it)
                    stride = 0
        except:  # noqa: E722
            stride = 0


def forever(x, w, stride, padding):
    while True:
        pass


@pytest.mark.parametrize("never", [swallows, forever])
def test_what_never_returns_is_stopped(monkeypatch, never):
    monkeypatch.setattr("convlab.lessons.attempt.SECONDS", 0.5)
    begun = time.monotonic()
    note = check("convolve", never)
    assert note.good is False
    assert "takes too long" in note.title
    assert "in line" in note.body
    assert time.monotonic() < begun + 5


def test_a_million_lines_are_kept_back(capsys):
    def loud(w):
        for i in range(1_000_000):
            print(i)
        return w * 0

    note = check("flip", loud)
    assert "more lines" in note.body
    assert len(note.body) < 5000
    assert capsys.readouterr().out == ""


def test_time_is_up_in_a_thread_too():
    seen = []

    def work():
        try:
            with guarded(0.2):
                while True:
                    pass
        except TimeUp:
            seen.append("up")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == ["up"]


def test_in_time_nothing_happens():
    with guarded(5) as printed:
        print("x")
    assert str(printed) == "x"


# -- help --------------------------------------------------------------------------------------------------


def test_hints_come_one_by_one(memory):
    hints = EXERCISES["flip"].hints
    said = [hint("flip") for _ in range(4)]
    assert [h in note.body for h, note in zip((*hints, hints[-1]), said, strict=True)] == [True] * 4
    assert said[0].title == "Hint 1 of 3"
    assert hint("convolve").title == "Hint 1 of 3"  # each exercise has its own


def test_the_solution_comes_after_a_try(memory):
    assert not solution("flip").code
    check("convolve", lambda *a: 1)
    assert "def convolve" in solution("convolve").code


def test_the_solution_comes_when_asked_twice(memory):
    assert not solution("flip").code
    note = solution("flip")
    assert "w[:, ::-1, ::-1, :]" in note.code
    assert note.body == EXERCISES["flip"].why


def test_tries_are_remembered(memory):
    check("flip", wrong("flip", "flips the rows only"))
    check("flip", EXERCISES["flip"].solution)
    first, second = memory.events("try", "flip")
    assert (first.detail["good"], second.detail["good"]) == (False, True)
    assert "rows only" in first.detail["diagnosis"]


def test_two_pieces_can_change_places():
    exercise = EXERCISES["output_size"]
    swapped = Mistake("swaps H and R", {"H + ": "R + ", "(R - 1)": "(H - 1)"}, "H is the picture's.")
    assert exercise.wrong(swapped)(3, 5, 1, 0, 1) == 3


def test_a_mistake_that_cannot_be_made_is_none():
    assert EXERCISES["flip"].wrong(Mistake("does what is not there", {"no such text": ""}, "No.")) is None


def test_reveal():
    assert reveal(None, 3, "times").good is None
    assert reveal(3.1, 3, "times").good
    assert not reveal(9, 3, "times").good
    for odd in ("a", 0, -3, float("nan"), [1], float("inf")):
        assert reveal(odd, 3, "times").good is None
    assert reveal("3", 3, "times").good
    assert "<script>" not in reveal(1, 3, "<script>")._repr_html_()


def test_a_note_says_once_that_nothing_can_be_remembered(monkeypatch, tmp_path):
    (tmp_path / progress.NAME).write_bytes(b"no database at all, but something else" * 50)
    monkeypatch.setenv(progress.NAMED, str(tmp_path))
    progress.here.cache_clear()
    first, second = hint("flip"), check("flip", EXERCISES["flip"].solution)
    progress.here.cache_clear()
    assert "progress" in first.aside
    assert first.aside in repr(first)
    assert second.aside == ""
    assert len(list(tmp_path.glob("*damaged*"))) == 1  # it is kept beside the new one
