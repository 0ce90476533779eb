"""Letters, sizes, and what a layer costs, worked out on two layers; and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from convlab.cost.layers import cost_of
from convlab.interview.sheet.block import Block, Table
from convlab.interview.sheet.layers import depthwise, first, shape_text, usual
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text, count_text, number_text, ratio_text

_LETTERS = (
    ("N, C, K", "pictures, channels of the input, filters (= channels of the output)"),
    ("H W, R S, P Q", "rows and columns of the input, of a filter, of the output"),
    ("G, b", f"groups; bytes of a number: float32 {ConvProblem(1, 1, 1, 1, 1, 1, 1).itemsize}"),
)


def letters() -> Block:
    """Return the letters, and the size of an output."""
    p = first().problem
    taps, pad = p.extent[0], sum(p.padding[0])
    size = f"⌊({p.H} + {pad} − {taps}) / {p.stride[0]}⌋ + 1 = {p.P}"
    return Block(
        "Letters and sizes",
        Table(
            (),
            (
                *_LETTERS,
                ("P", f"⌊(H + padding − reach) / stride⌋ + 1, padding of both sides; {size}"),
                ("reach", "dilation · (R − 1) + 1, the rows that a window spans"),
                ("same size", "stride 1 and padding reach − 1 in all, half of it on each side"),
                ("halo", "P rows of output read (P − 1) · stride + reach rows of input"),
            ),
        ),
    )


def _matrix(p: ConvProblem) -> str:
    return "×".join(map(str, p.gemm))


def _copied(p: ConvProblem) -> float:
    return p.P * p.Q * p.R * p.S / (p.H * p.W)


_COSTS: tuple[tuple[str, str, Callable[[ConvProblem], str]], ...] = (
    ("product", "N·P·Q × K/G × R·S·C/G", _matrix),
    ("FLOPs", "2·N·P·Q·K·R·S·C/G", lambda p: f"{count_text(p.flops)}FLOP"),
    ("weights w", "K·R·S·C/G", lambda p: count_text(p.w_bytes // p.itemsize)),
    ("input x", "N·H·W·C × b", lambda p: bytes_text(p.x_bytes)),
    ("output y", "N·P·Q·K × b", lambda p: bytes_text(p.y_bytes)),
    ("bytes", "x + w + y, once each", lambda p: bytes_text(cost_of(p).bytes)),
    ("intensity", "FLOPs / bytes", lambda p: f"{number_text(cost_of(p).intensity, 3)} FLOP/B"),
    ("im2col / input", "P·Q·R·S / (H·W)", lambda p: ratio_text(_copied(p))),
)


def costs() -> Block:
    """Return what a layer computes and moves, and that of two layers."""
    one, two = usual(), depthwise()
    many = replace(one.problem, N=32)
    return Block(
        "What a layer costs",
        Table(
            ("", "formula", "A", "B"),
            [(name, text, value(one.problem), value(two.problem)) for name, text, value in _COSTS],
            right=(2, 3),
        ),
        note=(
            f"A: {one.name}, {shape_text(one.problem)}. B: {two.name}, {shape_text(two.problem)}. Both "
            f"{one.problem.dtype}, N = {one.problem.N}; with N = {many.N} the intensity of A is "
            f"{number_text(cost_of(many).intensity, 3)}, as weights are read once. A multiply-add, a MAC, is "
            f"{one.problem.flops // one.problem.macs} FLOP. KiB = 1024 bytes, k = 1000."
        ),
    )


def gradients() -> Block:
    """Return the two products of the way back."""
    p = usual().problem
    pixels, filters, taps = p.gemm
    return Block(
        "The way back",
        Table(
            (),
            (
                (
                    "dx",
                    "dy, with stride − 1 zeros between its pixels, convolved with w turned by half a turn, C "
                    "and K exchanged, padding reach − 1 − padding at each side. Product N·H·W × C × R·S·K",
                ),
                (
                    "dw",
                    "the sum over all pixels of x shifted, times dy. Product K × R·S·C × N·P·Q: on A "
                    f"{filters} × {taps} × {pixels}, few sums and long ones: cut them, add the parts",
                ),
            ),
        ),
        note="Each takes the FLOPs of the way there, if the zeros are left out, so a step of training takes "
        f"{1 + len(('dx', 'dw'))} times as many; a first layer needs no dx. db is dy summed over N, P and Q.",
    )
