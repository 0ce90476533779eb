"""What the numbers tell of a mistake that has no name: each clue is found where it is so, not elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from convlab.lessons import check
from convlab.lessons.attempt import attempt
from convlab.lessons.clues import clue
from convlab.lessons.exercises import EXERCISES
from convlab.oracle import reference
from convlab.problem import ConvProblem


def right(x, w, stride, padding):
    return reference(x, w, ConvProblem.of(x, w, stride=stride, padding=padding))


def said(name, function):
    exercise = EXERCISES[name]
    return clue(exercise, attempt(function, exercise))


def with_(change):
    def answer(*arguments):
        y = right(*arguments).copy()
        return change(y, *arguments)

    return answer


def put(y, where, value):
    y[where] = value
    return y


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, *a: y * np.nan, "NaN"),
        (lambda y, *a: y * 0, "Everything that you return is 0"),
        (lambda y, *a: y.transpose(0, 3, 1, 2), "another order: yours is (N, K, P, Q)"),
        (lambda y, *a: y[:, ::-1], "back to front along P"),
        (lambda y, *a: y[:, ::-1, ::-1], "back to front along P and Q"),
        (lambda y, *a: np.roll(y, 1, axis=2), "in another order along Q"),
        (lambda y, *a: -y, "signs"),
        (lambda y, *a: y.reshape(-1), "of another shape"),
        (lambda y, *a: y[:, :-1], "too little of it along P"),
        (lambda y, *a: y[:, :0], "too little of it along P"),
        (lambda y, *a: np.pad(y, ((0, 0), (0, 1), (0, 1), (0, 0))), "too much of it along P and Q"),
        (lambda y, *a: 2 * y, "2 times too large"),
        (lambda y, *a: y / 4, "4 times too small"),
        (lambda y, *a: y + 3, "3 too large"),
        (lambda y, x, w, s, p: y * w.shape[1], "multiplied by R"),
        (lambda y, x, w, s, p: y / x.shape[3], "divided by C"),
        (lambda y, x, w, s, p: y / w[0, ..., 0].size, "divided by R and by S"),
        (lambda y, *a: 100 * y, "100 times too large"),
        (lambda y, *a: y.astype(np.float16), "float16 has three digits"),
        (lambda y, *a: y.cumsum().reshape(y.shape), "a sum has to begin at 0 for every number"),
        (lambda y, *a: put(y, np.s_[:, 0], 99), "first row is wrong"),
        (lambda y, *a: put(y, np.s_[:, -1], 99), "last row is wrong"),
        (lambda y, x, w, s, p: y if s == 1 else y * 1.5, "wherever stride is 1"),
        (lambda y, x, w, s, p: y if p == 0 else y + x.size, "wherever padding is 0"),
        (lambda y, x, w, s, p: y if len(x) == 1 else y[::-1] + y.max(), "wherever N is 1"),
        (lambda y, x, w, s, p: y if w.shape[1] == w.shape[2] else y + x.size * y, "R and S are equal"),
    ],
)  # fmt: skip
def test_a_clue_is_found(change, words):
    assert words in said("convolve", with_(change))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda H, R, s, p, d: 5, "the same in every case"),
        (lambda *a: EXERCISES["output_size"].answer(*a) + 1, "1 too large"),
        (lambda *a: EXERCISES["output_size"].answer(*a) * a[0], "multiplied by H"),
        (lambda *a: EXERCISES["output_size"].answer(*a) - a[3] if a[3] else 1 / 0, ""),
    ],
)
def test_clues_of_numbers(function, words):
    assert words in said("output_size", function)


def test_results_that_are_rounded():
    right = EXERCISES["separable_saving"].answer
    assert "rounded to 2 digits" in said("separable_saving", lambda *a: round(right(*a), 2))
    assert "rounded down to whole numbers" in said("separable_saving", lambda *a: int(right(*a)))
    assert "float32 seven" in said("separable_saving", lambda *a: np.float32(right(*a)))
    assert said("separable_saving", lambda *a: round(right(*a), 2) + 0.001 * a[0]) == ""


def test_a_large_number_that_is_off_by_one_is_not_called_a_matter_of_its_type():
    right = EXERCISES["largest_batch"].answer
    assert "type" not in said("largest_batch", lambda *a: right(*a) + (right(*a) > 1000))


def test_one_array_that_is_put_everywhere():
    right = EXERCISES["im2row"].answer
    assert "one array that is filled anew" in said("im2row", lambda *a: [right(*a)[-1]] * len(right(*a)))


def test_what_is_said_of_results_that_are_several_numbers():
    right = EXERCISES["choose_split"].answer
    thousands = lambda *a: (right(*a)[0], right(*a)[1] / 1000)  # noqa: E731
    assert [case for case in EXERCISES["choose_split"].cases() if right(*case)[1] == 0]  # 0 fits any factor
    assert said("choose_split", thousands) == "Only bytes is wrong. Every result is 1000 times too small."
    right_times = EXERCISES["both_ways"].answer
    larger_first = lambda *a: tuple(sorted(right_times(*a), reverse=True))  # noqa: E731
    assert said("both_ways", larger_first) == (
        "In the cases that are wrong the numbers are right, but in the order (exchange, recompute)."
    )


def test_what_a_single_right_case_has_in_common_with_itself_is_no_clue():
    from convlab.lessons import check

    right = EXERCISES["separable_saving"].answer
    alone = lambda C, K, R, S: right(C, K, R, S) + (C - 1) * (K + S)  # noqa: E731
    assert [case for case in EXERCISES["separable_saving"].cases() if case[0] == 1] == [(1, 1, 1, 1)]
    assert check("separable_saving", alone).diagnosis == ""


def test_wrong_only_where_is_said_of_what_explains_most():
    right = EXERCISES["output_size"].answer
    said_of = said("output_size", lambda H, R, s, p, d: right(H, R, s, p, d) + (H if p > 1 and R > 1 else 0))
    assert said_of == "It is wrong only where padding is not 0."


def test_wrong_only_where_is_not_said_of_a_single_case():
    right = EXERCISES["output_size"].answer
    many = lambda H, R, s, p, d: right(H, R, s, p, d) + (H if d == 3 else 0)  # noqa: E731
    assert [case for case in EXERCISES["output_size"].cases() if case[4] == 3] == [(12, 4, 3, 5, 3)]
    assert said("output_size", many) == ""


def test_two_numbers_that_explain_equally_well_are_both_named():
    cases = ((1, 1), (2, 3), (3, 2), (1, 1), (4, 1))
    exercise = replace(EXERCISES["registers"], cases=lambda: iter(cases[:4]), answer=lambda rows, vectors: 9)
    both = lambda rows, vectors: 9 if rows == 1 else rows * vectors  # noqa: E731
    found = clue(exercise, attempt(both, exercise))
    assert found == "It is right wherever rows is 1 and vectors is 1, and is wrong in every other case."
    exercise = replace(exercise, cases=lambda: iter(cases))
    assert "wherever vectors" not in clue(exercise, attempt(both, exercise))


@pytest.mark.parametrize(("type_", "bits"), [(np.int8, 8), (np.uint8, 8), (np.int16, 16)])
def test_numbers_that_went_around(type_, bits):
    grown = replace(EXERCISES["flip"], answer=lambda w: EXERCISES["flip"].answer(w) * 9000)
    outcomes = attempt(lambda w: (EXERCISES["flip"].answer(w) * 9000).astype(np.int64).astype(type_), grown)
    assert f"off by multiples of {2**bits}" in clue(grown, outcomes)
    assert "multiples" not in clue(grown, attempt(lambda w: grown.answer(w) + 2**20 * w, grown))


def test_fractions_that_are_added_to_whole_numbers():
    def adds(w):
        y = np.zeros(w.shape, int)
        y += w
        return y

    assert "make that array one of floats" in said("flip", adds)


def test_a_mask_is_no_shifted_mask():
    """Zeros and ones lie in many ways by chance."""
    answer = EXERCISES["tap_mask"].answer
    for change in (lambda m: np.roll(m, 1, 0), lambda m: m * 0, lambda m: m[::-1], lambda m: m[:, ::-1]):
        assert said("tap_mask", lambda *a, change=change: change(answer(*a))) == ""


def test_right_numbers_at_other_places():
    answer = EXERCISES["pack"].answer
    rolled = said("pack", lambda b, cols: np.roll(answer(b, cols), 1, axis=2))
    assert rolled == "The numbers are right, but they lie in another order along the columns."
    anywhere = lambda b, cols: np.roll(answer(b, cols).reshape(-1), 5).reshape(answer(b, cols).shape)  # noqa: E731
    assert said("pack", anywhere) == "These are the right numbers in another order."
    turned = lambda w: np.roll(EXERCISES["flip"].answer(w), (1, 1), (1, 2))  # noqa: E731
    assert "in another order along R and S" in said("flip", turned)


def test_zeros_that_nobody_writes():
    def ones(x, R, S, stride, padding):
        return EXERCISES["im2row"].answer(x + 0, R, S, stride, padding) + 0

    def filled(*arguments):
        rows = ones(*arguments)
        return np.where(rows == 0, 7, rows)

    assert "should be 0" in said("im2row", filled)


def test_arrays_that_do_not_fit():
    differ = lambda x, w: np.fft.fft2(x) * np.fft.fft2(w)  # noqa: E731
    assert "the shape (3,4) with one of the shape (2,1)" in said("correlate", differ)
    assert said("correlate", lambda x, w: differ(x, w) if len(x) > 3 else np.linalg.inv(w)) == ""


def test_a_place_has_no_value_that_changes_nothing():
    assert said("holder", lambda row, column: row % 4 * 4 + column // 2 + column) == ""


def test_fractions_that_are_lost():
    exercise = EXERCISES["convolve"]
    last = list(exercise.cases())[-1]
    assert (last[0] != np.trunc(last[0])).any()
    assert "fractions" in said("convolve", with_(lambda y, *a: np.trunc(y)))


def test_a_right_answer_has_no_clue():
    assert said("convolve", right) == ""


def test_noise_has_no_clue():
    rng = np.random.default_rng(1)
    assert said("convolve", with_(lambda y, *a: y + rng.standard_normal(y.shape))) == ""


def test_two_mistakes_at_once_are_named():
    def neither(x, w, stride, padding):
        return right(x, w[:, ::-1, ::-1], stride, 0)

    said = check("convolve", neither).diagnosis
    assert "Two things at once" in said
    assert "flips the filter" in said
    assert "ignores the padding" in said


def test_an_axis_that_is_made_of_several_has_a_name_too():
    def swapped(x, R, S, stride, padding):
        rows = EXERCISES["im2row"].answer(x, R, S, stride, padding).reshape(-1, R, S, x.shape[3])
        return rows.transpose(0, 1, 3, 2).reshape(len(rows), -1)

    assert "in another order along RSC" in said("im2row", swapped)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda n, h, w, c: (n, w, h, c), "in the order (n, w, h, c)"),
        (lambda n, h, w, c: (n, h, w, c + 1), "Only c is wrong. Every result is 1 too large."),
        (lambda n, h, w, c: (n, -7 * h - 1, 5 * w - 3, c), "Only h and w are wrong."),
        (lambda n, h, w, c: (h, w, c), ""),
    ],
)
def test_parts_that_have_names(change, words):
    right = EXERCISES["index_map"].answer
    found = said("index_map", lambda *arguments: change(*right(*arguments)))
    assert words in found if words else not found


def test_parts_are_told_by_their_names():
    right = EXERCISES["index_map"].answer
    said = check("index_map", lambda *arguments: right(*arguments) + np.array((0, 0, 3, 0)))
    assert said.body.endswith("\nw: expected 0, got 3")
    assert not said.picture
    assert "expected 4 numbers, (n, h, w, c)" in check("index_map", lambda *arguments: 3).body
