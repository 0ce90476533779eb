"""Notebook 04: the indirect micro-kernel of two pixels and two filters, as it was once misprinted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.indirect import indirection_buffer
from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake
from convlab.lessons.tables import LAYERS, layer


def indirect_tile(x, start, places, w):
    """Return the sums (2, 2), pixel by filter: places (taps, 2), w (taps, C, 2)."""
    # your code here: two sums never change, and every picture but the first is wrong
    zeros = np.zeros(w.shape[1], x.dtype)
    c00 = c01 = c10 = c11 = 0.0
    for (p0, p1), weights in zip(places, w, strict=True):
        a0 = zeros if p0 < 0 else x[start + p0 :]
        a1 = zeros if p1 < 0 else x[start + p1 :]
        for k, (b0, b1) in enumerate(weights):
            c00 += a0[k] * b0
            c01 += a0[k] * b1
            c10 += a1[k] * b0
            c11 += a1[k] * b1
    return np.array([[c00, c01], [c10, c11]], x.dtype)


def _cases() -> Iterator[tuple]:
    """(x, start, places, w): a tile of the second of two pictures, but for the first case."""
    rng = np.random.default_rng(17)
    more_channels_than_taps = (3, 3, 12, 2, 2, 1, 1, 2)
    some = (LAYERS[0], 0), (LAYERS[1], 1), (LAYERS[3], 0), (LAYERS[4], 1), (more_channels_than_taps, 0)
    for number, (sizes, tile) in enumerate((*some, (LAYERS[5], 0))):
        problem, _ = layer(*sizes, N=2, K=2)
        whole = number < len(some)
        x = filled(rng, problem.N * problem.H * problem.W * problem.C, whole=whole)
        w = filled(rng, problem.R * problem.S, problem.C, 2, whole=whole)
        yield x, (number > 0) * len(x) // 2, indirection_buffer(problem, rows=2)[tile], w


def _answer(x, start, places, w) -> np.ndarray:
    """Gather both windows at once, zeros from behind the last picture; then one product."""
    channels = w.shape[1]
    padded = np.concatenate([x, np.zeros(channels)])
    at = np.where(places < 0, len(x), start + places)[..., None] + np.arange(channels)
    return np.einsum("tpc,tck->pk", padded[at], w.astype(np.float64))


_TWO_SUMS = {"c01 += a0[k]": "c00 += a0[k]", "c11 += a1[k]": "c10 += a1[k]"}
_FIRST_PICTURE = {"start + p0 :": "p0 :", "start + p1 :": "p1 :"}

EXERCISE = Exercise(
    notebook="04",
    statement="indirect_tile(x, start, places, w) returns the sums (2, 2) of two pixels and two filters. x "
    "is flat, and its picture begins at x[start]; places (taps, 2) has -1 on padding; w is (taps, C, 2).",
    solution=indirect_tile,
    why="Each of the four sums has a row and a column of its own: two numbers of x meet two weights, and "
    "that makes four products. The start is added to places, never to the mark of padding.",
    hints=(
        "How many products do two numbers of x and two weights make, and where should each of them go?",
        "c01 is pixel 0 and filter 1. And where does the second picture begin in x, which is flat?",
        "c01 += a0[k] * b1, c11 += a1[k] * b1; and x[start + p0 :] where p0 is no padding.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"places": ("tap", "pixel"), "w": ("tap", "C", "filter"), "return": ("pixel", "filter")},
    faults=_TWO_SUMS | _FIRST_PICTURE,
    mistakes=(
        Mistake(
            "leaves two of the four sums at zero",
            _TWO_SUMS,
            "So it was printed. Two sums take two products each, and the other two take none.",
        ),
        Mistake(
            "changes places of pixels and filters",
            {"c01 += a0[k] * b1": "c01 += a1[k] * b0", "c10 += a1[k] * b0": "c10 += a0[k] * b1"},
            "The first number of a sum's name is its pixel, the second its filter.",
        ),
        Mistake(
            "reads the first picture for all",
            _FIRST_PICTURE,
            "The places count from the beginning of a picture, and this one begins at x[start].",
        ),
        Mistake(
            "moves the zeros too",
            {
                "p0 < 0": "start + p0 < 0",
                "p1 < 0": "start + p1 < 0",
            },
            "-1 is a mark. With something added it is a valid place, with a number of another picture.",
        ),
        Mistake(
            "takes a place of 0 for padding",
            {"p0 < 0": "p0 <= 0", "p1 < 0": "p1 <= 0"},
            "0 is the first pixel of the picture, and a good place; padding is -1.",
        ),
        Mistake(
            "reads one channel for all",
            {"a0[k]": "a0[0]", "a1[k]": "a1[0]"},
            "At a place begin the channels of a pixel, and each has weights of its own.",
        ),
        Mistake(
            "keeps the last tap only",
            {"x[start + p1 :]\n": "x[start + p1 :]\n        c00 = c01 = c10 = c11 = 0.0\n"},
            "The sums go on over all taps: they begin at zero once, before the first of them.",
        ),
        Mistake(
            "uses the weights of the first tap for all",
            {"enumerate(weights)": "enumerate(w[0])"},
            "Every tap has weights of its own.",
        ),
        Mistake(
            "computes the first pixel twice",
            {"zeros if p1 < 0 else x[start + p1 :]": "a0"},
            "Two pixels, two rows: the second has places of its own.",
        ),
        Mistake(
            "leaves out a tap where one of the two is on padding",
            {"        a0 = zeros": "        if min(p0, p1) < 0:\n            continue\n        a0 = zeros"},
            "The other pixel of the tile has a number there. That is what the row of zeros is for.",
        ),
    ),
)
