"""The door: a picture larger than memory, through some layers."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.backends import choose_host_backend
from convlab.distributed.budget import Algorithms, bytes_of
from convlab.distributed.exchange import exchange
from convlab.distributed.layers import Layers
from convlab.distributed.line_buffers import keep
from convlab.distributed.report import Run
from convlab.distributed.rows_in import check_source, rows_of
from convlab.distributed.rows_out import check_target, means_to, memory_of, rows_to
from convlab.distributed.settings import Settings
from convlab.distributed.sources import CONVERTED, Source
from convlab.distributed.strips import recompute
from convlab.distributed.targets import Target
from convlab.support.checked import Count, Threads, checked
from convlab.support.checks import check_choice
from convlab.support.version import VERSION

BORDERS = {"recompute": recompute, "exchange": exchange, "keep": keep}


@checked
def run(
    layers: Layers,
    source: Any,
    target: Any = None,
    *,
    borders: str = "recompute",
    memory: int | str | None = None,
    height: Count | None = None,
    algorithm: str | Algorithm = "auto",
    backend: str = "auto",
    threads: Threads = 1,
    progress: bool = True,
) -> Run:
    """Compute some layers of a picture that need not fit into memory.

    Parameters
    ----------
    layers : Layers
    source : ndarray, path of a .npy file or a Zarr array, or any array with slices (HDF5), (N, H, W, C)
        The picture: numbers of the layers' dtype, or bytes, which stand for numbers from 0 to 1, byte / 255.
    target : the same, (N, P, Q, K), optional
        Where the result goes. A file, or a Zarr array of a name that ends with .zarr, has its name when it is
        whole, and not before. If the run is stopped and the picture lies in a file, the same call goes on
        where it was; with line buffers ("keep") it begins anew. Without a target the result is an array,
        whose memory is not counted. Layers that end with the mean over all pixels take none: their result is
        small, (N, 1, 1, K).
    borders : str
        What becomes of the rows that two neighbours need, between the layers:

        * "recompute": both compute them. Nothing lies between the layers, and much is done twice.
        * "exchange": layer by layer; every array between two layers is written to the disk whole, and each
          reads the border from there. Nothing is done twice.
        * "keep": all layers at once, a few rows at a time; of every layer the last rows are kept in a buffer
          until the next one has used them. Nothing is done twice, and nothing written. What hardware does
          with line buffers; and no strip can be computed before those above it.
    memory : int or str, optional
        Bytes that the run may take beside the weights, or text: "1 GiB". Strips are as tall as it allows.
        Without it, a quarter of what is free.
    height : int, optional
        Rows of the result that are computed at once, if that is to be settled.
    algorithm, backend, threads
        As `Model.prepare` takes them. "auto" chooses for a strip, and then takes the same for all of them.
        Strips are the whole to the last bit on "cpu", but for transforms (Winograd, FFT), whose tiles begin
        elsewhere; on "numpy" a BLAS may add in another order. So may a sum of two convolutions with
        "exchange" and "keep", which begins with the other one of them.
    progress : bool
        Show a bar.

    Returns
    -------
    Run

    Raises
    ------
    ConvError
        If the picture or the target does not fit the layers, or not even a strip of one row the memory; if
        the disk has no room, or another run writes to the same target.

    Warns
    -----
    RuntimeWarning
        If "auto" chose a transform, in which numbers of a strip are lost; see `convlab.auto.magnitudes`.
    """
    check_choice("borders", borders, BORDERS)
    layers.check()
    picture = rows_of(source)
    check_source(picture, layers.picture_shape, layers.dtype)
    check_target(target, picture)
    beside = picture.memory - CONVERTED + memory_of(target, layers.shape, layers.dtype)
    here = choose_host_backend(backend, "strips are computed")
    how = Settings(bytes_of(memory), height, algorithm, here, threads, progress, beside)
    maps = layers.but_for_the_mean()
    opened: list[Target] = []

    def open_target(heights: tuple[int, ...], algorithms: Algorithms) -> Target:
        if maps is not layers:
            opened.append(means_to(target, maps.shape, maps.dtype))
        else:
            mark = _mark(maps, picture, (borders, heights, how.backend, how.threads), algorithms)
            opened.append(rows_to(target, maps.shape, maps.dtype, mark, heights[-1]))
        return opened[0]

    try:
        return BORDERS[borders](maps, picture, open_target, how)
    finally:
        for one in opened:
            one.close()


def _mark(layers: Layers, picture: Source, way: tuple, algorithms: Algorithms) -> str:
    """Return what tells this run from another one; nothing if none can go on with what it writes.

    That is so if the picture cannot be told from another, or what was kept in buffers is lost.
    """
    if not picture.mark or way[0] == "keep":
        return ""
    names = {name: one.name for name, one in algorithms.items()}
    said = hashlib.sha256(repr((VERSION, picture.mark, layers.nodes, way, names)).encode())
    for node in layers.convolutions:
        for array in layers.weights[node.name]:
            said.update(np.ascontiguousarray(array).data)
    return said.hexdigest()
