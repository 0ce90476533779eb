"""What a run of a whole network took: time and memory, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.networks.graph import Step
from convlab.support.units import bytes_text, time_text


@dataclass(frozen=True)
class Spent:
    """Time and memory of one step.

    Attributes
    ----------
    step : Step
    algorithm : str or None
        Of a convolution.
    seconds : float
        Bias and ReLU included.
    live : int
        Bytes of the arrays between layers that are alive while it runs: its input, its output, and what a
        later step still waits for.
    workspace : int
        Bytes the algorithm needs beside those, and beside its weights.
    """

    step: Step
    algorithm: str | None
    seconds: float
    live: int
    workspace: int

    @property
    def bytes(self) -> int:
        """Bytes that this step needs to be there, beside the weights."""
        return self.live + self.workspace


@dataclass(frozen=True)
class Profile:
    """Time and memory of every step of a network.

    Attributes
    ----------
    title : str
    threads : int
    spent : tuple of Spent
        In the order they run.
    memory : dict of str to int
        Bytes that were held while it ran, see `Prepared.memory`.
    """

    title: str
    threads: int
    spent: tuple[Spent, ...]
    memory: dict[str, int]

    @property
    def seconds(self) -> float:
        """All steps together."""
        return sum(one.seconds for one in self.spent)

    @property
    def layers(self) -> tuple[Spent, ...]:
        """The convolutions."""
        return tuple(one for one in self.spent if one.algorithm)

    @property
    def between(self) -> float:
        """Seconds of all that is no convolution: pooling, sums, copies."""
        return self.seconds - sum(one.seconds for one in self.layers)

    @property
    def peak(self) -> Spent:
        """The step that needs most at once: arrays alive and workspace."""
        return max(self.spent, key=lambda one: one.bytes)

    @property
    def peak_bytes(self) -> int:
        """Bytes held while it ran: the arrays between layers, the workspace of all, all packed weights."""
        return sum(self.memory.values())

    def __str__(self) -> str:
        held = ", ".join(f"{name} {bytes_text(size)}" for name, size in self.memory.items())
        return f"{self.title}: {time_text(self.seconds)}, {bytes_text(self.peak_bytes)} ({held})"
