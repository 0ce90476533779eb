"""Answers that no bank knows: wrong ones that were let through once, and right ones that were refused.

Each wrong one is right for most layers, and wrong for some that the statement allows.
"""

from itertools import pairwise, product
from math import ceil, log2, prod

import numpy as np

from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons import EXERCISES


def half_up(whole, part):
    """Return the quotient, rounded."""
    return int(whole / part + 0.5)


def left_over(whole, part):
    """Return the quotient, and all that is left over."""
    return whole // part + whole % part


def windows(H, R, stride, padding, dilation=1):
    """Return at how many places a window may begin, with stride 1."""
    return H + 2 * padding - dilation * (R - 1)


def convolved(x, w, stride, padding, quotient):
    """Convolve, with as many outputs as a quotient says."""
    (N, H, W, _), (K, R, S, _) = x.shape, w.shape
    P, Q = quotient(windows(H, R, stride, padding), stride), quotient(windows(W, S, stride, padding), stride)
    room = padding + (H + W) * stride  # wherever too many windows end
    padded = np.pad(x, ((0, 0), (padding, room), (padding, room), (0, 0)))
    y = np.zeros((N, P, Q, K), x.dtype)
    for p, q in np.ndindex(P, Q):
        part = padded[:, p * stride : p * stride + R, q * stride : q * stride + S]
        y[:, p, q] = np.einsum("nrsc,krsc->nk", part, w)
    return y


def one_tap_reads_all(x, w, stride, padding):
    """Take a filter of one tap for a product, whatever the stride and the padding."""
    if w.shape[1:3] == (1, 1):
        return x @ w[:, 0, 0].T
    return convolved(x, w, stride, padding, lambda whole, part: -(-whole // part))


def one_change(seconds, convert):
    """Change the layout once, at most."""
    names = {name for times in seconds for name in times}
    cost = {name: [times.get(name, float("inf")) for times in seconds] for name in names}
    once = (
        sum(cost[a][:cut]) + convert + sum(cost[b][cut:])
        for a in names
        for b in names
        for cut in range(1, len(seconds))
    )
    return min([*map(sum, cost.values()), *once])


def step_by_step(seconds, convert):
    """Decide layer by layer, beginning with each layout once."""
    totals = []
    for at, total in seconds[0].items():
        for times in seconds[1:]:
            price = {one: time + convert * (one != at) for one, time in times.items()}
            at = min(price, key=price.get)
            total += price[at]
        totals.append(total)
    return min(totals)


def two_changes(seconds, convert):
    """Change the layout twice, at most."""
    changes = {chain: sum(a != b for a, b in pairwise(chain)) for chain in product(*seconds)}
    return min(
        sum(times[one] for times, one in zip(seconds, chain, strict=True)) + convert * count
        for chain, count in changes.items()
        if count <= 2
    )


def two_layouts(seconds, convert):
    """Know NHWC and NCHW only."""
    best = {"NHWC": 0.0, "NCHW": 0.0}
    for times in seconds:
        best = {
            one: min(best[one], best[other] + convert) + times.get(one, float("inf"))
            for one, other in (("NHWC", "NCHW"), ("NCHW", "NHWC"))
        }
    return min(best.values())


def smooth(n, twos, threes, fives):
    """Return the least product of so few powers that is n or more."""
    return min(
        size
        for a in range(twos)
        for b in range(threes)
        for c in range(fives)
        if (size := 2**a * 3**b * 5**c) >= n
    )


def halves(wrong, height):
    """Share out the rows at a cut by which half of a strip they are in."""
    below = sum(height - height // 2 <= row < height for row in wrong)
    return sum(height <= row < height + height // 2 for row in wrong), below


def by_remainders(wrong, height):
    """Take the places of all strips for those of one."""
    places = {row % height for row in wrong}
    heads = (at for at in range(height) if at not in places)
    feet = (at for at in range(height) if height - 1 - at not in places)
    return next(heads, height), next(feet, height)


def at_the_last_cut(wrong, height):
    """Look at the last cut that has a wrong row beside it, where the last strip may be too short to tell."""
    cut = (max(wrong, default=height) + 1) // height * height
    above = next(at for at in range(height) if cut + at not in wrong)
    return above, next(at for at in range(height) if cut - 1 - at not in wrong)


def short_table(*sizes):
    """Keep the table in 16 bits."""
    return np.array(EXERCISES["buffer"].solution(*sizes)).astype(np.int16)


def whole_along_k(a, b, size):
    """Cut rows and columns into blocks, and sum up a number of y over all of K."""
    y = np.zeros((len(a), b.shape[1]))
    for m, n in product(range(0, len(a), size), range(0, b.shape[1], size)):
        for i, j in product(range(m, min(m + size, len(a))), range(n, min(n + size, b.shape[1]))):
            y[i, j] = sum(a[i, k] * b[k, j] for k in range(len(b)))
    return y


def short_spectrum(x, w):
    """Correlate through spectra that are too short by a row where a power of two is just met."""
    size = tuple(1 << ceil(log2(max(1, one + taps - 2))) for one, taps in zip(x.shape, w.shape, strict=True))
    product = np.fft.rfft2(x, size) * np.fft.rfft2(w, size).conj()
    return np.fft.irfft2(product, size)[: x.shape[0], : x.shape[1]]


def regret_once(seconds, chosen):
    """Count a ratio that comes twice once."""
    ratios = {times[name] / min(times.values()) for times, name in zip(seconds, chosen, strict=True)}
    return prod(ratios) ** (1 / len(ratios))


def rounded_batch(H, W, C, R, S, stride, padding, budget):
    """Count outputs by a rounded quotient."""
    P, Q = half_up(windows(H, R, stride, padding), stride), half_up(windows(W, S, stride, padding), stride)
    return budget // (4 * P * Q * R * S * C)


WRONG = {
    "output_size": [
        lambda *sizes: half_up(windows(*sizes), sizes[2]),
        lambda *sizes: left_over(windows(*sizes), sizes[2]),
        lambda *sizes: round(windows(*sizes) / sizes[2]),
    ],
    "largest_batch": [rounded_batch],
    "convolve": [
        lambda *given: convolved(*given, half_up),
        lambda *given: convolved(*given, left_over),
        lambda *given: convolved(*given, lambda whole, part: round(whole / part)),
        one_tap_reads_all,
    ],
    "cheapest_chain": [one_change, step_by_step, two_changes, two_layouts],
    "fetched": [lambda M, N, K, m, n: K * (M * half_up(N, n) + N * half_up(M, m))],
    "blocks_at_once": [
        lambda threads, registers, shared: min(
            32, ceil(2048 / threads), 65536 // (registers * threads), 233472 // (shared + 1024)
        ),
        lambda threads, registers, shared: min(
            32, 2048 // threads, round(65536 / (registers * threads)), 233472 // (shared + 1024)
        ),
    ],
    "fast_size": [
        lambda n: smooth(n, 8, 6, 4),
        lambda n: smooth(n, 10, 7, 5),
        lambda n: smooth(n, 11, 8, 6),
        lambda n: smooth(n, 12, 8, 6),
        lambda n: smooth(n, 15, 8, 5),
    ],
    "buffer": [short_table],
    "blocked_product": [whole_along_k],
    "regret": [regret_once],
    "registers": [lambda rows, vectors: rows * vectors + min(rows, vectors) + 1],
    "missing_border": [halves, by_remainders, at_the_last_cut],
    "correlate": [short_spectrum],
}
NAMED = [(name, number) for name, answers in WRONG.items() for number in range(len(answers))]


def six_loops(a, b, size):
    """Blocks of lists: number after number, block after block."""
    (M, K), N = a.shape, b.shape[1]
    a, b, y = a.tolist(), b.tolist(), [[0.0] * N for _ in range(M)]
    for m0 in range(0, M, size):
        for n0 in range(0, N, size):
            for k0 in range(0, K, size):
                for m in range(m0, min(m0 + size, M)):
                    for n in range(n0, min(n0 + size, N)):
                        for k in range(k0, min(k0 + size, K)):
                            y[m][n] += a[m][k] * b[k][n]
    return np.array(y)


@cuda.jit
def through_slabs(a, b, y):
    """Slabs of 8 in shared memory, the last one filled up with zeros."""
    left, right = cuda.shared.array((32, 8), float32), cuda.shared.array((8, 32), float32)
    sums = cuda.local.array((4, 4), float32)
    column, line = cuda.local.array(4, float32), cuda.local.array(4, float32)
    n, m = cuda.threadIdx.x, cuda.threadIdx.y
    thread = 8 * m + n
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0
    for k0 in range(0, a.shape[1], 8):
        for i in range(4):
            k = thread // 32 + 2 * i
            left[m + 8 * i, n] = a[m + 8 * i, k0 + n] if k0 + n < a.shape[1] else float32(0)
            right[k, thread % 32] = b[k0 + k, thread % 32] if k0 + k < a.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(8):
            for i in range(4):
                column[i], line[i] = left[m + 8 * i, k], right[k, n + 8 * i]
            for i in range(4):
                for j in range(4):
                    sums[i, j] += column[i] * line[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            y[m + 8 * i, n + 8 * j] = sums[i, j]


RIGHT = {"blocked_product": six_loops, "register_tile": through_slabs}
