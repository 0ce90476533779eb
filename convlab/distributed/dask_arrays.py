"""Layers on an array of Dask's: a graph of tasks, which any of its schedulers runs.

Each block of the result is a task. What it reads of its own block of the picture is there; what it reads of
others is cut off where they lie, and sent alone. Between two calls of `conv2d` blocks exchange their borders;
layers that are applied at once compute them twice. Dask does all the rest: who computes what and when, what
is sent where, and what is computed anew after a machine was lost.

`dask.array.map_overlap` would do for one layer without stride whose blocks are thicker than its border: it
knows one depth for all blocks, rechunks where a block is thinner, and a stride that does not divide a block
shifts all windows behind it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.backends import choose_host_backend
from convlab.distributed.blocks import Sizes, cuts, parts, regions, result_sizes
from convlab.distributed.cluster import check_versions
from convlab.distributed.dask_worker import Work, block, border
from convlab.distributed.layers import Layers
from convlab.distributed.regions import needs, tile_of
from convlab.distributed.settings import Settings
from convlab.distributed.tile_runner import chosen
from convlab.errors import ArrayError, ParameterError, ShapeError, UnsupportedError
from convlab.support.checked import Count, Threads, checked
from convlab.support.install import install_extra
from convlab.support.units import bytes_text
from convlab.support.version import VERSION


@checked
def conv2d(
    x: Any,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    stride=1,
    padding=0,
    dilation=1,
    groups: Count = 1,
    algorithm: str = "auto",
    backend: str = "auto",
    threads: Threads = 1,
) -> Any:
    """Convolve images that lie in the blocks of a Dask array; the borders are exact.

    Parameters
    ----------
    x : dask.array.Array, (N, H, W, C)
        Cut along N, H and W as you like: blocks need not be alike, nor as thick as a border. Not along C:
        every pixel of the result needs all channels.
    w, bias, stride, padding, dilation, groups
        As in `convlab.conv2d`.
    algorithm : str
        As in `convlab.conv2d`. "auto" chooses here, for a block in the middle, and all take the same. It has
        not seen the pixels: a block warns if numbers of it would be lost in a transform.
    backend, threads
        Of each task, on the machine where it runs; "auto" is settled here. A worker of Dask's has threads
        of its own.

    Returns
    -------
    dask.array.Array, (N, P, Q, K)
        Lazy: nothing is computed until it is asked for. Each of its blocks is where that of the picture is.

    Raises
    ------
    ConvError
        If x is no array of Dask's that can be convolved as it is cut; if w does not fit it; or if workers
        that this process is a client of have another convlab.

    Examples
    --------
    >>> import dask.array as da
    >>> x = da.ones((1, 5, 5, 2), chunks=(1, 2, 5, 2), dtype="float32")
    >>> conv2d(x, np.ones((3, 3, 3, 2), np.float32), padding=1)[0, :, 0, 0].compute()
    array([ 8., 12., 12., 12.,  8.], dtype=float32)
    """
    _check(x)
    shaping = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    layers = Layers.on(x.shape, x.dtype.name).conv(w, bias, **shaping)
    return apply(layers, x, algorithm=algorithm, backend=backend, threads=threads)


@checked
def apply(
    layers: Layers,
    x: Any,
    *,
    algorithm: str = "auto",
    backend: str = "auto",
    threads: Threads = 1,
) -> Any:
    """Apply all layers at once to images in the blocks of a Dask array: blocks compute their borders anew.

    Parameters
    ----------
    layers : Layers
        Of a picture of x's shape and dtype. The mean over all pixels, with which some networks end, is
        Dask's own.
    x : dask.array.Array, (N, H, W, C)
    algorithm, backend, threads
        As in `conv2d`.

    Returns
    -------
    dask.array.Array, (N, P, Q, K)
        Lazy.

    Raises
    ------
    ConvError
        As in `conv2d`.
    """
    _check(x)
    layers.check()
    if x.shape != layers.picture_shape or x.dtype != layers.dtype:
        raise ShapeError(
            f"x has shape {x.shape}, {x.dtype}; the layers expect {layers.picture_shape}, {layers.dtype}"
        )
    here = choose_host_backend(backend, "blocks are computed")
    check_versions()
    maps = layers.but_for_the_mean()
    y = _graph(maps.of_one_picture(), x, algorithm, here, threads)
    if maps is not layers:
        y = y.mean(axis=(1, 2), keepdims=True, dtype=np.float64).astype(x.dtype)
    return y


def check_lazy(name: str, x: Any) -> None:
    """Refuse what is no array of Dask's.

    Raises
    ------
    ConvError
    """
    try:
        import dask.array as da
    except ImportError:
        raise UnsupportedError(f"Dask is not installed; {install_extra('cluster')}") from None
    if not isinstance(x, da.Array):
        raise ArrayError(
            f"{name} is a {type(x).__name__}; expected an array of Dask's (dask.array.from_array makes one)"
        )


def _check(x: Any) -> None:
    """Refuse what is no array of Dask's, or is cut so that no border can be found."""
    check_lazy("x", x)
    if x.ndim != 4:
        raise ShapeError(f"x has shape {x.shape}; expected (N, H, W, C)")
    if any(np.isnan(size) for size in x.shape):
        raise ShapeError("x has blocks of unknown sizes; x.compute_chunk_sizes() finds them out")
    if x.numblocks[3] > 1:
        raise ParameterError(
            f"x is cut into {x.numblocks[3]} blocks along C, and each pixel of the result needs all of them; "
            f"x.rechunk({{3: -1}}) brings them together, which moves up to {bytes_text(x.nbytes)}"
        )


def _graph(layers: Layers, x: Any, algorithm: str, backend: str, threads: int) -> Any:
    """Return the array of the result; of it there is nothing yet but the tasks that make it."""
    import dask.array as da
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    pictures, rows, columns, _ = x.chunks
    down, across = result_sizes(layers.nodes, rows, columns)
    algorithms = _chosen(layers, down, across, algorithm, backend, threads)
    names = {name: one.name for name, one in algorithms.items()}
    token = tokenize(layers.weights, names, algorithm, backend, threads)  # whatever picture they are for
    work = Work(layers, names, algorithm, backend, threads, token, VERSION)
    name = f"convlab-{tokenize(x.name, layers.nodes, token)}"
    edges = cuts(rows), cuts(columns)
    graph: dict[Any, Any] = {(common := f"{name}-work"): work}
    for (i, j), output in regions(down, across):
        taken = parts(needs(layers.nodes, output)[layers.nodes[0].name], *edges)
        home = max(taken, key=lambda part: part.inside.pixels)
        told = [part if part is home else part.alone() for part in taken]
        for n in range(len(pictures)):
            arrays = []
            for part in taken:
                key: tuple = (x.name, n, *part.block, 0)
                if part is not home:
                    whole, key = key, (f"{name}-border", n, i, j, *part.block)
                    graph[key] = (border, whole, part.inside)
                arrays.append(key)
            graph[name, n, i, j, 0] = (block, common, output, told, *arrays)
    meta = np.empty((0, 0, 0, 0), layers.dtype)
    layer = HighLevelGraph.from_collections(name, graph, dependencies=[x])
    return da.Array(layer, name, (pictures, down, across, (layers.shape[3],)), meta=meta)


def _chosen(
    layers: Layers, down: Sizes, across: Sizes, algorithm: str, backend: str, threads: int
) -> dict[str, Algorithm]:
    """Return the algorithm of each convolution, by a block in the middle."""
    middle = len(down) // 2, len(across) // 2
    output = next(region for where, region in regions(down, across) if where == middle)
    how = Settings(0, None, algorithm, backend, threads, False)
    return chosen(layers, tile_of(layers.nodes, output), how)
