"""`predict` without a browser: what is sealed, what is said, what is remembered."""

import ast
import base64
import json
import re
from fractions import Fraction
from math import inf

import nbformat
import numpy as np
import pytest
from notebook_tools import NOTEBOOKS

from convlab import ConvError, ConvProblem, figures
from convlab.lessons import predict, predictions, progress
from convlab.lessons.course import Standing
from convlab.support.measured import Measured
from convlab.support.units import factor_between, number_text
from convlab.widgets import Guess
from convlab.widgets.guess import RIGHT

ASK = {"question": "How many?", "actual": 12.25, "unit": "times"}


@pytest.fixture(autouse=True)
def memory(tmp_path, monkeypatch):
    """Progress of this test alone, in a file."""
    one = progress.of(tmp_path)
    monkeypatch.setattr(progress, "here", lambda: one)
    return tmp_path


def opened(widget):
    return json.loads(base64.b64decode(widget.sealed))


def lock(widget, guess, sure=70):
    widget.guesses = [*widget.guesses, {"guess": guess, "sure": sure}]


@pytest.mark.parametrize(
    ("guess", "actual", "words"),
    [
        (49, 12.25, "You said 49; it is 12.25 times: off 4 times."),
        (12.25, 12.25, "it is 12.25 times: exactly."),
        (13, 12.25, "You said 13; it is 12.25 times: close."),
        (15.0, 12.25, "close."),
        (15.4, 12.25, "within a factor of two."),
        (20, 12.25, "within a factor of two."),
        (24.5, 12.25, "within a factor of two."),
        (24.6, 12.25, "off 2.01 times."),
        (3, 0.5, "off 6 times."),
        (8, -3.2, "You said 8; it is −3.2 times: 11.2 apart, and on the other side of zero."),
        (-3, -3.2, "close."),
        (0, -3.2, "You said 0; it is −3.2 times: 3.2 apart."),
        (2, 0, "You said 2; it is 0 times: 2 apart."),
        (0, 0, "exactly."),
        (1e300, 1e-300, "off ∞ times."),
        (1e6, 2.5e6, "You said 1,000,000; it is 2,500,000 times: off 2.5 times."),
    ],
)
def test_verdicts(guess, actual, words):
    widget = predict("a", **ASK | {"actual": actual})
    lock(widget, guess)
    assert f"{words} You were 70 % sure to be within a factor of two." in widget.words()


@pytest.mark.parametrize(
    ("guess", "low", "high", "words"),
    [
        (2.5, 2.4, 3.1, "You said 2.5; it is 2.4 to 3.1 times: close."),
        (3.5, 2.4, 3.1, "it is 2.4 to 3.1 times: close."),
        (1.5, 2.4, 3.1, "it is 2.4 to 3.1 times: within a factor of two."),
        (1, 2.4, 3.1, "off 2.4 times."),
        (2.8, 2.7, 2.9, "You said 2.8; it is 2.75 times: close."),
        (-1, -5, 2, "it is −5 to 2 times: close."),
    ],
)
def test_verdicts_on_what_was_measured(guess, low, high, words):
    widget = predict("a", **ASK | {"actual": Measured(2.75, low, high)})
    lock(widget, guess)
    assert words in widget.words()


def test_what_is_too_noisy_is_not_judged(memory):
    widget = predict("a", **ASK | {"actual": Measured(2.8, 1, 9, noisy=True)})
    lock(widget, 3)
    assert "it is somewhere from 1 to 9 times" in widget.words()
    assert "close" not in widget.words()
    standing = Standing(progress.events())
    assert standing.of_prediction("a") == "done"
    assert standing.judged == []
    assert standing.calibration() == "No prediction was made yet."


@pytest.mark.parametrize(
    ("a", "b", "factor"),
    [(2, 8, 4), (8, 2, 4), (-2, -8, 4), (2, -8, inf), (0, 2, inf), (0, 0, 1), (1e-200, -1e-200, inf)],
)
def test_factor_between(a, b, factor):
    assert factor_between(a, b) == factor


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(12.25, "12.25"), (1234567, "1,235,000"), (0.000123456, "0.0001235"), (-0.5, "−0.5"), (0, "0")],
        *[(1e-5, "1e−05"), (2.5e20, "2.5e+20"), (999.96, "1,000"), (100, "100")],
    ],
)
def test_numbers_as_text(value, text):
    assert number_text(value) == text


def test_nothing_of_the_answer_is_said_before():
    picture = figures.tensors(ConvProblem(1, 8, 10, 3, 6, 3, 3))
    hidden = {"because": "By the stride.", "misconceptions": {49: "You forgot it."}, "figure": picture}
    widget = predict("a", **ASK, **hidden)
    bundle, _ = widget._repr_mimebundle_()
    for text in (bundle["text/plain"], bundle["text/html"], widget.words()):
        assert "How many?" in text
        assert not re.search(r"12\.25|By the stride|You forgot|<img|data:image", text)
    answer = opened(widget)
    assert (answer["actual"], answer["because"]) == (12.25, "By the stride.")
    assert answer["misconceptions"] == [[49.0, "You forgot it."]]
    assert answer["figure"] == picture._repr_html_()
    assert f'alt="{picture.alt}' in answer["figure"]
    lock(widget, 3)
    assert "By the stride" in widget.words()


def test_a_figure_may_be_made_by_a_function():
    picture = figures.tensors(ConvProblem(1, 8, 10, 3, 6, 3, 3))
    assert opened(predict("a", **ASK, figure=lambda: picture))["figure"] == picture._repr_html_()
    with pytest.raises(ConvError, match="figure"):
        predict("a", **ASK, figure=lambda: "a picture")


def test_a_guess_is_remembered_and_the_first_one_counts(memory):
    widget = predict("a", **ASK)
    lock(widget, 49)
    lock(widget, 13, 90)
    again = predict("a", **ASK | {"actual": 12.5})
    assert again.guesses == [{"guess": 49, "sure": 70}, {"guess": 13, "sure": 90}]
    assert "You said 49; it is 12.5 times" in again.words()
    assert predict("b", **ASK).guesses == []
    assert [event.detail for event in predictions.guesses("a")] == [
        {"guess": 49, "sure": 70, "actual": 12.25, "unit": "times", "noisy": False},
        {"guess": 13, "sure": 90, "actual": 12.25, "unit": "times", "noisy": False},
    ]


def test_a_guess_that_two_views_hand_in_is_one(memory):
    """A page hands in what no kernel heard of: two cells that show the same may do so at once."""
    one, two = (predict("a", **ASK) for _ in range(2))
    lock(one, 49)
    lock(two, 49)
    lock(two, 49)  # once more, and by hand
    assert [event.detail["guess"] for event in predictions.guesses("a")] == [49, 49]
    assert (one.heard, two.heard) == (1, 2)


def test_a_guess_that_is_none_is_passed_over(memory):
    progress.record("guess", "a", guess="many", sure=70, actual=3)
    progress.record("guess", "a", guess=float("nan"), sure=70, actual=3)
    progress.record("guess", "a", guess=4)
    assert predict("a", **ASK).guesses == []


def test_trouble_with_the_memory_is_said_on_the_page(memory):
    (memory / progress.NAME).mkdir()
    widget = predict("a", **ASK)
    lock(widget, 3)
    assert "is no ordinary file" in widget.trouble


@pytest.mark.parametrize("actual", [Fraction(49, 4), np.float32(12.25), np.int64(12), -1, 0])
def test_any_finite_number_can_be_shown(actual):
    assert opened(predict("a", **ASK | {"actual": actual}))["actual"] == float(actual)


@pytest.mark.parametrize("actual", [np.nan, np.inf, "12", None, True])
def test_what_is_no_number_is_refused(actual):
    with pytest.raises(ConvError, match="actual"):
        predict("a", **ASK | {"actual": actual})


def test_guesses_are_what_they_should_be():
    with pytest.raises(ConvError, match="guesses has 3"):
        Guess().guesses = [3]


def test_a_factor_of_two_is_the_question():
    assert RIGHT == 2


# -- in the notebooks --------------------------------------------------------------------------------------


def names_of(source):
    """Return the names of the predictions in a cell; notebook 16 predicts times with another function."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        call.args[0].value for call in calls if {one.arg for one in call.keywords} >= {"question", "actual"}
    ]


def cells_that_predict():
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and (names := names_of(cell.source)):
                yield path, cell, names


def test_no_two_predictions_share_a_name():
    names = [name for _, _, names in cells_that_predict() for name in names]
    assert len(names) >= 4
    assert sorted(set(names)) == sorted(names)


def test_cells_that_would_tell_the_answer_are_folded():
    for path, cell, _ in cells_that_predict():
        assert cell.metadata.get("jupyter", {}).get("source_hidden"), f"{path.stem}: {cell.source[:60]}"
        assert "hide-input" in cell.metadata.get("tags", ())
