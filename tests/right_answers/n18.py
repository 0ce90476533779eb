"""Notebook 18: a second right answer to each exercise."""


def both_ways(W, C, R, L, flops, latency, bandwidth):
    """Exchange first; the other way saves messages, and computes for each layer what is beyond."""
    message = latency + (R - 1) * 2 * W * C / bandwidth
    beyond = [layer * ((R - 1) // 2) for layer in range(L)]  # rows, from the last layer to the first
    twice = sum(rows * W * C * R**2 * C * 2 for rows in beyond) / flops
    return L * message - (L - 1) * latency + twice, L * message


def choose_split(N, H, W, C, K, R, p):
    """Each split by itself, and none that is impossible."""
    half, others = R // 2, p - 1
    gradient = 8 * K * R * R * C * others / p
    neighbours = (p > 1) + (p > 2)
    samples = gradient if N // p * p == N else float("inf")
    rows = gradient + neighbours * half * N * W * 4 * C + neighbours * half * N * W * 4 * K
    if H % p or half * p > H:
        rows = float("inf")
    filters = float("inf") if K % p or C % p else 8 * N * H * W * (C // p) * others
    return min(enumerate((samples, rows, filters)), key=lambda each: each[1])


RIGHT = {"both_ways": both_ways, "choose_split": choose_split}
