"""Wrong answers to the exercises of notebook 15, and right ones that are written differently."""

from __future__ import annotations

from math import ceil


def _bytes(N, H, W, C, K, R, S, batch=1, x=1, y=1, size=4):
    return size * (x * N * H * W * C + batch * R * S * C * K + y * N * H * W * K)


def _intensity(N, H, W, C, K, R, S, each=2, **counted):
    return each * N * H * W * K * R * S * C / _bytes(N, H, W, C, K, R, S, **counted)


def _batch(C, K, ridge, rounded=ceil, weights=1, size=4):
    """From 2*N*C*K / (size * (N*C + C*K + N*K)) >= ridge."""
    return rounded(ridge * size * weights * C * K / (2 * C * K - ridge * size * (C + K)))


WRONG = {
    "layer_intensity": {
        "counts a multiply-add as one": lambda *a: _intensity(*a, each=1),
        "counts numbers, not bytes": lambda *a: _intensity(*a, size=1),
        "takes the weights anew for each image": lambda *a: _intensity(*a, batch=a[0]),
        "forgets the weights": lambda *a: _intensity(*a, batch=0),
        "forgets the output": lambda *a: _intensity(*a, y=0),
        "reads x for every tap": lambda *a: _intensity(*a, x=a[5] * a[6]),
    },
    "smallest_batch": {
        "rounds down": lambda *a: _batch(*a, rounded=int),
        "does not round": lambda *a: _batch(*a, rounded=float),
        "counts numbers, not bytes": lambda *a: _batch(*a, size=1),
        "forgets that activations move too": lambda C, K, ridge: ceil(2 * ridge),
        "forgets the weights": lambda *a: _batch(*a, weights=0),
    },
    "roof_share": {
        "takes the roof that is farther": lambda d, m, s, f, r: min(d / f, m / r) / s,
        "adds the two": lambda d, m, s, f, r: (d / f + m / r) / s,
        "looks at the multiply-adds alone": lambda d, m, s, f, r: d / f / s,
        "looks at the memory alone": lambda d, m, s, f, r: m / r / s,
        "forgets the time": lambda d, m, s, f, r: max(d / f, m / r),
        "turns the share upside down": lambda d, m, s, f, r: s / max(d / f, m / r),
    },
}
RIGHT = {
    "layer_intensity": _intensity,
    "smallest_batch": _batch,
    "roof_share": lambda d, m, s, f, r: d / f / s if d * r > m * f else m / r / s,
}
