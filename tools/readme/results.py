"""A saved run of `convlab bench cpu` in the README: ours beside the baselines, by network and class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from urllib.parse import quote

from convlab import networks
from convlab.auto.predict import Speeds
from convlab.benchmark.limits import limit_of_network
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.saved_runs import MOST_SCATTERED, calm
from convlab.benchmark.summary import NUMPY, Ratio, by_layer, speedup
from convlab.support.markup import as_markdown
from convlab.support.tables import NOTHING
from convlab.support.units import ratio_2, time_text

PARTS = ("layers", "depthwise")  # where baselines take part, on one core
BASELINES = {
    "torch channels_last": ("torch channels_last",),
    "oneDNN prepacked": ("oneDNN prepacked",),
    "ONNX Runtime": ("ONNX Runtime",),
    "OpenVINO": ("OpenVINO",),
    "LiteRT": ("LiteRT",),
    "NumPy": NUMPY,
}
LIBRARIES = {
    "torch": "PyTorch",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "ai-edge-litert": "LiteRT",
    "numpy": "NumPy",
}
ALONE, WHOLE = "indirect", "auto"
SCATTERED = f"more than {MOST_SCATTERED:.0%} of the times scatter by more than a tenth."


def markdown(run: Measurement, source: str) -> str:
    """Return a table of ratios, and above it what they are, where they were measured, and from which file."""
    rows = [row for part in PARTS for row in run.part(part)]
    candidates = {row.candidate for row in rows}
    baselines = {name: group for name, group in BASELINES.items() if candidates & set(group)}
    lines = []
    for network in dict.fromkeys(row.network for row in rows):
        of_network = [row for row in rows if row.network == network]
        lines.append(_line(f"**{networks.load(network).title}**", of_network, baselines, bold=True))
        kinds = dict.fromkeys(row.kind for row in of_network)
        for kind in sorted(kinds) if len(kinds) > 1 else ():
            lines.append(_line(kind, [row for row in of_network if row.kind == kind], baselines))
    table = as_table(("layers", *baselines), lines)
    return "\n".join([_caption(run, source), "", *table, *whole_networks(run)])


def whole_networks(run: Measurement) -> list[str]:
    """Return a table of the networks as a whole, and above it what it is; nothing where no one else ran."""
    rows = [row for row in run.part("stacks") if row.threads == 1]
    others = list(dict.fromkeys(row.candidate for row in rows if not row.ours))
    if not others:
        return []
    lines = []
    for (network, _), group in by_layer(rows).items():
        seconds = {row.candidate: row.seconds for row in group}
        if WHOLE in seconds and network in networks.model_names():
            ours = seconds.pop(WHOLE)
            ratios = (ratio_2(seconds[name] / ours) if name in seconds else NOTHING for name in others)
            least = time_text(limit_of_network(network, Speeds.of(run.header["roofs"], {})))
            lines.append((networks.load(network).title, least, time_text(ours), *ratios))
    if not lines:
        return []
    what = (
        "Whole networks, from a photo to its features, on one core: what its roofs allow at best (each layer "
        "by its cheapest algorithm, at the peak of the multiply-adds, each number moved once), the time with "
        f'`algorithm="{WHOLE}"`, and how many times as fast that is.'
    )
    return ["", what, "", *as_table(("at best", WHOLE, *others), lines)]


def of_machines(runs: Mapping[str, Measurement]) -> str:
    """Return a table of all runs: ours beside the fastest of the others, layer by layer and as a whole."""
    columns, lines = dict.fromkeys(chain.from_iterable(map(_networks, runs.values()))), []
    for name, run in runs.items():
        found, machine = _networks(run), run.header["machine"]
        whole = [row for row in run.part("stacks") if row.threads == 1]
        ratios = *(found.get(column) for column in columns), speedup(whole, (WHOLE,), _others(whole))
        told = [machine[fact] for fact in ("processor", "target", "instruction_set") if machine[fact]]
        mark = "" if calm(run) else r" \*"
        where = f"[{as_markdown(', '.join(told))}](data/measurements/{quote(name)}){mark}"
        lines.append((where, *(ratio_2(one.mean) if one else NOTHING for one in ratios)))
    said = (
        "On each machine that was measured: how many times as fast the best of our algorithms is as the "
        f"fastest of all the others on each layer, and a whole network by `{WHOLE}` as the fastest of the "
        "others on it. One core, geometric means."
    )
    note = [] if all(map(calm, runs.values())) else ["", f"\\* Other programs were at work: {SCATTERED}"]
    return "\n".join([said, "", *as_table((*columns, "whole networks"), lines), *note])


def _networks(run: Measurement) -> dict[str, Ratio | None]:
    """Return for each network with baselines ours beside the fastest of the others."""
    rows = [row for part in PARTS for row in run.part(part)]
    found = {}
    for network in dict.fromkeys(row.network for row in rows):
        of_network = [row for row in rows if row.network == network]
        found[networks.load(network).title] = speedup(of_network, None, _others(of_network))
    return found


def _others(rows: Iterable[Row]) -> set[str]:
    """Return the names of those that are not ours."""
    return {row.candidate for row in rows if not row.ours}


def as_table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose first column has no title."""
    head = f"| | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}"
    return [head, *(f"| {' | '.join(line)} |" for line in lines)]


def where_and_when(header: dict) -> str:
    """Return the machine and the day of a run: "on a chip (AVX2), 1 March 2026"."""
    machine, date = header["machine"], datetime.fromisoformat(header["date"])
    processor = as_markdown(machine["processor"] or "an unknown processor")
    vectors = f" ({as_markdown(machine['instruction_set'])})" if machine["instruction_set"] else ""
    return f"on {processor}{vectors}, {date.day} {date:%B %Y}"


def _line(
    label: str, rows: list[Row], baselines: dict[str, tuple[str, ...]], bold: bool = False
) -> tuple[str, ...]:
    layers = sum(group[0].count for group in by_layer(rows).values())
    cells = []
    for group in baselines.values():
        best, alone = speedup(rows, None, group), speedup(rows, (ALONE,), group)
        text = ratio_2(best.mean) if best else NOTHING
        text = f"**{text}**" if bold and best else text
        cells.append(f"{text} ({ratio_2(alone.mean)})" if alone else text)
    return label, str(layers), *cells


def _caption(run: Measurement, source: str) -> str:
    header = run.header
    versions = header["machine"].get("libraries", {})
    named = [
        f"{title} {as_markdown(versions[name])}" for name, title in LIBRARIES.items() if versions.get(name)
    ]
    libraries = " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))
    two = header.get("blas", {}).get("NumPy, other kernel")
    better = ", the faster of two kernels of its BLAS" if two else ""
    return (
        f"How many times as fast as {libraries}{better}: the best of our algorithms on each layer, and in "
        f"brackets `{ALONE}` alone. One core, one picture at a time, float32, measured "
        f"{where_and_when(header)}. "
        "Geometric means, a layer counted as often as its network runs it. "
        f"[The file]({quote(source)}) has all of it; `convlab bench cpu` measures your machine."
    )
