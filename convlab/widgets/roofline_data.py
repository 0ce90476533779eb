"""What the roofline explorer knows: machines, layers, every algorithm's cost model, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import isfinite
from pathlib import Path

from convlab import networks
from convlab.algorithms import ALGORITHMS
from convlab.benchmark import datasheets
from convlab.benchmark.roofline import Roofline, of_datasheet, of_machine
from convlab.benchmark.roofline_points import Point, weights_of
from convlab.benchmark.saved import Row
from convlab.benchmark.saved_runs import CPU, calm, runs
from convlab.problem import ConvProblem
from convlab.support.files import data_path
from convlab.widgets.shared.layers import plain_layer

HERE = "here"
_CHANNELS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
STEPS = {"C": _CHANNELS, "K": _CHANNELS, "R": (1, 3, 5, 7, 9, 11)}  # of the sliders
MOST_TAPS = 11
_PARTS = ("layers", "depthwise", "networks")  # of a measurement: a layer at a time, warm
_ANY = 7919  # a prime: where a reason says it, it means the number of channels

Times = dict[str, dict[ConvProblem, dict[str, float]]]  # machine, layer, algorithm: seconds


def shaped(own: ConvProblem, batch: int, C: int = 0, K: int = 0, R: int = 0) -> ConvProblem:
    """Return a layer with other channels, filters or taps; with other taps it is padded to the same size."""
    channels, taps = C or own.C, R or own.R
    sides = ((taps - 1) // 2, taps // 2)
    return replace(
        own,
        N=batch,
        C=channels,
        K=channels * own.K // own.C if own.groups > 1 else K or own.K,
        groups=channels if own.groups > 1 else 1,
        R=taps,
        S=R or own.S,
        padding=own.padding if taps == own.R else (sides, sides),
    )


# -- machines ----------------------------------------------------------------------------------------------


def machines(here: Roofline | None, measured: Sequence[Point]) -> tuple[dict[str, Roofline], Times]:
    """Return the roofs of all machines, this one first if it was measured, and what took how long there."""
    lines, times = ({HERE: here}, {HERE: times_of(measured)}) if here else ({}, {})
    saved = runs(data_path("measurements"), CPU)
    for file, run in sorted(saved.items(), key=lambda item: not calm(item[1])):  # it opens with the first
        key = Path(file).stem
        machine = run.header["machine"]
        what = ", ".join(filter(None, (machine["processor"], machine["instruction_set"])))
        name = f"{what}, measured {run.header['date'][:10]}"
        lines[key] = of_machine(run.header["roofs"], machine, name=name)
        rows = [row for part in _PARTS for row in run.part(part, ours=True, threads=1, cache="warm")]
        times[key] = times_of(rows)
    return lines | {name: of_datasheet(sheet) for name, sheet in datasheets.every().items()}, times


def times_of(measured: Iterable[Point | Row]) -> dict[ConvProblem, dict[str, float]]:
    """Return seconds by layer and algorithm, of the forward pass."""
    found: dict[ConvProblem, dict[str, float]] = {}
    for one in measured:
        if one.pass_ != "fprop":  # its algorithm may have the name of a forward one
            continue
        name = one.algorithm if isinstance(one, Point) else one.candidate
        found.setdefault(one.problem, {})[name] = one.seconds
    return found


def backend_of(machine: str) -> str:
    """Return whose cost model counts on a machine: "cpu" or "gpu"."""
    of_maker = machine in datasheets.names()
    return "gpu" if of_maker and datasheets.load(machine).kind == "GPU" else "cpu"


def refused(algorithm: str, machine: str, problem: ConvProblem) -> str | None:
    """Return why an algorithm cannot run on a machine: it refuses the problem, or has no form for it."""
    one, backend = ALGORITHMS[algorithm], backend_of(machine)
    return one.supports(problem) or (None if backend in one.forms else f"it has no form for {backend!r}")


def plain(key: str, line: Roofline) -> dict:
    """Return a machine's roofs as the page takes them."""
    return {
        **{"name": line.machine, "measured": line.adds.measured, "backend": backend_of(key)},
        **{"flops": line.adds.rate, "more": [[roof.name, roof.rate] for roof in line.more]},
        "memories": [
            {"name": roof.name, "rate": roof.rate, "holds": roof.holds if isfinite(roof.holds) else None}
            for roof in line.memories
        ],
        "missing": line.missing,
        "source": "" if line.adds.measured else datasheets.load(key).source,
    }


# -- layers ------------------------------------------------------------------------------------------------


def network_data(name: str, times: Times) -> dict:
    """Return a network's layers as the page takes them, each with what was measured of it."""
    network = networks.load(name)
    layers = [
        plain_layer(layer.name, layer.problem)
        | {"seconds": {key: found[layer.problem] for key, found in times.items() if layer.problem in found}}
        for layer in network
    ]
    return {"name": name, "title": network.title, "layers": layers}


@lru_cache
def refusals() -> dict[str, dict[str, str]]:
    """Return why algorithms refuse layers: {what it depends on: {algorithm: reason}}."""
    own = {layer.problem for name in networks.names() for layer in networks.load(name)}
    shapes = {
        shaped(replace(problem, C=_ANY, K=_ANY, groups=1), 1, R=taps)
        for problem in own
        for taps in range(MOST_TAPS + 1)
    }
    found = {}
    for problem, (channels, groups) in product(shapes, ((_ANY, 1), (_ANY, _ANY), (1, 1))):
        one = replace(problem, C=channels, groups=groups)
        reasons = {name: algorithm.supports(one) for name, algorithm in ALGORITHMS.items()}
        found[_key(one)] = {
            name: reason.replace(str(_ANY), "{C}") for name, reason in reasons.items() if reason
        }
    return found


def _key(problem: ConvProblem) -> str:
    """Return what a refusal depends on: the window, whether channels mix, and whether there are groups."""
    mixing = [problem.groups == problem.C, problem.groups == 1]  # of one channel both are so
    window = [problem.R, problem.S, problem.stride, problem.padding, *mixing]
    return json.dumps(window, separators=(",", ":"))


# -- the cost model ----------------------------------------------------------------------------------------


def cost_table() -> str:
    """Return the cost model of `ALGORITHMS` as JavaScript: each formula in words and as a function."""
    lines = ["export const ALGORITHMS = ["]
    for algorithm in ALGORITHMS.values():
        moved = {name: one.bytes_moved for name, one in algorithm.forms.items() if name in ("cpu", "gpu")}
        texts = {"flops": algorithm.flops} | moved
        shown = algorithm.forms.get("cpu") or algorithm.forms["numpy"]
        kept = {"weights": weights_of(algorithm), "workspace": shown.workspace_bytes}
        formulas = texts | kept
        facts = {"name": algorithm.name, "summary": algorithm.summary}
        facts |= {f"{name}Text": str(formula) for name, formula in texts.items()}
        fields = [f"{key}: {json.dumps(fact, ensure_ascii=False)}" for key, fact in facts.items()]
        fields += [
            f"{name}: ({{ N, H, W, C, K, R, S, P, Q, G, b }}) => {{ {formula.javascript} }}"
            for name, formula in formulas.items()
        ]
        lines.append(f"  {{ {', '.join(fields)} }},")
    return "\n".join([*lines, "];\n"])
