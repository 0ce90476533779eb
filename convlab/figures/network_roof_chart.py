"""The network as a roof: FLOPs for each byte on the wire across, what a device can reach up."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import numpy as np

from convlab.distributed.third_roof import NetworkRoof
from convlab.errors import ParameterError
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, Words, figure_style, headline
from convlab.support.checked import Filled, checked
from convlab.support.units import count_text

# What holds a point up has a shape and a colour.
BOUND = {"multiply-adds": ("^", "filter"), "memory": ("s", "output"), "network": ("o", "input")}
_GIGA = 1e9


@checked
def network_roof(roofs: Filled[Mapping[str, NetworkRoof]], *, title: str, alt: Words) -> Picture:
    """Draw convolutions that are cut, each below the roof of the network and that of its device.

    Parameters
    ----------
    roofs : mapping of str to NetworkRoof
        All of the same device and network; the names are written beside the points. Where nothing travels a
        point stands at the right edge, with an arrow.
    title, alt : str
        The finding, and what the figure shows in words.

    Raises
    ------
    ParameterError
        If they are of several devices or networks, or of a network without a limit.
    """
    import matplotlib.pyplot as plt

    first = next(iter(roofs.values()))
    if len({(one.peak, one.network) for one in roofs.values()}) > 1 or first.network == inf:
        raise ParameterError(
            "roofs are of several devices or networks, or bytes are free; expected one of each"
        )
    across = [one.network_intensity for one in roofs.values() if one.network_intensity < inf]
    corner = first.peak / first.network
    low, high = min([*across, corner]) / 10, max([*across, corner]) * 60
    with figure_style():
        fig, ax = plt.subplots(figsize=(8.6, 4.4))
        line = np.geomspace(low, high, 200)
        ax.plot(line, np.minimum(first.peak, line * first.network) / _GIGA, color=LIGHT["ink"], linewidth=1.6)
        places = {name: min(one.network_intensity, high / 20) for name, one in roofs.items()}
        for name, one in roofs.items():
            marker, role = BOUND[one.bound]
            ax.plot(
                places[name], one.attainable / _GIGA, marker, color=ROLES[role], markersize=9, zorder=4,
                markeredgecolor=LIGHT["ink"], markeredgewidth=0.7,
            )  # fmt: skip
            if one.network_intensity == inf:
                ax.annotate("", (high / 8, one.attainable / _GIGA), (places[name], one.attainable / _GIGA),
                            arrowprops={"arrowstyle": "->", "color": LIGHT["muted"]})  # fmt: skip
        ax.set(xscale="log", yscale="log", xlim=(low, high))
        ax.set_ylim(min(one.attainable for one in roofs.values()) / _GIGA / 4, first.peak / _GIGA * 4)
        _names(ax, {name: (places[name], one.attainable / _GIGA) for name, one in roofs.items()})
        for text, x, y in (
            (f"network {count_text(first.network)}B/s  ", corner / 4, corner / 4 * first.network),
            (f"multiply-adds {count_text(first.peak)}FLOP/s  ", high, first.peak),
        ):
            ax.annotate(text, (x, y / _GIGA), xytext=(0, 9), textcoords="offset points", fontsize=9,
                        color=LIGHT["muted"], ha="right")  # fmt: skip
        for bound, (marker, role) in BOUND.items():
            if any(one.bound == bound for one in roofs.values()):
                ax.plot([], [], marker, color=ROLES[role], label=f"held up by the {bound}",
                        markeredgecolor=LIGHT["ink"])  # fmt: skip
        ax.legend(loc="lower right", fontsize=9, frameon=False)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter("{x:,.0f}")
            axis.set_minor_formatter("")
        ax.set_xlabel("FLOPs for each byte on the wire (logarithmic)")
        ax.set_ylabel("GFLOP/s of a device, at most (logarithmic)")
        ax.grid(color=LIGHT["line"], linewidth=0.6)
        headline(fig, title)
        return show(fig, alt)


def _names(ax, places: Mapping[str, tuple[float, float]]) -> None:
    """Write the names beside their points: at the lower right, else the upper left, else further down."""
    pixels = ax.figure.dpi / 72  # of a point
    taken: list[tuple[float, float, float]] = []  # left end, right end, height
    for name, place in sorted(places.items(), key=lambda one: one[1], reverse=True):
        x, y = (float(at) / pixels for at in ax.transData.transform(place))
        wide = 5.5 * len(name)
        spots = [(9, -9), (-9, 9), *((9, -9 - 14 * more) for more in range(1, len(places) + 1))]
        for right, up in spots:
            left = x + right - (wide if right < 0 else 0)
            if all(left > end or left + wide < start or abs(y + up - at) >= 12 for start, end, at in taken):
                break
        taken.append((left, left + wide, y + up))
        ax.annotate(name, place, xytext=(right, up), textcoords="offset points", va="center", fontsize=9,
                    ha="right" if right < 0 else "left", color=LIGHT["ink"])  # fmt: skip
