"""What travels takes time: a latency for each message, and its bytes over a bandwidth.

    seconds = messages × latency + bytes / bandwidth

Hockney 1994, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20(3);
papers write α for the latency and β for the seconds of a byte. The collectives are rings: each device talks
to the next one alone, and every link carries the same bytes in every round. Thakur, Rabenseifner & Gropp
2005, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), section 4. They add the
seconds of the additions that a reduction makes; here those count as compute, which they are small beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from convlab.support.checked import Count, Limit, NotNegative, checked


@checked
@dataclass(frozen=True)
class Network:
    """A link of each device, which sends and receives at the same time.

    Attributes
    ----------
    latency : float
        Seconds until the first byte of a message arrives.
    bandwidth : float
        Bytes/s in one direction; infinite where bytes are free.

    Raises
    ------
    ParameterError
        If the latency is below zero, or the bandwidth is none.

    Examples
    --------
    >>> ethernet = Network(latency=1e-5, bandwidth=1e9)
    >>> ethernet.seconds(1e6)
    0.00101
    >>> ethernet.all_reduce(1e6, devices=4)
    0.00156
    """

    latency: NotNegative
    bandwidth: Limit

    @checked
    def seconds(self, nbytes: NotNegative, messages: Count = 1) -> float:
        """Return the seconds of some messages, one after the other, that have so many bytes together."""
        return messages * self.latency + nbytes / self.bandwidth

    @checked
    def halo_exchange(self, nbytes: NotNegative, neighbours: int = 2, at_once: bool = True) -> float:
        """Return the seconds until a device has the borders of its neighbours.

        Parameters
        ----------
        nbytes : float
            Bytes of the border that one neighbour sends.
        neighbours : int
        at_once : bool
            Do all send at once? Then their latencies pass together; their bytes still share the one link.
            Else the second begins when the first has arrived.
        """
        if not neighbours:
            return 0.0
        return self.seconds(neighbours * nbytes, 1 if at_once else neighbours)

    @checked
    def all_gather(self, nbytes: NotNegative, devices: Count) -> float:
        """Return the seconds until each device of a ring has all parts of an array.

        Parameters
        ----------
        nbytes : float
            Bytes of the whole array, of which each device has one part in `devices` before.
        devices : int
        """
        rounds = devices - 1  # in each, every device hands on the part that it has received last
        return self.seconds(rounds / devices * nbytes, rounds) if rounds else 0.0

    @checked
    def reduce_scatter(self, nbytes: NotNegative, devices: Count) -> float:
        """Return the seconds until each device of a ring has one part of the sum of all their arrays.

        Parameters
        ----------
        nbytes : float
            Bytes of the array that each device adds to the sum.
        devices : int
        """
        return self.all_gather(nbytes, devices)  # the same ring; what arrives is added instead of kept

    @checked
    def all_reduce(self, nbytes: NotNegative, devices: Count) -> float:
        """Return the seconds until each device of a ring has the whole sum: its parts, and then all of them.

        Parameters
        ----------
        nbytes : float
            Bytes of the array that each device adds to the sum.
        devices : int
        """
        return self.reduce_scatter(nbytes, devices) + self.all_gather(nbytes, devices)


FREE = Network(latency=0.0, bandwidth=inf)
