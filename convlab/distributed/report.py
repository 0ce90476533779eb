"""What a run did, and where its time went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Run:
    """What a run did.

    Attributes
    ----------
    result : ndarray, Path, or the target that was given
        (N, P, Q, K)
    height : int
        Rows of the result that were computed at once.
    memory : int
        Bytes that it was to take at most, beside the weights: stated before it began.
    disk : int
        Bytes that it was to take for what lies between the layers.
    read, computed, written : float
        Seconds that went into reading, computing, and writing.
    repeated : float
        Multiply-adds (and comparisons of pools) that were done, over those of the undivided layers.
    """

    result: Any
    height: int
    memory: int
    disk: int
    read: float
    computed: float
    written: float
    repeated: float


class Clock:
    """Seconds, by what they went into."""

    def __init__(self) -> None:
        self.seconds = {"read": 0.0, "computed": 0.0, "written": 0.0}

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Count what is done inside the ``with``."""
        start = time.perf_counter()
        yield
        self.seconds[what] += time.perf_counter() - start
