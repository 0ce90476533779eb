"""A space of memory, and its shadow: for every byte whether an array has it, and whether it was written.

Global memory is one row of bytes; of shared memory every block has a row, of local memory every thread. All
accesses of a wave's lanes are made at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.errors import ConvError
from convlab.gpu.simulator.errors import BOUNDS, MISALIGNED, UNWRITTEN
from tools.ptx.races import Races

NOTHING, UNTOUCHED, WRITTEN = 0, 1, 3  # of a byte: no array's, one's that was not written, one's that was
EDGE = 256  # bytes between arrays that belong to none: what runs over an end is seen


class Fault(ConvError):
    """A kernel did what no kernel may: `kind` is one of the lane simulator's names for it."""

    def __init__(self, kind: str, message: str):
        self.kind = kind
        super().__init__(f"{kind}: {message}")


class Space:
    """Rows of bytes, with a shadow.

    Parameters
    ----------
    name : str
        "global", "shared", ...
    rows, stride : int
        How many rows, and the bytes of each.
    base : int
        The address of a row's first byte.
    """

    def __init__(self, name: str, rows: int, stride: int, base: int = 0, memory: np.ndarray | None = None):
        self.name, self.base, self.stride = name, base, stride
        self.bytes = np.zeros(rows * stride, np.uint8) if memory is None else memory  # (rows * stride,)
        self.shadow = np.zeros(rows * stride, np.uint8)
        self.races: Races | None = None  # where it is watched

    def mark(self, first: int, size: int, state: int) -> None:
        """Set the shadow of bytes that begin `first` bytes into every row."""
        self.shadow.reshape(-1, self.stride)[:, first : first + size] = state

    def places(self, addresses, rows, width: int, who: Callable[[int], str], written: bool) -> np.ndarray:
        """Return where accesses of `width` bytes lie in `bytes`, counted in such widths: one for each lane.

        Raises
        ------
        Fault
            If one is misaligned, or not within an array; with `written` also if a byte of it was not written.
        """
        offsets = addresses.astype(np.int64) - self.base  # from the beginning of a row
        outside = (offsets < 0) | (offsets > self.stride - width)
        if outside.any():
            self._fault(BOUNDS, addresses, outside, width, who)
        wrong = offsets % width != 0
        if wrong.any():
            self._fault(MISALIGNED, addresses, wrong, width, who)
        places = (offsets + rows * self.stride) // width
        state = self._shadow_of(places, width)
        expected = np.uint64(
            int.from_bytes(bytes([WRITTEN if written else UNTOUCHED]) * min(width, 8), "little")
        )
        if not written:
            state = state & expected
        bad = state != expected
        if bad.any():
            bad = bad.reshape(len(places), -1).any(1)
            rows_of = self._shadow_bytes(places[bad][:1], width)
            kind = BOUNDS if (rows_of == NOTHING).any() else UNWRITTEN
            self._fault(kind, addresses, bad, width, who)
        return places

    def _shadow_of(self, places: np.ndarray, width: int) -> np.ndarray:
        if width > 8:
            return self.shadow.view(np.uint64).reshape(-1, width // 8)[places]
        return self.shadow.view(f"u{width}")[places]

    def _shadow_bytes(self, places: np.ndarray, width: int) -> np.ndarray:
        return self.shadow.reshape(-1, width)[places]

    def _fault(self, kind: str, addresses, bad, width: int, who) -> None:
        lane = int(np.flatnonzero(bad)[0])
        place = int(addresses[lane]) - self.base
        raise Fault(kind, f"{width} bytes at byte {place} of {self.name} memory, by {who(lane)}")

    def load(self, places: np.ndarray, dtype, count: int) -> np.ndarray:
        """Return what lies at places of count * itemsize bytes: (lanes, count)."""
        return self.bytes.view(dtype).reshape(-1, count)[places]

    def store(self, places: np.ndarray, values: np.ndarray) -> None:
        """Write values (lanes, count), and note that they were written."""
        count = values.shape[1]
        self.bytes.view(values.dtype).reshape(-1, count)[places] = values
        self.set_shadow(places, values.itemsize * count, WRITTEN)

    def set_shadow(self, places: np.ndarray, width: int, state: int) -> None:
        """Set the shadow of the bytes at some places of that width."""
        self.shadow.reshape(-1, width)[places] = state
