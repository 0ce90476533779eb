"""What the predicted times know: layers, machines, and every algorithm's phases as JavaScript."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import isfinite
from numbers import Integral
from pathlib import Path

from convlab import networks
from convlab.algorithms import ALGORITHMS, Algorithm
from convlab.auto.predict import Speeds, predictable
from convlab.auto.ranking import ALIKE
from convlab.auto.speeds import speeds as current_speeds
from convlab.benchmark.model_error import speeds_of
from convlab.benchmark.saved_runs import CPU, runs
from convlab.cost.formula import LETTERS
from convlab.errors import ParameterError
from convlab.machine import system
from convlab.problem import ConvProblem
from convlab.support.checks import said
from convlab.support.files import data_path
from convlab.widgets.shared.layers import distinct_layers, plain_layer

HERE = "here"
SLOWER = ("nothing", "computing", "moving", "beginning")


LAYERS = {network: distinct_layers(network) for network in networks.names()}


def _sizes(letter: str) -> tuple[int, ...]:
    """Return the sizes that occur in the networks."""
    return tuple(sorted({getattr(p, letter) for layers in LAYERS.values() for p in layers.values()}))


# The numbers of an own layer; H and W, R and S are the same, its padding is R // 2.
CHOICES = {"H": _sizes("H"), "C": _sizes("C"), "K": _sizes("K"), "R": (1, 3, 5, 7, 9, 11), "stride": (1, 2)}
CHOICES["depthwise"] = (False, True)


def own_numbers(given: Mapping[str, int]) -> dict[str, int]:
    """Return all numbers of an own layer, or say which is none of its choices."""
    numbers = {"H": 56, "C": 64, "K": 64, "R": 3, "stride": 1, "depthwise": False}
    if not isinstance(given, Mapping) or not given.keys() <= numbers.keys():
        raise ParameterError(f"own={said(given)}; expected a dict with some of {', '.join(numbers)}")
    for name, number in given.items():
        if not isinstance(number, Integral) or number not in CHOICES[name]:
            words = ", ".join(map(str, CHOICES[name]))
            raise ParameterError(f"own[{name!r}]={said(number)}; expected one of {words}")
        numbers[name] = type(numbers[name])(number)
    return numbers


def own_problem(own: Mapping[str, int], batch: int) -> ConvProblem:
    """Return an own layer; depthwise filters are as many as the channels."""
    H, C, K, R, stride, depthwise = (own[name] for name in CHOICES)
    filters, groups = (C, C) if depthwise else (K, 1)
    return ConvProblem(batch, H, H, C, filters, R, R, stride=stride, padding=R // 2, groups=groups)


def catalogue() -> dict:
    """Return the networks as the page takes them: titles, and layers that differ."""
    return {
        network: {
            "title": networks.load(network).title,
            "layers": [plain_layer(name, problem) for name, problem in layers.items()],
        }
        for network, layers in LAYERS.items()
    }


# -- machines ---------------------------------------------------------------------------------------------


def machines() -> dict[str, tuple[str, Speeds]]:
    """Return the machines with known speeds: their names in words, and the speeds."""
    speeds, name = current_speeds(), system.processor() or "this processor"
    return {HERE: (f"here: {name}" + (f", by {speeds.model}" if speeds.model else ""), speeds)} | _saved()


@lru_cache
def _saved() -> dict[str, tuple[str, Speeds]]:
    """Return the machines of the course's measurements; runs on a GPU, and old ones, have no overheads."""
    found = {}
    for file, run in runs(data_path("measurements"), CPU).items():
        if speeds := speeds_of(run):
            name = Path(file).stem
            found[name] = f"{name}: {run.header['machine'].get('processor') or 'a processor'}", speeds
    return found


def plain(speeds: Speeds) -> dict:
    """Return speeds as JSON can hold them: the last memory has room for all, which is None."""
    memory = [[room if isfinite(room) else None, speed] for room, speed in speeds.memory]
    return {"flops": speeds.flops, "memory": memory, "overheads": speeds.overheads}


def slowed(speeds: Speeds, what: str) -> Speeds:
    """Return the same machine, ten times slower in one of `SLOWER`."""
    if what == "computing":
        return replace(speeds, flops=speeds.flops / 10, flops_all=speeds.flops_all / 10)
    if what == "moving":
        return replace(speeds, memory=tuple((room, speed / 10) for room, speed in speeds.memory))
    if what == "beginning":
        return replace(speeds, overheads={name: 10 * overhead for name, overhead in speeds.overheads.items()})
    return speeds


# -- the model --------------------------------------------------------------------------------------------


def on_cpu() -> dict[str, Algorithm]:
    """Return the algorithms that the model knows."""
    return {name: algorithm for name, algorithm in ALGORITHMS.items() if predictable(algorithm)}


def model_table() -> str:
    """Return every phase of every algorithm as JavaScript: `COUNTS` are formulas, `MODELS` refer to them."""
    bodies: dict[str, int] = {}

    def number(body: str) -> int:
        return bodies.setdefault(body, len(bodies))

    models = []
    for name, algorithm in on_cpu().items():
        form = algorithm.forms["cpu"]
        phases = [
            {
                "name": one.name,
                "flops": number(one.flops.javascript_quick),
                "streams": [
                    [number(stream.size.javascript_quick), number(stream.holds.javascript_quick)]
                    for stream in one.streams
                ],
                "begins": {what: number(often.javascript_quick) for what, often in one.begins.items()},
            }
            for one in form.phases()
        ]
        facts = {"name": name, "summary": algorithm.summary, "rounding": algorithm.rounding, "phases": phases}
        models.append(facts | {"workspace": number(form.workspace_bytes.javascript)})
    functions = "".join(f"  ({{ {', '.join(LETTERS)} }}) => {{ {body} }},\n" for body in bodies)
    table = json.dumps(models, ensure_ascii=False)
    return f"const ALIKE = {ALIKE};\nconst COUNTS = [\n{functions}];\nexport const MODELS = {table};\n"
