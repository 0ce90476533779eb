"""A whole network, layer by layer: the time of each beside the memory it needs."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.figures.picture import Picture, show
from convlab.figures.roofline_chart import mark
from convlab.figures.style import LIGHT, ROLES, figure_style, headline
from convlab.networks import Profile
from convlab.networks.profile import NodeProfile
from convlab.support.checked import checked
from convlab.support.units import bytes_text, time_text

MIB = 1 << 20


@dataclass
class Bar:
    """A convolution, and what follows it until the next one: pooling, sums, copies."""

    layer: NodeProfile
    after: float = 0.0  # seconds

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.layer.seconds + self.after


def bars_of(profile: Profile) -> list[Bar]:
    """Return a bar for each layer. The photo is made ready before the first one, and counted there."""
    bars, before = [], 0.0
    for one in profile.nodes:
        if one.algorithm:
            bars.append(Bar(one, before))
            before = 0.0
        elif bars:
            bars[-1].after += one.seconds
        else:
            before += one.seconds
    return bars


def finding(profile: Profile) -> str:
    """Return what the picture says, as its title."""
    slowest = max(bars_of(profile), key=lambda bar: bar.seconds)
    threads = "one thread" if profile.threads == 1 else f"{profile.threads} threads"
    return (
        f"{profile.title} takes {time_text(profile.seconds)} on {threads}, "
        f"{slowest.seconds / profile.seconds:.0%} of it in {slowest.layer.name}"
    )


@checked
def network_profile(profile: Profile) -> Picture:
    """Draw the time and the memory of every layer, in the order they run.

    Parameters
    ----------
    profile : Profile
        From `Executor.profile`.
    """
    import matplotlib.pyplot as plt

    bars, title = bars_of(profile), finding(profile)
    with figure_style():
        height = 1.5 + 0.24 * len(bars)
        fig, (left, right) = plt.subplots(1, 2, figsize=(9, height), sharey=True, width_ratios=(3, 2))
        _draw_times(left, bars)
        _draw_memory(right, [bar.layer for bar in bars], profile.memory["packed weights"])
        left.set_yticks(range(len(bars)), [bar.layer.name for bar in bars], color=LIGHT["ink"], fontsize=9)
        left.set_ylim(len(bars) - 0.3, -0.7)
        for ax in (left, right):
            ax.tick_params(axis="y", length=0)
            ax.grid(axis="x", color=LIGHT["line"], linewidth=0.6)
            ax.set_axisbelow(True)
        headline(fig, title)
        return show(fig, _alt(profile, title))


def _draw_times(ax, bars: list[Bar]) -> None:
    """Draw a bar a layer in its algorithm's colour, with its shape and name behind it."""
    from matplotlib.transforms import offset_copy

    for y, bar in enumerate(bars):
        marker, colour = mark(bar.layer.algorithm)
        conv, whole = 1e3 * bar.layer.seconds, 1e3 * bar.seconds
        ax.barh(y, conv, 0.66, color=colour)
        ax.barh(y, whole - conv, 0.66, left=conv, color=LIGHT["muted"])
        ax.plot(
            whole, y, marker, color=colour, markersize=6, markeredgecolor=LIGHT["ink"], markeredgewidth=0.6,
            transform=offset_copy(ax.transData, ax.figure, x=8, units="points"),
        )  # fmt: skip
        ax.annotate(
            bar.layer.algorithm, (whole, y), xytext=(16, 0), textcoords="offset points", va="center",
            fontsize=8.5,
        )  # fmt: skip
    ax.set_xlim(0, 1.42e3 * max(bar.seconds for bar in bars))
    ax.set_xlabel("time in ms; bias, ReLU and fused sums included")
    _chips(ax, {"pooling, sums, copies after the layer": LIGHT["muted"]})


def _draw_memory(ax, layers: list[NodeProfile], weights: int) -> None:
    """Draw what must be there while each layer runs, and frame the most."""
    at, live = range(len(layers)), [one.live / MIB for one in layers]
    ax.barh(at, live, 0.66, color=ROLES["input"])
    ax.barh(at, [one.workspace / MIB for one in layers], 0.66, left=live, color=ROLES["workspace"])
    peak = max(at, key=lambda place: layers[place].bytes)
    most = layers[peak].bytes / MIB
    ax.barh(peak, most, 0.82, color="none", edgecolor=ROLES["active"], linewidth=1.8)
    ax.annotate(
        f"most: {bytes_text(layers[peak].bytes)}", (most, peak), xytext=(5, 0), textcoords="offset points",
        va="center", fontsize=8.5,
    )  # fmt: skip
    ax.set_xlim(0, 1.5 * most)
    ax.set_xlabel(f"memory in MiB, beside {bytes_text(weights)} of weights")
    _chips(ax, {"workspace": ROLES["workspace"], "arrays alive": ROLES["input"]})


def _chips(ax, names: dict[str, str]) -> None:
    """Name colours, from right to left above a chart, each name on its own colour."""
    place = (1, 1.012), "axes fraction", (-3, 0)
    for name, colour in names.items():
        ink = LIGHT["ink" if colour == ROLES["workspace"] else "paper"]
        chip = {"facecolor": colour, "edgecolor": "none", "boxstyle": "round,pad=0.25"}
        at, coordinates, shift = place
        place = (0, 0), ax.annotate(
            name, at, xycoords=coordinates, xytext=shift, textcoords="offset points", ha="right", va="bottom",
            fontsize=8.5, color=ink, bbox=chip,
        ), (-8, 0)  # fmt: skip


def _alt(profile: Profile, title: str) -> str:
    """Return the picture in words."""
    layers = "; ".join(
        f"{bar.layer.name} by {bar.layer.algorithm} {time_text(bar.seconds)}, "
        f"{bytes_text(bar.layer.live)} alive and {bytes_text(bar.layer.workspace)} of workspace"
        for bar in bars_of(profile)
    )
    held = ", ".join(f"{name} {bytes_text(size)}" for name, size in profile.memory.items())
    return (
        f"{title}. Two bars for each of {len(profile.layers)} convolutions, time and memory: {layers}. "
        f"Held in all: {held}."
    )
