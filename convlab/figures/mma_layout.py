"""Which lane of a warp holds what in one tensor core instruction."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from convlab.figures.cell_grid import caption, draw_cells, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style
from convlab.support.checked import checked
from convlab.support.checks import check_whole

_ROLES = {"A": "input", "B": "filter", "C": "output"}
_AT = {"A": (1, 11), "B": (11, 1.4), "C": (11, 11)}
_WORDS = {"A": "16 pixels, 8 words of their sum", "B": "the same 8 words of 8 filters", "C": "16 x 8 sums"}


@checked
def mma_layout(lane: Annotated[int, partial(check_whole, least=0, most=31)] = 9) -> Picture:
    """Draw A, B and C of one instruction, every cell with its lane, and outline what one lane holds."""
    from convlab.gpu.tensor_cores.fragments import fragments, holders  # brings numba-cuda

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
