"""Layers to ask about: shapes of real networks, with a batch, and how a question says them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from random import Random

from convlab import networks
from convlab.problem import ConvProblem

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
# Rows and columns of the pictures that a network is given; its layers' sizes are known for `KNOWN` of them.
KNOWN = 224
PICTURES = (
    *((side, side) for side in (160, 192, 224, 224, 224, 256, 288, 320, 384, 448, 512)),
    *((480, 640), (512, 1024), (256, 192), (320, 480)),
)
# (taps, stride, padding, dilation) of layers that networks have: VGG, ResNet, AlexNet, DeepLab, ConvNeXt, ViT
WINDOWS = (
    *((3, 1, 1, 1), (3, 1, 0, 1), (3, 2, 1, 1), (3, 2, 0, 1), (3, 1, 2, 2), (3, 1, 4, 4), (5, 1, 2, 1)),
    *((5, 2, 2, 1), (5, 1, 0, 1), (7, 2, 3, 1), (7, 2, 0, 1), (11, 4, 2, 1), (1, 2, 0, 1), (4, 4, 0, 1)),
    *((2, 2, 0, 1), (16, 16, 0, 1), (4, 2, 1, 1), (7, 4, 3, 1)),
)
SIDES = (27, 28, 32, 55, 56, 64, 75, 96, 112, 128, 149, 150, 192, 224, 227, 256, 299, 300, 320, 384, 416, 512)
CHANNELS = (3, 16, 32, 64, 96, 128, 256)


@cache
def _known() -> tuple[ConvProblem, ...]:
    """Return the different layers of all networks at hand, in their order."""
    every = (layer.problem for name in networks.names() for layer in networks.load(name))
    return tuple(dict.fromkeys(every))


def layer(
    random: Random,
    fits: Callable[[ConvProblem], bool] = lambda problem: True,
    *,
    batches: Sequence[int] = BATCHES,
    dtypes: Sequence[str] = ("float32",),
) -> ConvProblem:
    """Return a layer of a real network, for pictures of some size, a batch, and a type of numbers.

    Parameters
    ----------
    random : Random
    fits : callable
        ``fits(problem)`` says whether the question can be asked of it.
    batches, dtypes : sequence
        What the batch and the type are drawn from.
    """
    while True:
        one, (rows, columns) = random.choice(_known()), random.choice(PICTURES)
        sized = replace(one, H=one.H * rows // KNOWN, W=one.W * columns // KNOWN)
        problem = replace(sized, N=random.choice(batches), dtype=random.choice(dtypes))
        if fits(problem):
            return problem


def window(random: Random) -> ConvProblem:
    """Return a layer for one picture whose window is one of `WINDOWS`."""
    taps, stride, padding, dilation = random.choice(WINDOWS)
    number = random.randrange(len(SIDES))
    near = SIDES[max(number - 4, 0) : number + 5]  # no picture is three times as wide as it is high
    H, W = SIDES[number], random.choice(near)
    C, K = random.choice(CHANNELS), random.choice(CHANNELS[1:])
    return ConvProblem(1, H, W, C, K, taps, taps, stride, padding, dilation)


def said(problem: ConvProblem, *, batch: bool = True, dtype: bool = True) -> str:
    """Return a layer in words.

    Parameters
    ----------
    problem : ConvProblem
    batch, dtype : bool
        Whether the batch and the type of the numbers are said.
    """
    p = problem
    pictures = f"{p.N} pictures" if p.N > 1 and batch else "one picture"
    size = f"{p.H} × {p.W} pixels and {p.C} channel{'s' if p.C > 1 else ''}"
    parts = [f"{p.K} filters of {p.R} × {p.S}", f"stride {p.stride[0]}", padding_said(p)]
    if p.dilation != (1, 1):
        parts.append(f"dilation {p.dilation[0]}")
    if p.groups > 1:
        parts.append(f"{p.groups} groups")
    if dtype:
        parts.append(p.dtype)
    return f"A layer takes {pictures} of {size}; it has {', '.join(parts)}."


def padding_said(problem: ConvProblem) -> str:
    """Return the padding in words."""
    (top, bottom), (left, right) = problem.padding
    if top == bottom == left == right:
        return f"padding {top}" if top else "no padding"
    return f"padding {top} at the top, {bottom} at the bottom, {left} on the left, {right} on the right"


def outputs(problem: ConvProblem) -> tuple[str, ...]:
    """Return how the rows and columns of the output are worked out, a line each; one if they are alike."""
    lines = []
    for axis, (out, size) in enumerate((("P", problem.H), ("Q", problem.W))):
        before, after = problem.padding[axis]
        room, step = size + before + after - problem.extent[axis], problem.stride[axis]
        pads = f" + {before} + {after}" if before or after else ""
        lines.append(
            f"{out} = floor(({size}{pads} - {problem.extent[axis]}) / {step}) + 1 "
            f"= floor({room} / {step}) + 1 = {room // step + 1}"
        )
    if lines[0][1:] == lines[1][1:]:
        return (f"P = Q{lines[0][1:]}",)
    return tuple(lines)
