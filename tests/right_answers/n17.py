"""Notebook 17: a second right answer to each exercise."""

from itertools import accumulate, takewhile


def halo(layers):
    """From the result back: what is shared of one array decides what is shared of the one before."""
    shared = 0
    for R, stride, dilation in layers[::-1]:
        shared = (shared - 1) * stride + dilation * (R - 1) + 1
    return shared if shared > 0 else 0


def strip_height(budget, W, channels, R):
    """Double until it is too tall, then halve the gap."""

    def fits(height):
        rows = accumulate([height] + [R - 1] * (len(channels) - 1))  # from the result to the picture
        return 4 * W * sum(C * tall for C, tall in zip(channels[::-1], rows, strict=True)) <= budget

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def missing_border(wrong, height):
    """Up from the first cut, and down from it."""
    rows = set(wrong)
    up = takewhile(rows.__contains__, range(height - 1, -1, -1))
    down = takewhile(rows.__contains__, range(height, 2 * height))
    return [len(list(down)), len(list(up))]


RIGHT = {
    "halo": halo,
    "strip_height": strip_height,
    "missing_border": missing_border,
}
