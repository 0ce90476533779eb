"""What the memory explorer knows: memories, an own layer's ranges, workspaces, refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from convlab import networks
from convlab.algorithms import ALGORITHMS, Algorithm, Form, Formula
from convlab.cost.formula import readable
from convlab.errors import ParameterError
from convlab.problem import DTYPES, ConvProblem
from convlab.support.checks import check_choice, said
from convlab.support.units import bytes_text, ratio_text
from convlab.widgets.shared.layers import plain_layer

# Memories to hold the bars against: bytes, and what has as much.
MEMORIES = {
    8 << 30: "laptop",
    16 << 30: "laptop",
    24 << 30: "graphics card",
    80 << 30: "data-centre GPU",
}

# The numbers of an own layer and their ranges.
OWN_RANGES = {
    **{"H": (1, 8192), "W": (1, 8192), "C": (1, 8192), "K": (1, 8192), "R": (1, 31), "S": (1, 31)},
    **{"stride": (1, 16), "padding": (0, 31), "dilation": (1, 31), "groups": (1, 8192)},
}

# All windows written out, and a problem of different primes, where no other formula comes to the same.
_WINDOWS = Formula("N*P*Q * R*S*C * b")
_PRIMES = ConvProblem(N=7, H=31, W=43, C=11 * 13, K=11 * 17, R=3, S=5, stride=2, groups=11)


def known_names(known: Sequence[str] | None) -> list[str]:
    """Return the algorithms to list, in the order of the table: all, or those that are named."""
    if known is None:
        return list(ALGORITHMS)
    if isinstance(known, str) or not isinstance(known, Sequence) or not known:
        raise ParameterError(f"known={said(known)}; expected names of algorithms")
    for name in known:
        check_choice("known", name, ALGORITHMS)
    return [name for name in ALGORITHMS if name in known]


def algorithm_named(name: str, known: Sequence[str]) -> Algorithm:
    """Return an algorithm of those that are listed, or say which there are."""
    return ALGORITHMS[check_choice("algorithm", name, known)]


def form_of(algorithm: Algorithm) -> Form:
    """Return the form whose memory is shown: the one for the CPU, else the algorithm's first."""
    return algorithm.forms.get("cpu") or next(iter(algorithm.forms.values()))


def workspace_of(algorithm: Algorithm, problem: ConvProblem) -> int:
    """Return the workspace of that form, or 0 where the algorithm refuses and so allocates nothing."""
    return 0 if algorithm.supports(problem) else form_of(algorithm).workspace_bytes(problem)


def bars_in_words(
    problem: ConvProblem, known: Sequence[str], network: networks.Network | None = None
) -> list[str]:
    """Return x, w, y and the workspaces of algorithms; of x and the workspaces also their peaks."""

    def peak(count) -> str:
        top = max(network, key=lambda layer: count(layer.problem)) if network else None
        most = count(top.problem) if top else 0
        return f" (peak {bytes_text(most)} at {top.name})" if most else ""

    def workspace(algorithm: Algorithm) -> str:
        size, reason = workspace_of(algorithm, problem), algorithm.supports(problem)
        words = f"{bytes_text(size)}, {ratio_text(size / problem.x_bytes)} input" if size else "0"
        words = f"refused: {reason}" if reason else words
        return f"{algorithm.name} {words}{peak(lambda p: workspace_of(algorithm, p))}"

    return [
        f"input x {bytes_text(problem.x_bytes)}{peak(lambda p: p.x_bytes)}",
        f"filter w {bytes_text(problem.w_bytes)}",
        f"output y {bytes_text(problem.y_bytes)}",
        *(workspace(ALGORITHMS[name]) for name in known),
    ]


def tables(known: Sequence[str]) -> str:
    """Return the memories, and `ALGORITHMS` with words and each workspace formula as a function."""
    lines = ["export const ALGORITHMS = ["]
    for algorithm in (ALGORITHMS[name] for name in known):
        formula = form_of(algorithm).workspace_bytes
        facts = {
            "name": algorithm.name,
            "summary": algorithm.summary,
            "formula": str(formula),
            "parts": [[name, readable(expression)] for name, expression in formula.parts.items()],
            "unrolls": formula(_PRIMES) == _WINDOWS(_PRIMES),  # is this the matrix of all windows?
        }
        fields = ", ".join(f"{key}: {json.dumps(fact, ensure_ascii=False)}" for key, fact in facts.items())
        workspace, values = (
            f"({{ N, H, W, C, K, R, S, P, Q, G, b }}) => {{ {body} }}"
            for body in (formula.javascript, formula.javascript_values)
        )
        lines.append(f"  {{ {fields}, workspace: {workspace}, values: {values} }},")
    return "\n".join([*lines, "];", f"const MEMORIES = {json.dumps(list(MEMORIES.items()))};\n"])


# -- layers ------------------------------------------------------------------------------------------------


def largest_numbers(problem: ConvProblem) -> dict[str, int]:
    """Return a problem as the ten numbers of an own layer, the largest where it has several."""
    numbers = {name: getattr(problem, name) for name in OWN_RANGES}
    return {name: int(np.max(number)) for name, number in numbers.items()}


def network_data(name: str) -> dict:
    """Return a network's layers as the page takes them."""
    network = networks.load(name)
    layers = [plain_layer(layer.name, layer.problem) for layer in network]
    return {"name": name, "title": network.title, "source": network.source, "layers": layers}


def reasons_of(problem: ConvProblem) -> dict[str, str]:
    """Return why algorithms refuse a layer, by their names."""
    reasons = {name: algorithm.supports(problem) for name, algorithm in ALGORITHMS.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def refusals() -> dict:
    """Return why algorithms refuse layers: {dtype: {network: {layer: {algorithm: reason}}}}."""
    found = {}
    for dtype in DTYPES:
        for name in networks.names():
            for position, layer in enumerate(networks.load(name)):
                if reasons := reasons_of(replace(layer.problem, dtype=dtype)):
                    found.setdefault(dtype, {}).setdefault(name, {})[str(position)] = reasons
    return found
