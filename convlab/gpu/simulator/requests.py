"""What a warp asks of the memory at once, and what a place of the source asked for in sum.

*Global* memory comes in sectors of 32 bytes: a request costs as many as its lanes touch. *Shared* memory is
passed over once or several times, see `bank_conflicts`. *Constant* memory gives one word a pass, to all
lanes. That atomic operations on one word take turns is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convlab.gpu.simulator.bank_conflicts import parts, wavefronts
from convlab.gpu.simulator.errors import Place
from convlab.support.integers import ceil_div

SECTOR = 32  # bytes


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
    kind : str
        "ld", "st" or "atomic".
    """

    block: tuple[int, int, int]
    warp: int
    iteration: tuple[int, ...]
    lanes: np.ndarray
    addresses: np.ndarray
    size: int
    kind: str

    @property
    def sectors(self) -> int:
        """Sectors of 32 bytes it touches, of global memory."""
        return len(np.unique(self.addresses // SECTOR))

    @property
    def ideal_sectors(self) -> int:
        """Sectors that could hold the bytes it asks for."""
        return ceil_div(len(np.unique(self.addresses)) * self.size, SECTOR)

    @property
    def wavefronts(self) -> int:
        """Passes it takes, of shared memory."""
        return int(wavefronts(*self._alone)[0])

    @property
    def ideal_wavefronts(self) -> int:
        """Passes it would take without any conflict."""
        return len(np.unique(parts(*self._alone)))

    @property
    def _alone(self) -> tuple:
        """What `parts` takes, of this request."""
        return np.zeros(len(self.lanes), int), self.lanes, self.addresses, self.size, self.kind


@dataclass(frozen=True)
class Site:
    """One place of the source that touches one array, and all the requests made there.

    Attributes
    ----------
    kind, space, array : str
        "ld", "st" or "atomic"; "global", "shared" or "const"; the array's name.
    shape, itemsize : tuple of int, int
        Of the array.
    offset : int
        Bytes from the beginning of the allocation, or of shared memory, to the array's first element.
    place : Place
        Where in the source.
    size : int
        Bytes each lane asks for at once.
    requests, lanes : int
        How many; and lanes of them all.
    bytes : int
        Different bytes they ask for, request by request.
    sectors, ideal_sectors : int
        Sectors of 32 bytes they touch, and the least that could hold these bytes. Global memory only, else 0.
    wavefronts, ideal_wavefronts : int
        Passes they take, and would take without any conflict. Shared and constant memory, else 0.
    """

    kind: str
    space: str
    array: str
    shape: tuple[int, ...]
    itemsize: int
    offset: int
    place: Place
    size: int
    requests: int
    lanes: int
    bytes: int
    sectors: int
    ideal_sectors: int
    wavefronts: int
    ideal_wavefronts: int

    file = property(lambda self: self.place.file)
    line = property(lambda self: self.place.line)
    source = property(lambda self: self.place.source)
    sectors_per_request = property(lambda self: self.sectors / self.requests)
    wavefronts_per_request = property(lambda self: self.wavefronts / self.requests)
