"""How large the register tile is: rows, vectors and lanes, as this processor's registers allow.

Nothing here needs Numba before it is asked for the processor's vectors: costs are worked out with it.
"""

from __future__ import annotations

import platform
from fractions import Fraction
from functools import lru_cache

import numpy as np

from convlab.machine.asked_target import vector_bytes_asked
from convlab.support.checked import Computed, Count, checked
from convlab.support.checks import COMPUTES, check_dtype
from convlab.support.integers import round_up

TOGETHER = 56  # rows of neighbouring tiles that go through all filters together: they stay in the cache


@checked
class VectorTile:
    """A block of `rows` x (`vectors` * `lanes`) sums; for compiled code only its type matters.

    Parameters
    ----------
    rows : int
        Rows, one output pixel each.
    vectors, lanes : int
        Vector registers in a row, and numbers in a register.
    dtype : str
        "float32" or "float64".
    group : int, optional
        Filters of a group, and its channels, where groups lie side by side in a vector (`group_lanes.py`).
    """

    def __init__(
        self,
        rows: Count,
        vectors: Count,
        lanes: Count,
        dtype: Computed = "float32",
        group: Count | None = None,
    ):
        self.rows, self.vectors, self.lanes, self.dtype, self.group = rows, vectors, lanes, dtype, group

    @property
    def cols(self) -> int:
        """Columns, one filter each."""
        return self.vectors * self.lanes

    @property
    def narrow(self) -> VectorTile:
        """The same tile one vector wide, for a vector of filters that is left over."""
        return VectorTile(self.rows, 1, self.lanes, self.dtype, self.group)

    def __repr__(self) -> str:
        return f"VectorTile({self.rows}x{self.cols} {self.dtype})"


@lru_cache
def vector_bytes() -> int:
    """Return the bytes of a vector register of the processor compiled for: 64 (AVX-512), 32 (AVX2) or 16."""
    if asked := vector_bytes_asked():
        return asked
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 64
    return 32 if features.get("avx2") and features.get("fma") else 16


def registers() -> int:
    """Return how many vector registers this processor has: 32 (AVX-512, ARM) or 16."""
    return 32 if vector_bytes() == 64 or platform.machine().lower() in ("arm64", "aarch64") else 16


@lru_cache
def heights() -> tuple[int, ...]:
    """Return the rows that a tile may have on this processor, the usual number first.

    Notes
    -----
    7 rows (14 of 32 registers) on AVX-512 and ARM, where 7 divides the 7, 14, 28 and 56 rows of real
    networks; 6 rows (12 of 16 registers) on other x86 processors. The other heights are for matrices of few
    rows. None is below 4: so many sums are needed until the first can take its next product.
    """
    return (7, 8, 9, 4) if registers() == 32 else (6, 4)


def time_of(rows, height: int) -> Fraction | int:
    """Return how long tiles of a height take for so many rows of a matrix: in rows, of tiles of usual height.

    Rows are computed a tile at a time. `rows` is any number, a `Fraction` too.

    Notes
    -----
    A tile of 4 rows has eight sums, just as many as there are multiply-adds under way: two begin in a cycle,
    and each takes four. Nothing may come late, and something always does. Measured on a Zen 5, its rows take
    1.11 to 1.16 times as long as those of tiles of 7, 8 and 9 rows, which take equally long.
    """
    return round_up(rows, height) * (Fraction(9, 8) if height == 4 else 1)


@lru_cache
@checked
def tile_for(dtype="float32", rows: Count | None = None) -> VectorTile:
    """Return the usual tile of this processor: two vectors wide, and as tall as the registers allow.

    Parameters
    ----------
    dtype : dtype
    rows : int, optional
        Rows of the matrix, if they are few: then the tile has the height that takes the least time.

    See Also
    --------
    convlab.cpu.product_tile.product_tile : The tile of a product whose columns are known too.
    """
    check_dtype(dtype, COMPUTES)
    height = min(heights(), key=lambda height: time_of(rows or 0, height))  # the first if alike
    dtype = np.dtype(dtype)
    return VectorTile(height, 2, vector_bytes() // dtype.itemsize, dtype.name)
