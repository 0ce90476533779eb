"""The model in pictures: what it predicts of a layer, pass by pass, and how near it comes to measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from convlab.auto.predict import Part, Prediction
from convlab.auto.ranking import order_of
from convlab.benchmark.model_error import Judged, by_algorithm
from convlab.figures.picture import Picture, show
from convlab.figures.roofline import mark
from convlab.figures.style import LIGHT, ROLES, figure_style, headline, mix
from convlab.problem import ConvProblem
from convlab.support.checked import Filled, checked
from convlab.support.units import ratio_text, time_text

# What time goes to: a colour, and a hatch for eyes that see no colours.
KINDS = {"computing": ("output", ""), "moving": ("input", "////"), "beginning": ("filter", "....")}
LONGEST = 8  # a bar ends open where it is so many times as long as the fastest, and longer than half of them
NEAR = 1.25  # a prediction this near to the time is a good one
_PER_CENT = f"{100 * (NEAR - 1):.0f} %"


def finding(name: str, seconds: Mapping[str, float], problem: ConvProblem) -> str:
    """Return what the model says about a layer, as a title."""
    chosen = order_of(dict(seconds), problem)[0]
    return f"{name}: the model chooses {chosen}, {time_text(seconds[chosen])}"


def passes_text(name: str, prediction: Prediction) -> str:
    """Return a prediction in words: "im2row 2.26 ms: fill the matrix 150 µs (moving), ..."."""
    parts = (f"{part.name} {time_text(part.seconds)} ({part.bound})" for part in prediction.parts)
    return f"{name} {time_text(prediction.seconds)}: {', '.join(parts)}"


def bars_of(
    predictions: Mapping[str, Prediction],
    problem: ConvProblem,
    *,
    name: str,
    refused: Mapping[str, str] | None = None,
) -> Picture:
    """Draw one bar for each algorithm, the fastest first, in its passes, and what these spend their time on.

    Parameters
    ----------
    predictions : mapping of str to Prediction
        Of the algorithms that serve the layer.
    problem : ConvProblem
    name : str
        The layer's name.
    refused : mapping of str to str, optional
        Those that do not serve it, and why.
    """
    from matplotlib.figure import Figure

    seconds = {name: one.seconds for name, one in predictions.items()}
    order, chosen = sorted(seconds, key=seconds.get), order_of(seconds, problem)[0]
    end = axis_end(sorted(seconds.values()))
    refused = refused or {}
    title = finding(name, seconds, problem)
    below = [f"{one}: {reason}" for one, reason in refused.items()]
    with figure_style():
        figure = Figure(figsize=(8.6, 1.9 + 0.34 * len(order) + 0.17 * len(below)))
        ax = figure.subplots()
        for y, one in enumerate(order):
            _bar(ax, y, predictions[one], end)
            words = time_text(seconds[one]) + ("  chosen" if one == chosen else "")
            ax.annotate(
                words, (min(seconds[one], end), y), xytext=(6 if seconds[one] <= end else 14, 0), va="center",
                textcoords="offset points", fontsize=9, fontweight="bold" if one == chosen else None,
            )  # fmt: skip
        ax.set_yticks(range(len(order)), order, color=LIGHT["ink"])
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        ax.set_xlim(0, end * 1.2)
        ax.xaxis.set_major_formatter(lambda value, _: time_text(value) if value else "0")
        longer = "; a bar with an open end is longer" if end < max(seconds.values()) else ""
        ax.set_xlabel(f"predicted time{longer}")
        ax.grid(axis="x", color=LIGHT["line"], linewidth=0.6)
        ax.set_axisbelow(True)
        _legend(ax)
        if below:
            words = "\n".join(["do not serve it:", *below])
            figure.supxlabel(words, x=0.01, ha="left", fontsize=8.5, color=LIGHT["muted"])
        headline(figure, title)
        each = "; ".join(passes_text(one, predictions[one]) for one in order)
        others = f" These do not serve it: {'; '.join(below)}." if below else ""
        return show(figure, f"{title}. Predicted times, pass by pass: {each}.{others}")


def axis_end(seconds: Sequence[float]) -> float:
    """Return where the axis ends: at the longest bar that is not far too long to be shown whole."""
    limit = max(LONGEST * seconds[0], seconds[(len(seconds) - 1) // 2])
    return max(each for each in seconds if each <= limit)


def spent(part: Part) -> list[tuple[str, float]]:
    """Return what a pass's time goes to: to the slower of its halves, and to what is begun."""
    slower = "computing" if part.computing >= part.moving else "moving"
    return [(slower, getattr(part, slower)), ("beginning", part.beginning)]


def _bar(ax, y: float, one: Prediction, end: float) -> None:
    """Draw one bar: first the call, then pass by pass, with a gap between two passes."""
    call = one.seconds - sum(part.seconds for part in one.parts)
    at = 0.0
    for pieces in ([("beginning", call)], *(spent(part) for part in one.parts)):
        for kind, length in pieces:
            shown = min(length, max(end - at, 0))
            ax.barh(y, shown, 0.62, left=at, **_look(kind))
            at += length
        if at < end:
            ax.vlines(at, y - 0.31, y + 0.31, color=LIGHT["paper"], lw=1.6)
    if at > end:
        teeth = [(end * (1 + 0.012 * (i % 2)), y - 0.31 + 0.62 * i / 6) for i in range(7)]
        across, down = zip(*teeth, (0.99 * end, y + 0.31), (0.99 * end, y - 0.31), strict=True)
        ax.fill(across, down, color=LIGHT["paper"])
        ax.plot(across[:7], down[:7], color=LIGHT["muted"], lw=1)


def _look(kind: str) -> dict:
    role, hatch = KINDS[kind]
    colour = ROLES[role]
    return {"facecolor": colour, "hatch": hatch, "edgecolor": mix(colour, 0.55), "linewidth": 0}


def _legend(ax) -> None:
    from matplotlib.patches import Patch

    ax.legend(
        handles=[Patch(label=kind, **_look(kind)) for kind in KINDS], loc="lower right", fontsize=9,
        bbox_to_anchor=(1, 1), ncols=len(KINDS), frameon=False, borderaxespad=0.2,
    )  # fmt: skip


@checked
def judged(found: Filled[Sequence[Judged]], *, title: str | None = None) -> Picture:
    """Draw predicted against measured times: a point for each layer and algorithm, and the diagonal.

    Parameters
    ----------
    found : sequence of Judged
        At least one.
    title : str, optional
        The finding; by default how many predictions are near the times, and how far off the worst is.
    """
    import matplotlib.pyplot as plt

    near = sum(one.error <= NEAR for one in found)
    worst = max(found, key=lambda one: one.error)
    title = title or (
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
