"""The exercises of notebook 15: intensity, the batch that pays, and what holds a kernel up."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.benchmark.roofline_points import compulsory_bytes
from convlab.lessons.exercise import Exercise
from convlab.problem import ConvProblem


def _layers() -> Iterator[tuple]:
    """(N, H, W, C, K, R, S)."""
    yield from ((1, 1, 1, 1, 1, 1, 1), (1, 4, 4, 2, 3, 1, 1), (1, 8, 6, 4, 2, 3, 3), (5, 8, 6, 4, 2, 3, 3))
    yield from ((2, 7, 7, 512, 512, 3, 3), (32, 56, 56, 64, 64, 3, 1))


def _intensity(N, H, W, C, K, R, S) -> float:
    problem = ConvProblem(N, H, W, C, K, R, S, padding="same")
    return problem.flops / compulsory_bytes(problem)


def _dense() -> Iterator[tuple]:
    """(C, K, ridge): the ridge is below what any batch can reach."""
    yield from (
        (4, 4, 0.5),
        (64, 64, 4.0),
        (512, 512, 3.8),
        (512, 64, 10.0),
        (4096, 4096, 20.0),
        (25088, 4096, 14.0),
    )


def _smallest_batch(C, K, ridge) -> int:
    N = 1
    while _intensity(N, 1, 1, C, K, 1, 1) < ridge:
        N += 1
    return N


def _runs() -> Iterator[tuple]:
    """(done, moved, seconds, flops, rate)."""
    yield from ((50, 10, 1.0, 100, 100), (10, 50, 1.0, 100, 100), (10, 50, 2.0, 100, 50))
    yield from ((231e6, 8.3e6, 2.1e-3, 115e9, 82e9), (1.8e6, 102e6, 5e-3, 115e9, 30e9))


EXERCISES: dict[str, Exercise] = {
    "layer_intensity": Exercise(
        "layer_intensity(N, H, W, C, K, R, S) returns FLOPs for each byte of a float32 layer with stride 1 "
        "and an output as large as its input, if x and w are read once and y is written once.",
        _layers,
        _intensity,
        arguments=("N", "H", "W", "C", "K", "R", "S"),
    ),
    "smallest_batch": Exercise(
        "smallest_batch(C, K, ridge) returns the smallest N for which a float32 layer with a 1x1 filter on a "
        "1x1 picture does at least `ridge` FLOPs for each byte, every number moved once.",
        _dense,
        _smallest_batch,
        arguments=("C", "K", "ridge"),
    ),
    "roof_share": Exercise(
        "roof_share(done, moved, seconds, flops, rate) returns the share of its nearest roof that a run "
        "used: it did `done` FLOPs and moved `moved` bytes, and the machine can do `flops` and `rate` of "
        "them a second.",
        _runs,
        lambda done, moved, seconds, flops, rate: max(done / flops, moved / rate) / seconds,
        arguments=("done", "moved", "seconds", "flops", "rate"),
    ),
}
