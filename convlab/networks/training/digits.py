"""Handwritten digits, small enough to be learned in seconds; `data/digits.csv` names where they are from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from convlab.errors import ParameterError
from convlab.support.files import data_path, read_text

SIDE = 8  # pixels
INK = 16  # the largest value of a pixel
CLASSES = 10


class Digits(NamedTuple):
    """Pictures of digits to learn from, and others to be tested with.

    Attributes
    ----------
    pictures : ndarray, (1440, 8, 8, 1)
        float32, from 0 for paper to 1 for ink.
    labels : ndarray of int, (1440,)
        The digit of each.
    test_pictures : ndarray, (357, 8, 8, 1)
    test_labels : ndarray of int, (357,)
    """

    pictures: np.ndarray
    labels: np.ndarray
    test_pictures: np.ndarray
    test_labels: np.ndarray


def load_digits() -> Digits:
    """Return the digits.

    Of every fifty pictures the last ten are for the test. They come writer by writer, so each of them has
    written some of both.

    Raises
    ------
    ParameterError
        If the file cannot be read.
    """
    path = data_path("digits.csv")
    try:
        pictures, labels = _parsed(read_text(path))
    except OSError as error:
        raise ParameterError(f"{str(path)!r}: {error.strerror}; expected the digits") from None
    except ValueError as error:
        raise ParameterError(f"{str(path)!r} is no file of digits: {error}") from None
    test = np.arange(len(labels)) % 50 >= 40
    return Digits(pictures[~test], labels[~test], pictures[test], labels[test])


def _parsed(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures (N, 8, 8, 1) and labels (N,); a pixel is a digit in a system of 17 of them."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    if lines[:1] != ["label,pixels"]:
        raise ValueError("it has no line 'label,pixels'")
    rows = [line.partition(",") for line in lines[1:]]
    labels = np.array([int(label) for label, _, _ in rows])
    pixels = np.array([[int(letter, INK + 1) for letter in letters] for _, _, letters in rows], np.float32)
    if pixels.shape != (len(labels), SIDE * SIDE) or not 0 <= labels.min() <= labels.max() < CLASSES:
        raise ValueError(f"expected rows of a label below {CLASSES} and {SIDE * SIDE} pixels")
    return pixels.reshape(-1, SIDE, SIDE, 1) / INK, labels
