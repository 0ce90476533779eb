"""Notebook 04: a second right answer to each exercise."""

import numpy as np


def buffer(H, W, C, R, S, stride, padding, rows):
    """All at once: the numbers of the pixels in a padded picture, seen through sliding windows."""
    numbers = np.pad(np.arange(H * W).reshape(H, W) * C, padding, constant_values=-1)
    windows = np.lib.stride_tricks.sliding_window_view(numbers, (R, S))[::stride, ::stride]
    windows = windows.reshape(-1, R * S)
    fill = -len(windows) % rows
    windows = np.concatenate([windows, windows[-1:].repeat(fill, axis=0)])
    return windows.reshape(-1, rows, R * S).swapaxes(1, 2)


def through_the_buffer(x, offsets, w, pixels):
    """A matrix of windows, and one product."""
    N, C = len(x), x.shape[3]
    rows = offsets.transpose(0, 2, 1).reshape(-1, offsets.shape[1])[:pixels]
    flat = np.concatenate([x.reshape(N, -1), np.zeros((N, C), x.dtype)], axis=1)
    start = np.where(rows == -1, flat.shape[1] - C, rows)
    windows = flat[:, start[..., None] + np.arange(C)].reshape(N, pixels, -1)
    return windows @ w.reshape(len(w), -1).T


def indirect_tile(x, start, places, w):
    """Pixel by pixel: its taps side by side, times the filters as a matrix."""
    sums = np.zeros((2, 2))
    for pixel in range(2):
        inside = places[:, pixel] >= 0
        rows = [x[start + place :][: w.shape[1]] for place in places[inside, pixel]]
        if rows:
            sums[pixel] = np.concatenate(rows) @ w[inside].reshape(-1, 2)
    return sums


RIGHT = {
    "buffer": buffer,
    "indirect_tile": indirect_tile,
    "through_the_buffer": through_the_buffer,
}
