"""Notebook 12: a second right answer to each exercise."""

from math import ceil


def blocks_at_once(threads, registers, shared_bytes):
    """Put in one block after the other until something runs out."""
    blocks = 0
    while True:
        more = blocks + 1
        room = more * threads <= 2048 and more * threads * registers <= 65536 and more <= 32
        if not (room and more * (shared_bytes + 1024) <= 228 * 1024):
            return blocks
        blocks = more


RIGHT = {
    "fetched": lambda M, N, K, block_m, block_n: K * (M * ceil(N / block_n) + N * ceil(M / block_m)),
    "blocks_at_once": blocks_at_once,
}
