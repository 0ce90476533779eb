"""Where the result goes: an array, or a file that has its name when it is whole, and not before.

Until then it lies beside that, as `NAME.part`; `NAME.part.json` says of which run it is, and how much of it
is written. A run that was stopped goes on from there if all is as it was: picture, layers, weights, strips.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from convlab.distributed.span import Span
from convlab.errors import ArrayError, ParameterError, ShapeError, WorkspaceError
from convlab.support.checks import said
from convlab.support.files import write_atomically
from convlab.support.units import bytes_text


class Target(Protocol):
    """Something that takes rows.

    Attributes
    ----------
    done : int
        Strips that an earlier run has written.
    folder : Path or None
        Where it lies, if it is a file.
    """

    done: int
    folder: Path | None

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Put rows of a picture, (rows, Q, K), in their place."""
        ...

    def tell(self, done: int) -> None:
        """Note how many strips are written."""
        ...

    def finish(self) -> Any:
        """Return what has been written, whole."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


class ArrayTarget(Target):
    """An array that is there already: NumPy's, Zarr's, HDF5's. Nothing tells if it is whole."""

    done, folder = 0, None

    def __init__(self, array: Any, shape: tuple[int, ...], dtype: str) -> None:
        if tuple(array.shape) != shape:
            raise ShapeError(f"target has shape {tuple(array.shape)}; expected {shape}, (N, P, Q, K)")
        if array.dtype != dtype:
            raise ArrayError(f"target has dtype {array.dtype}; expected {dtype}")
        self.array = array

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Put rows of a picture, (rows, Q, K), in their place."""
        self.array[picture, rows.start : rows.stop] = numbers

    def tell(self, done: int) -> None:
        """Note how many strips are written."""

    def finish(self) -> Any:
        """Return what has been written."""
        return self.array

    def close(self) -> None:
        """Let go of what is open."""


class Means(Target):
    """The mean of every channel over all pixels, (N, 1, 1, K): sums in float64, strip by strip."""

    done, folder = 0, None

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        N, P, Q, K = shape
        self.sums, self.pixels, self.dtype = np.zeros((N, 1, 1, K)), P * Q, dtype

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Add rows of a picture, (rows, Q, K)."""
        self.sums[picture] += numbers.sum(axis=(0, 1), dtype=np.float64)

    def tell(self, done: int) -> None:
        """Note how many strips have been added."""

    def finish(self) -> np.ndarray:
        """Return the means."""
        return (self.sums / self.pixels).astype(self.dtype)

    def close(self) -> None:
        """Let go of nothing."""


class FileTarget(Target):
    """A .npy file.

    Attributes
    ----------
    done : int
        Strips that an earlier run has written.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: str, mark: str) -> None:
        if path.suffix != ".npy":
            raise ParameterError(f"target={said(str(path))}; expected a name that ends with .npy")
        self.path, self.shape, self.dtype, self.mark = path, shape, np.dtype(dtype), mark
        self.folder: Path | None = path.parent
        self.part = path.with_name(path.name + ".part")
        self.notes = path.with_name(path.name + ".part.json")
        self.done = self._done_before()
        try:
            if not self.done:
                self._begin()
            self.file = self.part.open("r+b")
        except OSError as error:
            raise ParameterError(f"{self.part} cannot be written: {error.strerror}") from error
        np.lib.format.read_magic(self.file)
        np.lib.format.read_array_header_1_0(self.file)
        self.first = self.file.tell()

    def _done_before(self) -> int:
        """Return how many strips of this very run are there; none if it was another one."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            notes = json.loads(self.notes.read_text(encoding="utf-8"))
            if self.mark and notes["run"] == self.mark and self.part.is_file():
                return int(notes["strips"])
        return 0

    def _begin(self) -> None:
        with suppress(OSError):
            self.part.unlink()
        needed = int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize
        free = shutil.disk_usage(self.part.parent).free
        if needed > free:
            raise WorkspaceError(
                f"{self.path.name} takes {bytes_text(needed)}, and {bytes_text(free)} are free on its disk"
            )
        with self.part.open("wb") as file:
            header = {"descr": self.dtype.str, "fortran_order": False, "shape": self.shape}
            np.lib.format.write_array_header_1_0(file, header)

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Put rows of a picture, (rows, Q, K), in their place."""
        _, P, Q, K = self.shape
        try:
            self.file.seek(self.first + (picture * P + rows.start) * Q * K * self.dtype.itemsize)
            self.file.write(np.ascontiguousarray(numbers).data)
            self.file.flush()
        except OSError as error:
            raise WorkspaceError(
                f"{self.part}: {error.strerror} at row {rows.start} of picture {picture}; what is written "
                "stays, and the same call goes on from there when there is room"
            ) from error

    def tell(self, done: int) -> None:
        """Note how many strips are written."""
        with suppress(OSError):  # then a run that is stopped begins anew
            write_atomically(self.notes, json.dumps({"run": self.mark, "strips": done}))

    def finish(self) -> Path:
        """Give the file its name."""
        self.close()
        os.replace(self.part, self.path)
        with suppress(OSError):
            self.notes.unlink()
        return self.path

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()


def rows_to(target: Any, shape: tuple[int, ...], dtype: str, mark: str) -> Target:
    """Return something that takes rows: a new array if the target is None.

    Parameters
    ----------
    target : None, str, Path, or any array that slices can be written to
        The path is of a .npy file; one that is there is replaced in the end.
    shape : tuple of int
        (N, P, Q, K)
    dtype : str
    mark : str
        What tells this run from another one; empty if nothing does, and none can go on with what it wrote.
    """
    if isinstance(target, str | Path):
        return FileTarget(Path(target), shape, dtype, mark)
    if target is None:
        target = np.empty(shape, dtype)
    if not all(hasattr(target, one) for one in ("shape", "dtype", "__setitem__")):
        raise ArrayError(
            f"target is a {type(target).__name__}; expected an array, or the path of a .npy file"
        )
    return ArrayTarget(target, shape, dtype)


def means_to(target: Any, shape: tuple[int, ...], dtype: str) -> Means:
    """Return something that takes rows, and makes of them their mean."""
    if target is not None:
        raise ParameterError("the layers end with a mean, which is small: expected target=None")
    return Means(shape, dtype)
