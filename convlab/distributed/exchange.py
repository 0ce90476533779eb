"""Layer by layer: every array between two layers lies on the disk, and neighbours find their borders there.

On several machines the border would be sent; the arithmetic is the same. Nothing is computed twice. But each
array is written once, and read once or more, and a disk is slow: between the layers of a network move far
more bytes than its picture and its result have.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from convlab.distributed.budget import strip_takes
from convlab.distributed.layers import Layers
from convlab.distributed.npy_out import FileTarget
from convlab.distributed.report import Clock, Run
from convlab.distributed.rows_in import rows_of
from convlab.distributed.settings import Settings
from convlab.distributed.sources import Source
from convlab.distributed.stages import inputs, stages
from convlab.distributed.strips import fill
from convlab.distributed.targets import Target
from convlab.distributed.tile_runner import settled
from convlab.distributed.unfinished import check_room


def exchange(layers: Layers, picture: Source, open_target, how: Settings) -> Run:
    """Compute the layers of a picture one after the other; the arguments are those of `run`.

    What lies between the layers is gone when a run is stopped. The next one makes it anew, and of the last
    layer what is missing.
    """
    steps, N = stages(layers), layers.shape[0]
    settings = [settled(step.of_one_picture(), how) for step in steps]
    disk, last = between(steps), last_read(steps)
    stated = how.beside + max(
        strip_takes(step.of_one_picture(), *its, how.backend, how.threads)
        for step, its in zip(steps, settings, strict=True)
    )
    every = {name: one for _, algorithms in settings for name, one in algorithms.items()}
    out = open_target(tuple(height for height, _ in settings), every)
    clock, sources = Clock(), {layers.nodes[0].name: picture}
    with _folder(out, disk) as folder:
        for place, (step, (height, algorithms)) in enumerate(zip(steps, settings, strict=True)):
            one, name = step.of_one_picture(), step.nodes[-1].name
            rest = height, N, sources, algorithms, how, clock
            if place == len(steps) - 1:
                fill(out, one, *rest)
                break
            with closing(FileTarget(folder / f"{place}.npy", step.shape, step.dtype, "")) as here:
                fill(here, one, *rest)
                sources[name] = rows_of(here.finish())
            for read in reads(step):
                if last[read] == place and sources[read] is not picture:
                    Path(sources.pop(read).name).unlink()
    return Run(out.finish(), settings[-1][0], stated, disk, **clock.seconds, repeated=1.0)


@contextmanager
def _folder(out: Target, needed: int) -> Iterator[Path]:
    """Give a folder for what lies between the layers: beside the result, or where temporary files are."""
    if out.between is None:
        with tempfile.TemporaryDirectory(prefix="convlab-between-") as folder:
            check_room(Path(folder), needed, "what lies between the layers")
            yield Path(folder)
    else:
        check_room(out.between.parent, needed + out.missing, "the result, with what lies between the layers,")
        out.between.mkdir()  # deleted when the target is closed
        yield out.between


def reads(step: Layers) -> list[str]:
    """Return the names of the arrays that a stage reads."""
    return [node.name for node in inputs(step)]


def last_read(steps: Sequence[Layers]) -> dict[str, int]:
    """Return for each array the last stage that reads it."""
    return {name: place for place, step in enumerate(steps) for name in reads(step)}


def between(steps: Sequence[Layers]) -> int:
    """Return the most bytes that lie between the stages at once."""
    last = last_read(steps)
    living: dict[str, int] = {}
    most = 0
    for place, step in enumerate(steps[:-1]):
        living[step.nodes[-1].name] = step.nodes[-1].nbytes
        most = max(most, sum(living.values()))
        living = {name: size for name, size in living.items() if last[name] > place}
    return most
