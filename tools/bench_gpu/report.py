"""What a run of `convlab bench gpu` says, as a few small tables. Pure functions of what was measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import isnan

from convlab.benchmark.gpu.model_error import judge_device
from convlab.benchmark.gpu.times import COPY
from convlab.benchmark.model_error import Judged, by_algorithm, mean_ratio
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.summary import by_layer, disturbed, fastest, speedup
from convlab.support.tables import NOTHING, TextTable
from convlab.support.units import bytes_text, count_text, ratio_2, time_text
from tools.bench_gpu import tiles
from tools.bench_gpu.cudnn import FLOAT32, FP16, TF32, what_ran
from tools.bench_gpu.places import HOW

BASELINES = {"cuDNN float32": FLOAT32, "cuDNN TF32": TF32, "cuDNN fp16": FP16}
CORES = {"cuDNN TF32": "tensor_core_tf32", "cuDNN fp16": "tensor_core_fp16"}


def tables(measurement: Measurement) -> list[TextTable]:
    """Return the tables of a run; parts that were not measured are left out."""
    if measurement.header.get("simulated"):
        return []
    timed = [replace(row, candidate=what_ran(row)) for row in measurement.rows if not isnan(row.seconds)]
    parts: dict[str, list[Row]] = {}
    for row in timed:
        parts.setdefault(row.part, []).append(row)
    found = [_image(parts.get("image", []))]
    flops = measurement.header["roofs"].get("flops")
    found += [_ladder(rows, flops) for part, rows in parts.items() if part.startswith("ladder ")]
    for part, rows in parts.items():
        network, _, images = part.partition("_")
        if network in TITLES:
            title = f"{TITLES[network]}, {_images(int(images))}: how many times as fast as ..."
            found.append(_against(rows, title))
    found.append(_float32_layers(parts.get("layers_32", [])))
    found.append(tiles.table(replace(measurement, rows=timed)))
    found.append(_model(judge_device(replace(measurement, rows=timed))))
    return [table for table in found if table.rows]


TITLES = {
    "layers": "Layers of ResNet-18 and SqueezeNet 1.0",
    "depthwise": "Depthwise layers of MobileNetV1 (cuDNN, or PyTorch's own kernels)",
    "dgrad": "Gradient of the input, layers of ResNet-18 and depthwise ones",
    "wgrad": "Gradient of the weights, layers of ResNet-18 and depthwise ones",
}


def notes(measurement: Measurement) -> list[str]:
    """Return lines on the device, its roofs, and who did not take part, and why."""
    header = measurement.header
    if header.get("simulated"):
        tried = len({row.candidate for row in measurement.rows})
        how = HOW[header["options"]["place"]]
        lines = [f"simulated: {tried} candidates computed what they should, {how}; no time was taken"]
    else:
        lines = [f"GPU            {_device(header)}", *_roofs(header["roofs"])]
        lines.append(f"device tests   {header['tests']}")
    for reason in dict.fromkeys(header["skipped"].values()):
        names = ", ".join(name for name, why in header["skipped"].items() if why == reason)
        lines.append(f"skipped: {names}: {reason}")
    for name, places in header["left out"].items():
        lines.append(f"left out as too slow: {name}, {len(places)} times")
    for kind, says in {"wrong": "WRONG", "refused": "refused"}.items():
        for name, places in header[kind].items():
            place, reason = next(iter(places.items()))
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            lines.append(f"{says}: {name} ({place}{more}): {reason}")
    lines += [f"not measured: {step}: {reason}" for step, reason in header["failed"].items()]
    timed = [row for row in measurement.rows if not isnan(row.seconds)]
    if (share := disturbed(timed)) > 0.1:
        lines.append(f"{share:.0%} of the times scatter by more than a tenth: other programs use this GPU.")
    if header["failed"] or not (header["complete"] or header.get("simulated")):
        lines.append("This run is not complete: the tables show what had been measured.")
    return lines


# -- one table each ----------------------------------------------------------------------------------------


def _image(rows: list[Row]) -> TextTable:
    """Return the filter over a large picture as what it is, traffic: each number read and written once."""
    copied = fastest(rows, (COPY,))
    return TextTable(
        "A filter of 7x7 over 4000x4000 pixels",
        ("", "time", "bytes/s of x and y", "of a copy"),
        [
            (
                row.candidate,
                time_text(row.seconds),
                bytes_text((row.problem.x_bytes + row.problem.y_bytes) / row.seconds) + "/s",
                f"{copied.seconds / row.seconds:.1%}" if copied else NOTHING,
            )
            for row in sorted(rows, key=lambda row: row.seconds)
        ],
    )


def _ladder(rows: list[Row], flops: float | None) -> TextTable:
    """Return the rungs in their order, below them cuDNN."""
    first = next((row for row in rows if row.ours), None)
    return TextTable(
        f"Rung by rung: {rows[0].network} {rows[0].layer}, {_images(rows[0].problem.N)}",
        ("", "time", "FLOP/s", "of the FMA roof", "of the first"),
        [
            (
                row.candidate,
                time_text(row.seconds),
                count_text(row.problem.flops / row.seconds),
                f"{row.problem.flops / row.seconds / flops:.1%}" if flops else NOTHING,
                ratio_2(first.seconds / row.seconds) if first else NOTHING,
            )
            for row in rows
        ],
    )


def _against(rows: list[Row], title: str) -> TextTable:
    """Return our best of each precision against cuDNN's best form of it."""
    shapes, lines = len(by_layer(rows)), []
    for name, baselines in BASELINES.items():
        ours = (CORES[name],) if name in CORES else float32_of(rows)
        best = speedup(rows, ours, baselines)
        if best:
            label = name if best.layers == shapes else f"{name}, on {best.layers} of {shapes}"
            who = CORES.get(name, "our best")
            lines.append((label, who, ratio_2(best.mean), ratio_2(best.worst), best.worst_layer.split()[-1]))
    return TextTable(title, ("", "who", "mean", "worst", "on"), lines)


def _float32_layers(rows: list[Row]) -> TextTable:
    """Return each layer: our fastest in float32, cuDNN's time and the ratio."""
    lines = []
    for (network, layer), group in by_layer(rows).items():
        ours, theirs = fastest(group, float32_of(group)), fastest(group, FLOAT32)
        if ours and theirs:
            times = time_text(ours.seconds), time_text(theirs.seconds)
            ratio = ratio_2(theirs.seconds / ours.seconds)
            lines.append((f"{network} {layer}", ours.candidate, *times, ratio))
    return TextTable("float32, 32 images, layer by layer", ("", "our best", "time", "cuDNN", "ratio"), lines)


def _model(judged: list[Judged]) -> TextTable:
    """Return what the model predicted, beside what was measured, algorithm by algorithm."""
    rows = []
    for name, group in by_algorithm(judged).items():
        worst = group[0]
        where = f"{worst.row.network} {worst.row.layer}, {worst.row.problem.N} images"
        cells = str(len(group)), f"{mean_ratio(group):.2f}", f"{worst.ratio:.2f}", where, worst.longest_phase
        rows.append((name, *cells))
    return TextTable(
        "Predicted time by measured time",
        ("", "layers", "mean", "worst", "which is", "and longest there"),
        rows,
    )


def float32_of(rows: Iterable[Row]) -> Collection[str]:
    """Return the names of our algorithms that are as precise as float32."""
    return {row.candidate for row in rows if row.ours and not row.candidate.startswith("tensor_core")}


# -- as text -----------------------------------------------------------------------------------------------


def _images(count: int) -> str:
    return "one image" if count == 1 else f"{count} images"


def _device(header: dict) -> str:
    device, states = header["device"], header["states"].values()
    known = {
        "compute capability": device.get("capability"),
        "driver": device.get("driver"),
        "cuDNN": next((state["cudnn"] for state in states if state.get("cudnn")), None),
    }
    return ", ".join([device.get("name", "not known"), *(f"{k} {v}" for k, v in known.items() if v)])


def _roofs(roofs: dict) -> list[str]:
    if not roofs:
        return []
    return [
        f"multiply-adds  {count_text(roofs['flops'])}FLOP/s",
        f"copies         {bytes_text(roofs['copy'])}/s, reads from L2 {bytes_text(roofs['l2'])}/s",
        f"nothing at all {time_text(roofs['empty'])}",
    ]
