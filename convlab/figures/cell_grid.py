"""Numbers in tinted cells, like the grids of the widgets: to be drawn into a bare sheet."""

from __future__ import annotations

from collections.abc import Callable

from convlab.figures.style import LIGHT, ROLES, tint


def draw_cells(
    ax,
    rows: int,
    columns: int,
    cell: Callable[[int, int], tuple[str | None, object]],
    *,
    at: tuple[float, float] = (0, 0),
    width: float = 1,
    height: float = 1,
    group: int = 0,
    size: float = 9,
) -> Callable[[int, int], tuple[float, float]]:
    """Draw a grid of cells into `ax`, the first at (x, y) = `at`, rows going down.

    Parameters
    ----------
    cell : callable
        ``cell(row, column)`` returns the role of a cell (None for an empty one) and its text; a "#rrggbb"
        is taken as the fill itself.
    group : int
        A wider gap follows every `group`-th column.

    Returns
    -------
    callable
        ``corner(row, column)``: where that cell begins, for frames and arrows.
    """
    from matplotlib.patches import FancyBboxPatch

    def corner(row, column):
        gap = column // group * 0.22 * height if group else 0
        return at[0] + column * width + gap, at[1] + row * height

    for row in range(rows):
        for column in range(columns):
            role, text = cell(row, column)
            x, y = corner(row, column)
            fill = LIGHT["panel"] if role is None else role if role[0] == "#" else tint(role)
            hatched = role == "padding"
            patch = FancyBboxPatch(
                (x + 0.05 * height, y + 0.05 * height),
                width - 0.1 * height,
                height - 0.1 * height,
                boxstyle=f"round,pad=0,rounding_size={0.08 * height}",
                facecolor=LIGHT["paper"] if hatched else fill,
                edgecolor=LIGHT["line"],
                hatch="////" if hatched else None,
                linewidth=0.6,
            )
            ax.add_patch(patch)
            ink = LIGHT["muted"] if hatched else LIGHT["ink"]
            box = {"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 0.6} if hatched else None
            middle = (x + width / 2, y + height / 2)
            ax.text(*middle, text, ha="center", va="center", fontsize=size, color=ink, bbox=box)
    return corner


def frame(ax, corner: tuple[float, float], width: float, height: float) -> None:
    """Outline what happens right now."""
    from matplotlib.patches import FancyBboxPatch

    box = FancyBboxPatch(
        corner,
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.08",
        fill=False,
        lw=2.4,
        ec=ROLES["active"],
    )
    ax.add_patch(box)


def caption(ax, x: float, y: float, role: str, name: str, words: str) -> None:
    """Write a name on its role's tint, and words after it."""
    chip = {"facecolor": tint(role), "edgecolor": "none", "boxstyle": "round,pad=0.25"}
    named = ax.text(x, y, name, fontsize=9.5, fontweight="bold", va="bottom", bbox=chip)
    ax.annotate(
        words, xy=(1, 0), xycoords=named, xytext=(7, 0), textcoords="offset points",
        fontsize=9.5, va="bottom", color=LIGHT["muted"],
    )  # fmt: skip


def sheet(width: float, height: float, title: str, *, scale: float = 0.32):
    """Return a figure and a bare axes of `width` by `height` cells, y going down, under a title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * scale, height * scale + 0.55), layout="none")
    ax = figure.add_axes((0, 0, 1, height * scale / (height * scale + 0.55)))
    ax.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    ax.axis("off")
    figure.text(
        0.5 / width, 1 - 0.2 / (height * scale + 0.55), title, fontsize=12.5, fontweight="bold", va="top"
    )
    return figure, ax
