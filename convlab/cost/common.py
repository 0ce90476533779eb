"""Bytes that more than one algorithm moves or keeps, as formulas."""

from __future__ import annotations

from convlab.cost.formula import Formula

# x, w and y once each: the least there is where windows skip no pixel, and what comes from memory where a
# GPU's L2 cache holds the rest.
ONCE = Formula("(N*H*W*C + K*R*S*C/G + N*P*Q*K) * b")

# x once a tap, from wherever it lies; w is read and y is written.
ONCE_A_TAP = Formula("(N*P*Q*R*S*C + K*R*S*C/G + N*P*Q*K) * b")

# The matrix of im2row and im2col: a row or column for each output pixel, a number for each tap and channel.
CELLS = Formula("N*P*Q * R*S*C")
MATRIX = Formula(f"{CELLS.text} * b")
# x is read, the matrix is written and read again, w is read, y is written.
THROUGH_A_MATRIX = Formula("(N*H*W*C + 2*N*P*Q*R*S*C + K*R*S*C/G + N*P*Q*K) * b")


def panel_bytes(
    N: str = "K/G", K: str = "R*S*C/G", times: str = "G", parts: dict[str, str] | None = None
) -> Formula:
    """Return the bytes of `times` matrices of N columns and K rows in panels, see `convlab.cpu.gemm.pack`.

    N is padded to whole vectors: 4 bytes for each of the VL numbers of one.

    Parameters
    ----------
    N, K, times : str
        Expressions in the letters of a convolution.
    parts : dict of str to str, optional
        Named parts of them.
    """
    lanes = "(VL*4/b)"  # numbers in a vector
    return Formula(f"({times}) * ({K}) * ceil(({N})/{lanes})*{lanes} * b", parts)


PANELS = panel_bytes()  # of the filters as they are

# Where groups lie side by side in a vector (`convlab.cpu.group_lanes`) all of them are one product.
ACROSS_GROUPS = {"N": "K/GM", "times": "GM"}
PANELS_ACROSS_GROUPS = panel_bytes(**ACROSS_GROUPS)


def outside(numbers: str) -> str:
    """Return the zeros that padding reads: so many, or two vectors of them where groups lie side by side."""
    return f"max({numbers}, min(1, G - GM) * 2*VL*4/b)"
