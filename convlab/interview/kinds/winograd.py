"""How many multiplications Winograd's tiles save."""

from __future__ import annotations

from random import Random

from convlab.algorithms.winograd.tiles import tile_count, tile_grid, window_cells
from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.shapes import layer, outputs, said
from convlab.interview.units import RATIO
from convlab.support.units import number_text

SIZES = (2, 4, 6)  # outputs of a tile along an axis


def _ask(random: Random) -> Asked:
    p = layer(random, lambda p: (p.R, p.stride, p.groups) == (3, (1, 1), 1))
    m = random.choice(SIZES)
    (down, across), cells = tile_grid(m, p), window_cells(m, p)
    pairs = p.C * p.K
    answer = p.macs / (tile_count(m, p) * cells * pairs)
    ideal = 9 * m * m / cells
    n = m + p.R - 1
    return Asked(
        f"{said(p)} Winograd's tiles of {m} × {m} outputs cover the output; the last ones may hang over its "
        "edge. How many times fewer multiplications of pixels and weights does that take than the "
        "definition? Transforms are not counted.",
        answer,
        (
            *outputs(p),
            f"definition: 9 · {p.P} · {p.Q} = {9 * p.P * p.Q:,} for each picture, channel and filter",
            f"tiles: ceil({p.P} / {m}) · ceil({p.Q} / {m}) = {down} · {across} = {down * across:,}",
            f"each takes ({m} + 2)² = {cells} multiplications: {down * across * cells:,}",
            f"{9 * p.P * p.Q:,} / {down * across * cells:,} = {number_text(answer)}",
        ),
        (
            Slip(
                "forgets that tiles hang over the edge",
                ideal,
                "Tiles come whole: at the edge some of what they compute is thrown away.",
            ),
            Slip("saves along one axis only", 3 * m / n, "Tiles save down and across."),
            Slip("turns the ratio round", 1 / answer, "Asked is the definition over the tiles."),
            Slip("gives the share that is saved", 1 - 1 / answer, "Asked is how many times fewer."),
            Slip(
                "multiplies once for each output of a tile",
                9.0,
                "A tile multiplies each pixel of its window.",
            ),
            Slip(
                "compares one output with a whole tile",
                9 / cells,
                "A tile has several outputs; the definition takes 9 for each of them.",
            ),
        ),
    )


KIND = Kind(
    name="winograd_saving",
    title="multiplications that Winograd saves",
    unit=RATIO,
    ask=_ask,
    read=(("06", "winograd_products"), ("06", "operations saved by 4x4 tiles")),
    tolerance=0.1,
)
