"""The work and the weights of a layer: FLOPs and parameters."""

from __future__ import annotations

from random import Random

from convlab.cost.layers import cost_of
from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.shapes import layer, outputs, said
from convlab.interview.slips import MULTIPLY_ADD, of_layer
from convlab.interview.units import FLOP, count
from convlab.support.units import count_text


def _ask_flops(random: Random) -> Asked:
    p = layer(random)
    channels = p.C // p.groups
    return Asked(
        f"{said(p, dtype=False)} How many FLOP does the definition take, a multiply-add counted as two "
        "and taps on padding counted as well?",
        p.flops,
        (
            *outputs(p),
            f"outputs N·P·Q·K = {p.N} · {p.P} · {p.Q} · {p.K} = {count_text(p.N * p.P * p.Q * p.K)}",
            f"terms of each, R·S·C/groups = {p.R} · {p.S} · {channels} = {p.gemm[2]:,}",
            f"2 · {count_text(p.N * p.P * p.Q * p.K)} · {p.gemm[2]:,} = {p.flops:,} = {FLOP.text(p.flops)}",
        ),
        (
            Slip("counts a multiply-add as one operation", p.macs, MULTIPLY_ADD),
            *of_layer(p, lambda seen: seen.flops),
            Slip(
                "leaves out the filters",
                p.flops / p.K,
                "Every filter has an output of its own at each pixel.",
            ),
            Slip("leaves out the channels", p.flops / channels, "A filter sums over the channels, too."),
            Slip("counts the taps along one axis", p.flops / p.S, "A filter has rows and columns."),
        ),
    )


FLOPS = Kind(
    name="flops",
    title="FLOPs of a layer",
    unit=FLOP,
    ask=_ask_flops,
    read=(("01", "operations for each byte"),),
)


def _ask_parameters(random: Random) -> Asked:
    p, bias = layer(random, batches=(1,)), random.random() < 0.5
    weights, channels = cost_of(p).weights, p.C // p.groups
    biases = p.K * bias
    total = weights + biases
    what = "with a bias for each filter" if bias else "without a bias"
    steps = [f"K·R·S·C/groups = {p.K} · {p.R} · {p.S} · {channels} = {weights:,} weights"]
    if bias:
        steps.append(f"{weights:,} + {p.K} = {total:,} parameters")
    return Asked(
        f"{said(p, batch=False, dtype=False)} How many parameters does it have, {what}?",
        total,
        tuple(steps),
        (
            *of_layer(p, lambda seen: cost_of(seen).weights + biases, "forgets the groups"),
            Slip("counts bytes of float32", 4 * total, "Asked are parameters, not their bytes."),
            Slip("counts one filter only", total / p.K, "Every filter has weights of its own."),
            Slip(
                "leaves out the channels",
                weights / channels + biases,
                "A filter has weights for each channel it sees.",
            ),
            Slip("counts the taps along one axis", weights / p.S + biases, "A filter has rows and columns."),
            Slip(
                "forgets the bias" if bias else "adds a bias",
                weights if bias else weights + p.K,
                "Look once more whether there is a bias; it is one number for each filter.",
            ),
            Slip(
                "counts weights anew at each pixel",
                weights * p.P * p.Q + biases,
                "A filter is the same wherever it stops: that is what makes it a convolution.",
            ),
        ),
    )


PARAMETERS = Kind(
    name="parameters",
    title="parameters of a layer",
    unit=count("parameter", "parameters", "weights", "weight", "params", "numbers"),
    ask=_ask_parameters,
    read=(("08", "separable_saving"),),
    exact_below=1000,
)
