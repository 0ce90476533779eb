"""The climb of GPU kernels under the roofs of every level: hollow where predicted, filled where measured."""

from __future__ import annotations

from collections.abc import Sequence

from convlab.benchmark.gpu.climb import L2, MEMORY, REGISTERS, SHARED, Step
from convlab.benchmark.roofline import Roofline
from convlab.figures.picture import Picture, show
from convlab.figures.roofline_chart import draw_roofs, mark, name_axes, rate_text
from convlab.figures.style import LIGHT, ROLES, figure_style, headline
from convlab.support.checked import checked
from convlab.support.units import count_text

_GIGA = 1e9
_LEVELS = {REGISTERS: "^", SHARED: "s", L2: "o", MEMORY: "D"}


@checked
def gpu_roofline(
    line: Roofline, steps: Sequence[Step], others: Sequence[Step] = (), *, title: str
) -> Picture:
    """Draw the kernels of a ladder, numbered, at the bytes they ask of the L2 cache.

    The last step is drawn at each level's bytes, too: below the slope of that level.

    Parameters
    ----------
    line : Roofline
        The roofs of a GPU, with those of its levels.
    steps : sequence of Step
        In the order of the ladder.
    others : sequence of Step
        Other algorithms, marked as in every roofline of the course.
    title : str
        The finding.
    """
    import matplotlib.pyplot as plt

    with figure_style():
        fig, ax = plt.subplots(figsize=(9, 5.4))
        ax.set(xscale="log", yscale="log")
        _limits(ax, line, [*steps, *others])
        draw_roofs(ax, line, "", shares=(0.3, 0.55))
        across, heights = [one.intensity(L2) for one in steps], [one.speed / _GIGA for one in steps]
        ax.plot(across, heights, color=ROLES["active"], linewidth=1, alpha=0.6, zorder=4)
        if steps:
            _at_every_level(ax, steps[-1])
        for one, x, y in zip(steps, across, heights, strict=True):
            face = ROLES["active"] if one.measured else LIGHT["paper"]
            ax.plot(x, y, "o", color=face, markeredgecolor=ROLES["active"], markersize=8, zorder=6)
        named = _together(across, heights)
        for (x, y), numbers in named:
            crowded = any(x < other < 2 * x and y / 2 < high < 2 * y for (other, high), _ in named)
            ax.annotate(
                ", ".join(map(str, numbers)), (x, y), textcoords="offset points",
                xytext=(-8 if crowded else 8, 0), ha="right" if crowded else "left", va="center",
                fontsize=8.5, color=LIGHT["ink"], zorder=7,
            )  # fmt: skip
        for one in others:
            marker, colour = mark(one.name)
            face = colour if one.measured else LIGHT["paper"]
            ax.plot(
                one.intensity(L2), one.speed / _GIGA, marker=marker, color=face, markeredgecolor=colour,
                markersize=8, markeredgewidth=1.4, zorder=5,
            )  # fmt: skip
        _names(ax, steps, others)
        name_axes(ax, "FLOPs of the definition for each byte that is asked of the L2 cache")
        headline(fig, title)
        return show(fig, _in_words(title, line, steps, others))


def _limits(ax, line: Roofline, steps: Sequence[Step]) -> None:
    across = [one.intensity(level) for one in steps for level in _LEVELS]
    left, right = min(across, default=1) / 3, max(across, default=100) * 10
    ax.set_xlim(left, right)
    flat = max([line.adds.rate, *(roof.rate for roof in line.more)])
    low = min([one.speed for one in steps], default=line.memories[-1].at(left))
    ax.set_ylim(low / 2.5 / _GIGA, flat * 2 / _GIGA)


def _together(
    across: Sequence[float], heights: Sequence[float]
) -> list[tuple[tuple[float, float], list[int]]]:
    """Return places and the numbers of the steps that stand there: those too near each other share a name."""
    found: list[tuple[tuple[float, float], list[int]]] = []
    for number, (x, y) in enumerate(zip(across, heights, strict=True), 1):
        for (other_x, other_y), numbers in found:
            if max(x / other_x, other_x / x) < 1.1 and max(y / other_y, other_y / y) < 1.5:
                numbers.append(number)
                break
        else:
            found.append(((x, y), [number]))
    return found


def _at_every_level(ax, one: Step) -> None:
    """Draw one kernel at the intensity of each level, from the nearest to the farthest."""
    height = one.speed / _GIGA
    places = {level: one.intensity(level) for level in _LEVELS}
    ax.plot([*places.values()], [height] * len(places), color=LIGHT["muted"], linewidth=1, linestyle=":")
    for level, x in places.items():
        if level == L2:  # it stands there as a step
            continue
        ax.plot(x, height, _LEVELS[level], color=LIGHT["paper"], markeredgecolor=LIGHT["muted"], markersize=7)
        leftmost = level == REGISTERS
        ax.annotate(
            f"the last one, by\nthe bytes of\n{level}" if leftmost else level.replace(" and", "\nand"),
            (x, height), textcoords="offset points", xytext=(-8, 0) if leftmost else (0, 7),
            ha="right" if leftmost else "center", va="center" if leftmost else "bottom", fontsize=7.5,
            color=LIGHT["muted"], bbox={"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip


def _names(ax, steps: Sequence[Step], others: Sequence[Step]) -> None:
    from matplotlib.lines import Line2D

    def entry(one: Step, label: str, marker, colour: str):
        face = colour if one.measured else LIGHT["paper"]
        words = f"{label}  {one.speed / _GIGA:,.0f}"
        look = {"markeredgecolor": colour, "markersize": 8, "linestyle": ""}
        return Line2D([], [], marker=marker, color=face, label=words, **look)

    handles = [
        entry(one, f"{number} {one.name}", "o", ROLES["active"]) for number, one in enumerate(steps, 1)
    ]
    handles += [entry(one, one.name, *mark(one.name)) for one in others]
    ax.legend(
        handles=handles, loc="center left", title="GFLOP/s; hollow: predicted", bbox_to_anchor=(1.01, 0.5),
        frameon=False, fontsize=8.5, title_fontsize=9, alignment="left", handletextpad=0.2,
    )  # fmt: skip


def _in_words(title: str, line: Roofline, steps: Sequence[Step], others: Sequence[Step]) -> str:
    roofs = ", ".join(f"{roof.name} {rate_text(roof)}" for roof in (line.adds, *line.more, *line.memories))
    each = ", ".join(
        f"{one.name} {count_text(one.speed)}FLOP/s ({one.source}) at {one.intensity(L2):.3g} FLOPs a byte"
        for one in (*steps, *others)
    )
    return f"{title}. Roofs of {line.machine}, dashed where promised: {roofs}. Kernels: {each}."
