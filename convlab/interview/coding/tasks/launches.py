"""Launches of a convolution with padding, several channels and filters, and what is paid in them."""

from __future__ import annotations

import numpy as np

from convlab.interview.coding.tasks.cases import convolved, pictures
from convlab.lessons.kernel_exercise import Launch
from convlab.lessons.kernel_run import Ran, cost_of
from convlab.support.integers import ceil_div

BLOCK = 64  # threads of a block that lie in a row


def channels_first(
    C: int, H: int, W: int, K: int, R: int, S: int, padding: int, block: tuple[int, ...], whole: bool = True
) -> Launch:
    """Return a launch with x (C, H, W), w (K, C, R, S) and y (K, P, Q).

    Blocks of one row of threads cover the numbers of y; blocks of two cover (Q, P), and the grid goes K deep.
    """
    shape = (1, C, H, W, K, C, R, S)
    both = list(pictures(shape, shape))  # the second has fractions
    x, w = both[0 if whole else 1]
    y = convolved(x, w, padding)[0].astype(np.float32)  # (K, P, Q)
    grid = (*map(ceil_div, y.shape[:0:-1], block), K) if block[1:] else (ceil_div(y.size, *block),)
    return Launch(grid, block, {"x": x[0], "w": w, "y": None, "padding": padding}, y)


def channels_last(C: int, H: int, W: int, K: int, R: int, S: int, padding: int, whole: bool = True) -> Launch:
    """Return a launch with x (H, W, C), w (R, S, C, K) and y (P, Q, K), in blocks of one row of threads."""
    first = channels_first(C, H, W, K, R, S, padding, (BLOCK,), whole)
    x, w, y = first.arguments["x"], first.arguments["w"], first.expected
    x, w, y = (
        np.ascontiguousarray(a) for a in (x.transpose(1, 2, 0), w.transpose(2, 3, 1, 0), y.transpose(1, 2, 0))
    )
    return Launch(first.grid, first.block, {**first.arguments, "x": x, "w": w}, y)


def sectors_of_a_request(ran: Ran) -> dict[str, float]:
    """Return the sectors that a request takes on average, for each array of the kernel's arguments."""
    arrays = [name for name, value in ran.launch.arguments.items() if np.ndim(value) or value is None]
    found = {}
    for which, name in enumerate(arrays):
        sites = [site for site in ran.sites if site.space == "global" and ran.parameter(site.array) == which]
        if requests := sum(site.requests for site in sites):
            found[name] = sum(cost_of(site)[0] for site in sites) / requests
    return found


def numbers_read(ran: Ran) -> int:
    """Return how often a number of x is read from global memory."""
    sites = [site for site in ran.sites if site.space == "global" and ran.parameter(site.array) == 0]
    return sum(site.lanes for site in sites if site.kind == "ld")
