"""Bank conflicts: how many passes over shared memory it takes until all lanes of a request are served.

Shared memory has 32 banks; word i of 4 bytes lies in bank i mod 32. In one pass, a *wavefront*, every bank
gives one word, to all lanes that want it. Lanes that want different words of one bank are in conflict: each
word takes a wavefront of its own. Where lanes want 8 bytes, half a warp is served at a time, a quarter where
they want 16.

A load is over sooner where lanes want the same in pairs: each lane what its neighbour wants (lanes 0 and 1,
2 and 3), or each what the lane two further wants (0 and 2, 1 and 3). A wavefront then serves twice as many
lanes: one answer fills the registers of two. NVIDIA's guide does not say so. An engineer of theirs does
("Unexpected shared memory bank conflict", NVIDIA developer forums, topic 77228, of compute capability 7.x);
counts of Nsight Compute bear it out (code.hitori.moe, cuda-shared-memory-access-mechanism-with-vectorized-
instructions); and CUTLASS lays the lanes of its float32 kernels out for it (`RowMajorInterleaved<2>`).
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator.access_log import unique_rows

WORD, BANKS = 4, 32  # bytes of a word; banks


def parts(request: np.ndarray, lanes: np.ndarray, addresses: np.ndarray, size: int, kind: str) -> np.ndarray:
    """Return for every access which part of its warp it is served with, 0 to size / 4 - 1: one by one.

    Parameters
    ----------
    request, lanes, addresses : arrays of int
        Of every access: its request, numbered from 0; its lane; its first byte.
    size : int
        Bytes of every access.
    kind : str
        "ld", "st" or "atomic".
    """
    words = max(size // WORD, 1)
    part = lanes // (WARP // words)
    if kind != "ld" or words == 1:
        return part
    return np.where(_in_pairs(request, lanes, addresses)[request], part // 2, part)


def _in_pairs(request: np.ndarray, lanes: np.ndarray, addresses: np.ndarray) -> np.ndarray:
    """Return for every request if all its lanes want the same in pairs."""
    wanted = np.full((int(request.max()) + 1, WARP), -1)  # of each lane; -1: it asks for nothing
    wanted[request, lanes] = addresses
    alike = []
    for apart in (1, 2):
        other = wanted[:, np.arange(WARP) ^ apart]
        alike.append(((wanted == other) | (wanted < 0) | (other < 0)).all(axis=1))
    return alike[0] | alike[1]


def wavefronts(
    request: np.ndarray, lanes: np.ndarray, addresses: np.ndarray, size: int, kind: str
) -> np.ndarray:
    """Return the wavefronts of every request of shared memory; parameters as of `parts`."""
    words = max(size // WORD, 1)
    word = (addresses // WORD)[:, None] + np.arange(words)
    group = np.repeat(request * words + parts(request, lanes, addresses, size, kind), words)
    (group, word), _ = unique_rows(group, word.reshape(-1))  # a word is given to many at once
    # Words that each bank has to give; the bank with the most decides.
    wanted = np.bincount(group * BANKS + word % BANKS, minlength=(int(request.max()) + 1) * words * BANKS)
    return wanted.reshape(-1, words, BANKS).max(axis=2).sum(axis=1)
