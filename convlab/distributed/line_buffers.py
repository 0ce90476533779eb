"""All layers at once, a few rows at a time: of every array the last rows are kept until they have been used.

A row of the result needs the last rows of the layer before it; those that reach it from above were computed
for the row before, and are still there. So nothing is computed twice, nothing between the layers is ever
whole, and the picture is read once, from the top to the bottom. Hardware for pictures works so: what it keeps
are its line buffers, R − 1 rows for a filter of R.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.distributed.budget import takes
from convlab.distributed.layers import Layers
from convlab.distributed.piece import piece
from convlab.distributed.regions import Region, Tile, needs
from convlab.distributed.report import Clock, Run
from convlab.distributed.rows_in import Source
from convlab.distributed.settings import Settings
from convlab.distributed.span import Span
from convlab.distributed.stages import inputs, stages
from convlab.distributed.tile_runner import Tiles, chosen
from convlab.errors import WorkspaceError
from convlab.support.progress import shown
from convlab.support.units import bytes_text


class LineBuffer(Source):
    """The rows of an array that are still needed; rows are added below and dropped above.

    Parameters
    ----------
    shape : tuple of int
        Of the whole array, (1, H, W, C).
    dtype : str
    rows : int
        How many there are at once, at most.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str, rows: int) -> None:
        self.shape, self.dtype, self.name, self.mark = shape, np.dtype(dtype), "a line buffer", ()
        self.memory = np.empty((rows, *shape[2:]), dtype)
        self.held = Span(0, 0)

    def read(self, picture: int, rows: Span) -> np.ndarray:
        assert self.held.start <= rows.start, "a row was dropped too early"
        assert rows.stop <= self.held.stop, "a row is not there yet"
        return self.memory[rows.within(self.held)]

    def add(self, numbers: np.ndarray) -> None:
        """Add rows (rows, W, C) below those that are there."""
        held, new = self.held.size, len(numbers)
        self.memory[held : held + new] = numbers
        self.held = Span(self.held.start, self.held.stop + new)

    def drop(self, above: int) -> None:
        """Forget the rows above that one, and move the others up."""
        gone = min(max(above - self.held.start, 0), self.held.size)
        if gone:
            self.memory[: self.held.size - gone] = self.memory[gone : self.held.size]
            self.held = Span(self.held.start + gone, self.held.stop)


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
    """Yield what happens in each round: so many rows of the result, and of the rest what they need."""
    _, P, Q, _ = layers.shape
    made = {step.nodes[-1].name: 0 for step in steps}
    for start in range(0, P, height):
        rows = Span(start, min(start + height, P))
        needed = needs(layers.nodes, Region(rows, Span(0, Q)))
        new = {name: Span(done, needed[name].rows.stop) for name, done in made.items()}
        new = {name: rows for name, rows in new.items() if rows.start < rows.stop}
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


def rows_at_once(layers: Layers, steps: Sequence[Layers], height: int) -> tuple[dict[str, int], Band]:
    """Return how many rows each line buffer holds at most, and a round that makes as many rows as any.

    After some rounds from the top each is like the one before; at the bottom there is less to do.
    """
    held = {step.nodes[-1].name: Span(0, 0) for step in steps[:-1]}
    most = dict.fromkeys(held, 0)
    largest = Band({}, {})
    pattern: list = []
    for band in schedule(layers, steps, height):
        for name, rows in held.items():
            rows = Span(rows.start, band.made[name].stop if name in band.made else rows.stop)
            most[name] = max(most[name], rows.size)
            held[name] = Span(min(max(rows.start, band.unused[name]), rows.stop), rows.stop)
        if sum(rows.size for rows in band.made.values()) > sum(rows.size for rows in largest.made.values()):
            largest = band
        pattern.append([{name: rows.size for name, rows in rows_of.items()} for rows_of in (band.made, held)])
        if len(pattern) > 2 and pattern[-1] == pattern[-2] == pattern[-3]:
            break
    return most, largest


def keep(layers: Layers, picture: Source, open_target, how: Settings) -> Run:
    """Compute the layers of a picture with line buffers; the arguments are those of `run`."""
    one = layers.of_one_picture()
    steps = stages(one)
    height, algorithms, stated = _settled(one, steps, how)
    most, _ = rows_at_once(one, steps, height)
    shapes = {step.nodes[-1].name: step.shape for step in steps}
    out, clock = open_target(height, algorithms), Clock()
    work = [Tiles(step, algorithms, how) for step in steps]
    for number in range(layers.shape[0]):
        buffers = {name: LineBuffer(shapes[name], one.dtype, rows) for name, rows in most.items()}
        sources = {one.nodes[0].name: picture, **buffers}
        bands = list(schedule(one, steps, height))
        for band in shown(bands, f"{layers.title}, row by row", how.progress):
            for step, tiles in zip(steps, work, strict=True):
                name = step.nodes[-1].name
                if name not in band.made:
                    continue
                rows = band.made[name]
                numbers = tiles.compute(_tile(step, rows), sources, number, clock)
                if name in buffers:
                    buffers[name].add(numbers)
                else:
                    with clock.on("written"):
                        out.write(number, rows, numbers)
            for name, above in band.unused.items():
                if name in buffers:
                    buffers[name].drop(above)
    return Run(out.finish(), height, stated, 0, **clock.seconds, repeated=1.0)


def _tile(step: Layers, rows: Span) -> Tile:
    output = Region(rows, Span(0, step.shape[2]))
    return Tile(output, needs(step.nodes, output))


def _settled(layers: Layers, steps: Sequence[Layers], how: Settings) -> tuple[int, dict[str, Algorithm], int]:
    """Return how many rows of the result a round makes, the algorithms, and the bytes that it takes.

    Rows come in powers of two, and as many as the budget allows.
    """

    def asked(height: int) -> tuple[dict[str, Algorithm], int]:
        most, band = rows_at_once(layers, steps, height)
        algorithms: dict[str, Algorithm] = {}
        size = 0
        for step in steps:
            name = step.nodes[-1].name
            tile = _tile(step, band.made[name])
            algorithms |= chosen(step, tile, how)
            size += sum(takes(piece(step, tile), algorithms, how.backend, how.threads).values())
            if name in most:
                size += most[name] * (step.nodes[-1].nbytes // step.shape[1])
        return algorithms, size

    height = how.height or 1
    algorithms, size = asked(height)
    if size > how.budget:
        raise WorkspaceError(
            f"memory={bytes_text(how.budget)}; with height={height} what is kept of all layers takes "
            f"{bytes_text(size)}"
        )
    while how.height is None and height < layers.shape[1]:
        more, larger = asked(2 * height)
        if larger > how.budget:
            break
        height, algorithms, size = 2 * height, more, larger
    return height, algorithms, size
