"""A Zarr array as the result: a folder with a file for each chunk, which others read at the same time.

A chunk is a part of one strip. So none is written twice, and none is read to be written. They are not packed,
which would save little of float32 numbers that were computed; an array made beforehand may be another target.

Zarr's specification, version 3: https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from convlab.distributed.sources import CONVERTED
from convlab.distributed.span import Span
from convlab.distributed.targets import ArrayTarget
from convlab.distributed.unfinished import Unfinished, check_room
from convlab.errors import ParameterError
from convlab.support.checks import said
from convlab.support.integers import ceil_div

MEMORY = 4 * CONVERTED  # bytes that it takes to write: chunks as they are, and as Zarr hands them on


def check_zarr(path: Path) -> None:
    """Refuse a name that nothing can be written to: Zarr is not installed, or something else has that name.

    Raises
    ------
    ParameterError
    """
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise ParameterError(f"target={said(str(path), 300)}: to write that, install zarr") from None
    known = any((path / name).is_file() for name in ("zarr.json", ".zarray"))
    if path.exists() and not known:
        raise ParameterError(
            f"target={said(str(path), 300)} is there, and no Zarr array; expected another name"
        )


def chunk_of(shape: tuple[int, ...], dtype: np.dtype, height: int) -> tuple[int, int, int, int]:
    """Return the chunks of a result, (1, rows, columns, K): strips of a height are made of whole ones.

    They have `CONVERTED` bytes at most, if a pixel has no more.
    """
    _, P, Q, K = shape
    height, pixel = min(height, P), K * dtype.itemsize
    most = max(1, CONVERTED // pixel)  # pixels
    rows = next(rows for rows in range(min(height, most), 0, -1) if height % rows == 0)
    return 1, rows, min(Q, max(1, most // rows)), K


class ZarrTarget(ArrayTarget):
    """A Zarr array that gets its name when it is whole; the parameters are those of `rows_to`.

    Raises
    ------
    ConvError
        If it cannot be written, or its disk has no room for it.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: str, mark: str, height: int) -> None:
        self._unfinished, self._height = Unfinished(path, mark), height
        self.part, self.between = self._unfinished.part, self._unfinished.between
        self._chunks = chunk_of(shape, np.dtype(dtype), height)
        try:
            super().__init__(self._opened(shape, np.dtype(dtype)), shape, dtype)
        except BaseException:
            self._unfinished.close()
            raise
        self.done = self._unfinished.done

    def _opened(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        import zarr

        whole = prod(shape) * dtype.itemsize
        if not self._there(shape, dtype):
            self._unfinished.forget()
        self.missing = whole - min(whole, self._unfinished.size)
        check_room(self.part.parent, self.missing, f"target, {self._unfinished.path.name},")
        if self._unfinished.done:
            return zarr.open_array(self.part, mode="r+")
        return zarr.create_array(
            str(self.part),
            shape=shape,
            dtype=dtype,
            chunks=self._chunks,
            compressors=None,
            fill_value=0,
            config={"write_empty_chunks": True},  # a chunk that is not there was not written
        )

    def _there(self, shape: tuple[int, ...], dtype: np.dtype) -> bool:
        """Tell if all chunks of the strips that were noted are there."""
        N, P, Q, K = shape
        _, rows, columns, _ = self._chunks
        size = rows * columns * K * dtype.itemsize  # those at the edges are as large as the others
        for turn in range(self._unfinished.done):
            place, picture = divmod(turn, N)
            strip = Span(place * self._height, min((place + 1) * self._height, P))
            for row in range(strip.start // rows, ceil_div(strip.stop, rows)):
                for column in range(ceil_div(Q, columns)):
                    chunk = self.part / "c" / str(picture) / str(row) / str(column) / "0"
                    if not chunk.is_file() or chunk.stat().st_size != size:
                        return False
        return True

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Put rows of a picture, (rows, Q, K), in their place.

        Raises
        ------
        WorkspaceError
            If the disk is full.
        """
        try:
            super().write(picture, rows, numbers)
        except OSError as error:
            raise self._unfinished.full(error, rows.start, picture) from error

    def tell(self, done: int) -> None:
        """Note how many strips are written."""
        N, P, Q, K = self.shape
        self._unfinished.note(done, min(done * self._height, N * P) * Q * K * self.dtype.itemsize)

    def finish(self) -> Path:
        """Give the folder its name."""
        return self._unfinished.finish()

    def close(self) -> None:
        """Let go of the folder."""
        self._unfinished.close()
