"""The taps of one output pixel, found in three ways: worked out, looked up, led from one to the next."""

from __future__ import annotations

from itertools import pairwise

from convlab.algorithms.indirect import indirection_buffer
from convlab.algorithms.precomputed_gemm.offsets import walk
from convlab.figures.cell_grid import caption, draw_cells, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style
from convlab.problem import ConvProblem
from convlab.support.checked import checked

_SMALL = ConvProblem(1, 5, 6, 4, 1, 3, 3, padding=1)
_WIDE = 1.55  # of a cell


@checked
def tap_addresses(m: int = 2, problem: ConvProblem = _SMALL) -> Picture:
    """Draw the window of output pixel m of a small picture, and what each way knows and does to find it."""
    (top, bottom), (left, right) = problem.padding
    W, C, S, taps = problem.W, problem.C, problem.S, problem.R * problem.S
    p, q = divmod(m, problem.Q)
    corner_h, corner_w = p * problem.stride[0] - top, q * problem.stride[1] - left
    dilation_h, dilation_w = problem.dilation
    at = [(corner_h + t // S * dilation_h, corner_w + t % S * dilation_w) for t in range(taps)]
    places = indirection_buffer(problem)[m, :, 0].tolist()
    start = (corner_h * W + corner_w) * C
    steps = [b - a for (*_, a), (*_, b) in pairwise(list(walk(problem, C)))]
    roles = ["padding" if place < 0 else "input" for place in places]
    beside = 1.5 + (W + left + right) * _WIDE + 1.5
    title = f"{2 * taps} coordinates, or {taps} places, or 2 numbers and {len(set(steps))} deltas"

    with figure_style():
        width = beside + (taps + 0.5) * _WIDE + 1
        figure, ax = sheet(width, 12, title, scale=0.31)

        def pixel(i, j):
            h, w = i - top, j - left
            inside = 0 <= h < problem.H and 0 <= w < W
            return ("input", (h * W + w) * C) if inside else ("padding", "")

        high = problem.H + top + bottom
        corner = draw_cells(ax, high, W + left + right, pixel, at=(1, 1.8), width=_WIDE, size=8)
        caption(ax, 1, 1.4, "input", "x", f"where each pixel's {C} numbers begin")
        frame(ax, corner(corner_h + top, corner_w + left), _WIDE * S, problem.R)
        ax.text(1, high + 2.7, f"output pixel m = {m}", fontsize=9.5, color=LIGHT["muted"])

        def strip(y, texts, tones, first=0.0):
            cells = list(zip(tones, texts, strict=True))
            draw_cells(
                ax, 1, len(cells), lambda _, j: cells[j], at=(beside + first * _WIDE, y), width=_WIDE, size=8
            )

        caption(ax, beside, 1.4, "input", "worked out", "m / Q, then a row and a column for each tap")
        strip(1.8, [f"{_text(h)}, {_text(w)}" for h, w in at], roles)
        caption(ax, beside, 4.6, "workspace", "looked up", f"{taps} numbers of the table, −1 on padding")
        strip(5.0, [_text(place) for place in places], ["workspace"] * taps)
        caption(ax, beside, 7.8, "workspace", "led", f"a start, {_text(start)}, and a bit for each tap")
        strip(8.2, [int(place >= 0) for place in places], ["workspace"] * taps)
        strip(9.5, ["+" * (step >= 0) + _text(step) for step in steps], [None] * len(steps), first=0.5)
        ax.text(beside, 11.3, "from tap to tap, the same for every pixel", fontsize=9.5, color=LIGHT["muted"])
        coordinates, listed, stepped = (", ".join(map(str, some)) for some in (at, places, steps))
        alt = (
            f"A picture of {problem.H} by {W} pixels with the window of output pixel {m} outlined, and its "
            f"{taps} taps found in three ways. Worked out: rows and columns {coordinates}. Looked up: places "
            f"{listed}. Led: from start {start} by steps of {stepped}, with a bit for each tap that says "
            "whether it is in the picture."
        )
        return show(figure, alt)


def _text(number: int) -> str:
    return str(number).replace("-", "−")
