"""Implicit GEMM with blocks of your own choice."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.implicit_gemm import blocked
from convlab.plans.plan import plan
from convlab.problem import ConvProblem
from convlab.support.checked import Size, checked


@checked
def implicit_gemm(
    x: np.ndarray,
    w: np.ndarray,
    problem: ConvProblem,
    *,
    block_m: Size | None = None,
    block_n: Size | None = None,
    block_k: Size | None = None,
    backend: str = "numpy",
) -> np.ndarray:
    """Convolve with blocks of your own choice; no choice changes the answer beyond rounding.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    w : ndarray, (K, R, S, C/groups)
    problem : ConvProblem
    block_m, block_n, block_k
        As in `convlab.algorithms.implicit_gemm.blocked`.
    backend : str

    Returns
    -------
    ndarray, (N, P, Q, K)

    Raises
    ------
    ConvError
        If an array does not fit the problem, or a block is none.
    """
    return plan(problem, w, algorithm=blocked(block_m, block_n, block_k), backend=backend)(x)
