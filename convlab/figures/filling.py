"""A still of the im2row or im2col matrix while it fills, beside the image that it copies."""

from __future__ import annotations

import numpy as np

from convlab.figures.cells import caption, draw_cells, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import ROLES, figure_style, mix
from convlab.problem import ConvProblem


def matrix_of(problem: ConvProblem, layout: str, order: str) -> np.ndarray:
    """Return which number of x each cell of the matrix copies: its place in memory, -1 for padding.

    Parameters
    ----------
    layout : "im2row" or "im2col"
        Windows as rows, or as columns.
    order : "RSC" or "CRS"
        What runs along a window.
    """
    _, H, W, C = problem.x_shape
    places = np.full((problem.P, problem.Q, problem.R, problem.S, C), -1)
    memory = np.arange(H * W * C).reshape(H, W, C)
    for r in range(problem.R):
        for s in range(problem.S):
            (p, q), (h, w) = problem.inside(r, s)
            places[p, q, r, s] = memory[h, w]
    if order == "CRS":
        places = np.moveaxis(places, -1, 2)
    rows = places.reshape(problem.P * problem.Q, -1)
    return rows if layout == "im2row" else rows.T


def draw(problem: ConvProblem, layout: str, order: str, step: int, *, copies: bool = False) -> Picture:
    """Return the picture after window `step` has been copied; `copies` shows counts instead of places."""
    _, H, W, C = problem.x_shape
    matrix = matrix_of(problem, layout, order)
    counts = np.bincount(matrix[matrix >= 0], minlength=H * W * C)
    ratio = matrix.size / (H * W * C)
    (top, bottom), (left, right) = problem.padding
    p, q = divmod(step, problem.Q)
    is_row = layout == "im2row"
    high, wide = matrix.shape
    image_width = (W + left + right) * (C + 0.25)
    image_height = (H + top + bottom) * 1.3
    height = max(image_height, high) + 2.0

    with figure_style():
        title = f"{layout}: {H * W * C} numbers become {matrix.size} cells, {ratio:.1f} times as many"
        figure, ax = sheet(image_width + wide * 1.05 + 3.2, height, title, scale=0.27)

        def pixel(i, j):
            h, (w, c) = i - top, divmod(j, C)
            w -= left
            if not (0 <= h < H and 0 <= w < W):
                return "padding", 0
            place = (h * W + w) * C + c
            share = 0.7 * counts[place] / max(counts.max(), 1)
            return (mix(ROLES["workspace"], share), counts[place]) if copies else ("input", place)

        corner = draw_cells(
            ax, H + top + bottom, (W + left + right) * C, pixel, at=(0.6, 1.4), height=1.3, group=C, size=7
        )
        x, y = corner(p * problem.stride[0], q * problem.stride[1] * C)
        end, _ = corner(0, (q * problem.stride[1] + problem.S) * C - 1)
        frame(ax, (x, y), end + 1 - x, 1.3 * problem.R)
        words = "how often it is copied" if copies else "the number is its place in memory"
        caption(ax, 0.7, 1.0, "input", "x", f"{H} × {W} × {C}, {words}")

        def cell(i, j):
            if (i if is_row else j) > step:
                return None, ""
            return ("workspace", matrix[i, j]) if matrix[i, j] >= 0 else ("padding", 0)

        start = image_width + 2.2
        group = problem.S * C if is_row and order == "RSC" else 0
        corner = draw_cells(ax, high, wide, cell, at=(start, 1.4), group=group, size=6.5)
        x, y = corner(step, 0) if is_row else corner(0, step)
        end, _ = corner(0, wide - 1 if is_row else step)
        frame(ax, (x, y), end + 1 - x, 1 if is_row else high)
        caption(
            ax,
            start + 0.1,
            1.0,
            "workspace",
            "matrix",
            f"{high} × {wide}, {step + 1} of {problem.P * problem.Q} windows copied",
        )

        alt = (
            f"An image of {H} by {W} pixels and {C} channels, {H * W * C} numbers, and its {layout} matrix "
            f"of {high} rows and {wide} columns, {matrix.size} cells or {ratio:.1f} times as many; "
            f"{step + 1} of {problem.P * problem.Q} windows are copied."
        )
        return show(figure, alt)
