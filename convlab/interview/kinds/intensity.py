"""How much a layer computes for each byte that it moves."""

from __future__ import annotations

from random import Random

from convlab.cost.layers import cost_of
from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.shapes import layer, outputs, said
from convlab.interview.slips import MULTIPLY_ADD, NUMBERS, of_layer
from convlab.interview.units import FLOP, INTENSITY
from convlab.problem import ConvProblem
from convlab.support.units import count_text

ONCE = "Count x, w and y once each, as if a cache held all that is wanted again."


def intensity(problem: ConvProblem) -> float:
    """Return FLOPs for each byte, every array moved once."""
    return cost_of(problem).intensity


def bytes_step(p: ConvProblem) -> str:
    """Return how the bytes of x, w and y are worked out."""
    total = cost_of(p).bytes
    parts = " + ".join(count_text(each // p.itemsize) for each in (p.x_bytes, p.w_bytes, p.y_bytes))
    return f"x + w + y = ({parts}) numbers · {p.itemsize} bytes = {count_text(total)}B"


def flops_step(p: ConvProblem) -> str:
    """Return how the FLOPs are worked out."""
    sizes = f"{p.N} · {p.P} · {p.Q} · {p.K} · {p.gemm[2]:,}"
    return f"2 · N·P·Q·K · R·S·C/groups = 2 · {sizes} = {FLOP.text(p.flops)}"


def _ask(random: Random) -> Asked:
    p = layer(random, dtypes=("float32", "float32", "float16"))
    answer, moved = intensity(p), cost_of(p).bytes
    matrix = 2 * p.gemm[0] * p.gemm[2] * p.groups * p.itemsize  # written, and read again
    return Asked(
        f"{said(p)} {ONCE} A multiply-add is two FLOP. What is its intensity?",
        answer,
        (
            *outputs(p),
            flops_step(p),
            bytes_step(p),
            f"{count_text(p.flops)} / {count_text(moved)} = {INTENSITY.text(answer)}",
        ),
        (
            Slip("counts a multiply-add as one operation", answer / 2, MULTIPLY_ADD),
            Slip("divides by numbers, not bytes", answer * p.itemsize, NUMBERS),
            Slip("turns the ratio round", 1 / answer, "FLOPs stand above, bytes below."),
            Slip("leaves out the input", p.flops / (moved - p.x_bytes), "The input is read as well."),
            Slip("leaves out the weights", p.flops / (moved - p.w_bytes), "The weights are read as well."),
            Slip("leaves out the output", p.flops / (moved - p.y_bytes), "The output is written as well."),
            Slip(
                "counts the matrix of im2col", p.flops / (moved + matrix), "No array but x, w and y is moved."
            ),
            *of_layer(p, intensity, "forgets the batch", "forgets the groups", "forgets the stride"),
        ),
    )


KIND = Kind(
    name="intensity",
    title="intensity of a layer",
    unit=INTENSITY,
    ask=_ask,
    read=(("15", "layer_intensity"), ("01", "operations for each byte")),
)
