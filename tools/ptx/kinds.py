"""The types of PTX as NumPy's, and numbers as they stand in the text. PTX ISA, "Types" and "Constants"."""

from __future__ import annotations

from functools import cache

import numpy as np

from tools.ptx.text import PtxError

DTYPES = {
    "pred": np.dtype(np.bool_),
    **{f"{letter}{bits}": np.dtype(f"u{bits // 8}") for letter in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
    "f16x2": np.dtype(np.uint32),
}
_EXACT = {"0f": np.uint32, "0F": np.uint32, "0d": np.uint64, "0D": np.uint64}


@cache
def number(text: str, kind: str) -> np.generic:
    """Return a number of the text as one of this type: ``-1``, ``0x1F``, ``0f3F800000`` (a float's bits).

    Raises
    ------
    PtxError
        If it is no number.
    """
    dtype = DTYPES[kind]
    try:
        if text[:2] in _EXACT:
            bits = _EXACT[text[:2]](int(text[2:], 16))
            exact = bits.view(f"f{bits.itemsize}")
            return exact.astype(dtype) if dtype.kind == "f" else bits.astype(dtype)
        value = int(text.rstrip("U"), 0)
    except ValueError:
        raise PtxError(f"{text!r} is neither a register nor a number") from None
    if dtype.kind in "fb":
        return dtype.type(value)
    bits = 8 * dtype.itemsize
    return np.dtype(f"u{dtype.itemsize}").type(value % (1 << bits)).view(dtype)
