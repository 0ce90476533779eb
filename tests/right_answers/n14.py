"""Notebook 14: a second right answer to each exercise."""

from math import gcd


def holder(row, column):
    """Lay the lanes out as they are drawn, and look."""
    return [lane for _ in range(2) for lane in range(32) for _ in range(2)][8 * row + column]


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
    "ldmatrix_passes": lambda row: gcd(row, 32) // 4,
    "holder": holder,
    "blocks_at_once": blocks_at_once,
}
