"""The interview's timed tasks: what is right passes, what is wrong is named, the clock tells the truth."""

import ast
import json
import math
import os
from itertools import pairwise

import numpy as np
import pytest
from effort import sampled
from right_answers.coding import ANSWERS

import convlab
from convlab import ConvError, interview
from convlab.gpu.numba_cuda import cuda
from convlab.interview.coding import bug_rounds, clock
from convlab.interview.coding.clock import BEGIN, PAUSE, RESUME, SOLVED, Moment, clock_text, reading
from convlab.interview.coding.tasks import TASKS
from convlab.interview.coding.tasks.cases import convolved, lines_run, most_bytes, pictures
from convlab.interview.coding.tasks.conv2d_dgrad import layers
from convlab.lessons import EXERCISES, progress
from convlab.lessons.checks import judge
from convlab.lessons.exercise import MARK, Mistake
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.progress_file import ProgressFile

# Kernels first: the short form takes the first, the last and one between, and a tiled kernel takes long.
NAMES = sorted(TASKS, key=lambda name: name.startswith("conv2d"))
RIGHT = [(name, answer) for name in NAMES for answer in (TASKS[name].exercise.solution, *ANSWERS[name])]
MISTAKES = [(name, mistake) for name in NAMES for mistake in TASKS[name].exercise.mistakes]
ROUNDS = sum(len(mistakes) for _, mistakes in bug_rounds.rounds())
LONGEST = max(len(mistakes) for _, mistakes in bug_rounds.rounds())
MOST = len(bug_rounds.rounds()) * LONGEST  # seeds: each round is among them


def judged(name, answer):
    return judge(TASKS[name].exercise, answer, "")


# -- the tasks ---------------------------------------------------------------------------------------------


@sampled(3)
@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=[f"{n}: {a.__name__}" for n, a in RIGHT])
def test_what_is_right_passes(name, answer):
    note = judged(name, answer)
    assert note.good, note


@sampled(3)
@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=[f"{n}: {m.name}" for n, m in MISTAKES])
def test_each_mistake_is_rejected_and_called_by_its_own_name(name, mistake):
    wrong = TASKS[name].exercise.wrong(mistake)
    assert wrong is not None, "the solution's text has no such piece"
    note = judged(name, wrong)
    assert note.good is False
    assert note.diagnosis == str(mistake)


@cuda.jit
def adds_up_in_y(x, w, y, padding):
    K, P, Q = y.shape
    i = cuda.grid(1)
    if i < K * P * Q:
        k, p, q = i // (P * Q), i // Q % P, i % Q
        y[k, p, q] = 0
        for c in range(x.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    row, col = p + r - padding, q + s - padding
                    if 0 <= row < x.shape[1] and 0 <= col < x.shape[2]:
                        y[k, p, q] += x[c, row, col] * w[k, c, r, s]


def test_where_naive_will_do_nothing_costs_too_much():
    assert judged("kernel_padded", adds_up_in_y).good


@pytest.mark.parametrize(
    ("name", "edits", "words"),
    [
        ("kernel_padded", {"if i < K * P * Q:": "if i < P * Q:"}, "Filters from 1 on are not written."),
        (
            "kernel_coalesced",
            {"if i < P * Q * K:": "if i < P * Q * K - 1:"},
            "Only the very last number of y",
        ),
    ],
)
def test_which_part_of_y_is_missing_is_said_of_kernels(name, edits, words):
    exercise = TASKS[name].exercise
    note = judged(name, exercise.wrong(Mistake("leaves a part out", edits, "")))
    assert note.good is False
    assert note.diagnosis.startswith(words)


def test_tasks_are_complete():
    assert not set(TASKS) & set(EXERCISES)  # what is remembered goes by their names
    folder = os.path.dirname(interview.coding.tasks.__file__)
    assert {f[:-3] for f in os.listdir(folder) if f.startswith(("conv2d", "kernel"))} == set(TASKS)
    for name, task in TASKS.items():
        exercise = task.exercise
        assert len(exercise.mistakes) >= 8, name
        assert len({mistake.name for mistake in exercise.mistakes}) == len(exercise.mistakes), name
        assert len(set(exercise.hints)) == 3
        assert exercise.source.count(MARK) == 1
        assert len(set(ANSWERS[name])) == 3
        assert task.then in {"", *TASKS}
        assert task.minutes > 0
    assert TASKS["conv2d_nchw"].minutes == 30


def test_a_task_says_how_its_function_is_called():
    for task in TASKS.values():
        assert f"({', '.join(task.exercise.arguments)})" in task.exercise.statement


def looped(x, w, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    R, S = w.shape[2:]
    P, Q = x.shape[2] - R + 1, x.shape[3] - S + 1
    sums = [(x[:, None, :, p : p + R, q : q + S] * w).sum((2, 3, 4)) for p in range(P) for q in range(Q)]
    return np.stack(sums, -1).reshape(len(x), len(w), P, Q)


def hidden(x, w, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    R, S = w.shape[2:]
    shape = len(x), len(w), x.shape[2] - R + 1, x.shape[3] - S + 1
    one = np.vectorize(lambda n, k, p, q: (x[n, :, p : p + R, q : q + S] * w[k]).sum())
    return one(*np.indices(shape))


def of_the_channels(x, w, padding):
    from numpy.lib.stride_tricks import sliding_window_view

    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = sliding_window_view(x, w.shape[2:], (2, 3))
    return sum(np.einsum("npqrs,krs->nkpq", windows[:, c], w[:, c]) for c in range(x.shape[1]))


def by_numpy(x, w, padding):
    """NumPy's own loop, which is one of Python."""
    return np.apply_along_axis(np.sum, -1, ANSWERS["conv2d_vectorised"][0](x, w, padding)[..., None])


LOOPS = (looped, hidden, of_the_channels, by_numpy)


@pytest.mark.parametrize("answer", LOOPS, ids=lambda answer: answer.__name__)
def test_loops_of_python_are_seen(answer):
    assert judged("conv2d_nchw", answer).good
    note = judged("conv2d_vectorised", answer)
    assert note.good is False
    assert "not in the way" in note.title
    assert "there is a loop" in note.diagnosis


def test_a_matrix_of_all_windows_is_seen():
    for answer in ANSWERS["conv2d_vectorised"][2], TASKS["conv2d_vectorised"].exercise.solution:
        note = judged("conv2d_lean", answer)
        assert note.good is False
        assert "it holds" in note.diagnosis
        assert judged("conv2d_vectorised", answer).good
    assert judged("conv2d_lean", ANSWERS["conv2d_vectorised"][1]).good
    note = judged("conv2d_lean", looped)
    assert "lines of Python" in note.diagnosis


def test_what_the_library_wrote_is_no_answer():
    def borrowed(x, w, padding):
        return convlab.conv2d_nchw(x, w, padding=padding)

    def copied(x, w, padding):
        return TASKS["conv2d_nchw"].exercise.solution(x, w, padding)

    for answer in borrowed, copied:
        note = judged("conv2d_nchw", answer)
        assert note.good is False
        assert "that is the library's" in note.diagnosis


def test_lines_and_bytes_are_counted():
    def two_a_round(n):
        for number in range(n):
            math.sqrt(number)

    loops = (
        two_a_round,
        lambda n: [number for number in range(n)],
        lambda n: sum(number for number in range(n)),
        lambda n: list(map(lambda number: number, range(n))),
    )
    for loop, lines in zip(loops, (2, 1, 1, 1), strict=True):
        assert lines_run(loop, 20)[0] - lines_run(loop, 10)[0] == 10 * lines
    one, two = (lines_run(np.apply_along_axis, np.sum, 0, np.ones((2, n)))[1] for n in (10, 20))
    assert two > 1.5 * one
    assert most_bytes(lambda: np.ones(1000) + np.ones(1000)) >= 3 * 8000
    assert most_bytes(lambda: (np.ones(1000).sum(), np.ones(1000).sum())) < 2 * 8000


def test_oracles_of_gradients_are_the_librarys_gradients():
    for x, w, dy, stride, padding in layers():
        problem = convlab.ConvProblem.of(
            *(a.transpose(0, 2, 3, 1) for a in (x, w)), stride=stride, padding=padding
        )
        x_, w_, dy_ = (np.ascontiguousarray(a.transpose(0, 2, 3, 1)) for a in (x, w, dy))
        dx = convlab.dgrad(problem, dy_, w_, backend="numpy").transpose(0, 3, 1, 2)
        dw = convlab.wgrad(problem, x_, dy_, backend="numpy").transpose(0, 3, 1, 2)
        theirs = TASKS["conv2d_dgrad"].exercise.answer(dy, w, *x.shape[2:], stride, padding)
        assert np.allclose(dx, theirs, rtol=1e-4, atol=1e-4)
        theirs = TASKS["conv2d_wgrad"].exercise.answer(x, dy, *w.shape[2:], stride, padding)
        assert np.allclose(dw, theirs, rtol=1e-4, atol=1e-4)


def test_the_reference_is_pytorchs():
    torch = pytest.importorskip("torch")
    for x, w in pictures((2, 6, 7, 6, 9, 2, 3, 2), (2, 4, 5, 7, 4, 4, 2, 3)):
        groups = x.shape[1] // w.shape[1]
        theirs = torch.conv2d(torch.tensor(x), torch.tensor(w), stride=2, padding=1, groups=groups)
        assert np.allclose(convolved(x, w, 1, 2, groups), theirs.numpy(), rtol=1e-4, atol=1e-4)


# -- the clock ---------------------------------------------------------------------------------------------


def at(wall, steady=None, start="one"):
    return Moment(1e9 + wall, 500.0 + (wall if steady is None else steady), start)


def read(*pressed, now):
    return reading(pressed, now)


def test_a_clock_counts_what_lies_between():
    assert read(now=at(5)).state == ""
    one = read((BEGIN, at(0)), now=at(60))
    assert (one.used, one.state, one.set_by) == (60, "running", ())
    paused = (BEGIN, at(0)), (PAUSE, at(60)), (PAUSE, at(70))
    assert (read(*paused, now=at(500)).used, read(*paused, now=at(500)).state) == (60, "paused")
    twice = *paused, (RESUME, at(100)), (RESUME, at(110))  # two tabs press the same
    assert read(*twice, now=at(160)).used == 120
    assert read(*twice, (SOLVED, at(130)), now=at(999)) == clock.Reading(90, "solved")
    assert read(*twice, (SOLVED, at(130)), (PAUSE, at(140)), (RESUME, at(150)), now=at(999)).used == 90
    assert read(*paused, (SOLVED, at(80)), now=at(999)) == clock.Reading(60, "solved")
    assert read(*twice, (SOLVED, at(130)), (BEGIN, at(200)), now=at(210)).used == 10
    assert read((BEGIN, at(0)), ("nonsense", at(10)), now=at(30)).used == 30


@pytest.mark.parametrize(("by", "word"), [(7200, "forward by 2:00:00"), (-300, "back by 5:00")])
def test_a_clock_that_is_set_is_found_out(by, word):
    one = read((BEGIN, at(0)), now=at(60 + by, 60))
    assert one.used == 60
    assert one.set_by == (by,)
    assert word in one.trouble
    later = (BEGIN, at(0)), (PAUSE, at(60 + by, 60)), (RESUME, at(70 + by, 70))
    assert read(*later, now=at(80 + by, 80)).used == 70
    assert read(*later, now=at(80 + by, 80)).set_by == (by,)
    assert read((BEGIN, at(0)), now=at(62, 60)).trouble == ""  # a time server


def test_a_computer_that_was_started_anew_has_its_clock_alone():
    assert read((BEGIN, at(0)), now=at(600, 10, "two")) == clock.Reading(600, "running")
    back = read((BEGIN, at(0)), now=at(-600, 10, "two"))
    assert back.used == 0
    assert "set back by 10:00" in back.trouble


def test_a_moment_goes_on():
    one, two = clock.now(), clock.now()
    assert one.start == two.start != ""
    passed, moved = one.until(two)
    assert 0 <= passed < 5
    assert abs(moved) < 1


def test_a_clocks_text():
    assert [clock_text(s) for s in (0, 59.4, 59.9, 1800, 3661)] == [
        "0:00",
        "0:59",
        "1:00",
        "30:00",
        "1:01:01",
    ]


def restarted():
    """Forget all that a process holds in memory."""
    progress.here.cache_clear()


def test_a_task_from_begin_to_end(hands):
    task = interview.begin("conv2d_nchw")
    assert task.left == 1800
    hands(60)
    assert "29:00 of 30:00 minutes left" in repr(task)
    assert TASKS["conv2d_nchw"].exercise.statement in repr(task)
    assert "<strong>conv2d_nchw: 29:00 of 30:00 minutes left</strong>" in task._repr_html_()
    note = task.submit(lambda x, w, padding: None)
    assert note.good is None
    assert progress.events("try") == []
    note = task.submit(TASKS["conv2d_nchw"].exercise.wrong(TASKS["conv2d_nchw"].exercise.mistakes[0]))
    assert note.good is False
    assert "flips the filter" in note.diagnosis
    assert note.aside == "29:00 of 30:00 minutes left."
    hands(60)
    note = task.submit(ANSWERS["conv2d_nchw"][0])
    assert note.good
    assert "Solved after 2:00 of 30:00 minutes." in note.aside
    assert 'Next: `interview.begin("conv2d_vectorised")`.' in note.aside
    tries = [(event.detail["good"], event.detail["used"]) for event in progress.events("try", "conv2d_nchw")]
    assert tries == [(False, 60), (True, 120)]
    hands(600)
    assert interview.begin("conv2d_nchw").left == task.left == 1680  # what is done stays so
    assert "solved after 2:00" in repr(task)
    note = task.submit(looped)
    assert note.good
    assert "Solved after 2:00" in note.aside
    assert task.submit(lambda x, w, padding: x).aside.startswith("Before: solved after 2:00")
    assert "The clock" not in task.resume().body
    again = interview.begin("conv2d_nchw", anew=True)
    assert again.left == 1800


def test_a_task_that_runs_beside_another_is_named(hands):
    first = interview.begin("conv2d_nchw")
    assert "as well" not in repr(first)
    second = interview.begin("conv2d_grouped")
    assert "The clock of conv2d_nchw runs as well." in repr(second)
    first.pause()
    assert "as well" not in repr(second)
    first.resume()
    assert "The clock of conv2d_nchw runs as well." in second.submit(ANSWERS["conv2d_grouped"][0]).aside
    assert "as well" not in repr(first)


def test_a_task_can_be_paused_and_outlives_its_kernel(hands):
    task = interview.begin("conv2d_grouped")
    hands(100)
    note = task.pause()
    assert "13:20 of 15:00 minutes left, paused" in note.title
    hands(5000)
    restarted()
    task = interview.begin("conv2d_grouped")
    assert task.left == 800
    assert "paused" in repr(task)
    task.resume()
    hands(50)
    restarted()  # the browser is closed: it runs on
    hands(50)
    assert interview.begin("conv2d_grouped").left == 700
    hands(800)
    task = interview.begin("conv2d_grouped")
    assert task.left == -100
    assert "1:40 over 15:00 minutes" in repr(task)
    assert 'interview.begin("conv2d_grouped", anew=True)' in repr(task)
    note = task.submit(ANSWERS["conv2d_grouped"][0])
    assert note.good  # late is better than never, and is said
    assert "Solved after 16:40 of 15:00 minutes." in note.aside


def test_two_tabs_have_one_clock(hands):
    """Two kernels, two views of one file."""
    one = interview.begin("conv2d_lean")
    restarted()
    hands(10)
    two = interview.begin("conv2d_lean")
    hands(10)
    assert one.left == two.left == 880
    for tab in one, two:
        restarted()
        tab.pause()
    hands(100)
    for tab in two, one:
        restarted()
        tab.resume()
    hands(10)
    assert one.left == two.left == 870
    assert interview.begin("conv2d_wgrad").left == 900  # another task has a clock of its own


def test_a_clock_that_is_set_during_a_task_is_said(hands):
    task = interview.begin("conv2d_dgrad")
    hands(60, wall=-86400)
    assert task.left == 1140
    assert "set back by 24:00:00 meanwhile" in repr(task)
    task.pause()  # noted at an earlier time than the beginning
    hands(10)
    assert task.left == 1140
    task.resume()
    hands(20, wall=86400)
    assert task.left == 1120
    assert "set back" in task.submit(lambda *arguments: 1).aside or "set forward" in repr(task)
    again = interview.begin("conv2d_dgrad", anew=True)
    assert "was set" not in repr(again)


def test_what_cannot_be_read_is_left_out(hands):
    task = interview.begin("conv2d_nchw")
    progress.record("clock", "conv2d_nchw", did=PAUSE)
    progress.record("clock", "conv2d_nchw", did=PAUSE, count="many", wall="noon", steady=None, start=3)
    progress.record("clock", "conv2d_nchw", did="sung", count=9, wall=1e9, steady=500, start="one")
    hands(60)
    assert task.left == 1740


def test_a_file_of_a_newer_course_is_left_alone_and_said(hands):
    import sqlite3
    from contextlib import closing

    ProgressFile(hands() / progress.NAME).record("try", "a", {})
    with closing(sqlite3.connect(hands() / progress.NAME)) as file:
        file.execute("PRAGMA user_version = 99")
    restarted()
    task = interview.begin("conv2d_nchw")
    assert "newer version of this course" in repr(task)
    hands(30)
    assert task.left == 1770


def test_hints_come_one_by_one(hands):
    task = interview.begin("conv2d_wgrad")
    hints = TASKS["conv2d_wgrad"].exercise.hints
    for number in range(4):
        hands(10)
        note = task.hint()
        assert hints[min(number, 2)] in note.body
    assert "`interview.give_up(task)` has the rest" in note.body
    assert "14:20 of 15:00 minutes left" in note.aside
    assert len(progress.events("hint", "conv2d_wgrad")) == 4


def test_giving_up_shows_the_solution(hands):
    task = interview.begin("kernel_padded")
    hands(90)
    note = interview.give_up(task)
    assert note.code == TASKS["kernel_padded"].exercise.solved
    assert "Given up after 1:30 of 20:00 minutes." in note.aside
    assert 'Next: `interview.begin("kernel_coalesced")`' in note.aside
    hands(90)
    assert interview.begin("kernel_padded").left == 1110
    assert task.submit(ANSWERS["kernel_padded"][1]).good
    assert "given up after 1:30" in repr(task)


# -- rounds of finding a bug -------------------------------------------------------------------------------


def test_each_round_has_one_wrong_line_that_nothing_gives_away():
    assert len(bug_rounds.rounds()) >= 30
    assert ROUNDS >= 200
    for name, mistakes in bug_rounds.rounds():
        exercise = EXERCISES[name]
        right = bug_rounds.plain(exercise)
        for mistake in mistakes:
            wrong = bug_rounds.plain(exercise, mistake)
            assert [a == b for a, b in zip(right, wrong, strict=True)].count(False) == 1, mistake.name
            text = "\n".join(wrong)
            assert "#" not in text
            assert ast.unparse(ast.parse(text)) == text
            loaded = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
            assert loaded <= {n.id for n in ast.walk(ast.parse("\n".join(right))) if isinstance(n, ast.Name)}


def test_seeds_give_all_rounds_and_neighbours_differ():
    drawn = [bug_rounds.round_of(seed) for seed in range(MOST)]
    assert all(one[0] != two[0] for one, two in pairwise(drawn))
    assert len({(name, mistake.name) for name, mistake in drawn}) == ROUNDS
    assert bug_rounds.round_of(10**9) == bug_rounds.round_of(10**9)


@sampled(2)
@pytest.mark.parametrize("seed", range(0, 4 * len(bug_rounds.rounds()), 3))
def test_a_round_is_wrong_as_it_stands_and_right_when_mended(hands, seed):
    name, mistake = bug_rounds.round_of(seed)
    line, right = bug_rounds.wrong_line(EXERCISES[name], mistake), bug_rounds.plain(EXERCISES[name])
    wrong = bug_rounds.plain(EXERCISES[name], mistake)
    task = interview.find_the_bug(seed)
    note = task.submit(line, wrong[line - 1])
    assert note.good is False
    assert note.title.startswith("That is the line")
    assert mistake.name not in repr(note)
    hands(30)
    note = task.submit(line, right[line - 1].strip())
    assert note.good
    assert mistake.name in note.body
    assert "Solved after 0:30 of 8:00 minutes." in note.aside
    assert f"Next: `interview.find_the_bug({seed + 1})`." in note.aside


def round_in(name):
    """Return the first round in an exercise, with its seed, its mistake, and the right line."""
    seed = next(seed for seed in range(MOST) if bug_rounds.round_of(seed)[0] == name)
    mistake = bug_rounds.round_of(seed)[1]
    line = bug_rounds.wrong_line(EXERCISES[name], mistake)
    return interview.find_the_bug(seed), mistake, line, bug_rounds.plain(EXERCISES[name])[line - 1]


def test_a_round_shows_numbered_lines_and_does_not_name_the_bug(hands):
    task, mistake, line, right = round_in("convolve")
    shown = repr(task)
    assert EXERCISES["convolve"].statement in shown
    assert "8:00 of 8:00 minutes left" in shown
    assert f"\n{line:>2}  " in shown
    assert right not in shown
    assert mistake.name not in shown
    note = task.submit(1, "def convolve(x, w, stride, padding):")
    assert note.good is False
    assert note.title == "Not mended."
    assert "expected" in note.body
    assert not note.diagnosis
    note = interview.give_up(task)
    assert note.title == f"It is line {line}"
    assert mistake.name in note.body
    assert note.code == right.strip()


def test_a_round_takes_several_lines_and_survives_any_text(hands):
    task, _, line, right = round_in("convolve")
    assert "no Python" in task.submit(line, "for (").title
    assert "no Python" in task.submit(1, "x = 1").title
    assert task.submit(line, "").good is False
    assert task.submit(line, "raise SystemExit").good is False
    assert "there is no `convolve`" in task.submit(1, "def another(x, w, stride, padding):").title
    for bad in 0, -1, 10**6, 1.5, None, "3", True, np.nan:
        with pytest.raises(ConvError, match="line"):
            task.submit(bad, right)
    with pytest.raises(ConvError, match="text"):
        task.submit(line, None)
    assert task.submit(line, f"nothing = 0\n{right.strip()}").good


def test_a_round_may_be_a_kernel(hands):
    task, _, line, right = round_in("filter_naive")
    assert isinstance(task.exercise, KernelExercise)
    assert task.submit(line, "pass").good is False
    assert task.submit(line, right).good


# -- what comes in -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["conv2d", "", "CONV2D_NCHW", None, 3, "find_the_bug 1"])
def test_a_task_that_is_none_is_refused(name):
    with pytest.raises(ConvError, match="name"):
        interview.begin(name)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("conv2d_nchw", None),
        ("conv2d_nchw", 3),
        ("conv2d_nchw", lambda x: x),
        ("conv2d_nchw", lambda x, w, padding: "y"),
        ("conv2d_nchw", lambda x, w, padding: 1 / 0),
        ("kernel_padded", lambda x, w, y, padding: None),
        ("kernel_padded", 3),
        ("kernel_padded", cuda.jit(lambda x: None)),
    ],
)
def test_an_answer_that_is_none_is_answered_in_words(hands, name, answer):
    note = interview.begin(name).submit(answer)
    assert note.good is False
    assert note.title
    assert "minutes left" in note.aside


def test_what_is_kept_is_plain(hands):
    interview.begin("conv2d_nchw")
    (event,) = progress.events("clock")
    assert json.loads(json.dumps(event.detail)) == event.detail
    assert set(event.detail) == {"did", "count", "wall", "steady", "start"}
