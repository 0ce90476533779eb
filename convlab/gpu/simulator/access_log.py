"""What the threads of a block did, in the order in which they did it: one row an access."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class AccessKind:
    """A kind of access: what is done to which array, and to how many bytes at once.

    Attributes
    ----------
    kind : str
        "ld", "st" or "atomic"; "fetched" and "landed" are the moment at which an asynchronous copy is known
        to have been read and written.
    array : Array
        The whole array, though it be reached through a slice.
    size : int
        Bytes of one thread.
    part : int
        An access of more than 16 bytes a thread takes several requests; this is which.
    """

    kind: str
    array: object
    size: int
    part: int = 0


@dataclass(frozen=True)
class AccessRows:
    """Accesses between two barriers of one block; every field has one element for each.

    Attributes
    ----------
    thread, turn : arrays of int
        The thread of the block; and the number of its clock in `VectorClocks.clocks`.
    path, instruction : arrays of int
        Number of the `Path`, and `f_lasti`: the place in the source.
    access, address : arrays of int
        Number of the `AccessKind`, and the first byte.
    moment : array of int
        How many accesses of the launch came before it.
    """

    thread: np.ndarray
    turn: np.ndarray
    path: np.ndarray
    instruction: np.ndarray
    access: np.ndarray
    address: np.ndarray
    moment: np.ndarray

    def __len__(self):
        return len(self.thread)

    def __getitem__(self, rows) -> AccessRows:
        return AccessRows(*[getattr(self, name)[rows] for name in self.__dataclass_fields__])

    @staticmethod
    def together(parts: list[AccessRows]) -> AccessRows:
        """Return several as one."""
        none = np.zeros(0, np.int64)
        return AccessRows(
            *[
                np.concatenate([none, *[getattr(part, name) for part in parts]])
                for name in AccessRows.__dataclass_fields__
            ]
        )


class AccessLog:
    """Where arrays write their accesses down, as four numbers: path, instruction, access, address."""

    def __init__(self):
        self.numbers: list[int] = []
        self.accesses: list[AccessKind] = []
        self._known: dict[tuple, int] = {}
        self._turns: list[tuple[int, int, int]] = []
        self._taken = 0

    def now(self) -> int:
        """Return how many accesses there have been."""
        return self._taken + len(self.numbers) // 4

    def access(self, kind: str, array, size: int, part: int = 0) -> int:
        """Return the number of an `AccessKind`."""
        key = (kind, id(array), size, part)
        if key not in self._known:
            self._known[key] = len(self.accesses)
            self.accesses.append(AccessKind(kind, array, size, part))
        return self._known[key]

    def begin(self, thread: int, turn: int) -> None:
        """Say whose accesses follow."""
        self._turns.append((len(self.numbers) // 4, thread, turn))

    def take(self) -> AccessRows:
        """Return the rows since the last time, and forget them."""
        path, instruction, access, address = np.array(self.numbers, np.int64).reshape(-1, 4).T
        start, thread, turn = np.array(self._turns, np.int64).reshape(-1, 3).T
        lengths = np.diff(np.append(start, len(path)))
        self.numbers.clear()  # arrays hold on to this list
        self._turns.clear()
        moment = np.arange(self._taken, self._taken + len(path))
        self._taken += len(path)
        thread, turn = np.repeat(thread, lengths), np.repeat(turn, lengths)
        return AccessRows(thread, turn, path, instruction, access, address, moment)


def unique_rows(*columns: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the different rows of some columns, sorted, and for every row which of them it is.

    What `np.unique` does with axis=0, several times as fast: whole numbers from 0 on, packed into one.
    """
    extents = [1 + int(column.max(initial=0)) for column in columns]
    found, inverse = np.unique(np.ravel_multi_index(columns, extents), return_inverse=True)
    return list(np.unravel_index(found, extents)), inverse
