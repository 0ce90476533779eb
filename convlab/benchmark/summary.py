"""What a table of timings says: how many times as fast, where most, where least. Nothing is measured here.

A speed-up over several layers is the geometric mean of the ratios, each layer counted as often as its network
runs it: so no slow layer decides alone, and "twice as fast" and "half as fast" cancel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import exp, log

from convlab.benchmark.saved import Row
from convlab.support.checked import checked

NUMPY = ("NumPy", "NumPy, other kernel")


def geomean(values: Iterable[tuple[float, int]]) -> float:
    """Return the geometric mean of (value, how often it counts)."""
    pairs = list(values)
    return exp(sum(count * log(value) for value, count in pairs) / sum(count for _, count in pairs))


@dataclass(frozen=True)
class Ratio:
    """How many times as fast some candidates are as others, over several layers.

    Attributes
    ----------
    mean : float
        The geometric mean, with multiplicity.
    worst, best : float
        Of a single layer.
    worst_layer : str
    layers : int
        Distinct layers.
    """

    mean: float
    worst: float
    worst_layer: str
    best: float
    layers: int


def by_layer(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of each (network, layer), in order."""
    layers: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        layers.setdefault((row.network, row.layer), []).append(row)
    return layers


def fastest(rows: Iterable[Row], candidates: Collection[str] | None = None) -> Row | None:
    """Return the fastest of some candidates on one layer; None means ours, all of them."""
    chosen = [row for row in rows if (row.ours if candidates is None else row.candidate in candidates)]
    return min(chosen, key=lambda row: row.seconds, default=None)


def speedup(
    rows: Iterable[Row], ours: Collection[str] | None, baselines: Collection[str] | None
) -> Ratio | None:
    """Return how many times as fast `ours` is as `baselines`.

    Parameters
    ----------
    rows : iterable of Row
    ours, baselines : collection of str, or None
        Names of candidates. Of several, the fastest on each layer counts; None means all of ours.

    Returns
    -------
    Ratio or None
        None if no layer has both. A layer that lacks one of them is left out.
    """
    return over_layers(ratios(rows, ours, baselines))


def ratios(
    rows: Iterable[Row], ours: Collection[str] | None, baselines: Collection[str] | None
) -> list[tuple[float, int, str]]:
    """Return what `speedup` is the mean of: of each layer the ratio, how often it counts, and its name."""
    found = []
    for (network, layer), group in by_layer(rows).items():
        mine, theirs = fastest(group, ours), fastest(group, baselines)
        if mine and theirs:
            found.append((theirs.seconds / mine.seconds, mine.count, f"{network} {layer}"))
    return found


def over_layers(ratios: Collection[tuple[float, int, str]], *, lowest_is_worst: bool = True) -> Ratio | None:
    """Return what (ratio, how often it counts, layer) come to; None if there are none."""
    if not ratios:
        return None
    worst, best = sorted((min(ratios), max(ratios)), reverse=not lowest_is_worst)
    mean = geomean((ratio, count) for ratio, count, _ in ratios)
    return Ratio(mean, worst[0], worst[2], best[0], len(ratios))


@checked
def by_kind(
    rows: Iterable[Row], ours: Collection[str] | None, baselines: Collection[str] | None
) -> dict[str, Ratio]:
    """Return `speedup` for each class of layers, smallest filters first."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        kinds.setdefault(row.kind, []).append(row)
    ratios = {kind: speedup(group, ours, baselines) for kind, group in sorted(kinds.items())}
    return {kind: ratio for kind, ratio in ratios.items() if ratio}


def wins(rows: Iterable[Row]) -> dict[str, int]:
    """Return how many layers, with multiplicity, each of our algorithms is the fastest of ours on."""
    counted: dict[str, int] = {}
    for group in by_layer(rows).values():
        if row := fastest(group):
            counted[row.candidate] = counted.get(row.candidate, 0) + row.count
    return dict(sorted(counted.items(), key=lambda item: -item[1]))


def disturbed(rows: Collection[Row]) -> float:
    """Return the share of timings whose quartiles lie more than a tenth of the median apart."""
    wide = [row for row in rows if row.timing.high - row.timing.low > 0.1 * row.seconds]
    return len(wide) / len(rows) if rows else 0.0
