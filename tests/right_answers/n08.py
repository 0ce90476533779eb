"""Notebook 08: a second right answer to each exercise."""

import numpy as np


def depthwise(x, w, stride, padding):
    """Tap by tap: shifted pictures, with the channels repeated once for each of their filters."""
    x = np.pad(x, [(0, 0), (padding,) * 2, (padding,) * 2, (0, 0)]).repeat(len(w) // x.shape[3], axis=3)
    _, R, S = w.shape
    P, Q = (x.shape[1] - R) // stride + 1, (x.shape[2] - S) // stride + 1
    y = 0
    for r, s in np.ndindex(R, S):
        y = y + x[:, r : r + stride * P : stride, s : s + stride * Q : stride][:, :P, :Q] * w[:, r, s]
    return y


RIGHT = {
    "depthwise": depthwise,
    "separable_saving": lambda C, K, R, S: 1 / (1 / K + 1 / (R * S)),
    "depthwise_intensity": lambda H, W, C, R, S: R * S / (2 * (2 + R * S / (H * W))),
}
