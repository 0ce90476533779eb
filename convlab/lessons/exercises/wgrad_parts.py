"""Notebook 09: a long sum in parts, the same to the last bit whoever adds them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from convlab.gradients.api import wgrad
from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def wgrad_parts(x, dy, R, S, stride, padding, size):
    """Return dw (K, R, S, C), summed in parts of `size` output pixels."""
    # your code here: sliding_window_view helps, as in your im2row
    C, K = x.shape[3], dy.shape[3]
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    every = sliding_window_view(padded, (R, S), axis=(1, 2))[:, ::stride, ::stride]
    rows = every.transpose(0, 1, 2, 4, 5, 3).reshape(-1, R * S * C)  # (N*P*Q, R*S*C)
    pixels = dy.reshape(-1, K)  # (N*P*Q, K)
    dw = np.zeros((K, R * S * C), x.dtype)
    for m in range(0, len(pixels), size):
        dw += pixels[m : m + size].T @ rows[m : m + size]
    return dw.reshape(K, R, S, C)


_LARGE = 2.0**25  # in float32 its neighbours are 4 apart: what is added to it is rounded


def _cases() -> Iterator[tuple]:
    """(x, dy, R, S, stride, padding, size)"""
    rng = np.random.default_rng(3)

    def case(N, H, W, C, K, R, S, stride, padding, size, whole=True) -> tuple:
        x = filled(rng, N, H, W, C, whole=whole)
        problem = ConvProblem(N, H, W, C, K, R, S, stride=stride, padding=padding)
        return x, filled(rng, *problem.y_shape, whole=whole), R, S, stride, padding, size

    yield case(1, 2, 3, 1, 1, 1, 2, 1, 0, 2)
    yield case(1, 3, 4, 1, 1, 2, 2, 1, 0, 4)
    # Each of four parts is exact in any order; they are rounded as they add up.
    line = [_LARGE, 0, 0, 0, 6, 0, 6, 6, 0, 4, 0, -_LARGE, 3, 6]
    yield np.ones((2, 1, 7, 1), "f"), np.array(line, "f").reshape(2, 1, 7, 1), 1, 1, 1, 0, 4
    yield case(1, 3, 4, 2, 1, 3, 2, 1, 1, 5)
    yield case(2, 5, 4, 1, 2, 3, 2, 2, 0, 3)
    x, dy, *others = case(4, 3, 5, 2, 3, 2, 3, 1, 0, 6)  # a part is a picture
    x[2], dy[0], dy[2] = x[0], dy[0] * 2**20, dy[0] * -(2**20)
    yield x, dy, *others
    yield case(3, 6, 7, 2, 3, 2, 3, 2, 1, 7)
    yield case(2, 7, 6, 3, 2, 3, 2, 2, 1, 6, whole=False)


def _answer(x, dy, R, S, stride, padding, size) -> np.ndarray:
    """Have the library sum up each part by itself, exactly; in float32 the parts are added."""
    (N, H, W, C), K = x.shape, dy.shape[3]
    problem = ConvProblem(N, H, W, C, K, R, S, stride=stride, padding=padding, dtype="float64")
    part = np.arange(dy.size // K).reshape(*dy.shape[:3], 1) // size
    dw = np.zeros(problem.w_shape, np.float32)
    for number in range(part.max() + 1):
        alone = np.where(part == number, dy, 0).astype(np.float64)
        dw += wgrad(problem, x.astype(np.float64), alone, backend="numpy").astype(np.float32)
    return dw


_PAD = "((0, 0), (padding, padding), (padding, padding), (0, 0))"
_LOOP = "for m in range(0, len(pixels), size):"
_PART = "pixels[m : m + size].T @ rows[m : m + size]"
_ONE_SUM = "has one sum that runs over all pixels"  # a product is free to add in another order than a loop
_NO_PARTS = (
    "A part begins at zero, and is summed up by itself. In float32 it matters whether small numbers meet "
    "each other first, or a large sum."
)

EXERCISE = Exercise(
    notebook="09",
    statement="wgrad_parts(x, dy, R, S, stride, padding, size) returns dw (K, R, S, C), in float32. The "
    "output pixels of all pictures, in order, are cut into parts of `size`, the last of what is left; "
    "each part is summed up by itself; and the parts are added from the first to the last.",
    solution=wgrad_parts,
    why="A part is a product of matrices, and needs no other part: any worker may take any of them. That "
    "they are cut the same way and added in the same order, whoever was done first, makes the sum the "
    "same to the last bit.",
    hints=(
        "Without parts: which window of x is dy[n, p, q, k] multiplied by, and over what does dw[k, r, s, "
        "c] sum?",
        "With im2row's matrix (N*P*Q, R*S*C) and dy as a matrix (N*P*Q, K), dw is the second, transposed, "
        "times the first: a sum over all rows. A part is some rows of both.",
        "dw = zeros (K, R*S*C) of x's type; for m in range(0, N*P*Q, size): dw += pixels[m : m + size].T @ "
        "rows[m : m + size]. Then give dw its shape.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"x": "NHWC", "dy": "NPQK", "return": "KRSC"},
    tools=("problem.py", "algorithms"),  # im2row is notebook 02's; the gradients are not theirs
    mistakes=(
        Mistake(
            "adds the last part first",
            {_LOOP: "for m in range(0, len(pixels), size)[::-1]:"},
            "So it may come about if each worker adds its part when it is done. In float32 another order is "
            "another sum: from the first to the last, whoever is done first.",
        ),
        Mistake(_ONE_SUM, {f"{_LOOP}\n        dw += {_PART}": "dw += pixels.T @ rows"}, _NO_PARTS),
        Mistake(_ONE_SUM, {"(pixels), size)": "(pixels), 1)", "m : m + size": "m : m + 1"}, _NO_PARTS),
        Mistake(
            "adds the parts in float64",
            {"x.dtype": "np.float64"},
            "That is more exact, and not what is asked: float32, as x and dy are. NumPy's zeros are "
            "float64, if nothing else is said.",
        ),
        Mistake(
            "adds the parts in pairs, and these in pairs again",
            {
                "    dw = np.zeros((K, R * S * C), x.dtype)\n": "",
                f"{_LOOP}\n        dw += {_PART}": f"parts = [{_PART} {_LOOP[:-1]}]\n"
                "    while len(parts) > 1:\n"
                "        parts = [sum(parts[i + 1 : i + 2], parts[i]) for i in range(0, len(parts), 2)]\n"
                "    (dw,) = parts",
            },
            "A tree is a fixed order, too, and a good one. But it is another: here the parts are added one "
            "after the other.",
        ),
        Mistake(
            "deals the pixels out like cards",
            {
                _LOOP: "count = -(-len(pixels) // size)\n    for m in range(count):",
                "m : m + size": "m::count",
            },
            "A part is `size` pixels that follow one another.",
        ),
        Mistake(
            "makes `size` parts",
            {_LOOP: "count, size = size, -(-len(pixels) // size)\n    for m in range(0, len(pixels), size):"},
            "`size` is how many pixels a part has. How many parts there are follows from that.",
        ),
        Mistake(
            "makes the parts as even as can be",
            {
                f"{_LOOP}\n        dw += {_PART}": "count = -(-len(pixels) // size)\n"
                "    cut = zip(np.array_split(pixels, count), np.array_split(rows, count))\n"
                "    for a, b in cut:\n"
                "        dw += a.T @ b"
            },
            "A fixed order, too; but here every part has `size` pixels, and the last one what is left.",
        ),
        Mistake(
            "begins the parts anew with each picture",
            {
                _LOOP: "count = len(pixels) // len(x)\n    for m in (n + m for n in range(0, len(pixels), "
                "count) for m in range(0, count, size)):",
                "m : m + size": "m : min(m + size, m // count * count + count)",
            },
            "A fixed order, too; but here the pixels of all pictures are one row, and a part may reach from "
            "one picture into the next.",
        ),
        Mistake(
            "forgets the last part where it is smaller",
            {"len(pixels), size": "len(pixels) - size + 1, size"},
            "`size` need not divide the number of pixels. What is left over is a part as well.",
        ),
        Mistake(
            "keeps the last part only",
            {"dw += ": "dw = "},
            "The parts are added up; each erases the one before.",
        ),
        Mistake(
            "counts pixels twice where two parts meet",
            {"m + size": "m + size + 1"},
            "A part ends before the pixel that the next begins with.",
        ),
        Mistake(
            "sums over the first picture only",
            {
                _LOOP: "for m in range(0, len(pixels) // len(x), size):",
                "m + size": "min(m + size, len(pixels) // len(x))",
            },
            "All pictures of the batch share the weights: the sum goes over the pixels of all of them.",
        ),
        Mistake(
            "takes the mean over the pictures",
            {"return dw.reshape(K, R, S, C)": "return dw.reshape(K, R, S, C) / len(x)"},
            "If the loss is a mean, dy has been divided already. Here it is the sum.",
        ),
        Mistake(
            "turns the filters",
            {"return dw.reshape(K, R, S, C)": "return dw.reshape(K, R, S, C)[:, ::-1, ::-1]"},
            "Only the gradient of x needs the filter turned. Weight (r, s) was multiplied by the pixel (r, "
            "s) of every window.",
        ),
        Mistake(
            "leaves the columns in the order c, r, s",
            {".transpose(0, 1, 2, 4, 5, 3)": ""},
            "`sliding_window_view` puts the axes of the window last, behind the channels. dw is (K, R, S, "
            "C).",
        ),
        Mistake(
            "ignores the stride",
            {"[:, ::stride, ::stride]": "[:, : dy.shape[1], : dy.shape[2]]"},
            "The window of output pixel (p, q) has its corner at (p * stride, q * stride).",
        ),
        Mistake(
            "ignores the padding",
            {_PAD: "((0, 0), (0, 2 * padding), (0, 2 * padding), (0, 0))"},
            "The first window begins above the picture and left of it: zeros belong on that side, too.",
        ),
        Mistake(
            "pads with what stands at the edge",
            {_PAD: f'{_PAD}, "edge"'},
            "Forward there were zeros around the picture. What was multiplied by zero has no share in the "
            "gradient.",
        ),
        Mistake(
            "writes into whole numbers",
            {"x.dtype": "np.int64", f"dw += {_PART}": f"dw += ({_PART}).astype(np.int64)"},
            "An array of integers drops the fraction of everything that is written into it.",
        ),
    ),
)
