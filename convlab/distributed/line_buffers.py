"""All layers at once, a few rows at a time: of every array the last rows are kept until they have been used.

A row of the result needs the last rows of the layer before it; those that reach it from above were computed
for the row before, and are still there. So nothing is computed twice, nothing between the layers is ever
whole, and the picture is read once, from the top to the bottom. Hardware for pictures works so: what it keeps
are its line buffers, R − 1 rows for a filter of R at stride 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.distributed.budget import strip, takes
from convlab.distributed.layers import Layers
from convlab.distributed.piece import piece
from convlab.distributed.report import Clock, Run
from convlab.distributed.rounds import rows_at_once, schedule
from convlab.distributed.settings import Settings
from convlab.distributed.sources import CONVERTED, Source
from convlab.distributed.span import Span
from convlab.distributed.stages import stages
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
        self.chunk, self.memory = (1, 1), CONVERTED
        self.rows = np.empty((rows, *shape[2:]), dtype)
        self.held = Span(0, 0)

    def read(self, picture: int, rows: Span, columns: Span) -> np.ndarray:
        """Return some pixels, (rows, columns, C)."""
        assert self.held.start <= rows.start, "a row was dropped too early"
        assert rows.stop <= self.held.stop, "a row is not there yet"
        return self.rows[rows.within(self.held), slice(*columns)]

    def add(self, numbers: np.ndarray) -> None:
        """Add rows (rows, W, C) below those that are there."""
        held, new = self.held.size, len(numbers)
        self.rows[held : held + new] = numbers
        self.held = Span(self.held.start, self.held.stop + new)

    def drop(self, above: int) -> None:
        """Forget the rows above that one, and move the others up."""
        gone = min(max(above - self.held.start, 0), self.held.size)
        if gone:
            line = self.rows[0].size
            numbers = self.rows.reshape(-1)  # along one axis NumPy moves them as they lie, with no copy
            numbers[: (self.held.size - gone) * line] = numbers[gone * line : self.held.size * line]
            self.held = Span(self.held.start + gone, self.held.stop)


def keep(layers: Layers, picture: Source, open_target, how: Settings) -> Run:
    """Compute the layers of a picture with line buffers; the arguments are those of `run`.

    A run that was stopped begins anew: what the buffers held is gone.
    """
    one = layers.of_one_picture()
    steps = stages(one)
    height, algorithms, stated = _settled(one, steps, how)
    most, _ = rows_at_once(one, steps, height)
    shapes = {step.nodes[-1].name: step.shape for step in steps}
    out, clock = open_target((height,), algorithms), Clock()
    rounds = range(0, one.shape[1], height)
    work = [Tiles(step, algorithms, how) for step in steps]
    for number in range(layers.shape[0]):
        buffers = {name: LineBuffer(shapes[name], one.dtype, rows) for name, rows in most.items()}
        sources = {one.nodes[0].name: picture, **buffers}
        counted = shown(rounds, f"{layers.title}, row by row", how.progress)
        for band, _ in zip(schedule(one, steps, height), counted, strict=True):
            for step, tiles in zip(steps, work, strict=True):
                name = step.nodes[-1].name
                if name not in band.made:
                    continue
                rows = band.made[name]
                numbers = tiles.compute(strip(step, rows.start, rows.size), sources, number, clock)
                if name in buffers:
                    buffers[name].add(numbers)
                else:
                    with clock.on("written"):
                        out.write(number, rows, numbers)
                del numbers  # or its memory would be there still when that of the next round is taken
            for name, above in band.unused.items():
                if name in buffers:
                    buffers[name].drop(above)
    return Run(out.finish(), height, stated, 0, **clock.seconds, repeated=1.0)


def _settled(layers: Layers, steps: Sequence[Layers], how: Settings) -> tuple[int, dict[str, Algorithm], int]:
    """Return how many rows of the result a round makes, the algorithms, and the bytes that it takes.

    Rows come in powers of two, and as many as the budget allows.
    """

    def asked(height: int) -> tuple[dict[str, Algorithm], int]:
        most, tiles = rows_at_once(layers, steps, height)
        algorithms: dict[str, Algorithm] = {}
        size = how.beside
        for step in steps:
            name = step.nodes[-1].name
            largest = max(tiles[name], key=lambda tile: tile.output.rows.size)
            algorithms |= chosen(step, largest, how)
            size += max(
                sum(takes(piece(step, tile), algorithms, how.backend, how.threads).values())
                for tile in tiles[name]
            )
            if name in most:
                size += most[name] * (step.nodes[-1].nbytes // step.shape[1])
        return algorithms, size

    height = how.height or 1
    algorithms, size = asked(height)
    if size > how.budget:
        said_height = f"with height={height}" if how.height else "even one row at a time"
        raise WorkspaceError(
            f"memory={bytes_text(how.budget)}; {said_height} what is kept of all layers takes "
            f"{bytes_text(size)}"
        )
    while how.height is None and height < layers.shape[1]:
        try:
            more, larger = asked(2 * height)
        except WorkspaceError:  # more than there is
            break
        if larger > how.budget:
            break
        height, algorithms, size = 2 * height, more, larger
    return height, algorithms, size
