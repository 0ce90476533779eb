"""A .npy file as the result; rows are written where they belong, and the rest of the file comes later."""

from __future__ import annotations

import os
from io import FileIO
from math import prod
from pathlib import Path

import numpy as np

from convlab.distributed.span import Span
from convlab.distributed.targets import Target, write_all
from convlab.distributed.unfinished import Unfinished, check_room
from convlab.errors import ParameterError
from convlab.support.checks import check_path, said


def check_name(name: str, value: str | Path, *endings: str) -> Path:
    """Return where a file, or a folder of Zarr's, is to be written.

    Raises
    ------
    ParameterError
        If nothing can be written there, or it ends otherwise.
    """
    path, told = check_path(name, value), f"{name}={said(str(value), 300)}"
    if path.suffix not in endings:
        raise ParameterError(f"{told}; expected a name that ends with {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise ParameterError(f"{told}; there is no folder {said(str(path.parent), 300)}")
    if path.suffix == ".npy" and path.exists() and not path.is_file():
        raise ParameterError(f"{told} is no ordinary file; expected another name")
    return path


class FileTarget(Target):
    """A .npy file, which gets its name when it is whole.

    Parameters
    ----------
    path : Path
    shape : tuple of int
        (N, P, Q, K)
    dtype : str
    mark : str
        Of this run, see `Unfinished`.

    Raises
    ------
    ConvError
        If it cannot be written, or its disk has no room for it.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: str, mark: str) -> None:
        self.shape, self._dtype = shape, np.dtype(dtype)
        self._unfinished = Unfinished(path, mark)
        self.part, self.between = self._unfinished.part, self._unfinished.between
        try:
            self._file = self._opened()
        except BaseException:
            self._unfinished.close()
            raise
        self.done = self._unfinished.done

    def _opened(self) -> FileIO:
        """Return the part, as far as it is written, with room for the rest."""
        there = self.part.stat() if self._unfinished.done else None
        if there is None or there.st_size < self._unfinished.size:
            self._unfinished.forget()
            there = None
        size = prod(self.shape) * self._dtype.itemsize
        self.missing = max(0, size - (there.st_size if there else 0))
        check_room(self.part.parent, self.missing, f"target, {self._unfinished.path.name},")
        if not there:
            with self.part.open("wb") as file:
                header = {"descr": self._dtype.str, "fortran_order": False, "shape": self.shape}
                np.lib.format.write_array_header_1_0(file, header)
        with self.part.open("rb") as file:
            np.lib.format.read_magic(file)
            np.lib.format.read_array_header_1_0(file)
            self._first = file.tell()
        return self.part.open("r+b", buffering=0)

    def write(self, picture: int, rows: Span, numbers: np.ndarray) -> None:
        """Put rows of a picture, (rows, Q, K), in their place.

        Raises
        ------
        WorkspaceError
            If the disk is full.
        """
        _, P, Q, K = self.shape
        try:
            self._file.seek(self._first + (picture * P + rows.start) * Q * K * self._dtype.itemsize)
            write_all(self._file, numbers)
        except OSError as error:
            raise self._unfinished.full(error, rows.start, picture) from error

    def tell(self, done: int) -> None:
        """Note how many strips are written."""
        if self._unfinished.mark:
            self._unfinished.note(done, os.fstat(self._file.fileno()).st_size)

    def finish(self) -> Path:
        """Give the file its name."""
        os.fsync(self._file.fileno())  # a name is written sooner than what it names
        self._file.close()
        return self._unfinished.finish()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._unfinished.close()
