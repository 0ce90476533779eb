"""A convolution on several devices: along which axes it is cut, and what the device with the most has of it.

Along N, H and W pictures and pixels are shared out, and every device has the same weights. Along K and C the
weights are shared out, and with them the channels: of x and of y each device has a part as large as the cut
makes it, before the layer and after it, so that layers follow one another. N, H, W: Dryden, Maruyama, Benson,
Moon, Snir & Van Essen 2019, "Improving Strong-Scaling of CNN Training by Exploiting Finer-Grained
Parallelism", arXiv:1903.06681; K and C: Dryden, Maruyama, Moon, Benson, Snir & Van Essen 2019, "Channel and
Filter Parallelism for Large-Scale CNN Training", SC '19, doi:10.1145/3295500.3356207.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from convlab.distributed.shares import Borrowed, borrowed, share
from convlab.distributed.span import windows_of
from convlab.errors import UnsupportedError
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.integers import ceil_div


@checked
@dataclass(frozen=True)
class Split:
    """Into how many parts each axis is cut; parts differ by one at most.

    Attributes
    ----------
    N : int
        Parts of the pictures.
    H, W : int
        Parts of the rows and of the columns, of x and of y.
    K : int
        Parts of the filters. A device computes its own filters' channels of y, from all channels of x; where
        channels are in groups, from the channels of its own groups.
    C : int
        Parts of the input channels. A device computes partial sums for all filters, from its own channels.

    Examples
    --------
    >>> Split(N=4, H=2).devices
    8
    """

    N: Count = 1
    H: Count = 1
    W: Count = 1
    K: Count = 1
    C: Count = 1

    @property
    def devices(self) -> int:
        """How many devices that takes."""
        return prod(self.parts.values())

    @property
    def parts(self) -> dict[str, int]:
        """How many parts, by the axis's letter."""
        return {letter: getattr(self, letter) for letter in "NHWKC"}

    def __str__(self) -> str:
        return " × ".join(f"{parts} {letter}" for letter, parts in self.parts.items() if parts > 1) or "whole"


def refuses(problem: ConvProblem, split: Split) -> str | None:
    """Say why a convolution cannot be cut like that."""
    sizes = {"N": problem.N, "H": problem.P, "W": problem.Q, "K": problem.K, "C": problem.C}
    words = {"N": "pictures", "H": "rows of y", "W": "columns of y", "K": "filters", "C": "channels"}
    for letter, parts in split.parts.items():
        if parts > sizes[letter]:
            return f"{letter}={parts}, and there are {sizes[letter]} {words[letter]}: a device had none"
    if problem.groups > 1 and split.C > 1:
        return f"C={split.C}, and the channels are in {problem.groups} groups; K cuts those apart, C does not"
    if problem.groups % split.K and problem.groups > 1:
        return (
            f"K={split.K} does not divide the {problem.groups} groups; a device has whole groups, "
            "with their channels and their filters"
        )
    return None


def check_split(problem: ConvProblem, split: Split) -> None:
    """Refuse a split that does not fit a convolution.

    Raises
    ------
    UnsupportedError
    """
    if reason := refuses(problem, split):
        raise UnsupportedError(f"split has {reason}")


class Pixels(NamedTuple):
    """Pixels of one picture, at the device that has the most.

    Attributes
    ----------
    need : int
        Which it takes.
    new : int
        Those of them that it has not yet.
    owners : int
        Devices that have any of them, and mostly the device itself is one.
    """

    need: int
    new: int
    owners: int


class Largest(NamedTuple):
    """What is the device's that has the most of it.

    Attributes
    ----------
    N : int
        Pictures.
    x, y : int
        Pixels of a picture that belong to it.
    reads, dx_reads, dw_reads : Pixels
        Of x, for its y; of dy, for its dx; and of dy for its dw, of which those for its dx are there.
    C, K : int
        Channels of x that it computes with, and of y that it computes.
    own_C, own_K : int
        Those of them that belong to it before the layer, and after it.
    other_C, other_K : int
        The others: not of the device that has most, but of that which lacks most.
    w : int
        Weights that belong to it.
    """

    N: int
    x: int
    y: int
    reads: Pixels
    dx_reads: Pixels
    dw_reads: Pixels
    C: int
    K: int
    own_C: int
    own_K: int
    other_C: int
    other_K: int
    w: int


def largest(problem: ConvProblem, split: Split) -> Largest:
    """Return what the device with the most has of a convolution that is cut."""
    axes = list(zip(windows_of(problem), (split.H, split.W), strict=True))

    def pixels(what: str) -> Pixels:
        rows, columns = (borrowed(axis, parts, what) for axis, parts in axes)
        return _pixels(rows, columns)

    if problem.groups > 1:  # whole groups: whose filters a device has, their channels it has
        C, K = problem.C // split.K, problem.K // split.K
        channels = C, K, C, K, 0, 0
    else:
        C, K = ceil_div(problem.C, split.C), ceil_div(problem.K, split.K)
        x_has, y_has = _blocks(problem.C, split.C, split.K), _blocks(problem.K, split.K, split.C)
        channels = C, K, x_has[0], y_has[0], x_has[1], y_has[1]
    per_filter = problem.R * problem.S * (problem.C // problem.groups if problem.groups > 1 else C)
    return Largest(
        ceil_div(problem.N, split.N),
        ceil_div(problem.H, split.H) * ceil_div(problem.W, split.W),
        ceil_div(problem.P, split.H) * ceil_div(problem.Q, split.W),
        pixels("x"),
        pixels("dy"),
        pixels("dw"),
        *channels,
        K * per_filter,
    )


def _pixels(rows: Borrowed, columns: Borrowed) -> Pixels:
    """Return the pixels of every device's rows and columns; where both are cut there are corners too."""
    need = np.outer(rows.need, columns.need)
    new = need - np.outer(rows.there, columns.there)
    return Pixels(int(need.max()), int(new.max()), int(np.outer(rows.owners, columns.owners).max()))


def _blocks(size: int, blocks: int, parts: int) -> tuple[int, int]:
    """Return the most channels of a device, and the most that it lacks of its block.

    The channels are cut into blocks, and each block into parts: one for each device that computes with it.
    """
    own = np.array([share(size, blocks * parts, one).size for one in range(blocks * parts)])
    lacks = own.reshape(blocks, parts).sum(axis=1, keepdims=True) - own.reshape(blocks, parts)
    return int(own.max()), int(lacks.max())
