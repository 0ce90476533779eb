"""Notebook 15: how much a layer computes for each byte that it moves."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.benchmark.roofline_points import compulsory_bytes
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def layer_intensity(N, H, W, C, K, R, S):
    """Return FLOPs for each byte of x, w and y."""
    # your code here
    flops = 2 * N * H * W * K * R * S * C  # a multiplication and an addition for each weight
    numbers = N * H * W * C + K * R * S * C + N * H * W * K  # x, w, y
    return flops / (4 * numbers)


def _cases() -> Iterator[tuple]:
    """(N, H, W, C, K, R, S)"""
    yield from ((1, 1, 1, 1, 1, 1, 1), (1, 4, 4, 2, 3, 1, 1), (1, 4, 4, 3, 2, 1, 1))
    yield from ((1, 8, 6, 4, 2, 3, 3), (5, 8, 6, 4, 2, 3, 3))
    yield from ((2, 7, 7, 512, 512, 3, 3), (32, 56, 56, 64, 64, 3, 1))


def _answer(N, H, W, C, K, R, S) -> float:
    problem = ConvProblem(N, H, W, C, K, R, S, padding="same")
    return problem.flops / compulsory_bytes(problem)


EXERCISE = Exercise(
    notebook="15",
    statement="layer_intensity(N, H, W, C, K, R, S) returns FLOPs for each byte of a float32 layer with "
    "stride 1 and an output as large as its input, if x and w are read once and y is written once.",
    solution=layer_intensity,
    why="The operations grow with the batch, and so do x and y; the weights do not. That is why a larger "
    "batch has a higher intensity.",
    hints=(
        "Two questions: how many operations, and how many bytes? Which of the three arrays grow with N?",
        "There are N*H*W*K outputs, each with R*S*C multiply-adds, and a multiply-add is two operations. A "
        "float32 takes four bytes.",
        "2*N*H*W*K*R*S*C over 4*(N*H*W*C + K*R*S*C + N*H*W*K).",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "counts a multiply-add as one operation",
            {"flops = 2 * ": "flops = "},
            "A multiply-add is a multiplication and an addition: two FLOPs.",
        ),
        Mistake(
            "counts numbers instead of bytes",
            {"4 * numbers": "numbers"},
            "A float32 takes four bytes.",
        ),
        Mistake(
            "counts two bytes a number",
            {"4 * numbers": "2 * numbers"},
            "These are float32, with four bytes each. Two are float16.",
        ),
        Mistake(
            "reads the weights anew for each picture",
            {"+ K * R": "+ N * K * R"},
            "The weights serve the whole batch: that is what a batch is good for.",
        ),
        Mistake(
            "forgets the weights",
            {" + K * R * S * C": ""},
            "The weights are read once as well. In deep layers they are most of the bytes.",
        ),
        Mistake(
            "gives a filter one channel",
            {"+ K * R * S * C": "+ K * R * S"},
            "A filter has R * S taps in each of the C channels.",
        ),
        Mistake(
            "forgets the output",
            {" + N * H * W * K  #": "  #"},
            "The output is written, and that is traffic like reading.",
        ),
        Mistake(
            "forgets the input",
            {"N * H * W * C + ": ""},
            "The pixels are read once as well.",
        ),
        Mistake(
            "reads the input once for every tap",
            {"numbers = N * H * W * C": "numbers = N * H * W * C * R * S"},
            "That is what im2row stores. Here every number is moved once, and the caches do the rest.",
        ),
        Mistake(
            "forgets the batch in the operations",
            {"2 * N * H": "2 * H"},
            "Every picture of the batch is computed.",
        ),
        Mistake(
            "is upside down",
            {"flops / (4 * numbers)": "4 * numbers / flops"},
            "Intensity is operations for each byte, not bytes for each operation.",
        ),
    ),
)
