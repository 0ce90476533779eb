"""Layer by layer: every array between two layers lies on the disk, and neighbours find their borders there.

On several machines the border would be sent; the arithmetic is the same. Nothing is computed twice. But each
array is written once, and read once or more, and a disk is slow: the layers of a network move far more bytes
than its picture and its result have.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from convlab.distributed.budget import strip_takes
from convlab.distributed.layers import Layers
from convlab.distributed.report import Clock, Run
from convlab.distributed.rows_in import Source, rows_of
from convlab.distributed.rows_out import FileTarget
from convlab.distributed.settings import Settings
from convlab.distributed.stages import inputs, stages
from convlab.distributed.strips import cut_into_strips, fill
from convlab.distributed.tile_runner import settled


def exchange(layers: Layers, picture: Source, open_target, how: Settings, folder: Any = None) -> Run:
    """Compute the layers of a picture one after the other; the arguments are those of `run`.

    A run that was stopped begins anew: what lies between the layers is gone with it.
    """
    steps, N = stages(layers), layers.shape[0]
    settings = [settled(step.of_one_picture(), how) for step in steps]
    last_read = {name: place for place, step in enumerate(steps) for name in reads(step)}
    out = open_target(*settings[-1])
    clock, sources = Clock(), {layers.nodes[0].name: picture}
    with tempfile.TemporaryDirectory(prefix="convlab-between-", dir=out.folder) as scratch:
        for place, (step, (height, algorithms)) in enumerate(zip(steps, settings, strict=True)):
            one, name, last = step.of_one_picture(), step.nodes[-1].name, place == len(steps) - 1
            here = out if last else FileTarget(Path(scratch, f"{place}.npy"), step.shape, step.dtype, "")
            fill(here, one, cut_into_strips(one, height), N, sources, algorithms, how, clock)
            if not last:
                sources[name] = rows_of(here.finish())
            for done in [one for one in reads(step) if last_read[one] == place and one in sources]:
                gone = sources.pop(done)
                if gone is not picture:
                    Path(gone.name).unlink()
        result = out.finish()
    stated = max(
        strip_takes(step.of_one_picture(), *its, how.backend, how.threads)
        for step, its in zip(steps, settings, strict=True)
    )
    return Run(result, settings[-1][0], stated, between(layers), **clock.seconds, repeated=1.0)


def reads(step: Layers) -> list[str]:
    """Return the names of the arrays that a stage reads."""
    return [node.name for node in inputs(step)]


def between(layers: Layers) -> int:
    """Return the most bytes that lie between the stages at once."""
    steps = stages(layers)
    last_read = {name: place for place, step in enumerate(steps) for name in reads(step)}
    living: dict[str, int] = {}
    most = 0
    for place, step in enumerate(steps[:-1]):
        living[step.nodes[-1].name] = step.nodes[-1].nbytes
        most = max(most, sum(living.values()))
        living = {name: size for name, size in living.items() if last_read[name] > place}
    return most
