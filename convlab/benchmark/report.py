"""What a run of `convlab bench cpu` says, as a few small tables. Pure functions of what was measured."""

from __future__ import annotations

from collections.abc import Collection

from convlab.auto.disturbance import AGAIN, Watch
from convlab.auto.roofs import Roofs
from convlab.benchmark import limits, model_error_tables, pass_report
from convlab.benchmark.dukhan_2019 import COPYING, INDIRECT, PRODUCT
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.suite import PEAK, PEAK_AFTER
from convlab.benchmark.summary import NUMPY, Ratio, by_kind, by_layer, disturbed, speedup, wins
from convlab.support.tables import NOTHING, TextTable
from convlab.support.units import bytes_text, count_text, ratio_2, time_text

WORDS = {1: "one thread", 2: "two threads"}
BETTER_NUMPY = "NumPy, better kernel"


def tables(measurement: Measurement) -> list[TextTable]:
    """Return the tables of a run; parts that were not measured are left out."""
    found = [_product(rows) for rows in by_layer(measurement.part("product")).values()]
    found += [_layers(measurement), _wins(measurement)]
    for part, title in (
        ("depthwise", "Depthwise layers of MobileNetV1, one thread: how many times as fast as ..."),
        ("threads", "All cores: how many times as fast as ..."),
    ):
        found.append(_against_all(measurement.part(part), title))
    found += [*(_networks(measurement, threads) for threads in (1, 2)), limits.table(measurement)]
    found += pass_report.tables(measurement)
    found += [_paper(measurement), *model_error_tables.tables(measurement)]
    return [table for table in found if table.rows]


def notes(measurement: Measurement) -> list[str]:
    """Return lines on the machine, the first call, and who did not take part, and why."""
    header = measurement.header
    machine, roofs = header["machine"], Roofs(**header["roofs"])
    processor = f"{machine['processor']}, {machine['instruction_set']}, compiled for {machine['target']}"
    lines = [f"processor      {processor}", roofs.describe()]
    lines += _unknown(machine)
    lines += _clock(measurement)
    lines += pass_report.sentences(measurement.part("passes"))
    for name, reason in header["skipped"].items():
        lines.append(f"skipped: {name}: {reason}")
    for name, layers in header["left out"].items():
        lines.append(f"left out as too slow: {name}, {len(layers)} times")
    if not (watch := Watch(1.0, header.get("taken", 0.0))).quiet:
        lines.append(f"{watch} {AGAIN}")
    if (share := disturbed(measurement.rows)) > 0.1:
        lines.append(
            f"Other programs were at work: {share:.0%} of the times scatter by more than a tenth. {AGAIN}"
        )
    if not header["complete"]:
        lines.append("This run was cut short: the tables show what had been measured.")
    return lines


def _clock(measurement: Measurement) -> list[str]:
    """Return how fast the processor's clock lets a product be, where multiply-adds were timed after one."""
    large = next(iter(by_layer(measurement.part("product")).values()), [])
    seconds = {row.candidate: row.seconds for row in large}
    if not seconds.keys() >= {PEAK, PEAK_AFTER, "gemm"}:
        return []
    clock, reached = (seconds[PEAK] / seconds[PEAK_AFTER], seconds[PEAK_AFTER] / seconds["gemm"])
    return [
        f"Right after a product multiply-adds ran at {clock:.0%} of their peak: what a product leaves of the "
        f"processor's clock. gemm reaches {reached:.0%} of that."
    ]


def _unknown(machine: dict) -> list[str]:
    """Return what the system did not tell or does not allow, where a number depends on it."""
    lines, quota = [], machine.get("cpu_quota")
    if not any(machine.get(name) for name in ("l1d", "l2", "l3")):
        lines.append("The sizes of the caches are not known: no copy in them, and none of the cold timings.")
    if quota is not None and quota < (machine.get("threads") or 1):
        meaning = f"all cores are {int(quota)}"
        if quota < 1:
            meaning = "even one thread is paused now and then, and long calls more often than short ones"
        lines.append(f"The container allows {quota:g} of {machine['threads']} processors: {meaning}.")
    return lines


# -- one table each ----------------------------------------------------------------------------------------


def _product(rows: list[Row]) -> TextTable:
    problem = rows[0].problem
    M, N, K = problem.gemm
    size = bytes_text(problem.x_bytes + problem.w_bytes + problem.y_bytes)
    peak = next((row for row in rows if row.candidate == PEAK), None)
    return TextTable(
        f"The matrix product M{M} K{K} N{N}, its matrices {size}, one thread",
        ("", "time", "FLOP/s", "of the FMA peak"),
        [
            (
                row.candidate,
                time_text(row.seconds),
                count_text(row.problem.flops / row.seconds),
                f"{peak.seconds / row.seconds:.1%}" if peak else NOTHING,
            )
            for row in sorted(rows, key=lambda row: row.seconds)
        ],
    )


def _layers(measurement: Measurement) -> TextTable:
    rows = measurement.part("layers")
    count = sum({(row.network, row.layer): row.count for row in rows}.values())
    return _against_all(rows, f"{count} layers, one thread: how many times as fast as ...", ("indirect",))


def _against_all(rows: list[Row], title: str, also: Collection[str] = ()) -> TextTable:
    """Return our best on each layer against every baseline; a column for each algorithm named in `also`."""
    baselines = {name: (name,) for name in dict.fromkeys(row.candidate for row in rows if not row.ours)}
    if set(NUMPY) <= baselines.keys():
        baselines |= {BETTER_NUMPY: NUMPY}
    shapes, lines = len(by_layer(rows)), []
    for name, group in baselines.items():
        best = speedup(rows, None, group)
        if best:
            label = name if best.layers == shapes else f"{name}, on {best.layers} of {shapes}"
            ours = [*(speedup(rows, (algorithm,), group) for algorithm in also), best]
            means = (ratio_2(ratio.mean) if ratio else NOTHING for ratio in ours)
            lines.append((label, *means, ratio_2(best.worst), best.worst_layer.split()[-1]))
    return TextTable(title, ("", *also, "our best", "worst", "on"), lines)


def _wins(measurement: Measurement) -> TextTable:
    rows = measurement.part("layers")
    counted = wins(rows)
    return TextTable(
        "The fastest of our algorithms",
        ("", "layers"),
        [(name, str(count)) for name, count in counted.items()] if len(counted) > 1 else [],
    )


def _networks(measurement: Measurement, threads: int) -> TextTable:
    """Return the time of every candidate on a whole network, and how many times as fast our "auto" is."""
    rows = [row for row in measurement.part("stacks") if row.threads == threads]
    auto = {row.network: row.seconds for row in rows if row.candidate == "auto"}
    return TextTable(
        f"Whole networks, one photo, {WORDS[threads]}: how many times as fast auto is as ...",
        ("", "", "time", "auto"),
        [
            (row.network, row.candidate, time_text(row.seconds), ratio_2(row.seconds / auto[row.network]))
            for row in sorted(rows, key=lambda row: (row.network, row.seconds))
            if row.network in auto
        ],
    )


def _paper(measurement: Measurement) -> TextTable:
    warm, cold = (measurement.part("paper", cache=cache) for cache in ("warm", "cold"))
    gains = [by_kind(rows, (INDIRECT,), (COPYING,)) for rows in (warm, cold)]
    product = by_kind(warm, (PRODUCT,), (COPYING,))
    lines = []
    for kind in {**gains[0], **gains[1]}:
        texts = [gain_text(gain.get(kind)) for gain in gains]
        ratio = gains[0].get(kind) or gains[1][kind]
        spread = f"{percent(ratio.worst)[:-2]} … {percent(ratio.best)}"
        lines.append((kind, texts[0], spread, gain_text(product.get(kind)), texts[1]))
    return TextTable(
        "Indirect over im2row + GEMM: how much faster, one thread",
        ("class", "warm", "from … to", "GEMM alone", "cold"),
        lines,
    )


# -- as text -----------------------------------------------------------------------------------------------


def percent(ratio: float) -> str:
    """Return a ratio as a gain: '+6.1 %', '-0.3 %'."""
    return f"{ratio - 1:+.1%}".replace("%", " %")


def gain_text(ratio: Ratio | None) -> str:
    """Return the mean of a ratio as a gain, or a dash."""
    return percent(ratio.mean) if ratio else NOTHING
