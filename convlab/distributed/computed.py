"""What is lazy, computed by Dask's workers; a bar says how many of its blocks are there."""

from __future__ import annotations

from typing import Any

import numpy as np

from convlab.distributed.cluster import current
from convlab.distributed.dask_arrays import check_lazy
from convlab.support.checked import checked
from convlab.support.progress import shown


@checked
def compute(lazy: Any, *, progress: bool = True) -> np.ndarray:
    """Compute an array of Dask's, and show how many of its blocks are done.

    The result has to fit into this process. Dask writes a larger one block by block: ``lazy.to_zarr(...)``.
    If that ends early it leaves an array that looks whole. So give that another name until it is done.

    Parameters
    ----------
    lazy : dask.array.Array
        The workers of the current client hold its blocks until all are there; where there is no client
        threads of this process compute it, and there is no bar.
    progress : bool
        Show the bar.

    Returns
    -------
    ndarray
        What ``lazy.compute()`` returns.

    Raises
    ------
    ConvError
        If it is no array of Dask's.
    """
    check_lazy("lazy", lazy)
    client = current()
    if client is None:
        return lazy.compute()
    from distributed import as_completed, futures_of

    begun = client.persist(lazy)
    blocks = futures_of(begun)
    bar = shown(range(len(blocks)), "blocks computed", progress)
    for _ in zip(bar, as_completed(blocks), strict=False):  # what a block has failed with is raised below
        pass
    return begun.compute(scheduler=client)
