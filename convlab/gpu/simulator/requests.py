"""What a warp asks of the memory at once, and what the memory makes of it.

*Global* memory comes in sectors of 32 bytes: a request costs as many as its lanes touch. *Shared* memory has
32 banks, word i of 4 bytes lies in bank i mod 32: in one wavefront every bank gives one word, to all lanes
that want it. Lanes that want 8 bytes are served by half warps, 16 bytes by quarter warps. *Constant* memory
gives one word a wavefront, to all lanes. That atomic operations on one word take turns is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SECTOR, WORD, BANKS, WARP = 32, 4, 32, 32


@dataclass(frozen=True)
class Request:
    """One request of one warp.

    Attributes
    ----------
    block : tuple of int
        Which block, along x, y and z.
    warp : int
        Which warp of the block.
    iteration : tuple of int
        Iteration of every loop around the access, the outermost first.
    lanes : array of int
        Lanes that take part, in order.
    addresses : array of int
        First byte each of them asks for, counted from where the array's allocation begins, or from the
        beginning of shared memory. `Site.offset` is the array's own first byte.
    size : int
        Bytes each of them asks for.
    """

    block: tuple[int, int, int]
    warp: int
    iteration: tuple[int, ...]
    lanes: np.ndarray
    addresses: np.ndarray
    size: int

    @property
    def sectors(self) -> int:
        """Sectors of 32 bytes it touches, of global memory."""
        return len(np.unique(self.addresses // SECTOR))

    @property
    def ideal_sectors(self) -> int:
        """Sectors that could hold the bytes it asks for."""
        return -(-len(np.unique(self.addresses)) * self.size // SECTOR)

    @property
    def wavefronts(self) -> int:
        """Passes it takes, of shared memory."""
        return int(wavefronts(np.zeros(len(self.lanes), int), self.lanes, self.addresses, self.size)[0])

    @property
    def ideal_wavefronts(self) -> int:
        """Passes it would take without any conflict."""
        return len(np.unique(self.lanes // lanes_a_pass(self.size)))


def lanes_a_pass(size: int) -> int:
    """Return how many lanes shared memory serves at once, that ask for `size` bytes each."""
    return WARP // max(size // WORD, 1)


def numbered(*columns) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the different rows of some columns, sorted, and for every row which of them it is.

    What `np.unique` does with axis=0, several times as fast: whole numbers from 0 on, packed into one.
    """
    extents = [1 + int(column.max(initial=0)) for column in columns]
    found, inverse = np.unique(np.ravel_multi_index(columns, extents), return_inverse=True)
    return list(np.unravel_index(found, extents)), inverse


def count_distinct(request, things, requests: int) -> np.ndarray:
    """Return how many different things each request has."""
    (request, _), _ = numbered(request, things)
    return np.bincount(request, minlength=requests)


def wavefronts(request, lanes, addresses, size: int) -> np.ndarray:
    """Return the wavefronts of every request of shared memory.

    Parameters
    ----------
    request, lanes, addresses : arrays of int
        Of every access: its request, numbered from 0; its lane; its first byte.
    size : int
        Bytes of every access.
    """
    words = max(size // WORD, 1)
    part = lanes // lanes_a_pass(size)  # of the warp: served one after the other
    word = (addresses // WORD)[:, None] + np.arange(words)
    group = np.repeat(request * words + part, words)
    (group, word), _ = numbered(group, word.reshape(-1))  # a word is given to many at once
    conflicts = np.bincount(group * BANKS + word % BANKS, minlength=(int(request.max()) + 1) * words * BANKS)
    return conflicts.reshape(-1, words, BANKS).max(axis=2).sum(axis=1)
