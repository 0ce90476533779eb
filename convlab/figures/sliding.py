"""A still of the sliding window: the image with its padding, the filter, and the output so far."""

from __future__ import annotations

import numpy as np

from convlab.figures.cells import caption, draw_cells, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style
from convlab.problem import ConvProblem


def draw(
    problem: ConvProblem, image: np.ndarray, taps: np.ndarray, step: int, *, flip: bool = False
) -> Picture:
    """Return the picture at output pixel `step`, counted row by row.

    Parameters
    ----------
    problem : ConvProblem
        One channel, one filter.
    image, taps : ndarray of int, (H, W) and (R, S)
        The numbers; `taps` as they meet the image, rotated already if `flip`.
    """
    y = _convolve(problem, image, taps)
    p, q = divmod(step, problem.Q)
    (top, bottom), (left, right) = problem.padding
    rows, columns = problem.H + top + bottom, problem.W + left + right
    window = problem.extent
    height = max(rows, problem.R, problem.P) + 2.2
    width = columns + problem.S + problem.Q + 6.4

    with figure_style():
        reads = f"the window reads {problem.R} × {problem.S} numbers and adds their products"
        title = f"y[{p}, {q}] = {_text(y[p, q])}: {reads}"
        figure, ax = sheet(max(width, 17), height, title)
        middle = 1.5 + max(rows, problem.R, problem.P) / 2

        def pixel(i, j):
            inside = top <= i < top + problem.H and left <= j < left + problem.W
            return ("input", image[i - top, j - left]) if inside else ("padding", 0)

        start = middle - rows / 2
        corner = draw_cells(ax, rows, columns, pixel, at=(0.7, start))
        frame(ax, corner(p * problem.stride[0], q * problem.stride[1]), window[1], window[0])
        caption(ax, 0.8, start - 0.35, "input", "x", f"input, {problem.H} × {problem.W}")

        x = columns + 2.5
        start = middle - problem.R / 2
        draw_cells(ax, problem.R, problem.S, lambda r, s: ("filter", _text(taps[r, s])), at=(x, start))
        caption(ax, x + 0.1, start - 0.35, "filter", "w", "filter, rotated" if flip else "filter")
        ax.text(x - 0.9, middle, "∗", fontsize=16, ha="center", va="center", color=LIGHT["muted"])

        x += problem.S + 1.8
        start = middle - problem.P / 2

        def result(i, j):
            return ("output", _text(y[i, j])) if i * problem.Q + j <= step else (None, "")

        corner = draw_cells(ax, problem.P, problem.Q, result, at=(x, start))
        frame(ax, corner(p, q), 1, 1)
        caption(ax, x + 0.1, start - 0.35, "output", "y", f"output, {problem.P} × {problem.Q}")
        ax.text(x - 0.9, middle, "=", fontsize=16, ha="center", va="center", color=LIGHT["muted"])

        alt = (
            f"A window of {window[0]} by {window[1]} over a {problem.H} by {problem.W} image with stride "
            f"{problem.stride[0]}, {problem.stride[1]}; it stands at output row {p}, column {q} of a "
            f"{problem.P} by {problem.Q} output, whose value is {y[p, q]}."
        )
        return show(figure, alt)


def _text(value) -> str:
    return str(value).replace("-", "−")


def _convolve(problem: ConvProblem, image: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """Return the output in whole numbers, tap by tap."""
    y = np.zeros((problem.P, problem.Q), int)
    for r in range(problem.R):
        for s in range(problem.S):
            (p, q), (h, w) = problem.inside(r, s)
            y[p, q] += taps[r, s] * image[h, w]
    return y
