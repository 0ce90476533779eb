"""Every exercise: the library's answer passes, and named wrong answers do not."""

from dataclasses import replace
from functools import partial

import numpy as np
import product_mistakes
import pytest
import roofline_mistakes
from kernel_mistakes import KERNELS

from convlab import ConvError, conv2d
from convlab.cost.formula import fast_size
from convlab.lessons import EXERCISES, check, reveal
from convlab.lessons.checks import Note
from convlab.lessons.exercise import Exercise
from convlab.support.measured import Measured


@pytest.mark.parametrize("name", EXERCISES)
def test_the_librarys_own_answer_passes(name):
    note = check(name, EXERCISES[name].answer)
    assert note.good, note


def _windows(x, R, S, stride, padding, order="rsc"):
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    P, Q = (x.shape[1] - R) // stride + 1, (x.shape[2] - S) // stride + 1
    rows = [
        x[n, p * stride : p * stride + R, q * stride : q * stride + S]
        for n in range(len(x))
        for p in range(P)
        for q in range(Q)
    ]
    return np.array([r.ravel() if order == "rsc" else r.transpose(2, 0, 1).ravel() for r in rows])


def _changes_input(x, w, stride, padding):
    y = conv2d(x, w, stride=stride, padding=padding)
    x += 1
    return y


def _times(seconds, chosen):
    """Return for each layer (all times, the chosen one's)."""
    return [(times, times[name]) for times, name in zip(seconds, chosen, strict=True)]


def _cheapest(seconds, convert):
    """Return the least time of a chain, layer by layer: the best that ends in each layout."""
    best = dict.fromkeys(seconds[0], 0)
    for times in seconds:
        best = {a: times[a] + min(best[b] + convert * (a != b) for b in best) for a in times}
    return min(best.values())


def _greedy(seconds, convert, look):
    """Return the time of a chain in which each layer takes what is best for it alone, or after the last."""
    total, at = 0, None
    for times in seconds:
        price = {layout: times[layout] + convert * (at not in (None, layout)) for layout in times}
        chosen = min(times, key=price.get if look else times.get)
        total, at = total + price[chosen], chosen
    return total


# exercise -> {name of the mistake: the wrong answer}
WRONG = {
    "output_size": {
        "forgets the padding": lambda H, R, s, p, d: (H - d * (R - 1) - 1) // s + 1,
        "pads one side": lambda H, R, s, p, d: (H + p - d * (R - 1) - 1) // s + 1,
        "forgets the stride": lambda H, R, s, p, d: H + 2 * p - d * (R - 1),
        "forgets the dilation": lambda H, R, s, p, d: (H + 2 * p - R) // s + 1,
        "dilates all taps": lambda H, R, s, p, d: (H + 2 * p - d * R) // s + 1,
        "rounds up": lambda H, R, s, p, d: -(-(H + 2 * p - d * (R - 1) - 1) // s) + 1,
        "is one short": lambda H, R, s, p, d: (H + 2 * p - d * (R - 1) - 1) // s,
        "divides with a fraction": lambda H, R, s, p, d: (H + 2 * p - d * (R - 1) - 1) / s + 1,
    },
    "convolve": {
        "flips the filter": lambda x, w, s, p: conv2d(x, w[:, ::-1, ::-1].copy(), stride=s, padding=p),
        "ignores the stride": lambda x, w, s, p: conv2d(x, w, padding=p),
        "ignores the padding": lambda x, w, s, p: conv2d(x, w, stride=s),
        "pads one side": lambda x, w, s, p: conv2d(x, w, stride=s, padding=((p, 0), (p, 0))),
        "first channel only": lambda x, w, s, p: conv2d(x[..., :1], w[..., :1], stride=s, padding=p),
        "first filter for all": lambda x, w, s, p: conv2d(x, w[:1].repeat(len(w), 0), stride=s, padding=p),
        "first image for all": lambda x, w, s, p: conv2d(x[:1].repeat(len(x), 0), w, stride=s, padding=p),
        "swaps R and S": lambda x, w, s, p: conv2d(x, w.swapaxes(1, 2).copy(), stride=s, padding=p),
        "returns NCHW": lambda x, w, s, p: conv2d(x, w, stride=s, padding=p).transpose(0, 3, 1, 2),
        "skips the first tap": lambda x, w, s, p: conv2d(
            x, w * (np.arange(w.shape[1] * w.shape[2]) > 0).reshape(*w.shape[1:3], 1).astype("f4"),
            stride=s, padding=p,
        ),
        "adds to its input": _changes_input,
    },
    "flip": {
        "flips nothing": lambda w: w,
        "flips the rows only": lambda w: w[:, ::-1],
        "flips the filters too": lambda w: w[::-1, ::-1, ::-1],
        "transposes": lambda w: w.swapaxes(1, 2),
        "flips the channels too": lambda w: w[:, ::-1, ::-1, ::-1],
    },
    "im2row": {
        "the other order": lambda *a: _windows(*a, order="crs"),
        "the other way": lambda *a: _windows(*a).T,
        "ignores the stride": lambda x, R, S, s, p: _windows(x, R, S, 1, p),
        "ignores the padding": lambda x, R, S, s, p: _windows(x, R, S, s, 0),
        "first image only": lambda x, *a: _windows(x[:1], *a),
    },
    "im2col": {
        "the im2row order": lambda *a: _windows(*a).T,
        "the other way": lambda *a: _windows(*a, order="crs"),
        "swaps R and S": lambda x, R, S, s, p: _windows(x, S, R, s, p, order="crs").T,
    },
    "largest_batch": {
        "counts in elements": lambda H, W, C, R, S, s, p, b: b // (_pq(H, W, R, S, s, p) * R * S * C),
        "forgets the channels": lambda H, W, C, R, S, s, p, b: b // (_pq(H, W, R, S, s, p) * R * S * 4),
        "uses the input's size": lambda H, W, C, R, S, s, p, b: b // (H * W * R * S * C * 4),
        "swaps R and S": lambda H, W, C, R, S, s, p, b: b // (_pq(H, W, S, R, s, p) * R * S * C * 4),
        "rounds up": lambda H, W, C, R, S, s, p, b: -(-b // (_pq(H, W, R, S, s, p) * R * S * C * 4)),
    },
    "index_map": {
        "undoes heights with the width's extents": lambda *a: _undone(*a, swapped=True),
        "undoes m with P": lambda m, k, P, Q, *a: _undone(m, k, Q, P, *a),
        "swaps r and s": lambda m, k, P, Q, R, S, *a: _undone(m, k, P, Q, S, R, *a),
        "forgets the padding": lambda *a: _undone(*a[:-1], 0),
        "forgets the stride": lambda *a: _undone(*a[:-2], 1, a[-1]),
        "adds the padding": lambda *a: _undone(*a[:-1], -a[-1]),
        "first image only": lambda *a: (0, *_undone(*a)[1:]),
        "has the channel slowest": lambda m, k, P, Q, R, S, C, *a: (
            *_undone(m, k % (R * S) * C, P, Q, R, S, C, *a)[:3], k // (R * S)
        ),
    },
    "tap_mask": {
        "forgets the edge above": lambda *a: _hits(*a, least=-99),
        "forgets the edge below": lambda *a: _hits(*a, most=99),
        "has one row and column too many": lambda *a: _hits(*a, most=1),
        "bounds by the output": lambda p, q, H, W, R, S, s, d: _hits(
            p, q, (H + 2 * d - R) // s + 1, (W + 2 * d - S) // s + 1, R, S, s, d
        ),
        "swaps H and W": lambda p, q, H, W, *a: _hits(p, q, W, H, *a),
        "swaps R and S": lambda p, q, H, W, R, S, *a: _hits(p, q, H, W, S, R, *a),
        "forgets the stride": lambda p, q, H, W, R, S, s, d: _hits(p, q, H, W, R, S, 1, d),
        "forgets the padding": lambda *a: _hits(*a[:-1], 0),
        "asks the first tap for all": lambda *a: np.full((a[4], a[5]), _hits(*a)[0, 0]),
    },
    "deltas": {
        "forgets to go back in next_r": lambda W, C, R, S, d, b: (
            C * d, W * C * d, b - (R - 1) * W * C * d - (S - 1) * C * d
        ),
        "forgets to go back in next_c": lambda W, C, R, S, d, b: (C * d, W * C * d - (S - 1) * C * d, b),
        "goes back the taps only": lambda W, C, R, S, d, b: (
            C * d, W * C * d - (S - 1) * C * d, b - (S - 1) * C * d
        ),
        "goes back one tap too far": lambda W, C, R, S, d, b: (
            C * d, W * C * d - S * C * d, b - R * W * C * d - S * C * d
        ),
        "forgets the dilation": lambda W, C, R, S, d, b: _moves(W, C, R, S, 1, b),
        "forgets the channels": lambda W, C, R, S, d, b: _moves(W, 1, R, S, d, b),
        "swaps R and S": lambda W, C, R, S, d, b: _moves(W, C, S, R, d, b),
        "moves on by all channels": lambda W, C, R, S, d, b: _moves(W, C, R, S, d, C),
    },
    "winograd_products": {
        "drops the last tiles": lambda P, Q, C, K, m: P // m * (Q // m) * (m + 2) ** 2 * C * K,
        "forgets the overlap": lambda P, Q, C, K, m: _tiles_of(P, Q, m + 2) * (m + 2) ** 2 * C * K,
        "counts one dimension": lambda P, Q, C, K, m: _tiles_of(P, Q, m) * (m + 2) * C * K,
        "counts the outputs": lambda P, Q, C, K, m: _tiles_of(P, Q, m) * m * m * C * K,
        "counts the definition": lambda P, Q, C, K, m: 9 * P * Q * C * K,
        "takes the ratio": lambda P, Q, C, K, m: P * Q * C * K * (m + 2) ** 2 / m**2,
        "forgets the filters": lambda P, Q, C, K, m: _tiles_of(P, Q, m) * (m + 2) ** 2 * C,
    },
    "winograd_tile": {
        "transposes G": lambda d, g, AT, G, BT: AT @ ((G.T @ g @ G) * (BT @ d @ BT.T)) @ AT.T,
        "transposes the filter": lambda d, g, AT, G, BT: AT @ ((G @ g.T @ G.T) * (BT @ d @ BT.T)) @ AT.T,
        "multiplies matrices": lambda d, g, AT, G, BT: AT @ ((G @ g @ G.T) @ (BT @ d @ BT.T)) @ AT.T,
        "transforms one side": lambda d, g, AT, G, BT: AT @ ((G @ g @ G.T) * (BT @ d)) @ AT.T,
        "uses B for its transpose": lambda d, g, AT, G, BT: AT @ ((G @ g @ G.T) * (BT.T @ d @ BT)) @ AT.T,
        "never comes back": lambda d, g, AT, G, BT: (G @ g @ G.T) * (BT @ d @ BT.T),
        "flips the filter": lambda d, g, AT, G, BT: AT @ ((G @ g[::-1, ::-1] @ G.T) * (BT @ d @ BT.T)) @ AT.T,
    },
    "winograd_picture": {
        "forgets the overlap": lambda x, g, m, *a: _in_tiles(x, g, m, *a, step=m + 2),
        "drops the last tiles": lambda x, g, m, *a: _in_tiles(x, g, m, *a)[
            : (x.shape[0] - 2) // m * m, : (x.shape[1] - 2) // m * m
        ],
        "leaves what hangs over": lambda x, g, m, *a: _in_tiles(x, g, m, *a, whole=True),
        "swaps rows and columns": lambda x, g, m, *a: _in_tiles(x.T, g, m, *a).T,
        "one tile for all": lambda x, g, m, *a: np.tile(
            _in_tiles(x[: m + 2, : m + 2], g, m, *a), (-(-x.shape[0] // m), -(-x.shape[1] // m))
        )[: x.shape[0] - 2, : x.shape[1] - 2],
    },
    "depthwise": {
        "ignores the channel multiplier": lambda x, w, s, p: _per_channel(x, w[: x.shape[3]], s, p),
        "sums over channels": lambda x, w, s, p: _per_channel(x, w, s, p).sum(axis=3, keepdims=True),
        "reads all channels": lambda x, w, s, p: conv2d(
            x, w[..., None].repeat(x.shape[3], 3), stride=s, padding=p
        ),
        "swaps k // m and k % m": lambda x, w, s, p: _per_channel(
            x, w, s, p, lambda k, m: k % m % x.shape[3]
        ),
        "takes k % C": lambda x, w, s, p: _per_channel(x, w, s, p, lambda k, m: k % x.shape[3]),
        "first channel for all": lambda x, w, s, p: _per_channel(x, w, s, p, lambda k, m: 0),
        "ignores the stride": lambda x, w, s, p: _per_channel(x, w, 1, p),
        "ignores the padding": lambda x, w, s, p: _per_channel(x, w, s, 0),
        "flips the filter": lambda x, w, s, p: _per_channel(x, w[:, ::-1, ::-1], s, p),
    },
    "separable_saving": {
        "forgets the pointwise layer": lambda C, K, R, S: K,
        "forgets the depthwise layer": lambda C, K, R, S: R * S,
        "is upside down": lambda C, K, R, S: 1 / K + 1 / (R * S),
        "takes C for K": lambda C, K, R, S: 1 / (1 / C + 1 / (R * S)),
        "depthwise for every filter": lambda C, K, R, S: R * S * C * K / (R * S * K + C * K),
    },
    "depthwise_intensity": {
        "counts multiply-adds": lambda H, W, C, R, S: _flops(H, W, C, R, S) / 2 / _moved(H, W, C, R, S),
        "counts numbers, not bytes": lambda H, W, C, R, S: _flops(H, W, C, R, S) / _moved(H, W, C, R, S) * 4,
        "forgets y": lambda H, W, C, R, S: _flops(H, W, C, R, S) / (_moved(H, W, C, R, S) - 4 * H * W * C),
        "forgets w": lambda H, W, C, R, S: _flops(H, W, C, R, S) / (8 * H * W * C),
        "sums over channels": lambda H, W, C, R, S: C * _flops(H, W, C, R, S) / _moved(H, W, C, R, S),
    },
    "phase_seconds": {
        "adds what happens at once": lambda f, m, p, s, n, e: f / p + m / s + n * e,
        "takes the faster half": lambda f, m, p, s, n, e: min(f / p, m / s) + n * e,
        "forgets what is begun": lambda f, m, p, s, n, e: max(f / p, m / s),
        "counts beginnings once": lambda f, m, p, s, n, e: max(f / p, m / s) + e * (n > 0),
        "hides beginnings behind the rest": lambda f, m, p, s, n, e: max(f / p, m / s, n * e),
        "looks at the operations only": lambda f, m, p, s, n, e: f / p + n * e,
    },
    "regret": {
        "takes the arithmetic mean": lambda t, c: np.mean([a / min(s.values()) for s, a in _times(t, c)]),
        "compares the sums": lambda t, c: sum(a for _, a in _times(t, c)) / sum(min(s.values()) for s in t),
        "is upside down": lambda t, c: (
            np.prod([min(s.values()) / a for s, a in _times(t, c)]) ** (1 / len(t))
        ),
        "compares with the worst": lambda t, c: (
            np.prod([a / max(s.values()) for s, a in _times(t, c)]) ** (1 / len(t))
        ),
        "forgets the root": lambda t, c: np.prod([a / min(s.values()) for s, a in _times(t, c)]),
        "tells the worst layer": lambda t, c: max(a / min(s.values()) for s, a in _times(t, c)),
    },
    "cheapest_chain": {
        "forgets to convert": lambda t, c: sum(min(one.values()) for one in t),
        "takes the best of each layer": lambda t, c: _greedy(t, c, look=False),
        "decides step by step": lambda t, c: _greedy(t, c, look=True),
        "stays in one layout": lambda t, c: min(sum(one[layout] for one in t) for layout in t[0]),
        "converts once": lambda t, c: min(_cheapest(t, c), sum(min(one.values()) for one in t) + c),
        "converts before every layer": lambda t, c: _cheapest(t, c) + c,
    },
    "pack": {
        "does not fill up with zeros": lambda b, cols: _pack(b, cols, fill=b[:, -1:]),
        "drops the columns left over": lambda b, cols: _pack(b[:, : b.shape[1] // cols * cols], cols),
        "cuts along the rows": lambda b, cols: np.resize(b, (-(-b.shape[1] // cols), len(b), cols)),
        "stores each panel column by column": lambda b, cols: _pack(b, cols).swapaxes(1, 2),
        "deals the columns out one by one": lambda b, cols: (
            _pack(b, cols).transpose(1, 2, 0).reshape(len(b), -1, cols).swapaxes(0, 1)
        ),
    },
    "blocked_product": {
        "leaves out what does not fill a block": lambda a, b, size: _product(a, b, size, tail=False),
        "forgets to add up along k": lambda a, b, size: _product(a, b, size, add=False),
        "multiplies the first block of k only": lambda a, b, size: a[:, :size] @ b[:size],
        "multiplies number by number": lambda a, b, size: a * b if a.shape == b.shape else a,
        "turns b around": lambda a, b, size: a @ b.T if a.shape[1] == b.shape[1] else a,
    },
    "registers": {
        "counts the sums only": lambda rows, vectors: rows * vectors,
        "forgets the number of a": lambda rows, vectors: rows * vectors + vectors,
        "forgets the weights": lambda rows, vectors: rows * vectors + 1,
        "keeps a number for every row": lambda rows, vectors: rows * vectors + vectors + rows,
        "adds rows and vectors": lambda rows, vectors: rows + vectors + 1,
    },
    "buffer": {
        "swaps p and q": lambda *a: _offsets(*a, order="qp"),
        "swaps r and s": lambda *a: _offsets(*a, taps="sr"),
        "forgets that padding is -1": lambda *a: _offsets(*a, outside=None),
        "forgets the padding": lambda H, W, C, R, S, s, p, rows: _offsets(H, W, C, R, S, s, 0, rows),
        "ignores the stride": lambda H, W, C, R, S, s, p, rows: _offsets(H, W, C, R, S, 1, p, rows),
        "counts pixels, not numbers": lambda H, W, C, *a: _offsets(H, W, 1, *a),
        "lies row by row, not tile by tile": lambda *a: _offsets(*a, tiled=False),
        "fills the last tile with -1": lambda *a: _offsets(*a, repeat=False),
    },
    "places": {
        "moves the zeros too": lambda offsets, image, size: offsets + image * size,
        "reads the first image for all": lambda offsets, image, size: offsets,
        "steps one number an image": lambda offsets, image, size: np.where(offsets < 0, -1, offsets + image),
        "takes offset 0 for padding": lambda o, image, size: np.where(o <= 0, -1, o + image * size),
    },
    "through_the_buffer": {
        "moves the zeros too": lambda *a: _run_through(*a, zeros_move=True),
        "reads the first image for all": lambda x, *a: _run_through(x[:1].repeat(len(x), 0), *a),
        "takes the rows of a tile for taps": lambda x, o, w, pixels: _run_through(
            x, np.resize(o.swapaxes(1, 2), o.shape), w, pixels
        ),
        "returns the last tile whole": lambda x, o, w, pixels: _run_through(x, o, w, o.shape[0] * o.shape[2]),
        "reads one channel for all": lambda x, o, w, pixels: _run_through(x, o, w, pixels, channels=1),
    },
    "correlate": {
        "forgets the conjugate": lambda x, w: _spectral(x, w, conj=lambda W: W),
        "adds no zeros, so that windows wrap around": lambda x, w: _spectral(x, w, size=(
            max(len(x), len(w)), max(x.shape[1], w.shape[1]))),
        "adds one row too few": lambda x, w: _spectral(x, w, size=(
            max(len(x) + len(w) - 2, len(w)), x.shape[1] + w.shape[1] - 1)),
        "crops the wrong corner": lambda x, w: _spectral(x, w, crop=lambda y: y[-len(x) :, -x.shape[1] :]),
        "does not crop": lambda x, w: _spectral(x, w, crop=lambda y: y),
        "conjugates the picture": lambda x, w: np.fft.ifft2(
            np.fft.fft2(x, _full(x, w)).conj() * np.fft.fft2(w, _full(x, w))).real[: len(x), : x.shape[1]],
        "returns complex numbers": lambda x, w: _spectral(x, w).astype(complex),
    },
    "fast_size": {
        "knows powers of two only": lambda n: 1 << (n - 1).bit_length(),
        "is larger than n": lambda n: fast_size(n + 1),
        "allows a factor 7": lambda n: min(m for m in range(n, 2 * n + 1) if not _rest(m, (2, 3, 5, 7))),
        "forgets the factor 5": lambda n: min(m for m in range(n, 2 * n + 1) if not _rest(m, (2, 3))),
        "takes n": lambda n: n,
    },
    "tiles": {
        "forgets that tiles overlap": lambda P, R, tile: -(-P // tile),
        "overlaps by R": lambda P, R, tile: -(-P // max(tile - R, 1)),
        "rounds down": lambda P, R, tile: P // (tile - R + 1),
        "adds one always": lambda P, R, tile: P // (tile - R + 1) + 1,
    },
}  # fmt: skip


def _undone(m, k, P, Q, R, S, C, stride, padding, swapped=False):
    n, p, q = m // (P * Q), m % (P * Q) // Q, m % Q
    r, s = k // C // S, k // C % S
    if swapped:
        p, q, r, s = q, p, s, r
    return n, p * stride - padding + r, q * stride - padding + s, k % C


def _hits(p, q, H, W, R, S, stride, padding, least=0, most=0):
    h = p * stride - padding + np.arange(R)[:, None]
    w = q * stride - padding + np.arange(S)
    return ((h >= least) & (h < H + most) & (w >= least) & (w < W + most)).astype(int)


def _moves(W, C, R, S, dilation, block_c):
    places = [c + (r * W + s) * C * dilation for c in (0, block_c) for r in range(R) for s in range(S)] + [
        0
    ] * 2
    return (
        C * dilation,
        W * C * dilation - (S - 1) * C * dilation,
        places[R * S] - places[R * S - 1],
    )


def _tiles_of(P, Q, m):
    return -(-P // m) * -(-Q // m)


def _in_tiles(x, g, m, AT, G, BT, step=None, whole=False):
    """Winograd's convolution of one picture; reads a window every `step` pixels, m if it is right."""
    P, Q = (size - 2 for size in x.shape)
    down, across = -(-P // m), -(-Q // m)
    padded = np.pad(x, ((0, m * 9), (0, m * 9)))
    y = np.zeros((down * m, across * m))
    for p in range(down):
        for q in range(across):
            row, col = p * (step or m), q * (step or m)
            d = padded[row : row + m + 2, col : col + m + 2]
            tile = AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T
            y[p * m : (p + 1) * m, q * m : (q + 1) * m] = tile
    return y if whole else y[:P, :Q]


def _per_channel(x, w, s, p, channel=lambda k, m: k // m):
    m = len(w) // x.shape[3]
    channels = [channel(k, m) for k in range(len(w))]
    return np.concatenate(
        [conv2d(x[..., [c]], w[[k], :, :, None], stride=s, padding=p) for k, c in enumerate(channels)], axis=3
    )


def _flops(H, W, C, R, S):
    return 2 * H * W * C * R * S


def _moved(H, W, C, R, S):
    return 4 * (2 * H * W * C + C * R * S)


def _offsets(
    H, W, C, R, S, stride, padding, rows, order="pq", taps="rs", outside=-1, tiled=True, repeat=True
):
    P, Q = (H + 2 * padding - R) // stride + 1, (W + 2 * padding - S) // stride + 1
    windows = []
    for m in range(-(-P * Q // rows) * rows):
        p, q = divmod(min(m, P * Q - 1), Q) if order == "pq" else divmod(min(m, P * Q - 1), P)[::-1]
        window = []
        for t in range(R * S):
            r, s = divmod(t, S) if taps == "rs" else divmod(t, R)[::-1]
            h, w = p * stride + r - padding, q * stride + s - padding
            hit = 0 <= h < H and 0 <= w < W
            window.append((h * W + w) * C if hit or outside is None else outside)
        windows.append(window if repeat or m < P * Q else [-1] * (R * S))
    table = np.array(windows)
    return table.reshape(-1, rows, R * S).swapaxes(1, 2) if tiled else table.reshape(-1, R * S, rows)


def _run_through(x, offsets, w, pixels, zeros_move=False, channels=None):
    N, H, W, C = x.shape
    flat, rows = x.reshape(-1), offsets.shape[2]
    y = np.zeros((N, pixels, len(w)), x.dtype)
    for n in range(N):
        for m in range(pixels):
            for t, offset in enumerate(offsets[m // rows, :, m % rows]):
                at = offset + n * H * W * C
                read = at >= 0 if zeros_move else offset >= 0
                pixel = flat[at : at + C] if read else np.zeros(C)
                y[n, m] += w[:, t] @ (pixel if channels is None else np.full(C, pixel[0]))
    return y


def _pack(b, cols, fill=0):
    K, N = b.shape
    panels = np.empty((-(-N // cols), K, cols), b.dtype)
    for number, panel in enumerate(panels):
        part = b[:, number * cols : (number + 1) * cols]
        panel[:] = fill
        panel[:, : part.shape[1]] = part
    return panels


def _product(a, b, size, tail=True, add=True):
    (M, K), N = a.shape, b.shape[1]
    y = np.zeros((M, N), a.dtype)
    ends = [(axis if tail else axis // size * size) for axis in (M, N, K)]
    for m in range(0, ends[0], size):
        for n in range(0, ends[1], size):
            for k in range(0, ends[2], size):
                block = a[m : m + size, k : k + size] @ b[k : k + size, n : n + size]
                y[m : m + size, n : n + size] = block + (y[m : m + size, n : n + size] if add else 0)
    return y


def _full(x, w):
    return len(x) + len(w) - 1, x.shape[1] + w.shape[1] - 1


def _spectral(x, w, size=None, conj=np.conj, crop=None):
    size = size or _full(x, w)
    y = np.fft.ifft2(np.fft.fft2(x, size) * conj(np.fft.fft2(w, size))).real
    return crop(y) if crop else y[: len(x), : x.shape[1]]


def _rest(n, factors):
    """Return n without these factors, or 0 if nothing else is left."""
    for factor in factors:
        while n % factor == 0:
            n //= factor
    return n - 1


def _pq(H, W, R, S, s, p):
    return ((H + 2 * p - R) // s + 1) * ((W + 2 * p - S) // s + 1)


WRONG |= product_mistakes.WRONG | roofline_mistakes.WRONG
KERNELS |= product_mistakes.KERNELS


def test_every_exercise_has_wrong_answers():
    assert set(WRONG) | set(KERNELS) == set(EXERCISES)


@pytest.mark.parametrize(("name", "mistake"), [(n, m) for n, wrong in WRONG.items() for m in wrong])
def test_wrong_answers_are_caught(name, mistake):
    note = check(name, WRONG[name][mistake])
    assert note.good is False, f"{name}: an answer that {mistake} passed"


@pytest.mark.parametrize(("name", "mistake"), [(n, m) for n, wrong in KERNELS.items() for m in wrong])
def test_wrong_kernels_are_caught_in_their_own_words(name, mistake):
    kernel, words = KERNELS[name][mistake]
    note = check(name, kernel)
    assert note.good is False, f"{name}: a kernel that {mistake} passed"
    assert words in repr(note)


@pytest.mark.parametrize(("name", "answer"), (product_mistakes.RIGHT | roofline_mistakes.RIGHT).items())
def test_right_answers_in_other_words(name, answer):
    assert check(name, answer).good


@pytest.mark.parametrize("name", KERNELS)
def test_the_librarys_own_kernels_are_right(name):
    assert check(name, EXERCISES[name].answer).good


def test_a_kernel_that_is_not_started():
    from convlab.gpu.numba_cuda import cuda

    @cuda.jit
    def my_copy(x, y):
        pass

    assert check("copy", my_copy).good is None


def test_right_answers_written_another_way():
    """The library's own answers are held against answers that share no code with them."""
    assert check("im2row", _windows).good
    assert check("im2col", lambda *a: _windows(*a, order="crs").T).good
    assert check("convolve", lambda x, w, s, p: conv2d(x, w, stride=s, padding=p)).good
    assert check("flip", lambda w: np.rot90(w, 2, axes=(1, 2))).good
    assert check("output_size", lambda H, R, s, p, d: len(range(0, H + 2 * p - d * (R - 1), s))).good
    fits = lambda H, W, C, R, S, s, p, b: b // (_pq(H, W, R, S, s, p) * R * S * C * 4)  # noqa: E731
    assert check("largest_batch", fits).good
    assert check("index_map", _undone).good
    assert check("tap_mask", _hits).good
    assert check("deltas", _moves).good
    tile = lambda d, g, AT, G, BT: AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T  # noqa: E731
    assert check("winograd_tile", tile).good
    assert check("winograd_picture", _in_tiles).good
    products = lambda P, Q, C, K, m: len(range(0, P, m)) * len(range(0, Q, m)) * C * K * (m + 2) ** 2  # noqa: E731
    assert check("winograd_products", products).good
    assert check("depthwise", _per_channel).good
    assert check("separable_saving", lambda C, K, R, S: 1 / (1 / K + 1 / (R * S))).good
    assert check("depthwise_intensity", lambda *a: _flops(*a) / _moved(*a)).good
    assert check("pack", _pack).good
    assert check("phase_seconds", lambda f, m, p, s, n, e: max(f / p, m / s) + n * e).good
    root = lambda t, c: np.exp(np.mean([np.log(a / min(s.values())) for s, a in _times(t, c)]))  # noqa: E731
    assert check("regret", root).good
    assert check("cheapest_chain", _cheapest).good
    assert check("buffer", _offsets).good
    assert check("through_the_buffer", _run_through).good
    assert check("places", lambda o, image, size: (o + image * size + 1) * (o >= 0) - 1).good
    assert check("blocked_product", _product).good
    assert check("registers", lambda rows, vectors: (rows + 1) * vectors + 1).good
    assert check("correlate", _spectral).good
    smallest = lambda n: next(m for m in range(n, 2 * n + 1) if not _rest(m, (2, 3, 5)))  # noqa: E731
    assert check("fast_size", smallest).good
    assert check("tiles", lambda P, R, tile: len(range(0, P, tile - R + 1))).good


def test_what_check_says():
    assert check("flip", lambda w: None).good is None
    said = repr(check("output_size", WRONG["output_size"]["forgets the padding"]))
    assert "(H=5, R=3, stride=1, padding=1, dilation=1)" in said
    assert "expected 5\ngot      3" in said
    assert "changes its input" in repr(check("convolve", _changes_input))
    with pytest.raises(ConvError, match="output_size"):
        check("nothing", len)


def test_check_names_the_line_that_failed():
    def broken(w):
        zero = 0
        return 1 / zero

    said = repr(check("flip", broken))
    assert "ZeroDivisionError" in said
    assert "return 1 / zero" in said


def test_a_note_sets_backticks_as_code_and_breaks_between_words():
    page = check("blocked_product", lambda a, b, size: None)._repr_html_()
    assert "<code>size</code>" in page
    assert "`" not in page
    assert "word-break:normal" in page
    assert Note(True, "a < `b`")._repr_html_().count("a &lt; <code>b</code>") == 1


def test_check_shows_small_inputs():
    said = repr(check("convolve", WRONG["convolve"]["flips the filter"]))
    assert "x =\n[[[[" in said
    assert "w =\n[[[[" in said


@pytest.mark.parametrize("name", [name for name, e in EXERCISES.items() if isinstance(e, Exercise)])
def test_the_arguments_are_those_of_the_statement_and_of_every_case(name):
    exercise = EXERCISES[name]
    assert f"({', '.join(exercise.arguments)}) returns" in exercise.statement
    assert {len(case) for case in exercise.cases()} == {len(exercise.arguments)}


def test_a_statement_in_other_words_changes_no_check(monkeypatch):
    monkeypatch.setitem(EXERCISES, "flip", replace(EXERCISES["flip"], statement="Turn the filters (all)."))
    assert "w=<array" in check("flip", lambda w: w).body


def test_check_recognises_another_order():
    said = repr(check("im2row", WRONG["im2row"]["the other order"]))
    assert said.startswith("Not yet.\nCase 2 of")  # the second case has two channels
    assert "right numbers in another order" in said


@pytest.mark.parametrize(
    "answer",
    [
        lambda *a: "5",
        lambda *a: [[1, 2], [3]],
        lambda *a: np.array(["a"]),
        lambda *a: object(),
        lambda *a: 1j,
        partial(lambda *a: 5.5),
    ],
)
@pytest.mark.parametrize("name", ["output_size", "flip"])
def test_odd_answers_are_answered(name, answer):
    assert check(name, answer).good is False


def test_a_result_instead_of_a_function():
    assert "without calling" in repr(check("flip", None))


def test_none_in_a_later_case_is_wrong():
    assert check("output_size", lambda H, R, s, p, d: 3 if (H, p) == (5, 0) else None).good is False


def test_reveal():
    assert reveal(None, 3, "times").good is None
    assert reveal(3.1, 3, "times").good
    assert not reveal(9, 3, "times").good
    for odd in ("a", 0, -3, float("nan"), [1], float("inf")):
        assert reveal(odd, 3, "times").good is None
    assert reveal("3", 3, "times").good
    loss = reveal(5, -2.5, "percent faster")
    assert loss.good is False
    assert "it is -2.5 percent faster: no gain, a loss" in str(loss)
    assert "2.4 to 3.1 times" in str(reveal(3, Measured(2.8, 2.4, 3.1), "times"))
    unknown = reveal(3, Measured(2.8, 1.0, 9.0, noisy=True), "times")
    assert unknown.good is None
    assert "2.8" not in str(unknown)
    assert "<script>" not in reveal(1, 3, "<script>")._repr_html_()
