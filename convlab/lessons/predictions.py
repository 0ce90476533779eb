"""`predict`: a question to answer before the answer shows, and the memory of what was guessed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from convlab.figures.picture import Picture
from convlab.figures.style import Words
from convlab.lessons import progress
from convlab.lessons.progress_file import is_number
from convlab.support.checked import checked
from convlab.support.checks import check_instance, check_number


@checked
def predict(
    name: Words,
    *,
    question: Words,
    actual: Annotated[float, check_number],
    unit: str,
    because: str = "",
    misconceptions: Mapping[float, Words] | None = None,
    figure: Picture | Callable[[], Picture] | None = None,
) -> Any:
    """Ask for a number, and how sure the learner is; show what it is only once they have locked both.

    The first guess is the one that counts; it is remembered in the learner's folder.

    Parameters
    ----------
    name : str
        What the prediction is remembered by: no other of the course has it.
    question : str
    actual : float
        What this cell computed or measured: any finite number, a loss too. Of one that was measured the
        interval shows; if it is too wide to tell, so is the verdict.
    unit : str
        The unit of both.
    because : str
        The explanation: paragraphs with an empty line between them, `code` and *emphasis*.
    misconceptions : mapping of float to str, optional
        What is said of a guess that is (within 3 percent) a known wrong one, and not nearer to `actual`.
    figure : Picture, or a function that returns one, optional
        What would give the answer away.

    Returns
    -------
    Guess
        A widget, which lives in a page without Python, too.
    """
    from convlab.widgets.guess import Guess  # here: `convlab progress` needs no widgets

    if callable(figure):
        figure = figure()
        check_instance("figure()", figure, Picture)
    widget = Guess(name, question, actual, unit, because, misconceptions, figure)
    widget.guesses = _kept(name)
    widget.observe(partial(_remember, actual=float(actual), noisy=getattr(actual, "noisy", False)), "guesses")
    return widget


def guesses(name: str | None = None) -> list[progress.Event]:
    """Return what was guessed, oldest first, with "guess", "sure", "actual" and "unit" as details."""
    numbers = ("guess", "sure", "actual")
    return [
        event
        for event in progress.events("guess", name)
        if all(is_number(event.detail.get(number)) for number in numbers)
    ]


def _kept(name: str) -> list[dict[str, Any]]:
    """Return what was guessed, as the widget has it."""
    return [{"guess": event.detail["guess"], "sure": event.detail["sure"]} for event in guesses(name)]


def _remember(change: Any, actual: float, noisy: bool) -> None:
    """Record what was just locked; what was too noisy to tell says so, and counts for no calibration."""
    widget = change["owner"]
    for one in progress.not_kept(change, _kept(widget.name)):
        progress.record(
            "guess",
            widget.name,
            guess=one["guess"],
            sure=one["sure"],
            actual=actual,
            unit=widget.unit,
            noisy=noisy,
        )
    widget.trouble = progress.trouble()
