"""What happens in each round of a run with line buffers: rows that are made, and rows not needed any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from convlab.distributed.budget import strip
from convlab.distributed.layers import Layers
from convlab.distributed.piece import piece
from convlab.distributed.regions import Region, Tile, needs
from convlab.distributed.span import Span
from convlab.distributed.stages import inputs
from convlab.networks.graph import Node


class Band(NamedTuple):
    """What happens in one round.

    Attributes
    ----------
    made : dict of str to Span
        Rows that each stage makes, by the name of its last node; those that make none are missing.
    unused : dict of str to int
        Of each array between the stages: rows above this one are not needed any more after the round.
    """

    made: dict[str, Span]
    unused: dict[str, int]


def schedule(layers: Layers, steps: Sequence[Layers], height: int) -> Iterator[Band]:
    """Yield what happens in each round: so many rows of the result, and of the rest what they need.

    A stage makes its rows in order, with those between that nobody reads. So it is asked for each stage what
    the rows read that it makes, and not what the result needs.
    """
    P = layers.shape[1]
    made = {step.nodes[-1].name: 0 for step in steps}
    for start in range(0, P, height):
        wanted = {steps[-1].nodes[-1].name: min(start + height, P)}  # rows up to this one
        new: dict[str, Span] = {}
        for step in reversed(steps):
            name = step.nodes[-1].name
            rows = Span(made[name], wanted.get(name, 0))
            if rows.start >= rows.stop:
                continue
            new[name] = rows
            needed = strip(step, rows.start, rows.size).needs
            for node in inputs(step):
                wanted[node.name] = max(wanted.get(node.name, 0), needed[node.name].rows.stop)
        made |= {name: rows.stop for name, rows in new.items()}
        yield Band(new, _unused(steps, made))


def _unused(steps: Sequence[Layers], made: Mapping[str, int]) -> dict[str, int]:
    """Return for each array the first row that some stage still reads."""
    first: dict[str, int] = {}
    for step in steps:
        _, P, Q, _ = step.shape
        row = made[step.nodes[-1].name]
        needed = needs(step.nodes, Region(Span(row, P), Span(0, Q))) if row < P else {}
        for node in inputs(step):
            end = node.shape[1]
            first[node.name] = min(first.get(node.name, end), needed[node.name].rows.start if needed else end)
    return first


def rows_at_once(
    layers: Layers, steps: Sequence[Layers], height: int
) -> tuple[dict[str, int], dict[str, list[Tile]]]:
    """Return how many rows each line buffer holds at most, and for each stage tiles that differ.

    After some rounds from the top each is like the one before; at the bottom there is less to do.
    """
    held = {step.nodes[-1].name: Span(0, 0) for step in steps[:-1]}
    most = dict.fromkeys(held, 0)
    found: dict[str, dict[tuple[Node, ...], Tile]] = {step.nodes[-1].name: {} for step in steps}
    pattern: list = []
    for band in schedule(layers, steps, height):
        for name, rows in held.items():
            rows = Span(rows.start, band.made[name].stop if name in band.made else rows.stop)
            most[name] = max(most[name], rows.size)
            held[name] = Span(min(max(rows.start, band.unused[name]), rows.stop), rows.stop)
        made = {}
        for step in steps:
            name = step.nodes[-1].name
            if name in band.made:
                tile = strip(step, band.made[name].start, band.made[name].size)
                made[name] = piece(step, tile).nodes
                found[name].setdefault(made[name], tile)
        if not made:
            continue  # what it was to make came along with the round before
        pattern.append((made, [rows.size for rows in held.values()]))
        if len(pattern) > 2 and pattern[-1] == pattern[-2] == pattern[-3]:
            break
    return most, {name: list(tiles.values()) for name, tiles in found.items()}
