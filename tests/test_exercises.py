"""Every exercise proves itself: what is right passes, what is wrong is rejected and called by its name."""

import ast
import json
from pathlib import Path

import held_out
import numpy as np
import pytest
from effort import sampled
from numpy.lib.stride_tricks import sliding_window_view
from right_answers import RIGHT

from convlab import ConvProblem, dgrad
from convlab.lessons import EXERCISES, check, progress
from convlab.lessons.exercise import MARK

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
MISTAKES = [(name, mistake) for name, exercise in EXERCISES.items() for mistake in exercise.mistakes]


def cells(number):
    (file,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    return ["".join(cell["source"]) for cell in json.loads(file.read_text())["cells"]]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_passes(name):
    note = check(name, EXERCISES[name].solution)
    assert note.good, note
    assert not note.diagnosis


@pytest.mark.parametrize("name", EXERCISES)
def test_a_right_answer_written_another_way_passes(name):
    note = check(name, RIGHT[name])
    assert note.good, note


@pytest.mark.inside
@pytest.mark.parametrize(("name", "number"), held_out.NAMED)
def test_a_mistake_that_no_bank_knows_is_rejected(name, number):
    assert check(name, held_out.WRONG[name][number]).good is False


@pytest.mark.parametrize("name", held_out.RIGHT)
def test_a_right_answer_that_was_refused_once_passes(name):
    note = check(name, held_out.RIGHT[name])
    assert note.good, note


@pytest.mark.inside
@sampled(54)
@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=[f"{n}: {m.name}" for n, m in MISTAKES])
def test_each_mistake_is_rejected_and_called_by_its_own_name(name, mistake):
    exercise = EXERCISES[name]
    wrong = exercise.wrong(mistake)
    assert wrong is not None, "the solution's text has no such piece"
    note = check(name, wrong)
    assert note.good is False
    assert note.diagnosis == str(mistake)


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_is_complete(name):
    exercise = EXERCISES[name]
    assert len(exercise.mistakes) >= 6
    assert len(set(exercise.hints)) == 3
    assert exercise.source.count(MARK) == 1
    assert MARK not in exercise.solved
    ast.parse(exercise.solved)
    for mistake in exercise.mistakes:
        assert mistake.meaning.endswith((".", "?")), mistake.name
        assert mistake.name[0].islower() or mistake.name.split()[0].isupper(), mistake.name
        if not callable(mistake.edits):
            for old in mistake.edits:
                assert old in exercise.source, f"{mistake.name}: {old!r}"


@pytest.mark.parametrize("name", EXERCISES)
def test_the_notebook_hands_out_the_skeleton(name):
    exercise = EXERCISES[name]
    asked = [cell for cell in cells(exercise.notebook) if f'check("{name}"' in cell]
    assert len(asked) == 1
    assert exercise.skeleton in asked[0]


def handed_out(name):
    """Return what the cell of an exercise hands out, as the reader's notebook defines it."""
    exercise = EXERCISES[name]
    (cell,) = (cell for cell in cells(exercise.notebook) if f'check("{name}"' in cell)
    return exercise.compiled(cell.partition("\n\n\ncheck(")[0], "handed out")


def test_what_is_to_be_mended_is_handed_out_with_its_faults():
    note = check("mend", handed_out("mend"))
    assert note.good is False
    assert note.diagnosis == str(EXERCISES["mend"].mistakes[0])


TO_MEND = {"mend", "indirect_tile", "reverse", "turn", "tail"}


def test_what_is_handed_out_to_be_mended_is_known():
    assert {name for name, exercise in EXERCISES.items() if exercise.faults} == TO_MEND


@pytest.mark.parametrize("name", sorted(TO_MEND))
def test_who_runs_all_cells_has_tried_nothing(name):
    exercise, before = EXERCISES[name], len(progress.events("try", name))
    assert check(name, handed_out(name)).good is False
    assert len(progress.events("try", name)) == before
    assert check(name, exercise.wrong(exercise.mistakes[-1])).good is False
    assert len(progress.events("try", name)) == before + 1


def test_subfilters_slid_over_dy_are_the_gradient():
    stride, padding, far = 3, 2, 9
    problem = ConvProblem(1, 9, 13, 1, 1, 5, 4, stride=stride, padding=padding, dtype="float64")
    rng = np.random.default_rng(1)
    dy, w = rng.standard_normal(problem.y_shape), rng.standard_normal(problem.w_shape)
    dx = dgrad(problem, dy, w)[0, :, :, 0]
    for row, col in np.ndindex(stride, stride):
        small = EXERCISES["subfilters"].solution(w[0, :, :, 0], stride, padding, row, col)
        windows = sliding_window_view(np.pad(dy[0, :, :, 0], far), small.shape)
        p, q = ((i + padding) // stride + 1 + far for i in (row, col))  # behind the last line that is read
        expected = dx[row::stride, col::stride]
        made = np.einsum("pqrs,rs->pq", windows, small)[p - small.shape[0] :, q - small.shape[1] :]
        assert np.allclose(made[: expected.shape[0], : expected.shape[1]], expected)


def test_every_file_is_in_the_table():
    folder = Path(__file__).parents[1] / "convlab/lessons/exercises"
    assert set(EXERCISES) == {f.stem for f in folder.glob("*.py")} - {"__init__"}


def test_the_table_is_in_the_order_of_the_course():
    numbers = [exercise.notebook for exercise in EXERCISES.values()]
    assert numbers == sorted(numbers)


def test_answers_for_an_interview_are_folded_away():
    folded = 0
    for file in NOTEBOOKS.glob("*.ipynb"):
        for cell in cells(file.name[:2]):
            _, asked, rest = cell.partition("## What an interviewer asks here")
            questions = rest.partition("\n## ")[0]
            if asked:
                assert questions.count("<summary>") == questions.count("\n</details>") >= 4, file.name
                assert "\n- " not in questions, file.name
                folded += 1
    assert folded >= 15
