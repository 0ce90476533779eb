"""The network as a third roof: FLOPs for each byte on the wire, beside those for each byte of memory.

    FLOP/s  <=  min(peak,  FLOPs for each byte of memory × its bytes/s,
                           FLOPs for each byte on the wire × its bytes/s)

The roofline of Williams, Waterman & Patterson 2009, "Roofline: an insightful visual performance model for
multicore architectures", Communications of the ACM 52(4), with one more rising line. It knows bandwidths
alone: what latencies cost, `time_of` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from convlab.distributed.network import Network
from convlab.distributed.split_time import Device, share_of
from convlab.distributed.splits import Split, check_split
from convlab.distributed.traffic import PASSES, check_passes, messages
from convlab.problem import ConvProblem
from convlab.support.checked import Filled, checked


class NetworkRoof(NamedTuple):
    """Three roofs, and where a convolution that is cut stands below them; all for one device.

    Attributes
    ----------
    peak : float
        FLOP/s of its multiply-adds.
    memory, network : float
        Bytes/s of its memory and of its link: the slopes of two lines.
    intensity, network_intensity : float
        FLOPs for each byte of memory, and on the wire; the latter is infinite where nothing travels.
    """

    peak: float
    memory: float
    network: float
    intensity: float
    network_intensity: float

    @property
    def limits(self) -> dict[str, float]:
        """FLOP/s that each roof allows."""
        return {
            "multiply-adds": self.peak,
            "memory": self.intensity * self.memory,
            "network": self.network_intensity * self.network if self.network_intensity < inf else inf,
        }

    @property
    def attainable(self) -> float:
        """FLOP/s of a device at most: the lowest roof."""
        return min(self.limits.values())

    @property
    def bound(self) -> str:
        """Which roof that is: "multiply-adds", "memory" or "network"."""
        return min(self.limits, key=lambda name: self.limits[name])

    @property
    def ridge(self) -> float:
        """FLOPs for each byte on the wire from which on the network holds nothing up."""
        return min(self.limits["multiply-adds"], self.limits["memory"]) / self.network

    @checked
    def over(self, network_intensity: np.ndarray) -> np.ndarray:
        """Return FLOP/s over FLOPs for each byte on the wire: the line that a figure draws."""
        flat = min(self.limits["multiply-adds"], self.limits["memory"])
        return np.minimum(flat, network_intensity * self.network)


@checked
def network_roof(
    problem: ConvProblem,
    split: Split,
    device: Device,
    network: Network,
    passes: Filled[Sequence[str]] = PASSES,
) -> NetworkRoof:
    """Return the three roofs over a convolution that is cut; the arguments are those of `time_of`.

    Raises
    ------
    UnsupportedError
        If the convolution cannot be cut like that.

    Examples
    --------
    >>> problem = ConvProblem(N=32, H=7, W=7, C=512, K=512, R=3, S=3, padding=1)
    >>> gpu, link = Device(flops=10e12, bandwidth=1e12), Network(latency=1e-5, bandwidth=10e9)
    >>> network_roof(problem, Split(N=32), gpu, link).bound      # a picture each; all weights on the wire
    'network'
    """
    check_passes(passes)
    check_split(problem, split)
    work = share_of(problem, split, passes)
    wire = sum(one.nbytes for one in messages(problem, split, passes))
    return NetworkRoof(
        device.flops,
        device.bandwidth,
        network.bandwidth,
        work.flops / work.nbytes,
        work.flops / wire if wire else inf,
    )
