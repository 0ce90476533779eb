"""Notebook 14: a second right answer to each exercise."""

from math import gcd


def holder(row, column):
    """Lay the lanes out as they are drawn, and look."""
    return [lane for _ in range(2) for lane in range(32) for _ in range(2)][8 * row + column]


RIGHT = {"ldmatrix_passes": lambda row: gcd(row, 32) // 4, "holder": holder}
