"""What a target may be, and which of them no run may write to."""

from __future__ import annotations

import os
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from convlab.distributed.mapped import mapped
from convlab.distributed.npy_out import FileTarget, check_name
from convlab.distributed.sources import ArrayRows, FileRows, Source
from convlab.distributed.targets import ArrayTarget, MappedTarget, Means, Target
from convlab.distributed.zarr_out import MEMORY, ZarrTarget, check_zarr
from convlab.errors import ArrayError, ParameterError, WorkspaceError
from convlab.machine.memory import Memory
from convlab.support.checks import said, share_memory


def check_target(target: Any, source: Source) -> None:
    """Refuse what is no target, or what the picture itself lies in.

    Raises
    ------
    ConvError
    """
    if isinstance(target, str | Path):
        path = check_name("target", target, ".npy", ".zarr")
        if path.suffix == ".zarr":
            check_zarr(path)
        names = (path, path.with_name(path.name + ".part"))
        if any(_same(name, read) for name in names for read in _paths(source)):
            raise ParameterError(
                f"target={said(str(target), 300)} is the source; expected another name, "
                "or it would be overwritten"
            )
        return
    if target is None:
        return
    if not all(hasattr(target, one) for one in ("shape", "dtype", "__setitem__")):
        raise ArrayError(
            f"target is a {type(target).__name__}; expected an array, or the path of a .npy or .zarr file"
        )
    if _overlaps(target, source):
        raise ArrayError("target shares memory, or its file, with the source; expected one of its own")


def _paths(source: Source) -> list[Path]:
    """Return the file, or the folder, that a picture is read from."""
    if isinstance(source, FileRows):
        return [source.path]
    place = _stored(source.array) if isinstance(source, ArrayRows) else ""
    return [Path(place.removeprefix("file://"))] if place.startswith("file://") else []


def _stored(array: Any) -> str:
    """Return where a Zarr array is stored, as it says itself."""
    return str(getattr(array, "store_path", ""))


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, other)
    return one.resolve() == other.resolve()


def _overlaps(target: Any, source: Source) -> bool:
    place = mapped("target", target) if isinstance(target, np.ndarray) else None
    if place and any(_same(place.path, read) for read in _paths(source)):
        return True
    if not isinstance(source, ArrayRows):
        return False
    both = target, source.array
    if all(isinstance(one, np.ndarray) for one in both):
        return share_memory(*both)
    return target is source.array or bool(_stored(target) and _stored(target) == _stored(source.array))


def memory_of(target: Any, shape: tuple[int, ...], dtype: str) -> int:
    """Return the bytes that it takes to write to a target, beside what is written."""
    if isinstance(target, str | Path):
        return MEMORY if Path(target).suffix == ".zarr" else 0
    return 0 if target is None else ArrayTarget(target, shape, dtype).memory


def rows_to(target: Any, shape: tuple[int, ...], dtype: str, mark: str, height: int = 1) -> Target:
    """Return something that takes rows: a new array if the target is None.

    Parameters
    ----------
    target : None, str, Path, or any array that slices can be written to
        The path is of a .npy file, or of a Zarr array; one that is there is replaced in the end.
    shape : tuple of int
        (N, P, Q, K)
    dtype : str
    mark : str
        What tells this run from another one; empty if nothing does, and none can go on with what it wrote.
    height : int
        Rows of a strip: so many come at once.

    Raises
    ------
    ConvError
        If it does not fit, or cannot be written.
    """
    if isinstance(target, str | Path):
        path = Path(target)
        if path.suffix == ".zarr":
            return ZarrTarget(path, shape, dtype, mark, height)
        return FileTarget(path, shape, dtype, mark)
    if target is None:
        if why := Memory().lacking({"the result": prod(shape) * np.dtype(dtype).itemsize}):
            raise WorkspaceError(f"target=None {why}; expected the name of a file, such as 'y.npy'")
        target = np.empty(shape, dtype)
    if isinstance(target, np.ndarray) and target.flags.writeable and (place := mapped("target", target)):
        return MappedTarget(target, place, shape, dtype)
    return ArrayTarget(target, shape, dtype)


def means_to(target: Any, shape: tuple[int, ...], dtype: str) -> Means:
    """Return something that takes rows, and makes of them their mean."""
    if target is not None:
        raise ParameterError("the layers end with a mean, which is small: expected target=None")
    return Means(shape, dtype)
