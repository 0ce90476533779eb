"""The newest saved run of `convlab bench gpu` in the README: ours beside cuDNN."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote

from convlab.benchmark.gpu.times import COPY, newest
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.saved_runs import GPU, runs
from convlab.benchmark.summary import by_layer, fastest, speedup
from convlab.support.files import data_path
from convlab.support.markup import as_markdown
from convlab.support.tables import NOTHING
from convlab.support.units import ratio_2
from tools.bench_gpu.cudnn import FLOAT32, FP16, TF32
from tools.bench_gpu.report import CORES, float32_of
from tools.errors import BuildError
from tools.readme.results import as_table

DENSE, SEPARATE, PICTURE = "layers_32", "depthwise_32", "image"
ALONE = "implicit_gemm"
COLUMNS = 4  # of ratios
# Whose layers these are, and whether tensor cores would have matrices to multiply.
LINES = {
    DENSE: ("ResNet-18", "resnet18", True),
    SEPARATE: ("MobileNetV1, depthwise", "mobilenet_v1", False),
}


def markdown() -> str:
    """Return a table of ratios, and above it what they are, where they were measured, and from which file."""
    run = newest(DENSE)
    if run is None:
        raise BuildError("data/measurements has no run of `convlab bench gpu`")
    lines = [_line(run, part, *about) for part, about in LINES.items() if run.part(part)]
    columns = "layers", "float32", f"`{ALONE}` alone", "TF32", "float16"
    return "\n".join([_caption(run), "", *as_table(columns, lines), *_picture(run)])


def _line(run: Measurement, part: str, title: str, network: str, dense: bool) -> tuple[str, ...]:
    rows = run.part(part, network=network)
    layers = sum(group[0].count for group in by_layer(rows).values())
    asked = [(tuple(float32_of(rows)), FLOAT32)]
    if dense:
        asked += [((ALONE,), FLOAT32), ((CORES["cuDNN TF32"],), TF32), ((CORES["cuDNN fp16"],), FP16)]
    cells = [_ratio(rows, ours, theirs) for ours, theirs in asked]
    return f"**{title}**", str(layers), *cells, *[NOTHING] * (COLUMNS - len(cells))


def _ratio(rows: list[Row], ours: tuple[str, ...], theirs: tuple[str, ...]) -> str:
    found = speedup(rows, ours, theirs)
    return f"{ratio_2(found.mean)} (least {ratio_2(found.worst)})" if found else NOTHING


def _caption(run: Measurement) -> str:
    header = run.header
    device, date = header["device"], datetime.fromisoformat(header["date"])
    version = next(state["cudnn"] for state in header["states"].values() if state.get("cudnn"))
    name = next(name for name, one in runs(data_path("measurements"), GPU).items() if one.header == header)
    release = f"{version // 10_000}.{version // 100 % 100}.{version % 100}"
    return (
        f"On a GPU: how many times as fast as cuDNN {release}, as PyTorch calls it with its benchmark mode "
        "on, the faster of its two orders of arrays. 32 pictures at a time; float32 is the best of ours on "
        "each layer; TF32 and float16 are ours on tensor cores, from float32 to float32, rounding included, "
        f"and cuDNN's of numbers that are rounded already. Measured on {as_markdown(device['name'])}, "
        f"{date.day} {date:%B %Y}. Geometric means, a layer counted as often as its network runs it. "
        f"[The file]({quote(f'data/measurements/{name}')}) has all of it."
    )


def _picture(run: Measurement) -> list[str]:
    """Return how near a filter over a large picture comes to a copy of it; nothing where none was timed."""
    rows = [*run.part(PICTURE), *run.part("ladder filter", ours=True)]
    copy, ours = fastest(rows, (COPY,)), fastest(rows)
    if not copy or not ours:
        return []
    share = f"{100 * copy.seconds / ours.seconds:.0f} %"
    return ["", f"A filter of 7x7 over 4000x4000 pixels runs at {share} of the speed of a copy."]
