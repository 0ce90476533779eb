"""What a tensor core makes of a number: rounded to float16 or tf32, and the weights packed so."""

from __future__ import annotations

import numpy as np

from convlab.gpu.tensor_cores.warp_tile import KINDS, MOST_FILTERS, WORDS, pixel_words
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.checks import check_choice
from convlab.support.integers import round_up


@checked
def rounded(array: np.ndarray, kind: str) -> np.ndarray:
    """Return float32 numbers as a tensor core sees them, still as float32.

    Parameters
    ----------
    array : ndarray of float32
    kind : str
        "fp16" or "tf32".
    """
    check_choice("kind", kind, KINDS)
    if kind == "fp16":
        with np.errstate(over="ignore"):  # beyond 65504 is infinity, as on the device
            return array.astype(np.float16).astype(np.float32)
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    up = np.where(np.isfinite(array), bits + np.uint32(1 << 12), bits)  # half a unit, ties away from zero
    return (up & ~np.uint32((1 << 13) - 1)).view(np.float32)


def packed_words(kind: str, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return w rounded, as words (K, row): r, s, padded channels; zeros up to whole pieces of the sums.

    Behind the last filter stand as many rows of zeros as a tile has: its last one may hang over.
    """
    K, R, S, channels = w.shape
    words, in_a_word = pixel_words(kind, problem), KINDS[kind]
    row = round_up(R * S * words, WORDS)
    packed = np.zeros((K + MOST_FILTERS, row * in_a_word), {"fp16": np.float16, "tf32": np.float32}[kind])
    taps = packed[:K, : R * S * words * in_a_word].reshape(K, R, S, -1)
    taps[..., :channels] = rounded(w, kind)
    return packed.view(np.uint32)
