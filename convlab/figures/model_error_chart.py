"""How near the model of `auto` comes to measurements: predicted against measured times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from convlab.benchmark.model_error import Judged, by_algorithm
from convlab.figures.picture import Picture, show
from convlab.figures.roofline_chart import mark
from convlab.figures.style import LIGHT, ROLES, figure_style, headline
from convlab.support.checked import Filled, checked
from convlab.support.units import ratio_text, time_text

NEAR = 1.25  # a prediction this near to the time is a good one
_PER_CENT = f"{100 * (NEAR - 1):.0f} %"


@checked
def model_error(found: Filled[Sequence[Judged]]) -> Picture:
    """Draw predicted against measured times: a point for each layer and algorithm, and the diagonal.

    The title says how many predictions are near the times, and how far off the worst is.

    Parameters
    ----------
    found : sequence of Judged
        At least one.
    """
    import matplotlib.pyplot as plt

    near = sum(one.error <= NEAR for one in found)
    worst = max(found, key=lambda one: one.error)
    title = (
        f"{near} of {len(found)} predictions lie within {_PER_CENT} of the time; "
        f"the worst is off by {ratio_text(worst.error)}"
    )
    where = f"{worst.row.candidate} on {worst.row.network} {worst.row.layer}"
    groups = by_algorithm(found)
    with figure_style():
        fig, ax = plt.subplots(figsize=(8.6, 5.6))
        times = [t for one in found for t in (one.row.seconds, one.prediction.seconds)]
        ends = min(times) / 1.6, max(times) * 1.6
        ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        below, above = ([t * by for t in ends] for by in (1 / NEAR, NEAR))
        ax.fill_between(ends, below, above, color=LIGHT["line"], lw=0, alpha=0.6)
        ax.plot(ends, ends, color=LIGHT["ink"], lw=1.2)
        for name, group in groups.items():
            marker, colour = mark(name)
            ax.plot(
                [one.row.seconds for one in group], [one.prediction.seconds for one in group], marker,
                color=colour, markersize=6, markeredgecolor=LIGHT["ink"], markeredgewidth=0.6, label=name,
            )  # fmt: skip
        ring = {"markersize": 13, "markerfacecolor": "none", "markeredgewidth": 2}
        ax.plot(worst.row.seconds, worst.prediction.seconds, "o", markeredgecolor=ROLES["active"], **ring)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: time_text(value).replace(".00", "").replace(".0", ""))
            axis.set_minor_formatter("")
        ax.set(xlabel="measured time (logarithmic)", ylabel="predicted time (logarithmic)")
        ax.text(
            0.98, 0.03, f"above the line: predicted too long\ngrey: within {_PER_CENT}\nringed: {where}",
            ha="right", transform=ax.transAxes, fontsize=9, color=LIGHT["muted"],
        )  # fmt: skip
        ax.grid(color=LIGHT["line"], linewidth=0.5)
        ax.set_axisbelow(True)
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
        headline(fig, title)
        return show(fig, _alt(title, groups, where))


def _alt(title: str, groups: Mapping[str, Sequence[Judged]], where: str) -> str:
    """Return the picture in words: the finding, and of every algorithm how far it is off."""
    each = []
    for name, group in groups.items():
        ratios = sorted(one.ratio for one in group)
        spread = ratio_text(ratios[0]) + (f" to {ratio_text(ratios[-1])}" if len(ratios) > 1 else "")
        each.append(f"{name} {spread} on {len(group)} layer{'s' * (len(group) > 1)}")
    return (
        f"{title}. Predicted against measured time, a point for each layer and algorithm, with the diagonal "
        f"and a band. Predicted by measured: {', '.join(each)}. The worst is {where}."
    )
