"""A picture larger than memory, strip by strip; each computes its borders anew.

A strip of the result is computed from the rows of the picture that it needs, through all layers at once.
Neighbours need some of the same rows, and each computes them for itself: nothing in between is ever written
to the disk, and no strip waits for another. What that costs is the work that is done twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from convlab.distributed.budget import Algorithms, strip, strip_takes
from convlab.distributed.layers import Layers
from convlab.distributed.piece import piece
from convlab.distributed.report import Clock, Run
from convlab.distributed.settings import Settings
from convlab.distributed.sources import Source
from convlab.distributed.targets import Target
from convlab.distributed.tile_runner import Tiles, settled
from convlab.networks.graph import Node
from convlab.support.progress import shown


def recompute(layers: Layers, picture: Source, open_target, how: Settings) -> Run:
    """Compute the layers of a picture, every strip for itself; the arguments are those of `run`."""
    one = layers.of_one_picture()
    height, algorithms = settled(one, how)
    stated = strip_takes(one, height, algorithms, how.backend, how.threads) + how.beside
    out, clock = open_target((height,), algorithms), Clock()
    fill(out, one, height, layers.shape[0], {one.nodes[0].name: picture}, algorithms, how, clock)
    done = sum(work(piece(one, strip(one, start, height)).nodes) for start in starts(one, height))
    return Run(out.finish(), height, stated, 0, **clock.seconds, repeated=done / work(one.nodes))


def starts(layers: Layers, height: int) -> range:
    """Return where the strips of the result begin, from the top to the bottom."""
    return range(0, layers.shape[1], height)


def fill(
    out: Target,
    layers: Layers,
    height: int,
    pictures: int,
    sources: Mapping[str, Source],
    algorithms: Algorithms,
    how: Settings,
    clock: Clock,
) -> None:
    """Compute strips of some pictures and write them, from where an earlier run has stopped."""
    tiles, tops = Tiles(layers, algorithms, how), starts(layers, height)
    turns = range(out.done, len(tops) * pictures)
    for turn in shown(turns, f"{layers.title}, in strips", how.progress):
        place, number = divmod(turn, pictures)
        tile = strip(layers, tops[place], height)
        numbers = tiles.compute(tile, sources, number, clock)
        with clock.on("written"):
            out.write(number, tile.output.rows, numbers)
            out.tell(turn + 1)
        del numbers  # or its memory would be there still when that of the next strip is taken


def work(nodes: Sequence[Node]) -> int:
    """Return the multiply-adds of some nodes, and the numbers that their pools compare."""
    pooled = sum(node.window**2 * prod(node.shape) for node in nodes if node.op == "max_pool")
    return pooled + sum(node.problem.macs for node in nodes if node.problem is not None)
