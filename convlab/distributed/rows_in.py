"""What a picture may be: a .npy file, a mapped one, a Zarr array, or anything that has slices."""

from __future__ import annotations

from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from convlab.distributed.mapped import mapped
from convlab.distributed.sources import ArrayRows, FileRows, Source
from convlab.errors import ArrayError, ParameterError, ShapeError
from convlab.support.checks import check_path, said


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
    if isinstance(source, str | Path):
        path = check_path("source", source)
        return _zarr(path) if path.is_dir() else _npy(path)
    slices = all(hasattr(source, one) for one in ("shape", "dtype", "__getitem__"))
    if not slices or isinstance(source, np.ma.MaskedArray):
        raise ArrayError(f"source is a {type(source).__name__}; expected an array, or the path of a file")
    if isinstance(source, np.ndarray) and (place := mapped("source", source)):
        return FileRows(place.path, source.shape, source.dtype, place.offset, place.strides)
    try:
        return ArrayRows(source)
    except TypeError as error:  # a dtype that is none of NumPy's
        raise ArrayError(f"source is a {type(source).__name__}, {error}; expected a NumPy array") from error


def _npy(path: Path) -> Source:
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            first = version == (1, 0)
            reader = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
            shape, by_columns, dtype = reader(file)
            offset = file.tell()
    except OSError as error:
        raise ParameterError(f"source={said(str(path), 300)} cannot be read: {error.strerror}") from error
    except (ValueError, TokenError) as error:
        raise ParameterError(f"source={said(str(path), 300)} is no .npy file: {error}") from error
    if by_columns:
        raise ArrayError(
            f"source={said(str(path), 300)} lies column by column; expected rows, as C-contiguous ones"
        )
    if len(shape) != 4:
        raise ShapeError(f"source={said(str(path), 300)} has shape {shape}; expected four axes, (N, H, W, C)")
    return FileRows(path, shape, dtype, offset)


def _zarr(path: Path) -> Source:
    """Zarr keeps an array as a folder: a file for each chunk, and one that says what they are."""
    try:
        import zarr
    except ImportError:
        raise ParameterError(
            f"source={said(str(path), 300)} is a folder; if it is a Zarr array, install zarr"
        ) from None
    try:
        array = zarr.open_array(path, mode="r")
    except Exception as error:  # each kind of folder that is none has an error of its own
        raise ParameterError(f"source={said(str(path), 300)} is no Zarr array: {error}") from error
    files = sorted((one, one.stat()) for one in path.rglob("*"))
    mark = (str(path.resolve()), *((one.name, its.st_size, its.st_mtime_ns) for one, its in files))
    return ArrayRows(array, str(path), mark)


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
