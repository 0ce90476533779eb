"""Bars and lines, labelled at their end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from textwrap import fill

from convlab.auto.timing import Timing
from convlab.benchmark.saved_runs import undisturbed
from convlab.errors import ParameterError
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, Role, Words, figure_style, headline
from convlab.problem import ConvProblem
from convlab.support.checked import Count, Filled, Positive, checked
from convlab.support.checks import check_names, said
from convlab.support.measured import TOO_NOISY, Measured
from convlab.support.units import bytes_text, time_text


@checked
def bars(
    values: Filled[Mapping[str, float]],
    *,
    title: str,
    axis: str,
    alt: Words,
    text: Callable[[float], str] = "{:.3g}".format,
    roles: Mapping[str, Role] | Role = "workspace",
    log: bool = False,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    roof: tuple[str, float] | None = None,
    marks: Mapping[str, float] | None = None,
) -> Picture:
    """Draw horizontal bars, the first at the top, each with its value at its end.

    A value that was measured (`convlab.support.measured`) has a line from end to end of its interval. If that
    tells nothing, the bar is hollow.

    Parameters
    ----------
    values : mapping of str to float
    title : str
        The finding, not the topic.
    axis : str
        What is measured, with its unit.
    alt : str
        What the figure shows, in words.
    text : callable
        Writes a value the way people read it.
    roles : str or mapping
        One role of `figures.style.ROLES` for all bars, or one for each.
    log : bool
        Logarithmic axis (said on the axis), if the values span a step of it: ten, for bytes sixteen. A bar on
        such an axis begins at no zero, so where no two lines say what a length means it would deceive; values
        that lie closer together get an axis from 0.
    ranges : mapping of str to (float, float), optional
        A thin line over the bar from low to high.
    roof : (str, float), optional
        A dashed line across all bars: its name, and where it lies.
    marks : mapping of str to float, optional
        Diamonds, for some of the bars: what the same is elsewhere.
    """
    import matplotlib.pyplot as plt

    if not isinstance(roles, str):
        check_names("roles", roles, values)
    if ranges:
        check_names("ranges", ranges, values)
    marks = marks or {}
    if strange := marks.keys() - values.keys():
        raise ParameterError(f"marks={said(marks)}; expected names of bars, not {said(strange.pop())}")
    ranges = ranges or {name: (v.low, v.high) for name, v in values.items() if isinstance(v, Measured)}
    step, words = (16, "sixteen") if text is bytes_text else (10, "ten")  # 64 KiB, 1 MiB, 16 MiB
    log = log and 0 < step * min(values.values()) <= max(values.values())
    with figure_style():
        fig, ax = plt.subplots(figsize=(8, 0.8 + 0.36 * len(values)))
        names = list(values)[::-1]
        for y, name in enumerate(names):
            role = roles if isinstance(roles, str) else roles[name]
            told = not getattr(values[name], "noisy", False)
            ax.barh(y, values[name], color=ROLES[role], height=0.66, fill=told, edgecolor=ROLES[role])
            if name in ranges:
                ax.plot(ranges[name], (y, y), color=LIGHT["ink"], linewidth=1.2)
            if name in marks:
                ax.plot(marks[name], y, "D", color=LIGHT["paper"], markeredgecolor=LIGHT["ink"], markersize=7)
            length = text(values[name]) if told else TOO_NOISY
            ax.annotate(
                f"{length}  ◇ {text(marks[name])}" if name in marks else length,
                (max(values[name], *ranges.get(name, (0,)), marks.get(name, 0)), y),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                bbox={"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 1} if roof else None,
            )
        if roof:
            ax.axvline(roof[1], color=LIGHT["ink"], linestyle="--", linewidth=1.2)
            ax.annotate(
                roof[0], (roof[1], 1), xycoords=("data", "axes fraction"), xytext=(0, 3),
                textcoords="offset points", ha="center", va="bottom", fontsize=9, color=LIGHT["muted"],
            )  # fmt: skip
        ax.set_yticks(range(len(names)), names, color=LIGHT["ink"])
        ax.tick_params(axis="y", length=0)
        if log:
            ax.set_xscale("log", base=step)
            ax.xaxis.set_minor_formatter("")  # else a short axis has TeX, as text
            if step != 10:
                ax.minorticks_off()
        else:
            ax.locator_params(axis="x", nbins=7)  # room for their words
        ax.margins(x=0.14)
        if text is bytes_text and not log:
            ax.set_xticks(_round_bytes(ax.get_xlim()[1]))
        ax.xaxis.set_major_formatter(lambda value, _: _short(text(value)) if value else "0")
        what, *below = axis.split("\n")
        what += f" (logarithmic: each line is {words} times the last)" if log else ""
        ax.set_xlabel("\n".join([what, *below]))
        ax.grid(axis="x", color=LIGHT["line"], linewidth=0.6)
        ax.set_axisbelow(True)
        headline(fig, title)
        return show(fig, alt)


def _round_bytes(largest: float) -> list[float]:
    """Return at most seven places on an axis of bytes, a quarter, a half, 1, 2, 5 ... of a unit apart."""
    unit = 1.0
    while 1024 * unit <= largest:
        unit *= 1024
    steps = (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)
    step = unit * next(step for step in steps if largest <= 7 * step * unit)
    return [i * step for i in range(int(largest / step) + 1)]


def _short(text: str) -> str:
    """Return "2 MiB" for "2.00 MiB", "2.5 G" for "2.50 G", "50×" for "50.0×": an axis has round numbers."""
    return re.sub(r"(\.\d*?)0+(?!\d)", lambda found: found[1].rstrip("."), text)


@checked
def times(
    timings: Filled[Mapping[str, Timing]],
    *,
    title: str,
    alt: Words,
    log: bool = True,
    layer: ConvProblem | None = None,
    **options,
) -> Picture:
    """Draw measured times as bars: the median, and a line from the lower to the upper quartile.

    The axis is logarithmic if the slowest takes ten times as long as the quickest, and `log` allows it.

    Where the title holds a number that other programs have left open, the times of a saved run stand beside,
    if one has this layer.
    """
    axis, marks = "time, median of the rounds", {}
    if TOO_NOISY in title and layer is not None:
        whose, elsewhere = undisturbed(layer, timings)
        marks = {name: seconds * 1e3 for name, seconds in elsewhere.items()}
        if marks:
            axis += f"\ndiamonds: {whose}, undisturbed"
            alt += f". Undisturbed, on {whose}: "
            alt += ", ".join(f"{name} {time_text(seconds)}" for name, seconds in elsewhere.items())
    return bars(
        {name: float(t.median) * 1e3 for name, t in timings.items()},
        title=title,
        axis=axis,
        alt=alt,
        text=lambda ms: time_text(ms / 1e3),
        log=log,
        ranges={name: (t.low * 1e3, t.high * 1e3) for name, t in timings.items()},
        marks=marks,
        **({"roles": "output"} | options),
    )


@checked
def curves(
    lines: Filled[Mapping[str, Filled[Mapping[float, float]]]],
    *,
    title: str,
    x_axis: str,
    y_axis: str,
    alt: Words,
    roles: Mapping[str, Role],
    dashed: Mapping[str, Mapping[float, float]] | None = None,
    text: Callable[[float], str] = "{:g}".format,
    log: bool = False,
) -> Picture:
    """Draw lines with points, each with its name at its end; heights of very different size on a logarithm.

    Parameters
    ----------
    lines : mapping of str to (mapping of x to y)
    title, x_axis, y_axis, alt : str
        The finding; what is drawn, with units; the same in words.
    roles : mapping of str to str
        A role (colour) of `figures.style.ROLES` for each line; no two lines the same.
    dashed : mapping of str to (mapping of x to y), optional
        A prediction for some of the lines.
    text : callable
        Writes a height the way people read it.
    log : bool
        Logarithmic x axis (said on the axis).
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    check_names("roles", roles, lines)
    with figure_style():
        fig, ax = plt.subplots(figsize=(8, 3.6))
        for (name, points), marker in zip(lines.items(), "osD^v*", strict=False):
            colour = ROLES[roles[name]]
            ax.plot(list(points), list(points.values()), marker + "-", color=colour, markersize=5)
            if dashed and name in dashed:
                ax.plot(list(dashed[name]), list(dashed[name].values()), "--", color=colour, linewidth=1)
        heights = [v for points in (*lines.values(), *(dashed or {}).values()) for v in points.values()]
        if max(heights) > 10 * min(heights):
            ax.set_yscale("log")
            y_axis += " (logarithmic)"
        else:
            ax.set_ylim(0, 1.15 * max(heights))
        right = max(x for points in lines.values() for x in points)
        if log:
            ax.set_xscale("log")
            ax.xaxis.set_minor_locator(NullLocator())
            x_axis += " (logarithmic)"
        ax.margins(x=0.02)
        ax.set_xlim(right=right ** (1.2 if log else 1) * (1 if log else 1.2))
        _names_at_ends(ax, lines)
        ax.yaxis.set_major_formatter(lambda value, _: _short(text(value)))
        ax.yaxis.set_minor_formatter("")
        ticks = sorted({x for points in lines.values() for x in points})
        ax.set_xticks(ticks, [f"{x:,g}" for x in ticks] if log else None)
        ax.set_xlabel(x_axis)
        ax.set_ylabel(fill(y_axis, 42))  # as many characters as the figure is high
        ax.grid(axis="y", color=LIGHT["line"], linewidth=0.6)
        headline(fig, title)
        return show(fig, alt)


def _names_at_ends(ax, lines: Mapping[str, Mapping[float, float]]) -> None:
    """Write every line's name behind its last point, and push names that would touch apart."""
    ends = sorted((points[max(points)], max(points), name) for name, points in lines.items())
    lowest = -1.0
    for height, x, name in ends:
        to_share = ax.transData + ax.transAxes.inverted()  # from numbers to shares of the height
        _, share = to_share.transform((x, height))
        lowest = max(share, lowest + 0.07)
        ax.annotate(
            name,
            (x, lowest),
            xycoords=("data", "axes fraction"),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            color=LIGHT["ink"],
            fontsize=9,
        )


@checked
def staircase(speeds: Filled[Mapping[Count, Positive]], *, title: str, alt: Words) -> Picture:
    """Draw reading speed (bytes for each second) against array size (bytes), with this machine's caches."""
    import matplotlib.pyplot as plt

    from convlab.machine.facts import Machine

    sizes, here = list(speeds), Machine.here()
    with figure_style():
        fig, ax = plt.subplots(figsize=(8, 3.2))
        ax.plot(sizes, [speeds[size] / 1e9 for size in sizes], "o-", color=ROLES["input"], markersize=4)
        for name, size in (("L1", here.l1d), ("L2", here.l2), ("L3", here.l3)):
            if size and size < max(sizes):
                ax.axvline(size, color=LIGHT["muted"], linestyle=":", linewidth=1)
                ax.annotate(
                    f" {name} ends here",
                    (size, 1),
                    xycoords=("data", "axes fraction"),
                    va="top",
                    fontsize=9,
                    color=LIGHT["muted"],
                )
        ax.set_xscale("log", base=2)
        ticks = sizes[::2]
        ax.set_xticks(ticks, [_short(bytes_text(size)) for size in ticks])
        ax.minorticks_off()
        ax.set_ylim(0, 1.15 * max(speeds.values()) / 1e9)  # room for the names of the caches
        ax.set_xlabel("size of the array (each step is twice the last)")
        ax.set_ylabel("reading speed in GB/s")
        ax.grid(axis="y", color=LIGHT["line"], linewidth=0.6)
        headline(fig, title)
        return show(fig, alt)
