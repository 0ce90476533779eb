"""Notebook 00: filters upside down and left to right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.cases import convolutions
from convlab.lessons.exercise import Exercise, Mistake


def flip(w):
    """Return the filters w (K, R, S, C), each turned by 180 degrees."""
    # your code here: one line of NumPy slicing does it
    return w[:, ::-1, ::-1, :]


def _cases() -> Iterator[tuple]:
    for _, w, _, _ in convolutions():
        yield (w,)


def _answer(w) -> np.ndarray:
    K, R, S, _ = w.shape
    turned = np.empty_like(w)
    for k, r, s in np.ndindex(K, R, S):
        turned[k, R - 1 - r, S - 1 - s] = w[k, r, s]
    return turned


def _in_its_own_copy(w) -> np.ndarray:
    w = w.copy()
    for r, s in np.ndindex(w.shape[1:3]):
        w[:, r, s] = w[:, -1 - r, -1 - s]
    return w


EXERCISE = Exercise(
    notebook="00",
    statement="flip(w) returns the filters (K, R, S, C) turned by 180 degrees, for true convolution.",
    solution=flip,
    why="A turn by 180 degrees is both axes of the window back to front, R and S. A step of -1 in a slice "
    "does that, and copies nothing.",
    hints=(
        "Which of the four axes of w lie in the plane of the picture?",
        "`a[::-1]` is the array a with its first axis back to front. Filters and channels stay as they are.",
        "The second and the third axis, R and S, both need `::-1`; the first and the last a plain `:`.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"w": "KRSC", "return": "KRSC"},
    mistakes=(
        Mistake("flips nothing", {"[:, ::-1, ::-1, :]": ""}, "A turned filter is another filter."),
        Mistake(
            "flips the rows only",
            {"::-1, ::-1, :": "::-1, :, :"},
            "That is a mirror image. A turn by 180 degrees exchanges left and right as well.",
        ),
        Mistake(
            "flips the columns only",
            {"::-1, ::-1, :": ":, ::-1, :"},
            "That is a mirror image. A turn by 180 degrees exchanges above and below as well.",
        ),
        Mistake(
            "puts the filters back to front, too",
            {"[:, ::-1": "[::-1, ::-1"},
            "The first axis counts filters: each is turned in itself, and keeps its place.",
        ),
        Mistake(
            "puts the channels back to front, too",
            {"::-1, :]": "::-1, ::-1]"},
            "The last axis counts channels, and they still have to meet their own in the picture.",
        ),
        Mistake(
            "overwrites numbers that it has yet to move",
            _in_its_own_copy,
            "In the second half of the window it reads what the first half has written. Write into another "
            "array than the one that is read.",
        ),
        Mistake(
            "turns everything back to front",
            {"[:, ::-1, ::-1, :]": "[::-1, ::-1, ::-1, ::-1]"},
            "Only the two axes of the window are turned: filters and channels keep their order.",
        ),
        Mistake(
            "exchanges rows and columns",
            {"[:, ::-1, ::-1, :]": ".swapaxes(1, 2)"},
            "That is a transpose: it mirrors the window along its diagonal.",
        ),
        Mistake(
            "turns by 90 degrees",
            {"[:, ::-1, ::-1, :]": ".swapaxes(1, 2)[:, ::-1]"},
            "Twice as far: a turn by 180 degrees keeps R and S where they are.",
        ),
    ),
)
