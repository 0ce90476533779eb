"""`check`, `hint` and `solution`: what they say, and what they stand."""

import linecache
import random
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from types import SimpleNamespace

import numpy as np
import pytest
from effort import in_turns, sampled

from convlab import ConvError, ConvProblem, conv2d, im2row
from convlab.lessons import EXERCISES, check, guard, hint, progress, reveal, solution
from convlab.lessons.attempt import Outcome, _line_before, attempt
from convlab.lessons.borrowed import borrowed
from convlab.lessons.diagnosis import diagnosis
from convlab.lessons.exercise import Mistake
from convlab.lessons.guard import TimeUp, guarded
from convlab.lessons.note import Note
from convlab.lessons.unwritten import unwritten_shows


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

    def divides_by_something_else(*_):
        raise ZeroDivisionError("the picture is empty")

    answers = (lambda *a: 1 / 0, lambda *a: [][0], divides_by_something_else)
    outcomes = [attempt(answer, exercise) for answer in answers]
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


def test_a_fraction_is_a_number():
    assert check("separable_saving", lambda C, K, R, S: Fraction(R * S * K, R * S + K)).good
    said = repr(check("separable_saving", lambda C, K, R, S: Fraction(R * S, 7)))
    assert "got      6/7" in said


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


def test_printing_is_not_returning():
    def prints(H, R, stride, padding, dilation):
        print("it is", H)

    note = check("output_size", prints)
    assert note.good is False
    assert "prints, but returns nothing" in note.title
    assert "write `return`" in note.diagnosis
    assert "it is 5" in note.body


def test_a_way_out_without_return():
    some = lambda H, R, s, p, d: None if s > 1 else (H + 2 * p - d * (R - 1) - 1) // s + 1  # noqa: E731
    assert "got      nothing (None): is there a `return`?" in check("output_size", some).body
    first = lambda H, R, s, p, d: None if (H, p) == (5, 0) else H  # noqa: E731
    assert "is there a `return`?" in check("output_size", first).body


def test_a_cut_list_of_arrays_is_told_by_its_length():
    def cut(b, cols):
        return np.array_split(b, -(-b.shape[1] // cols), axis=1)

    assert "got      a list of 3 arrays, of the shapes (2, 2) and (2, 1)" in check("pack", cut).body


LOOP = """
def f(H, R, stride, padding, dilation):
    while True:
        for p in ():
            pass
"""


@pytest.mark.parametrize("known", [True, False], ids=["a cell", "text that is gone"])
def test_an_endless_loop_has_a_line(monkeypatch, known):
    """A jump back to the top of a loop has no line of its own."""
    monkeypatch.setattr("convlab.lessons.attempt.SECONDS", 0.2)
    file = "<cell of a notebook>"
    if known:
        monkeypatch.setitem(linecache.cache, file, (len(LOOP), None, LOOP.splitlines(keepends=True), file))
    names = {}
    exec(compile(LOOP, file, "exec"), names)
    lines = [check("output_size", names["f"]).body.splitlines()[-1] for _ in range(4)]
    told = {"in line 3: while True:", "in line 4: for p in ():"} if known else {"in line 3", "in line 4"}
    assert set(lines) <= told


def test_an_instruction_without_a_line_belongs_to_the_one_before():
    code = compile("x = 1\nwhile x:\n    x += 1\n", "<text>", "exec")
    for start, _, line in code.co_lines():
        if line is not None:
            assert _line_before(code, start) == line
    gone = code.replace(co_linetable=b"")
    assert _line_before(gone, 0) == gone.co_firstlineno


# -- whose work it is --------------------------------------------------------------------------------------


def test_the_librarys_own_work_is_refused():
    def convolve(x, w, stride, padding):
        return conv2d(x, w, stride=stride, padding=padding, backend="numpy")  # nothing to compile

    def rows(x, R, S, stride, padding):
        N, H, W, C = x.shape
        return im2row(x, ConvProblem(N, H, W, C, 1, R, S, stride=stride, padding=padding))

    def size(H, R, stride, padding, dilation):
        return ConvProblem(1, H, 999, 1, 1, R, 1, stride=stride, padding=padding, dilation=dilation).P

    answers = {
        "conv2d": check("convolve", convolve),
        "im2row": check("im2row", rows),
        "ConvProblem": check("output_size", size),
        "_answer": check("convolve", lambda *a: EXERCISES["convolve"].answer(*a)),
        "convolve": check("convolve", lambda *a: EXERCISES["convolve"].solution(*a)),
    }
    for name, note in answers.items():
        assert note.good is False
        assert f"It calls `{name}`: that is the library's." in note.diagnosis


def test_scipy_and_the_sizes_of_a_problem_are_tools():
    from scipy.signal import correlate2d

    def convolve(x, w, stride, padding):
        problem = ConvProblem.of(x, w, stride=stride, padding=padding)
        x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
        y = np.zeros((len(x), problem.P, problem.Q, len(w)))
        for n, k, c in np.ndindex(len(x), len(w), x.shape[3]):
            y[n, :, :, k] += correlate2d(x[n, :, :, c], w[k, :, :, c], "valid")[::stride, ::stride]
        return y

    assert check("convolve", convolve).good


def test_looking_at_whose_work_it_is_ends_with_the_call():
    assert borrowed(lambda: 1, (), own=None, tools=()) == ""
    with pytest.raises(ZeroDivisionError):
        borrowed(lambda: 1 / 0, (), own=None, tools=())
    assert sys.getprofile() is None


def test_what_nobody_has_written_shows():
    """Memory that was never written is often 0, and an answer that relies on it right by chance."""

    def pack(b, cols):
        K, N = b.shape
        panels = np.empty((-(-N // cols), K, cols), b.dtype)
        for i, panel in enumerate(panels):
            strip = b[:, i * cols : (i + 1) * cols]
            panel[:, : strip.shape[1]] = strip
        return panels

    assert [check("pack", pack).good for _ in range(5)] == [False] * 5
    empty = np.empty
    with unwritten_shows():
        assert np.isnan(np.empty(3)).all()
        assert np.isnan(np.empty_like(np.zeros(2, complex))).all()
        assert np.empty((2, 2), np.int8).tolist() == [[63, 63], [63, 63]]
        assert np.empty(2, object).tolist() == [None, None]
    assert np.empty is empty


COMPILED = """
import numba
import numpy as np
from convlab.lessons import attempt, check

attempt.SECONDS = 100  # a busy machine compiles slowly

@numba.njit
def pack(b, cols):
    K, N = b.shape
    panels = np.empty((-(-N // cols), K, cols), b.dtype)
    panels[:] = 0
    for n in range(N):
        panels[n // cols, :, n % cols] = b[:, n]
    return panels

note = check("pack", pack)
assert note.good, note.body
assert numba.njit(lambda n: np.empty_like(np.empty(n)))(3).shape == (3,)
"""


@in_turns
@sampled(0)
def test_an_answer_may_be_compiled_and_be_the_first_that_is():
    """Numba notes what `np.empty` is when it first compiles something, and that may be an answer."""
    run = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_difference_is_a_picture_with_the_window():
    note = check("convolve", wrong("convolve", "flips the filter"))
    assert note.picture.count("<table") == 4
    assert "what [0, 0, 0, 0] reads" in note.picture
    outlined = note.picture.count("border:2px")
    assert outlined == 4 + 3  # the 2 x 2 pixels that are read; the first wrong number in the other three
    assert "<caption" not in note.picture  # that is as narrow as its table
    assert "align-items:flex-end" in note.picture
    names = re.findall('<table aria-label="([^"]+)"', note.picture)
    assert len(names) == 4
    assert names[-1] == "yours - expected"
    assert all(f">{name}</div>" in note.picture for name in names)


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


class Mine(BaseException):
    """An error of a learner's own, of no kind that one usually catches."""


def raises_its_own(x, w, stride, padding):
    raise Mine("no such filter")


def right_once(x, w, stride, padding):
    """Compute, but raise something unusual where one looks at how it works."""
    if sys.getprofile():
        raise Mine
    return EXERCISES["convolve"].answer(x, w, stride, padding)


ODD = {
    "an error of its own": (raises_its_own, "Mine: no such filter"),
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


def test_an_answer_that_raises_something_unusual_where_it_is_watched_is_right():
    assert check("convolve", right_once).good


class Long:
    """A result that takes long to read."""

    read = 0

    def __array__(self, *a, **k):
        Long.read += 1
        return np.zeros(5)


class Endless:
    """A result that nobody comes to the end of."""

    def __array__(self, *a, **k):
        forever(*4 * [0])


def test_a_result_is_read_once_and_in_the_time_that_there_is(monkeypatch):
    note = check("convolve", lambda *a: Long())
    assert "an array of shape (5,)" in note.body
    assert Long.read == len(list(EXERCISES["convolve"].cases()))
    monkeypatch.setattr("convlab.lessons.attempt.SECONDS", 0.5)
    assert "takes too long" in check("convolve", lambda *a: Endless()).title


class Rude:
    def __array__(self, *a, **k):
        raise RuntimeError("what cannot be made an array of says so by any error")

    def __str__(self):
        raise KeyError("nor as text")


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (10**400, "a number beyond all floats"),
        (-(10**5000), "a number beyond all floats"),
        ([10**5000], "a list, which cannot be shown"),
        (reduce(lambda inside, _: [inside], range(10**6), 1), "a list, which cannot be shown"),
        (Fraction(10**5000, 10**5000 - 1), "got      1.0"),
        (Rude(), "a Rude, which cannot be shown"),
    ],
    ids=["number", "negative", "list", "deep", "fraction", "rude"],
)
@pytest.mark.parametrize("name", ["output_size", "index_map", "flip"])
def test_what_no_float_holds_and_no_text_shows_is_answered(name, got, words):
    note = check(name, lambda *a: got)
    assert note.good is False
    assert name != "output_size" or words in repr(note)
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


@pytest.mark.inside
@pytest.mark.skipif(sys.platform != "linux", reason="only there the system is told a limit")
def test_a_limit_on_memory_is_never_raised():
    code = """
import resource
from convlab.lessons.guard import guarded
with open("/proc/self/statm") as sizes:
    taken = int(sizes.read().split()[0]) * resource.getpagesize()
most = taken + (1 << 30)  # less than a learner's function may take elsewhere
resource.setrlimit(resource.RLIMIT_AS, (most, most))
with guarded(9):
    inside = resource.getrlimit(resource.RLIMIT_AS)
print(inside == (most, most), resource.getrlimit(resource.RLIMIT_AS) == (most, most))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True True\n", done.stderr


def test_of_a_long_line_its_beginning_is_kept():
    def loud(w):
        print(10_000 * "x")
        return w * 0

    assert 100 < check("flip", loud).body.count("x") < 300


@in_turns
@pytest.mark.inside
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


def test_an_alarm_that_is_slow_to_take_overtakes_nothing(monkeypatch):
    def slow():  # as on a machine with other work: longer than the pause between two alarms
        until = time.monotonic() + 3e-4
        while time.monotonic() < until:
            pass
        return draw.random()

    draw = random.Random(1)
    monkeypatch.setattr(guard, "random", SimpleNamespace(random=slow))
    with pytest.raises(TimeUp), guarded(0.05):
        swallows(None, None, 0, 0)


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
    assert ": close." in reveal(3.7, 3, "times").title
    assert "within a factor of two" in reveal(3.8, 3, "times").title
    assert not reveal(9, 3, "times").good
    for odd in ("a", 0, -3, float("nan"), [1], float("inf"), 10**400):
        assert reveal(odd, 3, "times").good is None
    assert reveal("3", 3, "times").good
    assert "<script>" not in reveal(1, 3, "<script>")._repr_html_()


def test_a_note_says_where_help_is():
    assert 'hint("flip")' in repr(check("flip", lambda w: None))
    assert 'hint("flip")' in repr(check("flip", lambda w: w))
    assert "hint" not in repr(check("flip", EXERCISES["flip"].solution))


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
