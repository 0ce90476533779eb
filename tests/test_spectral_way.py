"""The exercise whose point is to go through the spectrum: no direct sum passes, and every transform does."""

import numpy as np
import pytest
import scipy.fft

from convlab.lessons import check


def _behind(x, w):
    return np.pad(x, [(0, size - 1) for size in w.shape])


def tap_by_tap(x, w):
    moved = _behind(x, w)
    return sum(w[r, s] * moved[r : r + len(x), s : s + x.shape[1]] for r, s in np.ndindex(w.shape))


def line_by_line(x, w):
    y = np.zeros(x.shape)
    for p, r in np.ndindex(len(x), len(w)):
        if p + r < len(x):
            y[p] += np.convolve(x[p + r], w[r, ::-1])[w.shape[1] - 1 :]
    return y


def by_a_matrix(x, w):
    matrix = np.zeros((*x.shape, *x.shape))
    for p, q, r, s in np.ndindex(*x.shape, *w.shape):
        if p + r < len(x) and q + s < x.shape[1]:
            matrix[p, q, p + r, q + s] = w[r, s]
    return (matrix.reshape(x.size, x.size) @ x.ravel()).reshape(x.shape)


def by_scipy_directly(x, w):
    from scipy.signal import correlate  # takes a second to import, in every process that reads this file

    return correlate(_behind(x, w), w, "valid", "direct")


DIRECT = {
    "tap by tap": tap_by_tap,
    "line by line": line_by_line,
    "by a matrix": by_a_matrix,
    "windows": lambda x, w: np.einsum(
        "pqrs,rs", np.lib.stride_tricks.sliding_window_view(_behind(x, w), w.shape), w
    ),
    "SciPy's direct form": by_scipy_directly,
}


def _size(x, w):
    return len(x) + len(w) - 1, x.shape[1] + w.shape[1] - 1


def along_one_axis_after_the_other(x, w):
    rows, columns = _size(x, w)
    X, F = (np.fft.fft(np.fft.fft(a, rows, axis=0), columns, axis=1) for a in (x, w))
    return np.fft.ifft(np.fft.ifft(X * F.conj(), axis=0), axis=1).real[: len(x), : x.shape[1]]


def by_scipy(x, w):
    size = [scipy.fft.next_fast_len(n) for n in _size(x, w)]
    product = scipy.fft.rfft2(x, size) * scipy.fft.rfft2(w, size).conj()
    return scipy.fft.irfft2(product, size)[: len(x), : x.shape[1]]


def by_a_transform_of_its_own(x, w):
    def fft(a):
        if len(a) == 1:
            return a
        waves = np.exp(-2j * np.pi * np.arange(len(a) // 2) / len(a))[:, None]
        even, odd = fft(a[::2]), waves * fft(a[1::2])
        return np.concatenate([even + odd, even - odd])

    size = [1 << n.bit_length() for n in _size(x, w)]
    padded = [np.pad(a, [(0, n - have) for n, have in zip(size, a.shape, strict=True)]) for a in (x, w)]
    X, F = (fft(fft(a).T).T for a in padded)
    y = fft(fft(X.conj() * F).T).T / X.size  # forwards once more: the conjugate of the way back
    return y.real[: len(x), : x.shape[1]]


def in_tiles(x, w):
    rows, columns = (3 + size for size in w.shape)
    F = np.fft.rfft2(w, (rows, columns)).conj()
    padded, y = np.pad(x, [(0, 4 + size) for size in w.shape]), np.zeros([size + 4 for size in x.shape])
    for p in range(0, len(x), 4):
        for q in range(0, x.shape[1], 4):
            X = np.fft.rfft2(padded[p : p + rows, q : q + columns])
            y[p : p + 4, q : q + 4] = np.fft.irfft2(X * F, (rows, columns))[:4, :4]
    return y[: len(x), : x.shape[1]]


SPECTRAL = (along_one_axis_after_the_other, by_scipy, by_a_transform_of_its_own, in_tiles)


@pytest.mark.parametrize("way", DIRECT)
def test_a_direct_sum_is_refused_however_it_is_written(way):
    note = check("correlate", DIRECT[way])
    assert note.good is False
    assert "not in the way" in note.title
    assert "frequency by frequency" in note.diagnosis


@pytest.mark.parametrize("answer", SPECTRAL)
def test_a_spectrum_passes_however_it_is_found(answer):
    note = check("correlate", answer)
    assert note.good, note
