"""One pass over all numbers of an array, as whole numbers of the same bits: how large are they?

Without their sign floats have the same order as whole numbers of the same bits; NaN is the largest.
"""

from __future__ import annotations

import numpy as np

from convlab.cpu.jit import njit

LANES = 64  # numbers side by side, a few vectors of them


@njit
def most_of(bits, unsigned):
    """Return the largest of bits (any number,), less the sign: `unsigned` has all bits but that."""
    most = np.zeros(LANES, bits.dtype)
    whole = bits.size // LANES * LANES
    for first in range(0, whole, LANES):
        some = bits[first : first + LANES]
        for i in range(LANES):
            most[i] = max(most[i], some[i] & unsigned)
    for i in range(whole, bits.size):
        most[0] = max(most[0], bits[i] & unsigned)
    return most.max()


@njit
def all_reach(bits, groups, size, unsigned):
    """Say if each pixel of bits (N, H, W, C) has a channel of `size` or more, or is zero; in each group."""
    N, H, W, C = bits.shape
    channels = C // groups
    for n in range(N):
        for h in range(H):
            for w in range(W):
                for g in range(0, C, channels):
                    fine = True
                    for c in range(g, g + channels):  # mostly the first one is large enough
                        number = bits[n, h, w, c] & unsigned
                        fine &= number == 0
                        if number >= size:
                            fine = True
                            break
                    if not fine:
                        return False
    return True
