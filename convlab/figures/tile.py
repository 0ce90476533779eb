"""A still of the register tile while it fills, and of the registers it takes."""

from __future__ import annotations

import numpy as np

from convlab.cpu.tile_model import TileBounds
from convlab.figures.cells import caption, draw_cells, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import figure_style

LIMITS = {
    "units": "the multiply-adds themselves set the pace",
    "latency": "each sum waits for its last product",
    "loads": "the loads set the pace",
}


MOST_ROWS, MOST_VECTORS = 14, 4
LENGTH, LANES = 6, 4  # what is drawn: sums of six products, vectors of four numbers
_A_LINE = 16  # registers


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """Return small whole numbers for the largest tile: a (rows, length) and b (length, cols)."""
    rng = np.random.default_rng(3)
    return rng.integers(0, 4, (MOST_ROWS, LENGTH)), rng.integers(0, 4, (LENGTH, MOST_VECTORS * LANES))


def title(bounds: TileBounds) -> str:
    """Return the finding: what the tile can reach, and what holds it."""
    if bounds.spilled:
        return (
            f"{bounds.rows} × {bounds.vectors} does not fit: {bounds.spilled} sums too many for the registers"
        )
    reach = f"{bounds.rows} × {bounds.vectors} can reach {100 * bounds.share:.0f} % of the peak"
    return f"{reach}: {LIMITS[bounds.limit]}"


def draw(bounds: TileBounds, step: int) -> Picture:
    """Return the picture after the products 0 to `step` have been added to every sum."""
    rows, cols = bounds.rows, bounds.vectors * LANES
    a, b = numbers()
    a, b = a[:rows], b[:, :cols]
    sums = a[:, : step + 1] @ b[: step + 1]  # (rows, cols)
    left, top = 1 + LENGTH + 1.6, 1.4 + LENGTH + 1.8
    below = top + rows + 1.8
    boxes = max(bounds.registers, bounds.used)
    lines = -(-boxes // _A_LINE)
    panel = {"width": 1.4, "group": LANES}
    with figure_style():
        width = max(left + cols * 1.4 + 2, 2 + _A_LINE * 1.1, 27)
        fig, ax = sheet(width, below + lines + 1.8, title(bounds))

        corner = draw_cells(ax, LENGTH, cols, lambda i, j: ("filter", b[i, j]), at=(left, 1.4), **panel)
        (x, y), (end, _) = corner(step, 0), corner(step, cols - 1)
        frame(ax, (x, y), end + 1.4 - x, 1)
        caption(ax, left, 1.0, "filter", "panel of b", f"one row of {bounds.vectors} vectors at each step")
        corner = draw_cells(ax, rows, LENGTH, lambda i, j: ("input", a[i, j]), at=(1, top))
        frame(ax, corner(0, step), 1, rows)
        caption(ax, 1, top - 0.4, "input", "a", "one column")
        draw_cells(ax, rows, cols, lambda i, j: ("output", sums[i, j]), at=(left, top), **panel)
        caption(ax, left, top - 0.4, "output", "sums", f"after {step + 1} of {LENGTH} products")

        kinds = ["output"] * bounds.multiply_adds + ["filter"] * bounds.vectors + ["input"]

        def register(i, j):
            at = i * _A_LINE + j
            held = kinds[at] if at < len(kinds) else None
            return (held, "") if at < bounds.registers or held is None else ("padding", "!")

        draw_cells(ax, lines, _A_LINE, register, at=(1, below), width=1.1)
        wanted = f"{bounds.multiply_adds} sums + {bounds.vectors} weights + 1 number of a = {bounds.used}"
        short = f", {bounds.spilled} too many" if bounds.spilled else ""
        caption(ax, 1, below - 0.4, "output", "registers", f"{wanted} of {bounds.registers}{short}")
        cycles = ", ".join(f"{name} {value:.3g}" for name, value in bounds.cycles.items())
        ax.text(1, below + lines + 0.9, f"cycles a step, at least: {cycles}", fontsize=9.5, va="center")
        alt = (
            f"A register tile of {rows} rows and {bounds.vectors} vectors. At step {step + 1} of {LENGTH} "
            f"the outlined column of a meets the outlined row of b, and every sum takes one product: "
            f"{bounds.multiply_adds} multiply-adds, {bounds.fetched} loads, {bounds.used} of "
            f"{bounds.registers} registers. {title(bounds)}."
        )
        return show(fig, alt)
