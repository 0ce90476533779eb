"""Notebook 04: a convolution through the indirection buffer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.indirect import indirection_buffer
from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake
from convlab.lessons.tables import LAYERS, layer


def through_the_buffer(x, offsets, w, pixels):
    """Return y (N, pixels, K) for x (N, H, W, C), w (K, R*S, C)."""
    # your code here: rows = offsets.shape[2]; pixel m is row m % rows of tile m // rows
    N, _, _, C = x.shape
    rows = offsets.shape[2]
    y = np.zeros((N, pixels, len(w)), x.dtype)
    for n in range(N):
        numbers = x[n].reshape(-1)
        for m in range(pixels):
            for t in range(w.shape[1]):
                place = offsets[m // rows, t, m % rows]
                if place >= 0:
                    y[n, m] += w[:, t] @ numbers[place : place + C]
    return y


def _cases() -> Iterator[tuple]:
    """(x, offsets, w, pixels)"""
    rng = np.random.default_rng(11)
    for number, numbers in enumerate(LAYERS):
        problem, rows = layer(*numbers, N=1 + number % 2, K=1 + number % 3)
        whole = number < len(LAYERS) - 1
        x = filled(rng, *problem.x_shape, whole=whole)
        w = filled(rng, problem.K, problem.R * problem.S, problem.C, whole=whole)
        yield x, indirection_buffer(problem, rows), w, problem.P * problem.Q


def _answer(x, offsets, w, pixels) -> np.ndarray:
    """Gather all windows at once; behind the last pixel of each image lie zeros."""
    N, H, W, C = x.shape
    windows = offsets.swapaxes(1, 2).reshape(-1, offsets.shape[1])[:pixels]  # (pixels, taps)
    at = np.where(windows < 0, H * W, windows // C)
    padded = np.concatenate([x.reshape(N, H * W, C), np.zeros((N, 1, C))], axis=1)[:, at]
    return np.einsum("nptc,ktc->npk", padded, w.astype(np.float64))


EXERCISE = Exercise(
    notebook="04",
    statement="through_the_buffer(x, offsets, w, pixels) returns y (N, pixels, K) for x (N, H, W, C), "
    "w (K, R*S, C) and the offsets of one image.",
    solution=through_the_buffer,
    why="The table says where each tap lies, so neither stride nor padding nor p and q occur here. The same "
    "table serves every image, because it counts from the beginning of one.",
    hints=(
        "What does an entry of the table tell, and how many numbers of x begin there?",
        "Flatten one image. A tap of pixel m begins at offsets[m // rows, t, m % rows]; from there on lie "
        "its C channels. -1 adds nothing.",
        "y[n, m] += w[:, t] @ numbers[place : place + C] for every tap t with place >= 0, where numbers is "
        "x[n].reshape(-1).",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"x": "NHWC", "w": ("K", "R*S", "C"), "return": ("N", "pixel", "K")},
    mistakes=(
        Mistake(
            "does not ask for padding",
            {"if place >= 0:": "if True:"},
            "A tap on padding is marked by -1. It leads to no pixel and adds nothing.",
        ),
        Mistake(
            "takes -1 for a place",
            {"if place >= 0:": "if True:", "numbers[place : place + C]": "numbers[place + np.arange(C)]"},
            "A tap on padding adds nothing. In Python -1 is the last number, in C the one before the first.",
        ),
        Mistake(
            "moves the zeros with the image",
            {
                "numbers = x[n].reshape(-1)": "numbers, size = x.reshape(-1), x[0].size",
                "m % rows]": "m % rows] + n * size",
            },
            "Add the image's beginning to places only. -1 plus something is a valid place with a wrong "
            "number.",
        ),
        Mistake(
            "reads the first image for all",
            {"x[n]": "x[0]"},
            "The distances count from the beginning of an image: every image has its own.",
        ),
        Mistake(
            "reads one channel for all",
            {"w[:, t] @ numbers[place : place + C]": "w[:, t].sum(axis=1) * numbers[place]"},
            "At a place begin the C channels of a pixel, and each has a weight of its own.",
        ),
        Mistake(
            "takes the rows of a tile for taps",
            {"offsets[m // rows, t, m % rows]": "offsets[m // rows].reshape(rows, -1)[m % rows, t]"},
            "A tile lies tap by tap: its shape is (R*S, rows), the pixels are innermost.",
        ),
        Mistake(
            "returns the last tile whole",
            {"x.shape\n": "x.shape\n    pixels = offsets.shape[0] * offsets.shape[2]\n"},
            "The pixels that fill the last tile up are no outputs: there are only `pixels` of them.",
        ),
        Mistake(
            "keeps the last tap only",
            {"y[n, m] +=": "y[n, m] ="},
            "An output is the sum over all taps.",
        ),
        Mistake(
            "uses the weights of the first tap for all",
            {"w[:, t] @": "w[:, 0] @"},
            "Every tap has weights of its own: tap t of the table goes with w[:, t].",
        ),
        Mistake(
            "takes the first filter for all",
            {"w[:, t] @": "w[0, t] @"},
            "There are K filters, and an output for each.",
        ),
        Mistake(
            "skips the pixel at place 0",
            {"place >= 0": "place > 0"},
            "0 is the first pixel of the image, and a good place; padding is -1.",
        ),
        Mistake(
            "takes tiles for pixels",
            {"offsets[m // rows, t, m % rows]": "offsets[m % len(offsets), t, m // len(offsets) % rows]"},
            "Pixel m stands in tile m // rows, at row m % rows.",
        ),
        Mistake(
            "reads pixel 0 on padding",
            {"if place >= 0:": "if True:", "m % rows]": "m % rows].clip(0)"},
            "0 is the first pixel of the image. A tap on padding reads nothing and adds nothing.",
        ),
        Mistake(
            "turns the filter by 180 degrees",
            {"w[:, t] @": "w[:, -1 - t] @"},
            "Tap t of the table goes with w[:, t]. The filter lies on the picture as it is.",
        ),
        Mistake(
            "steps from image to image by pixels",
            {
                "numbers = x[n].reshape(-1)": "numbers = x.reshape(-1)[n * (x[0].size // C) :]",
            },
            "An image has H * W pixels of C numbers each: so far it is to the next one.",
        ),
    ),
)
