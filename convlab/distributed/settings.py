"""How a run is to be done: what the door was told, after it was looked at."""

from __future__ import annotations

from typing import Any, NamedTuple


class Settings(NamedTuple):
    """How a run is to be done.

    Attributes
    ----------
    budget : int
        Bytes of memory.
    height : int or None
        Rows of the result at once, if that was settled.
    algorithm, backend, threads
        As `Model.prepare` takes them; backend is no "auto" any more.
    progress : bool
    beside : int
        Bytes that reading and writing take, beside what a strip does: chunks of Zarr arrays.
    """

    budget: int
    height: int | None
    algorithm: Any
    backend: str
    threads: int
    progress: bool
    beside: int = 0
