"""Bank conflicts: how many passes over shared memory it takes until all lanes of a request are served.

Shared memory has 32 banks; word i of 4 bytes lies in bank i mod 32. In one pass, a *wavefront*, every bank
gives one word, to all lanes that want it. Lanes that want different words of one bank are in conflict: each
word takes a wavefront of its own. Where lanes want 8 bytes, half a warp is served at a time, a quarter where
they want 16.
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator.access_log import unique_rows

WORD, BANKS = 4, 32  # bytes of a word; banks


def lanes_a_pass(size: int) -> int:
    """Return how many lanes shared memory serves at once, that ask for `size` bytes each."""
    return WARP // max(size // WORD, 1)


def wavefronts(request: np.ndarray, lanes: np.ndarray, addresses: np.ndarray, size: int) -> np.ndarray:
    """Return the wavefronts of every request of shared memory.

    Parameters
    ----------
    request, lanes, addresses : arrays of int
        Of every access: its request, numbered from 0; its lane; its first byte.
    size : int
        Bytes of every access.
    """
    words = max(size // WORD, 1)
    part = lanes // lanes_a_pass(size)  # of the warp: served one after the other
    word = (addresses // WORD)[:, None] + np.arange(words)
    group = np.repeat(request * words + part, words)
    (group, word), _ = unique_rows(group, word.reshape(-1))  # a word is given to many at once
    # Words that each bank has to give; the bank with the most decides.
    wanted = np.bincount(group * BANKS + word % BANKS, minlength=(int(request.max()) + 1) * words * BANKS)
    return wanted.reshape(-1, words, BANKS).max(axis=2).sum(axis=1)
