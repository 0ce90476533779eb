"""Which split is the fastest: the larger of what a device computes and what it sends.

Compute is a roofline: of the device with the most work, the larger of FLOPs over its FLOP/s and bytes over
its bytes/s. What travels takes the seconds of `Network`. Where both go on at once the slower of them counts;
that is the least a run may take, since a border has to be there before what is computed with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from convlab.distributed.network import Network
from convlab.distributed.splits import Largest, Split, check_split, largest, refuses
from convlab.distributed.traffic import PASSES, Message, check_passes, messages
from convlab.errors import UnsupportedError
from convlab.problem import ConvProblem
from convlab.support.checked import Count, Filled, Positive, checked


@checked
@dataclass(frozen=True)
class Device:
    """What a device can do at most.

    Attributes
    ----------
    flops : float
        FLOP/s.
    bandwidth : float
        Bytes/s of its memory.
    """

    flops: Positive
    bandwidth: Positive


class Share(NamedTuple):
    """What the device with the most work does in some passes.

    Attributes
    ----------
    flops : int
        Floating-point operations, taps on padding included.
    nbytes : int
        Bytes of its memory that it reads and writes, each number once: its part of x or dx, w or dw, y or dy,
        with the borders and the channels that it has received.
    """

    flops: int
    nbytes: int


class SplitTime(NamedTuple):
    """How long a convolution takes if it is cut.

    Attributes
    ----------
    seconds, compute, network : float
        All of it, and its two parts.
    split : Split
    messages : tuple of Message
    """

    seconds: float
    compute: float
    network: float
    split: Split
    messages: tuple[Message, ...]


def share_of(problem: ConvProblem, split: Split, passes: Sequence[str]) -> Share:
    """Return what the device with the most work does.

    The three passes are the same multiply-adds, read in three ways. With a stride, or where sizes do not
    divide, a device may have a few more of them in dgrad than it has in the others; that is not counted.
    """
    most = largest(problem, split)
    bytes_of = {
        "forward": _numbers(most, most.reads.need, most.y),
        "dgrad": _numbers(most, most.x, most.dx_reads.need),
        "wgrad": _numbers(most, most.reads.need, most.y),
    }
    once = 2 * most.N * most.y * most.w
    return Share(once * len(set(passes)), problem.itemsize * sum(bytes_of[one] for one in set(passes)))


def _numbers(most: Largest, x: int, y: int) -> int:
    """Return the numbers of x, w and y, given the pixels of a picture."""
    return most.N * (x * most.C + y * most.K) + most.w


@checked
def time_of(
    problem: ConvProblem,
    split: Split,
    device: Device,
    network: Network,
    passes: Filled[Sequence[str]] = PASSES,
    overlap: bool = True,
) -> SplitTime:
    """Return how long a convolution takes on several devices.

    Parameters
    ----------
    problem : ConvProblem
    split : Split
    device : Device
        Each of them.
    network : Network
        The link of each.
    passes : sequence of str
        As `messages` takes them.
    overlap : bool
        Does a device compute while it sends? Then the slower of both counts, else their sum.

    Raises
    ------
    UnsupportedError
        If the convolution cannot be cut like that.

    Examples
    --------
    >>> problem = ConvProblem(N=32, H=56, W=56, C=64, K=64, R=3, S=3, padding=1)
    >>> gpu, link = Device(flops=10e12, bandwidth=1e12), Network(latency=1e-5, bandwidth=10e9)
    >>> found = time_of(problem, Split(N=8), gpu, link)
    >>> found.compute > found.network
    True
    """
    check_passes(passes)
    check_split(problem, split)
    work, travel = share_of(problem, split, passes), messages(problem, split, passes)
    compute = max(work.flops / device.flops, work.nbytes / device.bandwidth)
    wire = sum((network.seconds(one.nbytes, one.rounds) for one in travel), 0.0)
    return SplitTime(max(compute, wire) if overlap else compute + wire, compute, wire, split, travel)


@checked
def best_splits(
    problem: ConvProblem,
    devices: Count,
    device: Device,
    network: Network,
    passes: Filled[Sequence[str]] = PASSES,
    overlap: bool = True,
) -> tuple[SplitTime, ...]:
    """Return every way to cut a convolution for so many devices, the fastest first.

    Parameters
    ----------
    problem : ConvProblem
    devices : int
        All of them are used: the factorings of this number over the five axes are tried.
    device, network, passes, overlap
        As `time_of` takes them. Among equally fast ones the one that keeps the network busy for less comes
        first, and then the one that computes for less.

    Raises
    ------
    UnsupportedError
        If it cannot be cut for so many.
    """
    check_passes(passes)
    splits = (Split(*parts) for parts in factorings(devices, 5))
    found = [
        time_of(problem, split, device, network, passes, overlap)
        for split in splits
        if not refuses(problem, split)
    ]
    if not found:
        raise UnsupportedError(f"devices={devices}; no factoring over N, H, W, K and C leaves work for each")
    return tuple(sorted(found, key=lambda one: (one.seconds, one.network, one.compute)))


def factorings(number: int, factors: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to write a number as a product of so many factors, their order among them.

    >>> list(factorings(4, 2))
    [(1, 4), (2, 2), (4, 1)]
    """
    if factors == 1:
        yield (number,)
        return
    small = [one for one in range(1, int(number**0.5) + 1) if number % one == 0]
    for first in sorted({*small, *(number // one for one in small)}):
        for rest in factorings(number // first, factors - 1):
            yield first, *rest
