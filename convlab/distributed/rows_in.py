"""Where the picture comes from: a file whose rows are read as they are needed, or an array.

An array in a file could be mapped into memory. But what is mapped and has been read counts as this process's
memory until the system wants it back; so rows of a file are read into an array of ours, and no more is held.
"""

from __future__ import annotations

from mmap import mmap
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from convlab.distributed.span import Span
from convlab.errors import ArrayError, ParameterError, ShapeError
from convlab.support.checks import said

CONVERTED = 1 << 20  # bytes that are converted at once


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
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    name: str
    mark: tuple

    def read(self, picture: int, rows: Span) -> np.ndarray:
        """Return rows of a picture, (rows, W, C)."""
        ...


class FileRows:
    """The rows of an array that lies in a file, C-contiguous."""

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype, offset: int) -> None:
        self.path, self.shape, self.dtype, self.offset = path, shape, dtype, offset
        self.name = str(path)
        status = path.stat()
        self.mark = (str(path.resolve()), status.st_size, status.st_mtime_ns, shape, dtype.str)
        needed = offset + int(np.prod(shape, dtype=object)) * dtype.itemsize
        if status.st_size < needed:
            raise ArrayError(f"{path} has {status.st_size:,} bytes; expected {needed:,} for {shape}, {dtype}")

    def read(self, picture: int, rows: Span) -> np.ndarray:
        _, H, W, C = self.shape
        line = W * C
        with self.path.open("rb") as file:
            file.seek(self.offset + (picture * H + rows.start) * line * self.dtype.itemsize)
            found = np.fromfile(file, self.dtype, rows.size * line)
        if found.size < rows.size * line:
            raise ArrayError(f"{self.path} ends before row {rows.stop} of picture {picture}")
        return found.reshape(rows.size, W, C)


class ArrayRows:
    """The rows of what has a shape, a dtype, and slices: NumPy's arrays, Zarr's, HDF5's."""

    mark = ()

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, tuple(array.shape), np.dtype(array.dtype)
        self.name = f"the {type(array).__name__}"

    def read(self, picture: int, rows: Span) -> np.ndarray:
        return np.asarray(self.array[picture, rows.start : rows.stop])


def rows_of(source: Any) -> Source:
    """Return something with rows.

    Parameters
    ----------
    source : str, Path, ndarray, or any array with slices
        The path of a .npy file, or of a Zarr array where Zarr is installed.

    Raises
    ------
    ConvError
        If it cannot be read so.
    """
    if isinstance(source, np.memmap) and isinstance(source.base, mmap) and source.flags.c_contiguous:
        return FileRows(Path(source.filename), source.shape, source.dtype, source.offset)  # a whole one
    if isinstance(source, str | Path):
        return _opened(Path(source))
    slices = all(hasattr(source, one) for one in ("shape", "dtype", "__getitem__"))
    if not slices or isinstance(source, np.ma.MaskedArray):
        raise ArrayError(f"source is a {type(source).__name__}; expected an array, or the path of a file")
    return ArrayRows(source)


def _opened(path: Path) -> Source:
    if path.is_dir():  # Zarr keeps an array as a folder
        try:
            import zarr
        except ImportError:
            raise ParameterError(
                f"source={said(str(path))} is a folder; if it is a Zarr array, install zarr"
            ) from None
        return ArrayRows(zarr.open_array(path, mode="r"))
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            reader = {(1, 0): np.lib.format.read_array_header_1_0}.get(
                version, np.lib.format.read_array_header_2_0
            )
            shape, by_columns, dtype = reader(file)
            offset = file.tell()
    except OSError as error:
        raise ParameterError(f"source={said(str(path))} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ParameterError(f"source={said(str(path))} is no .npy file: {error}") from error
    if by_columns:
        raise ArrayError(
            f"source={said(str(path))} lies column by column; expected rows, as C-contiguous ones"
        )
    return FileRows(path, shape, dtype, offset)


def check_source(source: Source, shape: tuple[int, ...], dtype: str) -> None:
    """Refuse what has another shape, or numbers of another kind; bytes stand for numbers from 0 to 1.

    Raises
    ------
    ConvError
    """
    if source.shape != shape:
        raise ShapeError(f"source, {source.name}, has shape {source.shape}; expected {shape}, (N, H, W, C)")
    if source.dtype not in (dtype, "uint8"):
        raise ArrayError(
            f"source, {source.name}, has dtype {source.dtype}; expected {dtype}, or uint8 (bytes / 255)"
        )


def read_into(source: Source, picture: int, rows: Span, columns: Span, into: np.ndarray) -> None:
    """Read rows of a picture into an array (rows, columns, C); bytes become numbers from 0 to 1."""
    line = int(np.prod(source.shape[2:])) * source.dtype.itemsize
    step = max(1, CONVERTED // line)
    for start in range(rows.start, rows.stop, step):
        some = Span(start, min(start + step, rows.stop))
        found = source.read(picture, some)[:, columns.start : columns.stop]
        here = into[some.within(rows)]
        if source.dtype == np.uint8:
            np.multiply(found, here.dtype.type(1 / 255), out=here, casting="unsafe")
        else:
            here[...] = found
