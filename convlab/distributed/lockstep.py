"""Neighbours that exchange borders layer by layer, simulated: a delay reaches one neighbour more each layer.

A machine begins a layer when it has done the one before, and its two neighbours have sent the borders of
theirs. Nobody waits for all. But who waits for a neighbour lets the next one wait a layer later; after as
many layers as there are machines all are as slow as the slowest of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convlab.distributed.network import FREE, Network
from convlab.distributed.simulated import Simulated, Timeline, check_seconds, check_slowness, simulated
from convlab.errors import ShapeError
from convlab.support.checked import Count, NotNegative, checked


@checked
def simulate_lockstep(
    machines: Count,
    seconds: Sequence[float] | np.ndarray,
    *,
    network: Network = FREE,
    border: NotNegative = 0.0,
    slowness: float | np.ndarray = 1.0,
) -> Simulated:
    """Return what happens if machines in a row compute layer after layer, and exchange borders in between.

    Parameters
    ----------
    machines : int
        In a row: the first and the last have one neighbour.
    seconds : sequence or array of float, (layers,) or (layers, machines)
        What a layer takes a machine whose slowness is 1. One number of a layer that differs is a machine
        that is late once.
    network : Network
        Each machine's own link; both neighbours send at once.
    border : float
        Bytes that a neighbour sends between two layers. The border of the first layer is there.
    slowness : float or array of float, (machines,)
        Factor by which a machine takes longer, in every layer.

    Returns
    -------
    Simulated
        Its tiles are the layers. No machine fails: here the others could not go on.

    Raises
    ------
    ConvError
        If seconds or slowness are of another number of machines.

    Examples
    --------
    >>> import numpy as np
    >>> late = np.ones((4, 7))
    >>> late[0, 3] = 2.0                                  # the machine in the middle, in the first layer
    >>> simulate_lockstep(7, late).timeline.stop[-7:]     # three layers later all are late
    array([5., 5., 5., 5., 5., 5., 5.])
    """
    two = isinstance(seconds, np.ndarray) and seconds.ndim == 2
    times = check_seconds(seconds, "layers, machines" if two else "layers")
    times = times if two else np.repeat(times[:, None], machines, axis=1)
    if times.shape[1] != machines:
        raise ShapeError(f"seconds has shape {times.shape}; expected (layers, machines), {machines} of them")
    times = times * check_slowness(slowness, machines)
    neighbours = np.full(machines, 2)
    neighbours[[0, -1]] = min(machines - 1, 1)
    travel = np.array([network.halo_exchange(border, int(one)) for one in range(3)])[neighbours]
    start, stop = np.empty_like(times), np.empty_like(times)
    there = np.zeros(machines)
    for layer, its in enumerate(times):
        start[layer], stop[layer] = there, there + its
        sent = np.pad(stop[layer], 1, constant_values=-np.inf)
        there = np.maximum(stop[layer], np.maximum(sent[:-2], sent[2:]) + travel)
    layers = len(times)
    timeline = Timeline(
        np.tile(np.arange(machines), layers),
        np.repeat(np.arange(layers), machines),
        start.ravel(),
        stop.ravel(),
        np.ones(times.size, bool),
    )
    return simulated(machines, float(stop.max()), timeline, times.size)
