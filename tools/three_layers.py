"""Three layers, and whether a result is what they make of a large picture: some windows are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from convlab import ALGORITHMS, ConvError
from convlab.distributed import Layers
from convlab.oracle import reference, tolerance

CHANNELS = (3, 8, 4)  # of the picture, and behind each convolution
POOL = 2
SEEN, MARGIN = 32, 4  # pixels of the result: the side of a window, and what its own edges may have spoilt
SOME = 8  # windows of each kind
ROUNDING = max(algorithm.rounding for algorithm in ALGORITHMS.values())


def three_layers(height: int, width: int) -> Layers:
    """Return them on a picture of a size; their weights are the same each time."""
    rng, (C, some, K) = np.random.default_rng(0), CHANNELS

    def weights(filters: int, channels: int) -> np.ndarray:  # sums neither grow nor shrink
        return rng.standard_normal((filters, 3, 3, channels), np.float32) / np.float32(3 * channels**0.5)

    layers = Layers.on((1, height, width, C)).conv(weights(some, C), padding=1, relu=True)
    return layers.max_pool(POOL).conv(weights(K, some), padding=1)


def places(height: int, side: int) -> Iterator[tuple[int, int]]:
    """Yield where windows of the result begin: in its corners, across cuts between strips, and anywhere."""
    last, rng = side - SEEN, np.random.default_rng(0)
    yield from product((0, last), repeat=2)
    cuts = np.arange(height, side, height)
    for cut in rng.choice(cuts, min(SOME, len(cuts)), replace=False):
        yield int(np.clip(cut - SEEN // 2, 0, last)), int(rng.integers(last + 1))
    yield from rng.integers(last + 1, size=(SOME, 2)).tolist()


def compared(scan: Path, result: Path, height: int) -> str:
    """Hold windows of the result against the oracle, and return what was found.

    Raises
    ------
    ConvError
        If one is farther off than rounding explains.
    """
    x, y = (np.load(path, mmap_mode="r")[0] for path in (scan, result))
    last, farthest = len(y) - SEEN, 0.0

    def inner(start: int) -> slice:
        return slice(0 if start == 0 else MARGIN, SEEN if start == last else SEEN - MARGIN)

    windows = list(places(height, len(y)))
    for top, left in windows:
        wanted, allowed = oracle(x[POOL * top :, POOL * left :][: POOL * SEEN, : POOL * SEEN])
        off = np.abs(y[top : top + SEEN, left : left + SEEN] - wanted)[inner(top), inner(left)].max()
        if not off <= allowed:
            raise ConvError(f"the result is off by {off:.2g} near row {top}, column {left}")
        farthest = max(farthest, off / allowed)
    return f"{len(windows)} windows, off by {farthest:.0%} at most of what rounding explains"


def oracle(window: np.ndarray) -> tuple[np.ndarray, float]:
    """Return what the layers make of bytes (h, w, C) in float64, and how far rounding may lead from it."""
    layers, allowed = three_layers(*window.shape[:2]), 0.0
    x = window[None].astype(np.float64) / 255
    for node in layers.nodes[1:]:
        N, P, Q, K = node.shape
        if node.op == "max_pool":
            x = x.reshape(N, P, POOL, Q, POOL, K).max(axis=(2, 4))
            continue
        w, bias = layers.weights[node.name]
        allowed += ROUNDING * tolerance(x, w, node.convolution, bias)
        x = reference(x, w, node.convolution, bias)
        if node.relu:
            x = np.maximum(x, 0)
    return x[0], allowed
