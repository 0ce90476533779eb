"""Where the picture comes from: a file whose rows are read as they are needed, or an array.

An array in a file could be mapped into memory. But what is mapped and has been read counts as this process's
memory until the system wants it back; so pixels of a file are read into an array of ours, and no more is
held.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from convlab.distributed.span import Span
from convlab.errors import ArrayError, ParameterError
from convlab.support.integers import round_up

CONVERTED = 1 << 20  # bytes that are read, or written, at once


class Source(Protocol):
    """Something with rows.

    Attributes
    ----------
    shape : tuple of int
        (N, H, W, C)
    dtype : numpy.dtype
    name : str
        What it is called in messages.
    mark : tuple
        What tells it from another one, or from itself after a change; empty if nothing does.
    chunk : (int, int)
        Rows and columns that are read as one: those of a chunk, or 1 and 1.
    memory : int
        Bytes that it takes to read a part of it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    name: str
    mark: tuple
    chunk: tuple[int, int]
    memory: int

    def read(self, picture: int, rows: Span, columns: Span) -> np.ndarray:
        """Return some pixels of a picture, (rows, columns, C)."""
        ...


class FileRows(Source):
    """The rows of an array that lies in a file; the pixels of each lie one after the other.

    Parameters
    ----------
    path : Path
    shape : tuple of int
        (N, H, W, C)
    dtype : numpy.dtype
    offset : int
        Bytes before the first pixel.
    strides : (int, int), optional
        Bytes from a picture to the next, and from a row to the next; without it no byte is left out.

    Raises
    ------
    ConvError
        If there is no such file, or it is too short.
    """

    chunk, memory = (1, 1), CONVERTED

    def __init__(
        self,
        path: Path,
        shape: tuple[int, ...],
        dtype: np.dtype,
        offset: int,
        strides: tuple[int, int] | None = None,
    ) -> None:
        N, H, W, C = shape
        self._pixel = C * dtype.itemsize
        self._line = W * self._pixel
        self._strides = strides or (H * self._line, self._line)
        self.path, self.shape, self.dtype, self.offset, self.name = path, shape, dtype, offset, str(path)
        try:
            status = path.stat()
        except OSError as error:
            raise ParameterError(f"source, {path}, cannot be read: {error.strerror}") from error
        self._status = _status(status)
        self.mark = (str(path.resolve()), *self._status, shape, dtype.str, offset, self._strides)
        ends = ((many - 1) * step for many, step in zip((N, H), self._strides, strict=True))
        needed = offset + sum(max(0, end) for end in ends) + self._line
        if status.st_size < needed:
            raise ArrayError(f"{path} has {status.st_size:,} bytes; expected {needed:,} for {shape}, {dtype}")

    def read(self, picture: int, rows: Span, columns: Span) -> np.ndarray:
        """Return some pixels of a picture, (rows, columns, C).

        Raises
        ------
        ArrayError
            If the file is not what it was, or cannot be read.
        """
        found = np.empty((rows.size, columns.size, self.shape[3]), self.dtype)
        together = found.nbytes == rows.size * self._line and self._strides[1] == self._line
        start = self.offset + picture * self._strides[0] + columns.start * self._pixel
        try:
            with self.path.open("rb", buffering=0) as file:
                if _status(os.fstat(file.fileno())) != self._status:
                    raise ArrayError(f"source, {self.path}, has changed since it was opened")
                for row in (rows.start,) if together else range(*rows):
                    wanted = found if together else found[row - rows.start]
                    file.seek(start + row * self._strides[1])
                    if file.readinto(wanted.data) != wanted.nbytes:
                        raise ArrayError(f"source, {self.path}, ends in row {row} of picture {picture}")
        except OSError as error:
            raise ArrayError(f"source, {self.path}, cannot be read: {error.strerror}") from error
        return found


def _status(found: os.stat_result) -> tuple[int, ...]:
    """Return what changes with a file; its times alone may be set back by who has written to it."""
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class ArrayRows(Source):
    """The rows of what has a shape, a dtype, and slices: NumPy's arrays, Zarr's, HDF5's."""

    def __init__(self, array: Any, name: str = "", mark: tuple = ()) -> None:
        self.array, self.shape, self.dtype = array, tuple(array.shape), np.dtype(array.dtype)
        self.name, self.mark = name or f"the {type(array).__name__}", mark
        self.chunk, self.memory = chunked(getattr(array, "chunks", None), self.shape, self.dtype, CONVERTED)

    def read(self, picture: int, rows: Span, columns: Span) -> np.ndarray:
        """Return some pixels of a picture, (rows, columns, C)."""
        return np.asarray(self.array[picture, rows.start : rows.stop, columns.start : columns.stop])


def chunked(
    chunks: Any, shape: tuple[int, ...], dtype: np.dtype, otherwise: int
) -> tuple[tuple[int, int], int]:
    """Return the rows and columns of a chunk, and the bytes that it takes to read or write chunks.

    They are there packed, unpacked, and put together. What has no chunks is read pixel by pixel, and takes
    `otherwise`.
    """
    if chunks is None or len(shape) != 4 or not all(isinstance(one, int) for one in chunks):
        return (1, 1), otherwise
    N, H, W, C = chunks
    return (H, W), 3 * max(CONVERTED, N * H * W * round_up(shape[3], C) * dtype.itemsize)


def parts(source: Any, rows: Span, columns: Span) -> Iterator[tuple[Span, Span]]:
    """Cut some pixels into parts that are read or written at once: `CONVERTED` bytes, but whole chunks.

    Parameters
    ----------
    source : Source, or a target
        What has a shape, a dtype, and chunks.
    rows, columns : Span

    Yields
    ------
    (Span, Span)
        Rows and columns.
    """
    (high, wide), (_, _, W, C) = source.chunk, source.shape
    pixel = C * source.dtype.itemsize
    wide *= max(1, CONVERTED // (high * wide * pixel))
    if wide >= W:
        high *= max(1, CONVERTED // (high * W * pixel))
    for some in _along(rows, high):
        for others in _along(columns, wide):
            yield some, others


def _along(whole: Span, step: int) -> Iterator[Span]:
    """Cut a span at the multiples of a step."""
    for start in range(whole.start // step * step, whole.stop, step):
        yield Span(max(start, whole.start), min(start + step, whole.stop))


def read_into(source: Source, picture: int, rows: Span, columns: Span, into: np.ndarray) -> None:
    """Read some pixels of a picture into an array (rows, columns, C); bytes become numbers from 0 to 1."""
    for some, others in parts(source, rows, columns):
        here = into[some.within(rows), others.within(columns)]
        if source.dtype == np.uint8:
            np.divide(source.read(picture, some, others), here.dtype.type(255), out=here)
        else:
            here[...] = source.read(picture, some, others)
