"""How copies hide behind products: what a block does at each moment, with one buffer and with two."""

from __future__ import annotations

from convlab.figures.cell_grid import caption, draw_cells, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style

PIECES = 5  # of the sum


def pipeline() -> Picture:
    """Draw what a block does at each moment, with one buffer and with two."""
    title = "With two buffers the next piece travels while this one is multiplied"
    with figure_style():
        figure, ax = sheet(32, 11.6, title, scale=0.27)
        ends = []
        for name, top, every in (("one buffer", 1.6, 2), ("two buffers", 7.2, 1)):
            caption(ax, 0.4, top - 0.3, "workspace", name, "")
            _row(ax, top, every, "input", "fetch", 0)
            ends.append(_row(ax, top + 1.5, every, "output", "multiply", 1))
        ax.text(31.6, 11.2, "time, in steps", ha="right", fontsize=9, color=LIGHT["muted"])
        alt = (
            f"Two timelines for {PIECES} pieces of the sum. With one buffer a block fetches a piece, "
            f"multiplies it, fetches the next: {ends[0]} steps. With two buffers it fetches piece 1 while it "
            f"multiplies piece 0, and so on: {ends[1]} steps."
        )
        return show(figure, alt)


def _row(ax, top: float, every: int, role: str, verb: str, late: int) -> int:
    """Draw one piece every so many steps, the first `late`; return the step after the last."""
    start = {late + every * piece: piece for piece in range(PIECES)}
    last = max(start) + 1

    def cell(_, step):
        return (role, start[step]) if step in start else (None, "")

    draw_cells(ax, 1, last, cell, at=(5, top), width=2.5, height=1.2)
    ax.text(0.5, top + 0.6, verb, fontsize=9.5, va="center")
    return last
