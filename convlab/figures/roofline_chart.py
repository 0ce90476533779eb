"""The roofline as a picture: the machine's roofs as lines, algorithms as points with shapes of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan, degrees

from convlab.algorithms import ALGORITHMS
from convlab.benchmark.passes import AUTO, PASSES
from convlab.benchmark.roofline import Roof, Roofline
from convlab.benchmark.roofline_points import Point
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, figure_style, headline
from convlab.support.checked import checked
from convlab.support.units import count_text

MARKERS = (*"os^vDX*p<>hPd8H", (3, 1, 0), (4, 1, 0), (6, 1, 0), (8, 1, 0))  # the last are stars
# A family has a colour: it copies into a workspace, it transforms filters, it transforms pixels.
COLOURS = {
    "definition": "padding",
    "copies": "workspace",
    "gathers": "output",
    "winograd": "filter",
    "fourier": "input",
}
# A pass has the colour of what it writes: y, dx, dw.
OF_A_PASS = {"fprop": ("o", "output"), "dgrad": ("v", "input"), "wgrad": ("s", "filter")}
FEW = 9  # points of several passes that are named one by one
_GIGA = 1e9


ON_TENSOR_CORES = {"tensor_core_fp16": "*", "tensor_core_tf32": "P"}  # in no table of algorithms


def mark(algorithm: str) -> tuple[str | tuple[int, int, int], str]:
    """Return the shape and the colour of an algorithm's points; a baseline's are hollow."""
    names = list(ALGORITHMS)
    if algorithm in ON_TENSOR_CORES:
        return ON_TENSOR_CORES[algorithm], ROLES["output"]
    if algorithm not in names:
        return "o", LIGHT["paper"]
    marker = MARKERS[names.index(algorithm) % len(MARKERS)]
    return marker, ROLES[COLOURS[ALGORITHMS[algorithm].family]]


def _keys(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Return the points by what tells them apart: the algorithm, or the pass where there are several."""
    found: dict[str, list[Point]] = {}
    for one in points:
        if not _backwards(points):
            key = one.algorithm
        else:
            key = f"{one.layer} {one.pass_}: {one.algorithm}" if len(points) <= FEW else one.pass_
        found.setdefault(key.strip(), []).append(one)
    return found


def _backwards(points: Sequence[Point]) -> bool:
    return any(one.pass_ != "fprop" for one in points)


@checked
def rate_text(roof: Roof) -> str:
    """Return a roof's height with its unit, e.g. "115 GFLOP/s" or "82.4 GB/s"."""
    return f"{count_text(roof.rate)}{'B/s' if roof.per_byte else 'FLOP/s'}"


@checked
def roofline(
    line: Roofline,
    points: Sequence[Point] = (),
    *,
    title: str,
    beside: Sequence[Roofline] = (),
) -> Picture:
    """Draw a roofline; a point stands at the bytes that its algorithm is counted to move.

    Where some are of a pass backwards, shapes and colours tell the passes apart, and each stands at its
    layer's own bytes, every number moved once: those of the passes are the same.

    Parameters
    ----------
    line : Roofline
    points : sequence of Point
    title : str
        The finding.
    beside : sequence of Roofline
        Other machines', e.g. of datasheets: their lines alone, dashed where nothing was measured.
    """
    import matplotlib.pyplot as plt

    with figure_style():
        fig, ax = plt.subplots(figsize=(9, 4.9))
        ax.set(xscale="log", yscale="log")
        _limits(ax, (line, *beside), points)
        for other in beside:
            draw_roofs(ax, other, other.machine)
        draw_roofs(ax, line, "")  # last: its names cover others
        for one in points:
            marker, colour = _mark_of(one, points)
            ax.plot(
                _across(one, points), one.speed / _GIGA, marker=marker, color=colour, markersize=8, zorder=5,
                markeredgecolor=LIGHT["ink"], markeredgewidth=0.7,
            )  # fmt: skip
        layers = {one.problem: one for one in points}
        if len(layers) == 1 or (_backwards(points) and len(points) <= FEW):
            for line_of_text, one in enumerate(layers.values()):
                _once(ax, one, one.layer if len(layers) > 1 else "each number once", line_of_text)
        if points:
            _names(ax, points)
        above = any(one.speed > 1.05 * line.adds.rate and one.saves > 1 for one in points)
        if above and not beside:
            ax.text(
                0.015, 0.98, "above the roof: fewer operations\nthan the definition counts", va="top",
                transform=ax.transAxes, fontsize=8.5, color=LIGHT["muted"],
            )  # fmt: skip
        once = ", each number moved once" if _backwards(points) else " that is moved"
        name_axes(ax, f"FLOPs of the definition for each byte{once}")
        headline(fig, title)
        return show(fig, in_words(title, line, points, beside))


def name_axes(ax, across: str) -> None:
    """Say what lies along the axes of a roofline, with plain numbers and a grid."""
    ax.set_xlabel(across)
    ax.set_ylabel("GFLOP/s (of the definition's FLOPs)")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        axis.set_minor_formatter("")
    ax.grid(color=LIGHT["line"], linewidth=0.5)
    ax.set_axisbelow(True)


def _limits(ax, lines: Sequence[Roofline], points: Sequence[Point]) -> None:
    """Show all points, and of every memory a piece of its slope."""
    across = [_across(one, points) for one in points]
    ridges = [line.adds.rate / memory.rate for line in lines for memory in line.memories]
    left, right = min([*ridges, *across]) / 4, max([*ridges, *across]) * 8  # room for names
    flat = [roof.rate for line in lines for roof in (line.adds, *line.more)]
    low = min([memory.at(left) for line in lines for memory in line.memories[-1:]])
    ax.set_xlim(left, right)
    ax.set_ylim(
        min([low, *(one.speed for one in points)]) / 1.5 / _GIGA,
        max([*flat, *(one.speed for one in points)]) * 2 / _GIGA,
    )


def draw_roofs(ax, line: Roofline, name: str, shares: tuple[float, float] = (0.3, 0.7)) -> None:
    """Draw the roofs of a machine, each with its name on the line; neighbours' at two shares of the slope."""
    (left, right), (low, _) = ax.get_xlim(), ax.get_ylim()
    paper = {"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 0.8}
    for number, memory in enumerate(line.memories):
        end, slope = line.adds.rate / memory.rate, memory.rate / _GIGA
        style = "-" if memory.measured else (0, (5, 3))
        begin = max(left, low / slope)
        ax.plot(
            (begin, end), (begin * slope, end * slope), color=LIGHT["muted"], linewidth=1.4, linestyle=style
        )
        last = number == len(line.memories) - 1  # points lie on its upper end
        share = 0.45 if name else 0.55 if last else shares[number % 2]
        x = begin ** (1 - share) * end**share
        ax.text(
            x, x * slope, f"{name or memory.name} {rate_text(memory)}",
            rotation=degrees(atan(slope)), transform_rotates_text=True, rotation_mode="anchor",
            ha="center", va="center", fontsize=8, color=LIGHT["muted"], bbox=paper,
        )  # fmt: skip
    for roof in (line.adds, *line.more):
        first, height = roof is line.adds and roof.measured, roof.rate / _GIGA
        begin = min([line.adds.rate / memory.rate for memory in line.memories], default=left)
        ax.plot(
            (begin, right), (height, height), color=LIGHT["ink" if first else "muted"],
            linewidth=1.8 if first else 1.0, linestyle="-" if roof.measured else (0, (5, 3)),
        )  # fmt: skip
        kind = "" if name and roof is line.adds else roof.name
        words = " ".join(filter(None, (name, kind, rate_text(roof))))
        left_end = bool(name) or roof is not line.adds  # two names have no room at one end
        ax.annotate(
            words, (begin if left_end else right, height), textcoords="offset points",
            xytext=(2 if left_end else -2, 2), ha="left" if left_end else "right", va="bottom", bbox=paper,
            fontsize=8, color=LIGHT["ink" if first else "muted"],
        )  # fmt: skip


def _mark_of(one: Point, points: Sequence[Point]) -> tuple[str | tuple[int, int, int], str]:
    """Return a point's shape and colour among others: its algorithm's, or its pass's."""
    if not _backwards(points):
        return mark(one.algorithm)
    marker, role = OF_A_PASS[one.pass_]
    ours = one.algorithm in (*PASSES[one.pass_].algorithms, AUTO)
    return marker, ROLES[role] if ours else LIGHT["paper"]


def _across(one: Point, points: Sequence[Point]) -> float:
    """Return a point's place: FLOPs for each byte as counted, or with each number moved once."""
    return one.intensity if _backwards(points) else one.counted


def _once(ax, point: Point, words: str, line_of_text: int) -> None:
    """Mark the intensity of the layer itself: every number of x, w and y once."""
    ax.axvline(point.intensity, color=LIGHT["muted"], linewidth=1, linestyle=":")
    ax.annotate(
        f"{words}: {point.intensity:.3g}", (point.intensity, 0), xycoords=("data", "axes fraction"),
        xytext=(-4, 5 + 11 * line_of_text), textcoords="offset points", fontsize=8, color=LIGHT["muted"],
        ha="right", bbox={"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def _names(ax, points: Sequence[Point]) -> None:
    """List the shapes beside the picture, the fastest first, with their speeds (or numbers of layers)."""
    from matplotlib.lines import Line2D

    found = _keys(points)
    several = any(len(alike) > 1 for alike in found.values())
    handles = []
    for name, alike in sorted(found.items(), key=lambda item: -max(one.speed for one in item[1])):
        marker, colour = _mark_of(alike[0], points)
        height = max(one.speed for one in alike) / _GIGA
        spec = ",.0f" if height >= 1000 else ",.3g"
        words = f"{name} ({len(alike)})" if several else f"{name}  {height:{spec}}"
        ink = {"markeredgecolor": LIGHT["ink"], "markeredgewidth": 0.7}
        handles.append(
            Line2D([], [], marker=marker, color=colour, linestyle="", markersize=8, label=words, **ink)
        )
    ax.legend(
        handles=handles, loc="center left",
        title=f"layers, by {'pass' if _backwards(points) else 'algorithm'}" if several else "GFLOP/s",
        bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9, title_fontsize=9, alignment="left",
        handletextpad=0.2,
    )  # fmt: skip


def in_words(
    title: str, line: Roofline, points: Sequence[Point] = (), beside: Sequence[Roofline] = ()
) -> str:
    """Return the picture in words: the finding, the roofs, and the points or their range."""
    parts = []
    for one in (line, *beside):
        how = "" if one.adds.measured else ", from its datasheet, dashed"
        roofs = ", ".join(f"{roof.name} {rate_text(roof)}" for roof in (one.adds, *one.memories))
        parts.append(f"Roofs of {one.machine}{how}: {roofs}.")
    if len(points) > len(ALGORITHMS) + 3:
        speeds, across = zip(*((one.speed, _across(one, points)) for one in points), strict=True)
        parts.append(
            f"{len(points)} points from {count_text(min(speeds))}FLOP/s to {count_text(max(speeds))}FLOP/s, "
            f"at {min(across):.2g} to {max(across):.3g} FLOPs a byte."
        )
    elif points:
        named = [(name, one) for name, alike in _keys(points).items() for one in alike]
        each = [
            f"{name} {count_text(one.speed)}FLOP/s at {_across(one, points):.3g} FLOPs a byte"
            for name, one in sorted(named, key=lambda item: -item[1].speed)
        ]
        parts.append(f"Points: {', '.join(each)}.")
    return f"{title}. {' '.join(parts)}"
