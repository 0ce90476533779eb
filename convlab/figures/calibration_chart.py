"""How good guesses were: guess against truth, and how often "so many percent sure" was right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, figure_style, headline, tint
from convlab.support.units import number_text


class Guess(Protocol):
    """What is drawn of a guess: `sure` in percent, and `right` if it was near enough."""

    @property
    def guess(self) -> float: ...
    @property
    def actual(self) -> float: ...
    @property
    def sure(self) -> float: ...
    @property
    def right(self) -> bool: ...


def calibration(guesses: Sequence[Guess], what: str = "predictions were within a factor of two") -> Picture:
    """Draw every guess against the truth, and beside it how sure it was against how often that was right.

    `what` says what the title counts. A drill may be within a factor of two and still be wrong.
    A guess where one of the two is not above zero has no place on logarithmic axes: it is counted in words.
    """
    import matplotlib.pyplot as plt

    placed = [one for one in guesses if one.guess > 0 < one.actual]
    right = sum(one.right for one in guesses)
    title = f"{right} of {len(guesses)} {what}"
    with figure_style():
        fig, (left, beside) = plt.subplots(1, 2, figsize=(8, 3.9))
        _draw_guesses(left, placed)
        rows = _draw_sureness(beside, guesses)
        headline(fig, title)
        out = len(guesses) - len(placed)
        alt = (
            f"{title}. Left: the guess against the truth on logarithmic axes, with the band of a factor of "
            f"two{f'; {out} of zero or less are not drawn' if out else ''}. "
            "Right: how often a guess was right, by how sure it was: "
            + ", ".join(f"{sure:g} % sure, {hit} of {count}" for sure, hit, count in rows)
            + "."
        )
        return show(fig, alt)


def _draw_guesses(ax, placed: Sequence[Guess]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    values = [value for one in placed for value in (one.guess, one.actual)] or [0.1, 10]
    low, high = min(values) / 3, max(values) * 3
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    ax.fill_between([low, high], [low / 2, high / 2], [low * 2, high * 2], color=tint("output"), linewidth=0)
    ax.plot([low, high], [low, high], color=LIGHT["muted"], linewidth=1)
    for is_right, role, mark in ((True, "output", "o"), (False, "active", "X")):
        some = [one for one in placed if one.right is is_right]
        places = [one.actual for one in some], [one.guess for one in some]
        name = "within a factor of two" if is_right else "not"
        ax.plot(*places, mark, color=ROLES[role], markersize=7, label=name)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(numticks=5))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: number_text(value))
    ax.legend(fontsize=8, frameon=False, handletextpad=0.2, borderpad=0, loc="upper left")
    ax.set_xlabel("what it is (logarithmic)")
    ax.set_ylabel("your guess (logarithmic)")


def _draw_sureness(ax, guesses: Sequence[Guess]) -> list[tuple[float, int, int]]:
    """Draw a bar for each degree of sureness, and return (sure, right, all) of each."""
    rows = []
    for sure in sorted({one.sure for one in guesses}):
        some = [one.right for one in guesses if one.sure == sure]
        rows.append((sure, sum(some), len(some)))
    for sure, hit, count in rows:
        ax.bar(sure, 100 * hit / count, width=11, color=ROLES["output"])
        ax.annotate(
            f"{hit} of {count}", (sure, 100 * hit / count), xytext=(0, 4), textcoords="offset points",
            ha="center", fontsize=9, bbox={"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
    ax.plot([0, 100], [0, 100], color=LIGHT["muted"], linewidth=1, linestyle="--")
    ax.annotate(
        "as sure as right", (99, 99), xytext=(-4, 6), textcoords="offset points", ha="right", fontsize=9,
        color=LIGHT["muted"],
    )  # fmt: skip
    ax.set(xlim=(0, 100), ylim=(0, 112), xticks=range(10, 100, 20), yticks=range(0, 101, 25))
    ax.set_xlabel("percent sure")
    ax.set_ylabel("percent right")
    return rows
