"""What a kernel does wrong: where, who, and in which words."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from convlab.errors import ConvError

# What can be wrong, and the name it goes by.
BOUNDS = "out of bounds"
NEGATIVE = "negative index"
ROW = "across the end of a row"
FRACTION = "index that is no whole number"
UNFIXED = "size known at run time only"
WRAPPED = "wrapped below zero"
MISALIGNED = "misaligned access"
UNWRITTEN = "unwritten read"
PENDING = "read before the copy arrived"
IN_FLIGHT = "written while a copy is in flight"
RACE = "race"
BARRIER = "divergent barrier"
DIVERGENT_WARP = "divergent warp"
MEMORY = "too much memory"
SPIN = "endless loop"


@dataclass(frozen=True)
class Place:
    """A place in a kernel's source: columns `column` to `end` of a line, counted from 0."""

    file: str
    line: int
    column: int = 0
    end: int = 0

    @property
    def source(self) -> str:
        """The line itself."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        folder, name = os.path.split(self.file)
        in_a_cell = os.path.basename(folder).startswith("ipykernel_")  # its file has a number for a name
        return f"{'line ' if in_a_cell else f'{name}:'}{self.line}   {self.source}"


@dataclass(frozen=True)
class Mistake:
    """One thing a kernel did wrong at one place, however often.

    Attributes
    ----------
    kind : str
        "race", "out of bounds", "divergent barrier" ...
    message : str
        The first time it happened, in one sentence.
    place, other : Place
        Where; and where the other party was, if there are two.
    array : str
        Name of the array, or "".
    index : tuple of int
        Which element of it.
    block, thread : tuple of int
        Who, along x, y and z.
    count : int
        How often.
    """

    kind: str
    message: str
    place: Place
    other: Place | None = None
    array: str = ""
    index: tuple[int, ...] = ()
    block: tuple[int, int, int] = (0, 0, 0)
    thread: tuple[int, int, int] = (0, 0, 0)
    count: int = 1

    @property
    def line(self) -> int:
        """Line of the source file."""
        return self.place.line

    def __str__(self) -> str:
        places = [self.place] if self.other in (None, self.place) else [self.place, self.other]
        times = f" ({self.count} times)" if self.count > 1 else ""
        return "\n".join([f"{self.kind}: {self.message}{times}", *[f"    {place}" for place in places]])


class KernelError(ConvError):
    """A kernel did what no kernel may.

    Attributes
    ----------
    mistakes : tuple of Mistake
        All that was seen.
    trace : Trace or None
        What the launch had asked of the memory so far, if it was stopped on its way.
    """

    def __init__(self, kernel: str, mistakes: Iterable[Mistake], trace: Any = None) -> None:
        self.mistakes, self.trace = tuple(mistakes), trace
        super().__init__("\n".join([f"kernel {kernel} is wrong", *map(str, self.mistakes)]))


class Mistakes:
    """All that was seen in a launch, one record for each kind and place."""

    def __init__(self) -> None:
        self._seen: dict[tuple, Mistake] = {}

    def add(self, mistake: Mistake) -> None:
        """Keep a mistake, or count one that is known."""
        key = (mistake.kind, mistake.array, mistake.place, mistake.other)
        if key in self._seen:
            known = self._seen[key]
            mistake = replace(known, count=known.count + mistake.count)
        self._seen[key] = mistake

    def __iter__(self) -> Iterator[Mistake]:
        return iter(self._seen.values())


def element(array: str, index: Any) -> str:
    """Return how an element is written in a kernel: ``x[3, 4]``."""
    return f"{array}[{', '.join(map(str, index))}]"
