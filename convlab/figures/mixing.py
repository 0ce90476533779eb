"""A still of the channel mixing matrix: which filter reads which channel, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from convlab.figures.cells import caption, draw_cells, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.units import bytes_text, count_text, ratio_text

SIDE = 16  # cells along the picture's edges; each stands for C/16 channels, or filters


@dataclass(frozen=True)
class LayerCost:
    """What some layers cost together, every array moved once."""

    flops: int
    weights: int
    bytes: int

    @property
    def intensity(self) -> float:
        """FLOPs for each byte."""
        return self.flops / self.bytes


@checked
def cost_of(*layers: ConvProblem) -> LayerCost:
    """Return the FLOPs, weights and bytes of some layers together.

    Parameters
    ----------
    layers : ConvProblem
        Run one after the other: what lies between two of them is written once and read once.
    """
    return LayerCost(
        sum(layer.flops for layer in layers),
        sum(layer.w_bytes // layer.itemsize for layer in layers),
        sum(layer.x_bytes + layer.w_bytes + layer.y_bytes for layer in layers),
    )


def mixing_layer(problem: ConvProblem) -> ConvProblem:
    """Return the 1x1 layer that mixes the channels of a layer's output again, as many as it has."""
    sizes = {"N": problem.N, "H": problem.P, "W": problem.Q, "C": problem.K, "K": problem.K}
    return ConvProblem(**sizes, R=1, S=1, dtype=problem.dtype)


def groups_of(C: int) -> list[int]:
    """Return the numbers of groups that the figure shows for C channels."""
    return sorted({1, 2, 4, 8, SIDE, C})


def draw(problem: ConvProblem) -> Picture:
    """Return the picture of a layer with as many filters as channels."""
    C, G = problem.C, problem.groups
    block, share = C // SIDE, C // G
    kind = "full" if G == 1 else "depthwise" if G == C else "grouped"
    full, now = cost_of(replace(problem, groups=1)), cost_of(problem)
    pair = cost_of(problem, mixing_layer(problem))

    def cell(k, c):
        if k * block // share != c * block // share:
            return None, ""
        return "filter", "\\" if share < block else ""

    with figure_style():
        title = (
            f"Every filter reads all {C} channels"
            if G == 1
            else f"{G} groups: every filter reads {share} of {C} channels"
        )
        figure, ax = sheet(46, SIDE + 3, title, scale=0.24)
        draw_cells(ax, SIDE, SIDE, cell, at=(0.6, 1.6), size=9)
        caption(ax, 0.7, 1.1, "filter", "w", f"rows: {C} filters, columns: {C} channels")
        window = f"{problem.R} × {problem.S}"
        lines = [("", "FLOPs", "weights", "bytes of x, w, y", "FLOPs per byte"), (f"full {window}", full)]
        if G > 1:
            lines += [(f"{kind} {window}", now), ("1 × 1, all channels", cost_of(mixing_layer(problem)))]
            lines += [("these two together", pair)]
        for row, (name, *given) in enumerate(lines):
            cost = given[0]
            words = given if row == 0 else _texts(cost)
            y = 3.6 + 1.9 * row
            ax.text(19, y, name, fontsize=10, fontweight="bold" if name.startswith(kind) else "normal")
            for column, text in enumerate(words):
                colour = LIGHT["muted"] if row == 0 else LIGHT["ink"]
                ax.text(30 + 5 * column, y, text, fontsize=9.5, color=colour, ha="right")
        alt = f"A layer with filters of {window} and {C} channels in {G} groups: {share} of {C} channels "
        alt += f"for each filter, {count_text(now.flops)} FLOPs, {now.intensity:.1f} for each byte"
        if G > 1:
            saving = ratio_text(full.flops / pair.flops)
            alt += f"; with a 1 × 1 layer after it {saving} fewer than the full layer"
        return show(figure, alt + ".")


def _texts(cost: LayerCost) -> list[str]:
    return [
        count_text(cost.flops).strip(),
        count_text(cost.weights).strip(),
        bytes_text(cost.bytes),
        f"{cost.intensity:.1f}",
    ]
