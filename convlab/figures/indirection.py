"""A still of the indirection buffer, beside the image into which it points."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.indirect.buffer import indirection_buffer, resize
from convlab.figures.cells import caption, draw_cells, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import ROLES, figure_style, mix
from convlab.problem import ConvProblem

_UNTOUCHED = -7  # no offset


def rebuilt(old: ConvProblem, new: ConvProblem, rows: int) -> tuple[str, int]:
    """Return what the library makes anew when a plan is resized, and how many tiles it keeps.

    Parameters
    ----------
    old, new : ConvProblem
        They differ in N, H and W only.
    rows : int
        Output pixels in a tile.

    Returns
    -------
    (str, int)
        "nothing", "part" or "all", and tiles of `new` that were not written.
    """
    marked = np.full_like(indirection_buffer(old, rows), _UNTOUCHED)
    workspace, word = resize(old, new, {"offsets": marked})
    kept = (workspace["offsets"] == _UNTOUCHED).all(axis=(1, 2))
    return word, int(kept.sum())


def title(word: str, kept: int, tiles: int) -> str:
    """Return the finding: how much of the buffer is new."""
    if word == "nothing":
        return f"Nothing had to be made anew: all {tiles} tiles are as they were"
    if word == "part":
        return f"Part of the buffer is new: {tiles - kept} of {tiles} tiles"
    return f"All {tiles} tiles of the buffer are new"


def draw(problem: ConvProblem, rows: int, step: int, image: int, change: tuple[str, int]) -> Picture:
    """Return the picture for output pixel `step` of one image; `change` is what `rebuilt` returns."""
    N, H, W, C = problem.x_shape
    (top, bottom), (left, right) = problem.padding
    P, Q, taps = problem.P, problem.Q, problem.R * problem.S
    buffer = indirection_buffer(problem, rows)  # (tiles, taps, rows)
    tiles = len(buffer)
    word, kept = change
    tile, lane = divmod(step, rows)
    p, q = divmod(step, Q)
    start = image * H * W * C
    wide, high = W + left + right, max(H + top + bottom + 2.4, P)
    below = 1.4 + high + 1.8
    fresh = mix(ROLES["workspace"], 0.75)
    with figure_style():
        width = max(2 + taps * rows * 1.15 + taps * 0.25, wide * 1.5 + Q * 1.2 + 8, 24)
        fig, ax = sheet(width, below + tiles + 0.6, title(word, kept, tiles), scale=0.3)

        def pixel(i, j):
            h, w = i - top, j - left
            inside = 0 <= h < H and 0 <= w < W
            return ("input", start + (h * W + w) * C) if inside else ("padding", "")

        corner = draw_cells(ax, H + top + bottom, wide, pixel, at=(1, 1.4), width=1.5, size=8)
        caption(ax, 1, 1.0, "input", f"x[{image}]", f"of {N}: place in memory")
        x, y = corner(p * problem.stride[0], q * problem.stride[1])
        frame(ax, (x, y), 1.5 * problem.S, problem.R)
        strip = 1.4 + H + top + bottom + 1.1
        draw_cells(ax, 1, C, lambda i, j: ("workspace", 0), at=(1, strip), width=1.5, size=8)
        caption(ax, 1, strip - 0.3, "workspace", "zeros", "what padding reads")
        at = wide * 1.5 + 4
        corner = draw_cells(ax, P, Q, lambda i, j: ("output", i * Q + j), at=(at, 1.4), width=1.2, size=8)
        caption(ax, at, 1.0, "output", "y", f"{P} × {Q} pixels, numbered")
        frame(ax, corner(p, q), 1.2, 1)

        def place(i, j):
            value = buffer[i].flat[j]
            return (fresh if i >= kept else "workspace"), ("−1" if value < 0 else value)

        corner = draw_cells(ax, tiles, taps * rows, place, at=(1, below), width=1.15, group=rows, size=7)
        words = f"a line is a tile of {rows} pixels, tap after tap; {tiles - kept} lines are new"
        caption(ax, 1, below - 0.4, "workspace", "buffer", words)
        for t in range(taps):
            frame(ax, corner(tile, t * rows + lane), 1.15, 1)
        inside = [int(value) for value in buffer[tile, :, lane] if value >= 0]
        alt = (
            f"An image of {H} by {W} pixels, its {P} by {Q} outputs, and the indirection buffer of {tiles} "
            f"tiles, {taps} taps and {rows} pixels. Output pixel {step} reads its taps at "
            f"{', '.join(map(str, inside))}"
            + (f", and {taps - len(inside)} zeros" if len(inside) < taps else "")
            + f". {title(word, kept, tiles)}."
        )
        return show(fig, alt)
