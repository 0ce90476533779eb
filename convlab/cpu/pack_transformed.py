"""Transformed filters for the fast forms: transformed, and laid where the products read them, in one go.

    U[(i, j), c, k] = sum over r, s of A[i, r] * B[j, s] * g[k, r, s, c]      Winograd: A = B = G
                                                                             Fourier: waves, complex

A filter has few taps, so this is quicker for spectra too than a fast transform of a grid that is nearly all
zeros. The numbers of one tap, of all filters of a panel and of some channels, stand in one row from the
start; so each step is a sum of rows, and the last one is a piece of the panel. It is all done in double
precision, and rounded once.
"""

from __future__ import annotations

import numpy as np

from convlab.cpu.jit import njit

_CHANNELS = 16  # at a time: a cache line of float32 of each filter


def pack_transformed(A, B, w: np.ndarray, groups: int, panels: np.ndarray, cols: int) -> None:
    """Fill the panels of all places (i, j).

    Parameters
    ----------
    A, B : ndarray of float64 or complex128, (rows, R) and (columns, S)
    w : ndarray, (K, R, S, C/groups)
    groups : int
    panels : ndarray, (matrices * groups, numbers of one)
        From `gemm.empty_panels`, complex if A and B are. Either a matrix for each place; or one for all,
        whose sums go over (place, channel).
    cols : int
        Filters of a panel.
    """
    (K, R, S, _), row = w.shape, _CHANNELS * cols
    taps = np.empty((S, R, row), w.dtype)
    lines, sums = np.empty((S, row), A.dtype), np.empty(row, A.dtype)
    filters = K // groups
    for g in range(groups):
        group = np.ascontiguousarray(w[g * filters : (g + 1) * filters])
        _pack(panels, g, groups, group, A, B, cols, taps, lines, sums)


@njit
def _pack(panels, g, groups, w, A, B, cols, taps, lines, sums):
    """Fill one group's panels, some channels of one panel after the other."""
    filters, _, S, channels = w.shape
    together = len(A) * len(B) * groups // len(panels)  # places in one matrix
    padded = panels.shape[1] // (together * channels)
    for left in range(0, filters, cols):
        width = min(cols, padded - left)
        for first in range(0, channels, _CHANNELS):
            few = min(_CHANNELS, channels - first)
            _gather(taps, w, left, width, first, few)
            size = few * width  # numbers in a row: (c, k)
            for i in range(len(A)):
                for s in range(S):
                    _sum(lines[s, :size], A[i], taps[s], sums)  # row i of A @ g
                for j in range(len(B)):
                    matrix, place = divmod(i * len(B) + j, together)
                    at = (left * together + place * width) * channels + first * width
                    _sum(panels[matrix * groups + g, at : at + size], B[j], lines, sums)


@njit(inner=True)
def _gather(taps, w, left, width, first, few):
    """Fill taps[s, r, (c, k)] with a few channels of the filters from `left` on; zeros past the last one."""
    filters, R, S, _ = w.shape
    count = min(width, filters - left)
    if count < width:
        taps[:] = 0
    for r in range(R):
        for s in range(S):
            target = taps[s, r]
            for k in range(count):
                source = w[left + k, r, s]
                for c in range(few):
                    target[c * width + k] = source[first + c]


@njit(inner=True)
def _sum(out, factors, rows, sums):
    """Compute out = factors @ rows, as far as out reaches; rounded at the end."""
    if len(factors) == 3:  # of the common filter: the sums stay in registers
        a, b, c = rows[0], rows[1], rows[2]
        for i in range(len(out)):
            out[i] = factors[0] * a[i] + factors[1] * b[i] + factors[2] * c[i]
        return
    sums[:] = 0
    for factor, row in zip(factors, rows):  # noqa: B905
        for i in range(len(out)):
            sums[i] += factor * row[i]
    for i in range(len(out)):
        out[i] = sums[i]
