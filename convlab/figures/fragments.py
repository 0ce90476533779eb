"""Which lane holds what in one tensor core instruction, and how copies hide behind products."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from convlab.figures.cells import caption, draw_cells, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style
from convlab.gpu.tensor_cores.fragments import fragments, holders
from convlab.support.checked import checked
from convlab.support.checks import check_whole

_ROLES = {"A": "input", "B": "filter", "C": "output"}
_AT = {"A": (1, 11), "B": (11, 1.4), "C": (11, 11)}
_WORDS = {"A": "16 pixels, 8 words of their sum", "B": "the same 8 words of 8 filters", "C": "16 x 8 sums"}


@checked
def held(lane: Annotated[int, partial(check_whole, least=0, most=31)] = 9) -> Picture:
    """Draw A, B and C of one instruction, every cell with its lane, and outline what one lane holds."""
    told = {name: [f"[{i}, {j}]" for i, j in some] for name, some in fragments(lane).items()}
    with figure_style():
        figure, ax = sheet(31, 28, "No lane sees a whole row: four of them share it", scale=0.235)
        for number, (name, role) in enumerate(_ROLES.items()):
            lanes, at = holders(name), _AT[name]
            corner = draw_cells(ax, *lanes.shape, lambda i, j: (role, lanes[i, j]), at=at, size=8)  # noqa: B023
            for row, column in fragments(lane)[name]:
                frame(ax, corner(row, column), 1, 1)
            caption(ax, at[0], at[1] - 0.4, role, name, "")
            ax.text(20.2, 12 + 1.2 * number, f"{name}: {_WORDS[name]}", fontsize=9.5, color=LIGHT["muted"])
            lines = [", ".join(told[name][i : i + 2]) for i in range(0, len(told[name]), 2)]
            ax.text(20.2, 18.2 + 2.6 * number, name, fontsize=9.5, va="top", fontweight="bold")
            ax.text(21.2, 18.2 + 2.6 * number, "\n".join(lines), fontsize=9.5, va="top")
        ax.text(20.2, 17, f"lane {lane} holds", fontsize=10.5, fontweight="bold")
        alt = (
            "Three matrices, A of 16 by 8 cells, B of 8 by 8, C of 16 by 8; each cell names the lane that "
            f"holds it. Four lanes hold a row of A, and the same four that row of C. Lane {lane} holds "
            + "; ".join(f"of {name} {', '.join(where)}" for name, where in told.items())
        )
        return show(figure, f"{alt}.")


@checked
def pipeline(pieces: Annotated[int, partial(check_whole, least=1, most=5)] = 5) -> Picture:
    """Draw what a block does at each moment, with one buffer and with two."""
    title = "With two buffers the next piece travels while this one is multiplied"
    with figure_style():
        figure, ax = sheet(32, 11.6, title, scale=0.27)
        ends = []
        for name, top, every in (("one buffer", 1.6, 2), ("two buffers", 7.2, 1)):
            caption(ax, 0.4, top - 0.3, "workspace", name, "")
            _row(ax, pieces, top, every, "input", "fetch", 0)
            ends.append(_row(ax, pieces, top + 1.5, every, "output", "multiply", 1))
        ax.text(31.6, 11.2, "time, in steps", ha="right", fontsize=9, color=LIGHT["muted"])
        alt = (
            f"Two timelines for {pieces} pieces of the sum. With one buffer a block fetches a piece, "
            f"multiplies it, fetches the next: {ends[0]} steps. With two buffers it fetches piece 1 while it "
            f"multiplies piece 0, and so on: {ends[1]} steps."
        )
        return show(figure, alt)


def _row(ax, pieces: int, top: float, every: int, role: str, verb: str, late: int) -> int:
    """Draw one piece every so many steps, the first `late`; return the step after the last."""
    start = {late + every * piece: piece for piece in range(pieces)}
    last = max(start) + 1

    def cell(_, step):
        return (role, start[step]) if step in start else (None, "")

    draw_cells(ax, 1, last, cell, at=(5, top), width=2.5, height=1.2)
    ax.text(0.5, top + 0.6, verb, fontsize=9.5, va="center")
    return last
