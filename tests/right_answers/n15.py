"""Notebook 15: a second right answer to each exercise."""


def layer_intensity(N, H, W, C, K, R, S):
    """Per output and channel first, then all."""
    pixels = N * H * W
    return pixels * K * 2 * R * S * C / (pixels * (C + K) * 4 + R * S * C * K * 4)


def smallest_batch(C, K, ridge):
    """Double until it is enough, then halve the gap."""
    enough = lambda N: 2 * ridge <= N * C * K / (N * C + C * K + N * K)  # noqa: E731
    most = 1
    while not enough(most):
        most *= 2
    least = most // 2
    while most - least > 1:
        middle = (most + least) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return most


RIGHT = {
    "layer_intensity": layer_intensity,
    "smallest_batch": smallest_batch,
    "roof_share": lambda d, m, s, f, r: d / f / s if d * r > m * f else m / r / s,
}
