"""The exercises of notebook 16: predict a phase, judge a choice, choose for a whole chain of layers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod

from convlab.lessons.exercise import Exercise


def _phases() -> Iterator[tuple]:
    """(flops, moved, peak, speed, begun, each)."""
    yield 100, 10, 50, 10, 0, 1
    yield 100, 90, 50, 10, 0, 1
    yield 100, 10, 50, 10, 6, 0.5
    yield 2e9, 8e6, 1e11, 4e10, 3e4, 2e-8
    yield 0, 3e7, 1e11, 2e10, 1e5, 5e-9


def _seconds(flops, moved, peak, speed, begun, each) -> float:
    return max(flops / peak, moved / speed) + begun * each


def _choices() -> Iterator[tuple]:
    """(seconds, chosen)."""
    small, large = {"indirect": 2.0, "direct": 4.0}, {"indirect": 30.0, "winograd_4x4": 10.0, "direct": 90.0}
    yield [small], ["direct"]
    yield [small], ["indirect"]
    yield [small, large], ["indirect", "indirect"]
    yield [small, large, large], ["direct", "winograd_4x4", "indirect"]
    yield [{"im2row": 0.5, "fft": 0.125}, large, small], ["im2row", "direct", "direct"]


def _regret(seconds, chosen) -> float:
    ratios = [times[name] / min(times.values()) for times, name in zip(seconds, chosen, strict=True)]
    return prod(ratios) ** (1 / len(ratios))


def _chains() -> Iterator[tuple]:
    """(seconds, convert)."""
    yield [{"NHWC": 3, "NCHW": 5}], 2
    yield [{"NHWC": 3, "NCHW": 5}, {"NHWC": 4, "NCHW": 1}], 1
    yield [{"NHWC": 3, "NCHW": 5}, {"NHWC": 4, "NCHW": 1}], 10
    yield [{"NHWC": 4, "NCHW": 3}, {"NHWC": 1, "NCHW": 9}, {"NHWC": 5, "NCHW": 2}], 3
    yield (
        [{"NHWC": 2, "NCHW": 1}, {"NHWC": 2, "NCHW": 1}, {"NHWC": 1, "NCHW": 9}, {"NHWC": 2, "NCHW": 1}],
        2.5,
    )


def _cheapest(seconds, convert) -> float:
    """Every chain of layouts is tried: slow, and hard to get wrong."""
    chains = product(*seconds)
    return min(
        sum(times[layout] for times, layout in zip(seconds, chain, strict=True))
        + convert * sum(a != b for a, b in pairwise(chain))
        for chain in chains
    )


EXERCISES: dict[str, Exercise] = {
    "phase_seconds": Exercise(
        "phase_seconds(flops, moved, peak, speed, begun, each) returns the predicted seconds of a phase: "
        "`flops` operations at `peak` a second while `moved` bytes flow past at `speed`; then `begun` things "
        "that take `each`.",
        _phases,
        _seconds,
        arguments=("flops", "moved", "peak", "speed", "begun", "each"),
    ),
    "regret": Exercise(
        "regret(seconds, chosen) returns how many times as long the chosen algorithms take as the best, as a "
        "geometric mean; `seconds` has a dict of times for each layer, `chosen` a name for each.",
        _choices,
        _regret,
        arguments=("seconds", "chosen"),
    ),
    "cheapest_chain": Exercise(
        "cheapest_chain(seconds, convert) returns the least time of a chain of layers; `seconds` has a dict "
        "{layout: time} for each, and a change of layout between two layers takes `convert`.",
        _chains,
        _cheapest,
        arguments=("seconds", "convert"),
    ),
}
