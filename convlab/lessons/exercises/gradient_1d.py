"""Notebook 09: the gradient of a line goes back the way its numbers came."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake
from convlab.oracle import reference
from convlab.problem import ConvProblem


def gradient_1d(dy, w, W, stride, padding):
    """Return dx (W,), the gradient of x (W,), for dy (Q,) and the filter w (S,)."""
    # your code here: which pixels did window q read, and what does dy[q] give each?
    dx = np.zeros(W, dy.dtype)
    for q in range(len(dy)):
        for s in range(len(w)):
            place = q * stride + s - padding
            if 0 <= place < W:
                dx[place] += dy[q] * w[s]
    return dx


_SIZES = (  # W, S, stride, padding
    (4, 2, 1, 0),
    (5, 2, 2, 0),  # no window reads the last pixel
    (4, 3, 1, 1),
    (8, 3, 2, 1),
    (7, 2, 3, 0),  # gaps between the windows
    (3, 2, 1, 2),  # windows that read padding alone
    (2, 4, 1, 2),  # a filter wider than the picture
    (9, 5, 2, 3),
    (12, 4, 3, 2),
)


def _problem(w, W, stride, padding) -> ConvProblem:
    return ConvProblem(1, 1, W, 1, 1, 1, len(w), stride=(1, stride), padding=(0, padding))


def _cases() -> Iterator[tuple]:
    """(dy, w, W, stride, padding); dy and w of the last are fractions."""
    rng = np.random.default_rng(9)
    for number, (W, S, stride, padding) in enumerate(_SIZES, 1):
        whole = number < len(_SIZES)
        w = filled(rng, S, whole=whole)
        yield filled(rng, _problem(w, W, stride, padding).Q, whole=whole), w, W, stride, padding


def _answer(dy, w, W, stride, padding) -> np.ndarray:
    """Make the convolution a matrix, a row for each pixel: what y is where this one is 1 and all others 0."""
    problem, filters = _problem(w, W, stride, padding), w.reshape(1, 1, -1, 1)
    rows = [reference(pixel.reshape(1, 1, W, 1), filters, problem).ravel() for pixel in np.eye(W, dtype="f")]
    return np.array(rows) @ dy


def _reached(index, dy, w, W, stride, padding) -> tuple[str, list[tuple[int, ...]]]:
    """Return the numbers of dy that reach a pixel."""
    taps = (index[0] + padding - q * stride for q in range(len(dy)))
    return "dy", [(q,) for q, s in enumerate(taps) if 0 <= s < len(w)]


_PLACE, _INSIDE, _TAP = "q * stride + s - padding", "if 0 <= place < W:", "* w[s]"


def _gathers(tap: str) -> str:
    """Return the text that gathers dx instead, for each pixel i through the taps s for which this is so."""
    some = f"dy[q] * w[s] for q, s in np.ndindex(len(dy), len(w)) if {tap}"
    return f"    dx = np.array([sum({some}) for i in range(W)])\n    return"


EXERCISE = Exercise(
    notebook="09",
    statement="gradient_1d(dy, w, W, stride, padding) returns dx (W,), the gradient of the input x of a 1-D "
    "convolution, y[q] = sum over s of x[q * stride + s - padding] * w[s].",
    solution=gradient_1d,
    why="The loops and the places are those of the forward pass; only the arrow is turned around. Where y[q] "
    "got x[place] times w[s], dx[place] gets dy[q] times w[s], and what windows share adds up. What was read "
    "from padding goes to nobody.",
    hints=(
        "Forward, y[q] got x[place] * w[s]. If x[place] grows a little, by how much does y[q] grow? And in "
        "how many windows may one pixel be?",
        "Begin with zeros, and go over q and s as forward. The place is the one that was read, q * stride + "
        "s - padding; dy[q] * w[s] is added there. What if there is no such pixel?",
        "dx = np.zeros(W, dy.dtype); for all q and s: place = q * stride + s - padding, and if 0 <= place < "
        "W: dx[place] += dy[q] * w[s].",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"dy": "Q", "w": "S", "return": "W"},
    window=_reached,
    mistakes=(
        Mistake(
            "moves a place before the first pixel to pixel 0",
            {_INSIDE: "place = max(place, 0)\n            if place < W:"},
            "What falls on padding belongs to no pixel, and to pixel 0 no more than to any other. A "
            "framework's gradient did this, too (Paddle, pull request 75141): only the border is wrong then.",
        ),
        Mistake(
            "moves places beside the picture to its edge",
            {_INSIDE: "place = min(max(place, 0), W - 1)\n            if True:"},
            "What falls on padding belongs to no pixel, on either side: it is dropped.",
        ),
        Mistake(
            "lets places before the first pixel wrap around to the end",
            {_INSIDE: "if place < W:"},
            "In Python dx[-1] is no error: it is the last pixel. What falls on padding is dropped.",
        ),
        Mistake(
            "does not ask for padding",
            {_INSIDE: "if True:"},
            "A window may hang over the picture on either side. There is no pixel there that could get "
            "anything.",
        ),
        Mistake(
            "writes where it should add",
            {"dx[place] +=": "dx[place] ="},
            "Where windows overlap, a pixel gets something from each of them. The last one erases the "
            "others.",
        ),
        Mistake(
            "turns the filter where it scatters",
            {_TAP: "* w[-1 - s]"},
            "A filter is turned by whoever *gathers*: goes over pixels, and asks which dy they need. Going "
            "over dy, each number goes back through the weight that it came by.",
        ),
        Mistake(
            "gathers, with a filter that is not turned",
            {"    return": _gathers("q * stride == i + s - padding")},
            "Pixel i was read by window q through tap s = i + padding - q * stride: as q goes up, s goes "
            "down.",
        ),
        Mistake(
            "gathers, and rounds down where no window begins",
            {"    return": _gathers("q == (i + padding - s) // stride")},
            "Between two windows lie `stride` - 1 places at which none begins. If the division leaves "
            "something over, that tap of that pixel met no dy.",
        ),
        Mistake(
            "gathers, and lets windows before the first wrap around to the last",
            {"    return": _gathers("i + padding - s in (q * stride, (q - len(dy)) * stride)")},
            "A pixel near the left edge was not read by a window -1: there is none. dy[-1] is the last "
            "number.",
        ),
        Mistake(
            "slides the filter over dy, as forward over x",
            {"    return": _gathers("q == i * stride + s - padding")},
            "That is the forward pass once more. Backwards the stride pulls dy apart: window q began at "
            "pixel q * stride - padding.",
        ),
        Mistake(
            "takes the full convolution of dy and w",
            lambda dy, w, W, stride, padding: np.convolve(dy, w),
            "That is it where the stride is 1 and nothing was padded. A stride pulls dy apart first, and "
            "the border of zeros is cut off afterwards.",
        ),
        Mistake(
            "ignores the stride",
            {"q * stride": "q"},
            "Window q began `stride` pixels after the one before it.",
        ),
        Mistake(
            "puts `stride` zeros between two numbers of dy",
            {"q * stride": "q * (stride + 1)"},
            "From one window to the next it is `stride` places: so one less lies between them.",
        ),
        Mistake(
            "steps the taps by the stride",
            {_PLACE: "q + s * stride - padding"},
            "Stride moves the window, dilation moves the taps.",
        ),
        Mistake(
            "adds the padding",
            {"- padding": "+ padding"},
            "The first window begins *before* the first pixel: its first place has a negative number.",
        ),
        Mistake(
            "ignores the padding",
            {" - padding": ""},
            "x stood between `padding` zeros on either side: place 0 of the windows lies before pixel 0.",
        ),
        Mistake(
            "ends where the last window ends",
            {"dx = np.zeros(W": "W = (len(dy) - 1) * stride + len(w) - 2 * padding\n    dx = np.zeros(W"},
            "A stride may leave pixels over that no window read. Their gradient is 0, but they are there: "
            "dx is as long as x.",
        ),
        Mistake(
            "returns the border as well",
            {"np.zeros(W,": "np.zeros(W + 2 * padding,", " - padding": "", "< W": "< W + 2 * padding"},
            "The border of zeros is no part of x: cut it off on both sides.",
        ),
        Mistake(
            "cuts the border off with a slice that is empty where there is none",
            {
                "np.zeros(W,": "np.zeros(W + 2 * padding,",
                " - padding": "",
                "< W": "< W + 2 * padding",
                "return dx": "return dx[padding:-padding]",
            },
            "dx[0:-0] is dx[0:0]: it has no number at all. Say where it ends, counted from the left.",
        ),
        Mistake(
            "drops windows that hang over the edge",
            {_INSIDE: "if 0 <= q * stride - padding <= W - len(w):"},
            "A window that hangs over has taps on the picture, too. Ask each tap, not the window.",
        ),
        Mistake(
            "leaves out pixel 0",
            {"0 <= place": "0 < place"},
            "Pixels count from 0.",
        ),
        Mistake(
            "averages where windows overlap",
            {
                "dx = np.zeros(W, dy.dtype)": "dx, count = np.zeros(W, dy.dtype), np.zeros(W)",
                f"dx[place] += dy[q] {_TAP}": f"dx[place] += dy[q] {_TAP}\n                count[place] += 1",
                "return dx": "return dx / np.maximum(count, 1)",
            },
            "A pixel that is read twice moves the output twice: its gradient is the sum, not the mean.",
        ),
        Mistake(
            "writes into whole numbers",
            {"dy.dtype": "int", f"dy[q] {_TAP}": f"int(dy[q] {_TAP})"},
            "An array of integers drops the fraction of everything that is written into it.",
        ),
    ),
)
