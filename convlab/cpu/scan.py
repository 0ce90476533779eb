"""One pass over the numbers of an array, as whole numbers of the same bits: is any pixel too small?

Without their sign floats have the same order as whole numbers of the same bits; NaN is the largest.
"""

from __future__ import annotations

from convlab.cpu.jit import njit


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
