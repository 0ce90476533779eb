"""Notebook 04: the same buffer for another image."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.indirect import indirection_buffer
from convlab.lessons.exercise import Exercise, Mistake
from convlab.lessons.tables import LAYERS, layer


def places(offsets, image, size):
    """Return where the taps lie in an image that begins at image * size."""
    # your code here
    return np.where(offsets < 0, -1, offsets + image * size)


def _cases() -> Iterator[tuple]:
    """(offsets, image, size)"""
    for image, number in ((0, 1), (1, 1), (1, 3), (2, 4), (3, 5)):
        problem, rows = layer(*LAYERS[number])
        yield indirection_buffer(problem, rows), image, problem.H * problem.W * problem.C


def _answer(offsets, image, size) -> np.ndarray:
    moved = offsets.copy()
    for at, offset in np.ndenumerate(offsets):
        if offset != -1:
            moved[at] = offset + image * size
    return moved


EXERCISE = Exercise(
    notebook="04",
    statement="places(offsets, image, size) returns where the taps lie if every image has `size` numbers; "
    "a tap on padding stays -1.",
    solution=places,
    why="-1 is no distance but a mark, and a mark must not be added to. `np.where` asks once for each "
    "tap, and everything else moves by the same.",
    hints=(
        "Which entries of the table are distances, and which are something else?",
        "A tap on padding reads the row of zeros, which lies where it lies, whatever image it is.",
        "np.where(offsets < 0, ..., ...): -1 stays, all others get image * size more.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"offsets": ("tile", "tap", "row"), "return": ("tile", "tap", "row")},
    mistakes=(
        Mistake(
            "moves the zeros too",
            {"np.where(offsets < 0, -1, offsets + image * size)": "offsets + image * size"},
            "-1 is a mark, not a distance. With something added it points at the last number of the image "
            "before, a valid place with a wrong number.",
        ),
        Mistake(
            "reads the first image for all",
            {"offsets + image * size": "offsets"},
            "The distances count from the beginning of an image, and each begins `size` numbers further.",
        ),
        Mistake(
            "steps one number an image",
            {"image * size": "image"},
            "The next image begins behind the last number of this one, `size` numbers further.",
        ),
        Mistake(
            "takes a distance of 0 for padding",
            {"offsets < 0": "offsets <= 0"},
            "0 is the first pixel of the image, and a good place; padding is -1.",
        ),
        Mistake(
            "begins an image too far",
            {"image * size": "(image + 1) * size"},
            "The first image has the number 0 and begins at 0.",
        ),
        Mistake(
            "reads the first pixel on padding",
            {"-1, offsets + image": "0, offsets + image"},
            "A tap on padding must stay recognisable: whoever reads the table asks for -1.",
        ),
        Mistake(
            "puts padding on the first pixel of the image",
            {"-1, offsets + image": "image * size, offsets + image"},
            "A tap on padding must stay recognisable: whoever reads the table asks for -1.",
        ),
        Mistake(
            "multiplies the distances, too",
            {"offsets + image * size": "(offsets + image) * size"},
            "Only the number of the image is multiplied; a distance counts numbers already.",
        ),
    ),
)
