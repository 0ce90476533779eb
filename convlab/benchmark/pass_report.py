"""What a run says of the three passes: each layer, the whole network, and what the slow ways cost.

The first layer's dgrad is listed and never counted: training needs no gradient of the picture.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from convlab import networks
from convlab.benchmark.pass_baselines import AUTOGRAD, PICTURE, ZEROS
from convlab.benchmark.passes import AUTO, PASSES
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.slow_ways import with_zeros
from convlab.benchmark.summary import Ratio, by_layer, fastest, over_layers, ratios
from convlab.gradients import DGRAD
from convlab.support.tables import NOTHING, TextTable
from convlab.support.units import count_text, ratio_2, time_text

BACKWARD = ("dgrad", "wgrad")
SUBFILTERS, PARTS = "subfilters", "parts"  # ours, that the slow ways are held against


def tables(measurement: Measurement) -> list[TextTable]:
    """Return the tables of the passes; none if they were not measured."""
    rows = measurement.part("passes")
    found = [
        table
        for network in dict.fromkeys(row.network for row in rows)
        for some in [[row for row in rows if row.network == network]]
        for table in (_layers(network, some), _means(network, some))
    ]
    zeros = f"dgrad at a stride: {SUBFILTERS}, and one convolution with {ZEROS}, in multiply-adds and time"
    picture = f"wgrad: {PARTS}, and a convolution whose filter is the {PICTURE}, in multiply-adds and time"
    return [
        *found,
        _slow(zeros, rows, "dgrad", SUBFILTERS, ZEROS),
        _slow(picture, rows, "wgrad", PARTS, PICTURE),
    ]


def sentences(rows: Collection[Row]) -> list[str]:
    """Return what the passes backwards come to, in a sentence each; nothing of what was not measured."""
    found = []
    for network in dict.fromkeys(row.network for row in rows):
        some, title = [row for row in rows if row.network == network], _title(network)
        if whole := over_passes(some, BACKWARD):
            auto = over_passes(some, BACKWARD, auto=True)
            told = f"; {ratio_2(auto.mean)} with what auto takes" if auto else ""
            what = f"Backward pass of {title}'s convolutions, {some[0].problem.N} images, one thread"
            found.append(_sentence(what, whole, AUTOGRAD, told))
        if gain := over_layers(ratios(counted(some, "dgrad"), (SUBFILTERS,), (ZEROS,))):
            what = "dgrad at a stride by sub-filters, which multiply by no inserted zero"
            found.append(_sentence(what, gain, f"with {ZEROS}"))
        if any(row.pass_ == "dgrad" and is_first(row) for row in some):
            why = "training needs no gradient of the picture"
            found.append(f"The dgrad of {title}'s first layer is listed and not counted: {why}.")
    return found


def _sentence(what: str, ratio: Ratio, other: str, more: str = "") -> str:
    mean = f"{ratio_2(ratio.mean)} as fast as {other} (geometric mean{more})"
    return f"{what}: {mean}; least, {ratio_2(ratio.worst)}, in {ratio.worst_layer}."


def over_passes(rows: Iterable[Row], passes: Collection[str], *, auto: bool = False) -> Ratio | None:
    """Return how many times as fast our best, or what "auto" takes, is as autograd: over layers, passes."""
    every, rows = [], [row for row in rows if not row.ours or (row.candidate == AUTO) == auto]
    for pass_ in passes:
        for ratio, count, layer in ratios(counted(rows, pass_), None, (AUTOGRAD,)):
            every.append((ratio, count, f"{pass_} of {layer.split()[-1]}"))
    return over_layers(every)


def counted(rows: Iterable[Row], pass_: str) -> list[Row]:
    """Return the rows of a pass without the first layer's dgrad."""
    return [row for row in rows if row.pass_ == pass_ and not (pass_ == "dgrad" and is_first(row))]


def is_first(row: Row) -> bool:
    """Say if a row is of the layer that reads the picture."""
    return row.network in networks.names() and row.layer == networks.load(row.network).layers[0].name


# -- one table each ----------------------------------------------------------------------------------------


def _layers(network: str, rows: list[Row]) -> TextTable:
    """Return a line for each layer: of each pass our time, and how many times as fast as autograd's it is."""
    lines = []
    for (_, layer), group in by_layer(rows).items():
        cells = []
        for pass_ in PASSES:
            ours, theirs = _pair([row for row in group if row.pass_ == pass_])
            aside = pass_ == "dgrad" and is_first(group[0])
            text = time_text(ours.seconds) if ours else NOTHING
            cells += [f"({text})" if aside else text, _ratio(ours, theirs)]
        lines.append((layer, str(group[0].count), *cells))
    return TextTable(
        f"{_title(network)}, {rows[0].problem.N} images, one thread: our best, and how many times as fast as "
        f"{AUTOGRAD}",
        ("", "layers", *(cell for pass_ in PASSES for cell in (pass_, ""))),
        lines,
    )


def _means(network: str, rows: list[Row]) -> TextTable:
    """Return a line for each pass, and for several: all layers' time, and the mean of the ratios."""
    lines = []
    groups = {pass_: (pass_,) for pass_ in PASSES} | {"backward": BACKWARD, "all three": tuple(PASSES)}
    for name, passes in groups.items():
        mean = over_passes(rows, passes)
        if mean:
            sums = _seconds(rows, passes)
            auto = over_passes(rows, passes, auto=True)
            cells = *map(time_text, sums), ratio_2(sums[1] / sums[0]), ratio_2(mean.mean)
            by_auto_alone = ratio_2(auto.mean) if auto else NOTHING
            lines.append((name, *cells, by_auto_alone, ratio_2(mean.worst), mean.worst_layer))
    title = f"All layers of {_title(network)}: the sum of their times, and the geometric mean of the ratios"
    return TextTable(title, ("", "our best", AUTOGRAD, "ratio", "mean", "auto alone", "worst", "on"), lines)


def _seconds(rows: Iterable[Row], passes: Collection[str]) -> tuple[float, float]:
    """Return the seconds of our best and of autograd, over all layers that have both."""
    ours = theirs = 0.0
    for pass_ in passes:
        for group in by_layer(counted(rows, pass_)).values():
            one, other = _pair(group)
            if one and other:
                ours, theirs = ours + one.count * one.seconds, theirs + one.count * other.seconds
    return ours, theirs


def _slow(title: str, rows: Iterable[Row], pass_: str, ours: str, way: str) -> TextTable:
    """Return a line for each layer of what a slow way costs beside one of ours."""
    lines = []
    for (_, layer), group in by_layer(row for row in rows if row.pass_ == pass_).items():
        one, other = fastest(group, (ours,)), fastest(group, (way,))
        if one and other:
            p = one.problem
            macs = (DGRAD[ours].macs(p), with_zeros(p).macs) if pass_ == "dgrad" else (p.macs, p.macs)
            times = time_text(one.seconds), time_text(other.seconds)
            lines.append((layer, *map(count_text, macs), *times, _ratio(one, other)))
    return TextTable(title, ("", ours, way, ours, way, ""), lines)


def _pair(group: Collection[Row]) -> tuple[Row | None, Row | None]:
    return fastest(row for row in group if row.candidate != AUTO), fastest(group, (AUTOGRAD,))


def _ratio(ours: Row | None, theirs: Row | None) -> str:
    return ratio_2(theirs.seconds / ours.seconds) if ours and theirs else NOTHING


def _title(network: str) -> str:
    return networks.load(network).title if network in networks.names() else network
