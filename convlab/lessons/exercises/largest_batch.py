"""Notebook 02: how many pictures a budget of memory allows."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.algorithms import ALGORITHMS
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def largest_batch(H, W, C, R, S, stride, padding, budget):
    """Return the largest N whose im2row matrix takes at most `budget` bytes."""
    # your code here
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    numbers = P * Q * R * S * C  # in the matrix of one picture
    return budget // (4 * numbers)


def _cases() -> Iterator[tuple]:
    """(H, W, C, R, S, stride, padding) of a layer, and a budget in bytes."""
    yield 4, 5, 1, 2, 2, 1, 0, 1000
    yield 4, 5, 2, 3, 2, 1, 0, 1152  # three fit to the byte
    yield 6, 5, 1, 3, 3, 1, 1, 1000  # not even one
    yield 56, 56, 64, 3, 3, 1, 1, 8 * 2**30
    yield 224, 224, 3, 7, 7, 2, 3, 16 * 2**30
    yield 28, 30, 256, 1, 1, 2, 0, 10**7
    yield 40, 12, 8, 5, 2, 3, 2, 10**7
    yield 6, 5, 1, 2, 2, 3, 0, 1000


def _answer(H, W, C, R, S, stride, padding, budget) -> int:
    one = ConvProblem(1, H, W, C, 1, R, S, stride=stride, padding=padding)
    return budget // ALGORITHMS["im2row"].workspace_bytes(one)


EXERCISE = Exercise(
    notebook="02",
    statement="largest_batch(H, W, C, R, S, stride, padding, budget) returns the largest N whose float32 "
    "im2row matrix takes at most `budget` bytes.",
    solution=largest_batch,
    why="The matrix has a row for each output pixel, N * P * Q, and a column for each number of a window, "
    "R * S * C. It grows in step with N, so one picture's bytes go into the budget as often as pictures fit.",
    hints=(
        "How many numbers has the matrix of *one* picture: how many rows, and how many columns?",
        "There are P * Q rows of R * S * C numbers; P and Q are what you wrote in the first notebook. A "
        "float32 takes four bytes.",
        "P = (H + 2 * padding - R) // stride + 1, Q likewise with W and S. Divide the budget by 4 * P * Q * "
        "R * S * C, and drop the rest: a part of a picture is no use.",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "counts numbers, not bytes",
            {"4 * numbers": "numbers"},
            "The budget is in bytes, and a float32 takes more than one.",
        ),
        Mistake(
            "takes eight bytes for a number",
            {"4 * numbers": "8 * numbers"},
            "NumPy's default is float64; these are float32.",
        ),
        Mistake(
            "forgets the channels",
            {"R * S * C": "R * S"},
            "A pixel has C numbers, and a window has all of them.",
        ),
        Mistake(
            "forgets the window",
            {"P * Q * R * S * C": "P * Q * C"},
            "Each row holds a whole window: the copies are what makes the matrix large.",
        ),
        Mistake(
            "takes a row for each pixel of the input",
            {"P * Q": "H * W"},
            "The matrix has a row for each *output* pixel. Stride and padding change how many these are.",
        ),
        Mistake(
            "forgets the stride",
            {" // stride": ""},
            "With a stride of 2 there are about four times fewer windows.",
        ),
        Mistake(
            "forgets the padding",
            {" + 2 * padding": ""},
            "Windows may stand on the border of zeros, too: there are more of them.",
        ),
        Mistake(
            "pads one side only",
            {"2 * padding": "padding"},
            "The same number of rows is added above *and* below.",
        ),
        Mistake(
            "counts the steps, not the places",
            {" // stride + 1": " // stride or 1"},
            "From the first place of the window to the last there is one step fewer than there are places.",
        ),
        Mistake(
            "lets windows hang over the edge",
            {
                "(H + 2 * padding - R) // stride": "-(-(H + 2 * padding - R) // stride)",
                "(W + 2 * padding - S) // stride": "-(-(W + 2 * padding - S) // stride)",
            },
            "A window that does not fit on the padded picture is no window.",
        ),
        Mistake(
            "divides the size of the picture by the stride, and that is all",
            {
                "(H + 2 * padding - R) // stride + 1": "H // stride",
                "(W + 2 * padding - S) // stride + 1": "W // stride",
            },
            "That is so only where the padding makes up for the size of the window.",
        ),
        Mistake(
            "swaps R and S",
            {"padding - R": "padding - S", "padding - S": "padding - R"},
            "R goes with H and S with W.",
        ),
        Mistake(
            "rounds up",
            {"budget // (4 * numbers)": "-(-budget // (4 * numbers))"},
            "A batch that takes a little more than there is does not fit.",
        ),
        Mistake(
            "stops at the first batch that does not fit",
            {"budget // (4 * numbers)": "budget // (4 * numbers) + 1"},
            "The one before it was the largest that does.",
        ),
        Mistake(
            "rounds to the nearest",
            {"budget // (4 * numbers)": "round(budget / (4 * numbers))"},
            "A batch that takes a little more than there is does not fit.",
        ),
        Mistake(
            "does not round",
            {"budget //": "budget /"},
            "There is no half of a picture: only those count that fit as a whole.",
        ),
        Mistake(
            "has to stay below the budget",
            {"budget //": "(budget - 1) //"},
            "At most `budget` bytes: a matrix that fills it to the byte still fits.",
        ),
        Mistake(
            "takes one picture at least",
            {"return budget // (4 * numbers)": "return max(1, budget // (4 * numbers))"},
            "There may be no room for a single picture: then the answer is 0.",
        ),
        Mistake(
            "counts the pictures, too",
            {"R * S * C ": "R * S * C + H * W * C "},
            "The budget is for the matrix alone; the input lies elsewhere.",
        ),
        Mistake(
            "returns the bytes of one picture",
            {"budget // (4 * numbers)": "4 * numbers"},
            "That is how much one picture takes. How often does it go into the budget?",
        ),
    ),
)
