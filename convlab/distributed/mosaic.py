"""A picture of any size to try things with: a photograph laid like tiles, and computed where it is looked at.

Every other tile is mirrored, so that neighbours fit: a line across the result comes from how it was computed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from convlab.distributed.npy_out import FileTarget, check_name
from convlab.distributed.span import Span
from convlab.errors import ArrayError
from convlab.support.checked import Count, checked
from convlab.support.progress import shown

AT_ONCE = 1 << 24  # bytes that are written at once


class Mosaic:
    """An array (1, H, W, C) of bytes that takes no more memory than one of its tiles.

    Parameters
    ----------
    tile : ndarray, (h, w, C) or (1, h, w, C)
        Bytes, or numbers from 0 to 1, which become bytes.
    height, width : int
        H and W, in pixels; the last tiles are cut.

    Raises
    ------
    ConvError
        If the tile is none.

    Examples
    --------
    >>> from convlab.figures import photograph
    >>> Mosaic(photograph(512), 30_000, 40_000).shape
    (1, 30000, 40000, 3)
    """

    ndim, dtype = 4, np.dtype(np.uint8)

    @checked
    def __init__(self, tile: np.ndarray, height: Count, width: Count) -> None:
        one = tile[0] if tile.ndim == 4 and len(tile) == 1 else tile
        if one.ndim != 3 or not one.size:
            raise ArrayError(f"tile has shape {tile.shape}; expected (h, w, C)")
        if one.dtype != np.uint8:
            if one.dtype.kind != "f" or not (one.min() >= 0 and one.max() <= 1):
                raise ArrayError("tile holds something else; expected bytes, or numbers from 0 to 1")
            one = np.rint(one * 255).astype(np.uint8)
        self.tile = one
        self.shape = 1, int(height), int(width), one.shape[2]

    def __getitem__(self, where: Any) -> np.ndarray:
        """Return a part, as of any array of NumPy's; each index is a number or a slice."""
        where = where if isinstance(where, tuple) else (where,)
        where = where + (slice(None),) * (4 - len(where))
        picture, rows, columns, channels = where
        lines = self.tile.take(_mirrored(self.shape[1], rows, len(self.tile)), axis=0)
        part = lines.take(_mirrored(self.shape[2], columns, self.tile.shape[1]), axis=1)[None, ..., :]
        # An index that is a number takes its axis away.
        flat = tuple(0 if isinstance(one, (int, np.integer)) else slice(None) for one in (rows, columns))
        return part[(picture, *flat, channels)]

    @checked
    def save(self, path: str | Path, *, progress: bool = True) -> Path:
        """Write it as a .npy file, some rows at a time; the file has its name when it is whole.

        Raises
        ------
        ConvError
            If there is no room on the disk, or the file cannot be written.
        """
        file = check_name("path", path, ".npy")
        _, H, W, C = self.shape
        step = max(1, AT_ONCE // (W * C))
        target = FileTarget(file, self.shape, "uint8", "")
        try:
            for start in shown(range(0, H, step), f"writing {file.name}", progress):
                rows = Span(start, min(start + step, H))
                target.write(0, rows, self[0, rows.start : rows.stop])
            return target.finish()
        finally:
            target.close()

    def __repr__(self) -> str:
        return f"<a mosaic {self.shape}, uint8>"


def _mirrored(size: int, wanted: Any, tile: int) -> np.ndarray:
    """Return where some rows of a mosaic lie in its tile."""
    place = np.atleast_1d(np.arange(size)[wanted]) % (2 * tile)
    return np.where(place < tile, place, 2 * tile - 1 - place)
