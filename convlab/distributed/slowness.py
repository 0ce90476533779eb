"""By which factor some machines are slower than others: drawn at random, the same for the same seed."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from convlab.support.checked import Count, NotNegative, Positive, checked
from convlab.support.checks import check_number

Part = Annotated[float, lambda name, value: check_number(name, value, least=0, most=1)]


@checked
def stragglers(machines: Count, part: Part, factor: Positive, seed: int = 0) -> np.ndarray:
    """Return factors of which some are larger: a few machines are slow, the others all alike.

    Parameters
    ----------
    machines : int
    part : float
        How many are slow, 0 to 1: of 1000 machines 0.01 is ten.
    factor : float
        A slow one takes so many times as long.
    seed : int

    Returns
    -------
    ndarray of float64, (machines,)

    Examples
    --------
    >>> stragglers(4, 0.25, 3.0)
    array([1., 1., 3., 1.])
    """
    found = np.ones(machines)
    slow = np.random.default_rng(seed).permutation(machines)[: round(part * machines)]
    found[slow] = factor
    return found


@checked
def lognormal(machines: Count, sigma: NotNegative, seed: int = 0) -> np.ndarray:
    """Return factors whose logarithms are normal around 0: half of the machines are slower than stated.

    Parameters
    ----------
    machines : int
    sigma : float
        Standard deviation of the logarithms: two thirds of the machines are within exp(±sigma).
    seed : int

    Returns
    -------
    ndarray of float64, (machines,)
    """
    return np.exp(sigma * np.random.default_rng(seed).standard_normal(machines))
