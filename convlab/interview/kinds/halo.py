"""How many rows a strip of the picture needs of its neighbours, through several layers."""

from __future__ import annotations

from math import prod
from random import Random

from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.units import count
from convlab.problem import ConvProblem

WINDOWS = ((3, 1), (3, 1), (3, 1), (3, 2), (5, 1), (7, 2), (5, 2), (1, 1))  # taps and stride
STRIPS = (4, 6, 7, 8, 10, 12, 14, 16, 28, 32)
SIDE = 64  # a picture that all these windows fit into


def _layer(taps: int, stride: int) -> ConvProblem:
    return ConvProblem(1, SIDE, SIDE, 1, 1, taps, taps, stride, padding=taps // 2)


def _ask(random: Random) -> Asked:
    chain = random.choices(WINDOWS, k=random.randint(2, 5))
    if all(taps == 1 for taps, _ in chain):
        return _ask(random)
    own = random.choice(STRIPS)
    layers = [_layer(*window) for window in chain]
    rows, steps = own, []
    for number, one in reversed(list(enumerate(layers, 1))):
        (stride, _), (reach, _) = one.stride, one.extent
        before = (rows - 1) * stride + reach
        steps.append(f"layer {number}: ({rows} - 1) · {stride} + {reach} = {before} rows")
        rows = before
    stride = prod(one.stride[0] for one in layers)
    halo = rows - own * stride
    words = "; ".join(f"{one.R} × {one.S} with stride {one.stride[0]}" for one in layers)
    plainly = sum(one.extent[0] - 1 for one in layers)
    last = layers[-1]
    return Asked(
        f"{len(layers)} layers follow each other, from the picture on: {words}; no dilation. The picture is "
        f"cut into strips, one for each device, and each computes {own} rows of the last output. "
        f"Its own strip of the picture has {own * stride} rows. How many rows more does it need of its "
        "neighbours, above and below together, if all layers are computed without talking in between? "
        "The strip is far from the edges of the picture.",
        halo,
        (
            *steps,
            f"needed {rows}, its own {own} · {stride} = {own * stride}: {rows} - {own * stride} = {halo}",
        ),
        (
            Slip("counts one side only", halo // 2, "It has a neighbour above and one below."),
            Slip("counts its own rows as well", rows, "Its own strip it has already."),
            Slip(
                "adds R - 1 for each layer, whatever the strides before it",
                plainly,
                "Behind a layer of stride 2 each row stands for two of the picture.",
            ),
            Slip(
                "adds R for each layer",
                plainly + len(layers),
                "A window of R rows reaches R - 1 rows farther.",
            ),
            Slip(
                "looks at the last layer only",
                last.extent[0] - last.stride[0],
                "Every layer reaches farther.",
            ),
            Slip(
                "counts rows on both sides twice",
                2 * halo,
                "R - 1 is what a window reaches in all, above and below together.",
            ),
        ),
    )


KIND = Kind(
    name="halo_rows",
    title="halo of a strip through layers",
    unit=count("row", "rows", "lines", "line"),
    ask=_ask,
    read=(("11", "filter_tile"), ("11", "fetches of a tiled pixel")),
    tolerance=0,
)
