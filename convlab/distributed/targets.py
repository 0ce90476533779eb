"""Where the result goes: an array that is there, in memory or in a file; or of all pixels the mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from convlab.distributed.mapped import Mapped
from convlab.distributed.sources import chunked, parts
from convlab.distributed.span import Span
from convlab.errors import ArrayError, ParameterError, ShapeError, WorkspaceError


class Target(Protocol):
    """Something that takes rows.

    Attributes
    ----------
    done : int
        Strips that an earlier run has written.
    missing : int
        Bytes that are still to be written to its disk.
    between : Path or None
        A folder beside it for what lies between the layers, if it is a file.
    """

    done: int = 0
    missing: int = 0
    between: Path | None = None

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Put rows of a picture, (rows, Q, K), in their place."""
        ...

    def tell(self, done: int) -> None:
        """Note how many strips are written, if there is anything to go on with."""
        return

    def finish(self) -> Any:
        """Return what has been written, whole."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        return


class ArrayTarget(Target):
    """An array that is there already: NumPy's, Zarr's, HDF5's. Nothing tells if it is whole.

    Parameters
    ----------
    array : ndarray, or any array that slices can be written to
    shape : tuple of int
        (N, P, Q, K)
    dtype : str

    Raises
    ------
    ConvError
        If it has another shape or dtype, or cannot be written to.
    """

    def __init__(self, array: Any, shape: tuple[int, ...], dtype: str) -> None:
        if tuple(array.shape) != shape:
            raise ShapeError(f"target has shape {tuple(array.shape)}; expected {shape}, (N, P, Q, K)")
        if array.dtype != dtype:
            raise ArrayError(f"target has dtype {array.dtype}; expected {dtype}")
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            raise ArrayError("target is read-only; expected an array that can be written")
        if isinstance(array, np.ndarray) and not _apart(array):
            raise ArrayError(f"target has strides {array.strides}: some of its numbers share their bytes")
        self.array, self.shape, self.dtype = array, shape, np.dtype(dtype)
        chunks = getattr(array, "shards", None) or getattr(array, "chunks", None)
        self.chunk, self.memory = chunked(chunks, shape, self.dtype, 0)

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Put rows of a picture, (rows, Q, K), in their place."""
        every = Span(0, numbers.shape[1])
        for some, columns in parts(self, rows, every):
            part = numbers[some.within(rows), columns.within(every)]
            self.array[picture, slice(*some), slice(*columns)] = part

    def finish(self) -> Any:
        """Return what has been written."""
        return self.array


class MappedTarget(ArrayTarget):
    """An array that is mapped from a file: what is written there is seen in it."""

    def __init__(self, array: np.ndarray, place: Mapped, shape: tuple[int, ...], dtype: str) -> None:
        super().__init__(array, shape, dtype)
        self._place = place
        try:
            self._file = place.path.open("r+b", buffering=0)
        except OSError as error:
            raise ParameterError(f"target, {place.path}, cannot be written: {error.strerror}") from error

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Put rows of a picture, (rows, Q, K), in their place."""
        of_picture, of_row = self._place.strides
        together = numbers[0].nbytes == of_row
        for row in (rows.start,) if together else range(*rows):
            self._file.seek(self._place.offset + picture * of_picture + row * of_row)
            try:
                write_all(self._file, numbers if together else numbers[row - rows.start])
            except OSError as error:  # a file may have holes, which take room when they are filled
                raise WorkspaceError(
                    f"target, {self._place.path}: {error.strerror} at row {row} of picture {picture}"
                ) from error

    def close(self) -> None:
        """Let go of the file; the array stays mapped."""
        self._file.close()


class Means(Target):
    """The mean of every channel over all pixels, (N, 1, 1, K): sums in float64, strip by strip."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        N, P, Q, K = shape
        self.sums, self.pixels, self.dtype = np.zeros((N, 1, 1, K)), P * Q, dtype

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Add rows of a picture, (rows, Q, K)."""
        self.sums[picture] += numbers.sum(axis=(0, 1), dtype=np.float64)

    def finish(self) -> np.ndarray:
        """Return the means."""
        return (self.sums / self.pixels).astype(self.dtype)


def _apart(array: np.ndarray) -> bool:
    """Say if along each axis a step is longer than all that lies along those with shorter steps."""
    reach = array.itemsize
    for step, size in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if size > 1 and step < reach:
            return False
        reach += step * (size - 1)
    return True


def write_all(file: Any, numbers: np.ndarray) -> None:
    """Write an array to a file that is not buffered, which takes a part of it at a time.

    Raises
    ------
    OSError
        If the disk is full.
    """
    left = np.ascontiguousarray(numbers).data.cast("B")
    while left:
        left = left[file.write(left) :]
