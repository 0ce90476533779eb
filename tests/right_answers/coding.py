"""Right answers to the timed tasks of the interview, three to each: no two of them go the same way."""

import itertools

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from convlab.gpu.numba_cuda import cuda, float32

# -- from an empty cell ------------------------------------------------------------------------------------


def by_window(x, w, padding):
    """Cut each window out and sum it up."""
    n_, c_, h_, w_ = x.shape
    k_, _, r_, s_ = w.shape
    big = np.zeros((n_, c_, h_ + 2 * padding, w_ + 2 * padding), x.dtype)
    big[:, :, padding : padding + h_, padding : padding + w_] = x
    out = np.zeros((n_, k_, big.shape[2] - r_ + 1, big.shape[3] - s_ + 1), x.dtype)
    for n, k, i, j in itertools.product(*map(range, out.shape)):
        out[n, k, i, j] = (big[n, :, i : i + r_, j : j + s_] * w[k]).sum()
    return out


def by_pixel(x, w, padding):
    """Scatter: each pixel goes to all outputs that look at it."""
    (N, C, H, W), (K, _, R, S) = x.shape, w.shape
    P, Q = H + 2 * padding - R + 1, W + 2 * padding - S + 1
    y = np.zeros((N, K, P, Q), np.float64)
    for n, c, h, v, r, s in np.ndindex(N, C, H, W, R, S):
        p, q = h + padding - r, v + padding - s
        if 0 <= p < P and 0 <= q < Q:
            y[n, :, p, q] += x[n, c, h, v] * w[:, c, r, s]
    return y


def with_questions(x, w, padding):
    """Plain Python numbers, a question at each tap, no padded copy."""

    def pixel(n, c, row, col):
        inside = row in range(x.shape[2]) and col in range(x.shape[3])
        return float(x[n, c, row, col]) if inside else 0.0

    def output(n, k, p, q):
        taps = np.ndindex(w.shape[1:])
        return sum(pixel(n, c, p + r - padding, q + s - padding) * float(w[k, c, r, s]) for c, r, s in taps)

    P, Q = (x.shape[2 + a] + 2 * padding - w.shape[2 + a] + 1 for a in (0, 1))
    picture = range(x.shape[0]), range(w.shape[0]), range(P), range(Q)
    return np.array([output(*at) for at in itertools.product(*picture)]).reshape(*map(len, picture))


# -- without the loops -------------------------------------------------------------------------------------


def by_einsum(x, w, padding):
    """A view of all windows, and one einsum."""
    edge = (padding, padding)
    windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), edge, edge)), w.shape[2:], (2, 3))
    return np.einsum("ncpqrs,kcrs->nkpq", windows, w, optimize=True)


def by_taps(x, w, padding):
    """A loop over the taps alone: pictures that are shifted, times a weight for each channel."""
    x = np.pad(x, [(0, 0)] * 2 + [(padding, padding)] * 2)
    R, S = w.shape[2:]
    P, Q = x.shape[2] - R + 1, x.shape[3] - S + 1
    y = 0
    for r, s in np.ndindex(R, S):
        y = y + np.tensordot(w[:, :, r, s], x[:, :, r : r + P, s : s + Q], ([1], [1]))
    return y.swapaxes(0, 1)


def by_strides(x, w, padding):
    """im2col by hand: strides of the windows, a copy as a matrix, one product."""
    N, C, H, W = x.shape
    K, _, R, S = w.shape
    big = np.zeros((N, C, H + 2 * padding, W + 2 * padding), x.dtype)
    big[..., padding : H + padding, padding : W + padding] = x
    P, Q = big.shape[2] - R + 1, big.shape[3] - S + 1
    n, c, h, v = big.strides
    view = as_strided(big, (N, C, R, S, P, Q), (n, c, h, v, h, v))
    return (w.reshape(K, -1) @ view.reshape(N, C * R * S, P * Q)).reshape(N, K, P, Q)


# -- with stride and groups --------------------------------------------------------------------------------


def group_by_group(x, w, stride, padding, groups):
    """Split both, convolve each part, concatenate."""
    parts = []
    for mine, filters in zip(np.split(x, groups, axis=1), np.split(w, groups), strict=True):
        full = by_einsum(mine, filters, padding)
        parts.append(full[:, :, ::stride, ::stride])
    return np.concatenate(parts, axis=1)


def groups_as_an_axis(x, w, stride, padding, groups):
    """Reshape channels to (groups, C/groups), and let einsum keep g apart."""
    (N, C, *_), (K, *_, R, S) = x.shape, w.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    views = sliding_window_view(x, (R, S), (2, 3))[:, :, ::stride, ::stride]
    _, _, P, Q, *_ = views.shape
    views = views.reshape(N, groups, C // groups, P, Q, R, S)
    filters = w.reshape(groups, K // groups, C // groups, R, S)
    return np.einsum("ngcpqrs,gkcrs->ngkpq", views, filters).reshape(N, K, P, Q)


def output_by_output(x, w, stride, padding, groups):
    """Loops; the first channel of each filter's group worked out."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    K, D, R, S = w.shape
    P, Q = (x.shape[2] - R) // stride + 1, (x.shape[3] - S) // stride + 1
    y = np.empty((len(x), K, P, Q))
    for k in range(K):
        first = k // (K // groups) * D
        for p in range(P):
            for q in range(Q):
                top, left = p * stride, q * stride
                window = x[:, first : first + D, top : top + R, left : left + S]
                y[:, k, p, q] = (window * w[k]).sum(axis=(1, 2, 3))
    return y


# -- the memory --------------------------------------------------------------------------------------------


def into_the_sum(x, w, padding):
    """Tap by tap, no padded copy: each tap's part of the picture goes to its part of the output."""
    (N, _, H, W), (K, _, R, S) = x.shape, w.shape
    P, Q = H + 2 * padding - R + 1, W + 2 * padding - S + 1
    y = np.zeros((N, K, P, Q), x.dtype)
    for n, r, s in np.ndindex(N, R, S):
        up, left = r - padding, s - padding
        p0, p1, q0, q1 = max(0, -up), min(P, H - up), max(0, -left), min(Q, W - left)
        if p0 < p1 and q0 < q1:
            part = x[n, :, p0 + up : p1 + up, q0 + left : q1 + left]
            y[n, :, p0:p1, q0:q1] += np.einsum("kc,cpq->kpq", w[:, :, r, s], part)
    return y


def line_by_line(x, w, padding):
    """im2col of one line of outputs at a time."""
    N, _, H, W = x.shape
    K, _, R, S = w.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    P, Q = H + 2 * padding - R + 1, W + 2 * padding - S + 1
    y = np.empty((N, K, P, Q), x.dtype)
    for n in range(N):
        for p in range(P):
            windows = sliding_window_view(x[n, :, p : p + R], S, axis=2)  # (C, R, Q, S)
            y[n, :, p] = np.tensordot(w, windows, ([1, 2, 3], [0, 1, 3]))
    return y


def unmaterialised(x, w, padding):
    """One einsum on a view, with no path that would copy the windows."""
    edge = (padding, padding)
    windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), edge, edge)), w.shape[2:], (2, 3))
    return np.einsum("ncpqrs,kcrs->nkpq", windows, w)


# -- backward ----------------------------------------------------------------------------------------------


def dgrad_scatter(dy, w, H, W, stride, padding):
    """Every output gives to all pixels it read; the border is cut off in the end."""
    N, _, P, Q = dy.shape
    _, C, R, S = w.shape
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for p, q in np.ndindex(P, Q):
        dx[:, :, p * stride : p * stride + R, q * stride : q * stride + S] += np.einsum(
            "nk,kcrs->ncrs", dy[:, :, p, q], w
        )
    return dx[:, :, padding : padding + H, padding : padding + W]


def dgrad_by_pixel(dy, w, H, W, stride, padding):
    """Gather: which outputs looked at this pixel, and by which tap?"""
    N, _, P, Q = dy.shape
    _, C, R, S = w.shape
    dx = np.zeros((N, C, H, W))
    for h, v, r, s in np.ndindex(H, W, R, S):
        p, down = divmod(h + padding - r, stride)
        q, across = divmod(v + padding - s, stride)
        if down == across == 0 and 0 <= p < P and 0 <= q < Q:
            dx[:, :, h, v] += dy[:, :, p, q] @ w[:, :, r, s]
    return dx


def dgrad_transposed(dy, w, H, W, stride, padding):
    """Zeros between the numbers of dy, and a convolution with the filters turned, in and out exchanged."""
    N, K, P, Q = dy.shape
    R, S = w.shape[2:]
    wide = np.zeros((N, K, H + 2 * padding + R - 1, W + 2 * padding + S - 1))
    wide[:, :, R - 1 : R - 1 + P * stride : stride, S - 1 : S - 1 + Q * stride : stride] = dy
    windows = sliding_window_view(wide, (R, S), (2, 3))
    dx = np.einsum("nkhvrs,kcrs->nchv", windows, w[:, :, ::-1, ::-1])
    return dx[:, :, padding : H + padding, padding : W + padding]


def wgrad_by_window(x, dy, R, S, stride, padding):
    """Each output's window, times what came back to it."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    dw = np.zeros((dy.shape[1], x.shape[1], R, S))
    for n, p, q in np.ndindex(len(dy), *dy.shape[2:]):
        window = x[n, :, p * stride : p * stride + R, q * stride : q * stride + S]
        dw += np.multiply.outer(dy[n, :, p, q], window)
    return dw


def wgrad_by_tap(x, dy, R, S, stride, padding):
    """For each tap the pixels it saw: one product of matrices."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    K, C, (P, Q) = dy.shape[1], x.shape[1], dy.shape[2:]
    dw = np.empty((K, C, R, S), dy.dtype)
    for r in range(R):
        for s in range(S):
            seen = x[:, :, r : r + stride * P : stride, s : s + stride * Q : stride][:, :, :P, :Q]
            dw[:, :, r, s] = np.tensordot(dy, seen, ([0, 2, 3], [0, 2, 3]))
    return dw


def wgrad_einsum(x, dy, R, S, stride, padding):
    """One einsum over a view of the windows."""
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = sliding_window_view(padded, (R, S), axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("ncpqrs,nkpq->kcrs", windows, dy)


# -- a kernel with padding ---------------------------------------------------------------------------------


@cuda.jit
def guarded_taps(x, w, y, padding):
    """A thread for each output, in the order of y; a question at each tap."""
    K, P, Q = y.shape
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= K * P * Q:
        return
    k, p, q = i // (P * Q), i // Q % P, i % Q
    acc = float32(0.0)
    for c in range(x.shape[0]):
        for r in range(w.shape[2]):
            row = p + r - padding
            if row >= 0 and row < x.shape[1]:
                for s in range(w.shape[3]):
                    col = q + s - padding
                    if col >= 0 and col < x.shape[2]:
                        acc += x[c, row, col] * w[k, c, r, s]
    y[k, p, q] = acc


@cuda.jit
def bounds_first(x, w, y, padding):
    """The first and the last tap on the picture, then loops with no question; filters side by side."""
    K, _, Q = y.shape
    t = cuda.grid(1)
    if t < y.size:
        k = t % K
        p, q = divmod(t // K, Q)
        r0, r1 = max(0, padding - p), min(w.shape[2], x.shape[1] + padding - p)
        s0, s1 = max(0, padding - q), min(w.shape[3], x.shape[2] + padding - q)
        total = 0.0
        for r in range(r0, r1):
            for s in range(s0, s1):
                for c in range(w.shape[1]):
                    total += w[k, c, r, s] * x[c, p - padding + r, q - padding + s]
        y[k, p, q] = total


@cuda.jit
def grid_stride(x, w, y, padding):
    """As many outputs as come along, with the steps of the whole grid."""
    C, H, W = x.shape
    K, P, Q = y.shape
    at = cuda.grid(1)
    while at < K * P * Q:
        q = at % Q
        p = at // Q % P
        k = at // Q // P
        total = float32(0)
        for tap in range(C * w.shape[2] * w.shape[3]):
            c, rest = divmod(tap, w.shape[2] * w.shape[3])
            r, s = divmod(rest, w.shape[3])
            h, v = p + r - padding, q + s - padding
            pixel = x[c, h, v] if 0 <= h < H and 0 <= v < W else float32(0)
            total += pixel * w[k, c, r, s]
        y[k, p, q] = total
        at += cuda.gridsize(1)


# -- coalesced: channels innermost -------------------------------------------------------------------------


@cuda.jit
def filters_side_by_side(x, w, y, padding):
    P, Q, K = y.shape
    i = cuda.grid(1)
    if i < P * Q * K:
        k = i % K
        q = i // K % Q
        p = i // K // Q
        acc = float32(0)
        for r in range(w.shape[0]):
            for s in range(w.shape[1]):
                row, col = p + r - padding, q + s - padding
                if 0 <= row < x.shape[0] and 0 <= col < x.shape[1]:
                    for c in range(x.shape[2]):
                        acc += x[row, col, c] * w[r, s, c, k]
        y[p, q, k] = acc


@cuda.jit
def leave_early(x, w, y, padding):
    t = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if t >= y.size:
        return
    pixel, k = divmod(t, y.shape[2])
    p, q = divmod(pixel, y.shape[1])
    total = 0.0
    for c in range(x.shape[2]):
        for r in range(max(padding - p, 0), min(w.shape[0], x.shape[0] + padding - p)):
            for s in range(max(padding - q, 0), min(w.shape[1], x.shape[1] + padding - q)):
                total += w[r, s, c, k] * x[p + r - padding, q + s - padding, c]
    y[p, q, k] = total


@cuda.jit
def zero_outside(x, w, y, padding):
    H, W, C = x.shape
    R, S, _, K = w.shape
    P, Q, _ = y.shape
    for at in range(cuda.grid(1), P * Q * K, cuda.gridsize(1)):
        p, q, k = at // (Q * K), at // K % Q, at % K
        total = float32(0)
        for r in range(R):
            for s in range(S):
                h, v = p - padding + r, q - padding + s
                on = h >= 0 and h < H and v >= 0 and v < W
                for c in range(C):
                    total += (x[h, v, c] if on else float32(0)) * w[r, s, c, k]
        y[p, q, k] = total


# -- tiled -------------------------------------------------------------------------------------------------


@cuda.jit
def patch_of_a_channel(x, w, y, padding):
    """Channel by channel: the patch with its halo, a barrier before and behind."""
    s = cuda.shared.array((10, 34), float32)
    tx, ty, k = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    q0, p0 = cuda.blockIdx.x * 32 - padding, cuda.blockIdx.y * 8 - padding
    acc = float32(0)
    for c in range(x.shape[0]):
        for i in range(ty, 10, 8):
            for j in range(tx, 34, 32):
                h, v = p0 + i, q0 + j
                s[i, j] = x[c, h, v] if 0 <= h < x.shape[1] and 0 <= v < x.shape[2] else float32(0)
        cuda.syncthreads()
        for r in range(3):
            for t in range(3):
                acc += s[ty + r, tx + t] * w[k, c, r, t]
        cuda.syncthreads()
    p, q = cuda.blockIdx.y * 8 + ty, cuda.blockIdx.x * 32 + tx
    if p < y.shape[1] and q < y.shape[2]:
        y[k, p, q] = acc


@cuda.jit
def two_patches(x, w, y, padding):
    """Two patches in turn, so that one barrier a channel is enough."""
    both = cuda.shared.array((2, 340), float32)
    _, P, Q = y.shape
    t = cuda.threadIdx.y * 32 + cuda.threadIdx.x
    q, p = cuda.blockIdx.x * 32 + cuda.threadIdx.x, cuda.blockIdx.y * 8 + cuda.threadIdx.y
    k = cuda.blockIdx.z
    total = float32(0)
    for c in range(w.shape[1]):
        mine = c % 2
        for at in range(t, 340, 256):
            h = cuda.blockIdx.y * 8 + at // 34 - padding
            v = cuda.blockIdx.x * 32 + at % 34 - padding
            value = float32(0)
            if h >= 0 and h < x.shape[1] and v >= 0 and v < x.shape[2]:
                value = x[c, h, v]
            both[mine, at] = value
        cuda.syncthreads()
        for r in range(3):
            for s in range(3):
                pixel = both[mine, (cuda.threadIdx.y + r) * 34 + cuda.threadIdx.x + s]
                total += pixel * w[k, c, r, s]
    if p < P and q < Q:
        y[k, p, q] = total


@cuda.jit
def weights_too(x, w, y, padding):
    """The filter's weights go to shared memory as well, once for the block."""
    patch = cuda.shared.array((10, 34), float32)
    taps = cuda.shared.array((3, 3), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    q, p, k = cuda.grid(3)
    total = 0.0
    for c in range(x.shape[0]):
        if ty < 3 and tx < 3:
            taps[ty, tx] = w[k, c, ty, tx]
        for n in range(2):
            at = n * 256 + ty * 32 + tx
            if at < 340:
                i, j = divmod(at, 34)
                row, col = p - ty + i - padding, q - tx + j - padding
                patch[i, j] = 0
                if -1 < row < x.shape[1] and -1 < col < x.shape[2]:
                    patch[i, j] = x[c, row, col]
        cuda.syncthreads()
        for tap in range(9):
            r, s = divmod(tap, 3)
            total += taps[r, s] * patch[ty + r, tx + s]
        cuda.syncthreads()
    if p < y.shape[1] and q < y.shape[2]:
        y[k, p, q] = total


ANSWERS = {
    "conv2d_nchw": (by_window, by_pixel, with_questions),
    "conv2d_vectorised": (by_einsum, by_taps, by_strides),
    "conv2d_grouped": (group_by_group, groups_as_an_axis, output_by_output),
    "conv2d_lean": (into_the_sum, line_by_line, unmaterialised),
    "conv2d_dgrad": (dgrad_scatter, dgrad_by_pixel, dgrad_transposed),
    "conv2d_wgrad": (wgrad_by_window, wgrad_by_tap, wgrad_einsum),
    "kernel_padded": (guarded_taps, bounds_first, grid_stride),
    "kernel_coalesced": (filters_side_by_side, leave_early, zero_outside),
    "kernel_tiled": (patch_of_a_channel, two_patches, weights_too),
}
