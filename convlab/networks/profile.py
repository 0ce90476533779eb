"""What a run of a whole network took: time and memory, node by node."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.networks.graph import Node
from convlab.support.units import bytes_text, time_text


@dataclass(frozen=True)
class NodeProfile:
    """Time and memory of one node.

    Attributes
    ----------
    node : Node
    algorithm : str or None
        Of a convolution.
    seconds : float
        Bias, ReLU, and a sum that became part of it included.
    live : int
        Bytes of the arrays between layers that are alive while it runs: its input, its output, and what a
        later node still waits for.
    workspace : int
        Bytes the algorithm needs beside those, and beside its weights.
    """

    node: Node
    algorithm: str | None
    seconds: float
    live: int
    workspace: int

    @property
    def name(self) -> str:
        """Its own; of a convolution that a sum became part of, that of the convolution."""
        return self.node.layer or self.node.name

    @property
    def bytes(self) -> int:
        """Bytes that this node needs to be there, beside the weights."""
        return self.live + self.workspace


@dataclass(frozen=True)
class Profile:
    """Time and memory of every node of a network.

    Attributes
    ----------
    title : str
    threads : int
    nodes : tuple of NodeProfile
        In the order they run.
    memory : dict of str to int
        Bytes that were held while it ran, see `Executor.memory`.
    """

    title: str
    threads: int
    nodes: tuple[NodeProfile, ...]
    memory: dict[str, int]

    @property
    def seconds(self) -> float:
        """All nodes together."""
        return sum(one.seconds for one in self.nodes)

    @property
    def layers(self) -> tuple[NodeProfile, ...]:
        """The convolutions."""
        return tuple(one for one in self.nodes if one.algorithm)

    @property
    def peak_bytes(self) -> int:
        """Bytes held while it ran: the arrays between layers, the workspace of all, all packed weights."""
        return sum(self.memory.values())

    def __str__(self) -> str:
        held = ", ".join(f"{name} {bytes_text(size)}" for name, size in self.memory.items())
        return f"{self.title}: {time_text(self.seconds)}, {bytes_text(self.peak_bytes)} ({held})"
