"""Bars and lines, labelled at their end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, figure_style, headline
from convlab.measure.timing import Timing
from convlab.units import bytes_text, time_text


def bars(
    values: Mapping[str, float],
    *,
    title: str,
    axis: str,
    alt: str,
    text: Callable[[float], str] = "{:.3g}".format,
    roles: Mapping[str, str] | str = "workspace",
    log: bool = False,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    roof: tuple[str, float] | None = None,
) -> Picture:
    """Draw horizontal bars, the first at the top, each with its value at its end.

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
        Logarithmic axis (said on the axis).
    ranges : mapping of str to (float, float), optional
        A thin line over the bar from low to high.
    roof : (str, float), optional
        A dashed line across all bars: its name, and where it lies.
    """
    import matplotlib.pyplot as plt

    with figure_style():
        fig, ax = plt.subplots(figsize=(8, 0.8 + 0.36 * len(values)))
        names = list(values)[::-1]
        for y, name in enumerate(names):
            role = roles if isinstance(roles, str) else roles[name]
            ax.barh(y, values[name], color=ROLES[role], height=0.66)
            if ranges:
                ax.plot(ranges[name], (y, y), color=LIGHT["ink"], linewidth=1.2)
            ax.annotate(
                text(values[name]),
                (max(values[name], *(ranges[name] if ranges else (0,))), y),
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
            ax.set_xscale("log")
        else:
            ax.locator_params(axis="x", nbins=7)  # room for their words
        ax.margins(x=0.14)
        ax.xaxis.set_major_formatter(lambda value, _: text(value) if value else "0")
        ax.set_xlabel(axis + (" (logarithmic: each line is ten times the last)" if log else ""))
        ax.grid(axis="x", color=LIGHT["line"], linewidth=0.6)
        ax.set_axisbelow(True)
        headline(fig, title)
        return show(fig, alt)


def times(timings: Mapping[str, Timing], *, title: str, alt: str, log: bool = True, **options) -> Picture:
    """Draw measured times as bars: the median, and a line from the lower to the upper quartile."""
    return bars(
        {name: t.median * 1e3 for name, t in timings.items()},
        title=title,
        axis="time, median of the rounds",
        alt=alt,
        text=lambda ms: time_text(ms / 1e3),
        log=log,
        ranges={name: (t.low * 1e3, t.high * 1e3) for name, t in timings.items()},
        **({"roles": "output"} | options),
    )


def staircase(speeds: Mapping[int, float], *, title: str, alt: str) -> Picture:
    """Draw reading speed (bytes for each second) against array size (bytes), with this machine's caches."""
    import matplotlib.pyplot as plt

    from convlab.measure.machine import Machine

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
        ax.set_xticks(ticks, [bytes_text(size).replace(".00", "").replace(".0", "") for size in ticks])
        ax.minorticks_off()
        ax.set_ylim(0, 1.15 * max(speeds.values()) / 1e9)  # room for the names of the caches
        ax.set_xlabel("size of the array (each step is twice the last)")
        ax.set_ylabel("reading speed in GB/s")
        ax.grid(axis="y", color=LIGHT["line"], linewidth=0.6)
        headline(fig, title)
        return show(fig, alt)
