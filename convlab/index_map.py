"""Where the cells of a matrix live that is never stored: the index map of an implicit matrix product.

Cell (m, k) of im2row's matrix A is a number of x, or a zero. To know which, nothing has to be stored::

    m = (n*P + p)*Q + q        an output pixel
    k = (r*S + s)*C + c        a tap and a channel       (of C/groups channels)
    h = p*stride_h - top  + r*dilation_h
    w = q*stride_w - left + s*dilation_w

    A[m, k] = x[n, h, w, c]  if 0 <= h < H and 0 <= w < W  else 0

So m is taken apart with P and Q, k with S and C, and they are put together with strides and W. Mix up two of
these extents, and it still looks right as long as the picture and the filter are square.
"""

from __future__ import annotations

import numpy as np

from convlab.problem import ConvProblem
from convlab.support.checks import check_choice, check_index, check_instance, check_whole

# name: axes of x, of w and of y. HWCF and FCHW are other projects' words for RSCK and KCRS.
LAYOUTS = {
    "nhwc_krsc": ("NHWC", "KRSC", "NPQK"),  # convlab's own
    "nhwc_hwcf": ("NHWC", "RSCK", "NPQK"),
    "nchw_fchw": ("NCHW", "KCRS", "NKPQ"),
}


class IndexMap:
    """The cells of A, w and y of one convolution, as offsets into flat arrays.

    Every method takes integers, or NumPy arrays of them that broadcast, of any width: it computes in int64.

    Parameters
    ----------
    problem : ConvProblem
    layout : str
        A name from `LAYOUTS`. k runs in the order in which the filters lie: with "nchw_fchw" the channel is
        slowest, otherwise fastest.

    Raises
    ------
    ParameterError
        If there is no such layout.

    Examples
    --------
    >>> index = IndexMap(ConvProblem(1, 5, 9, 2, 4, 3, 1, padding=(1, 0)))
    >>> index.pixel(10), index.tap(5), index.source(10, 5)
    ((0, 1, 1), (2, 0, 1), (0, 2, 1, 1))
    >>> int(index.x_at(10, 5)), int(index.x_at(0, 0))  # the second lies on padding
    (39, -1)
    """

    def __init__(self, problem: ConvProblem, layout: str = "nhwc_krsc"):
        check_instance("problem", problem, ConvProblem)
        check_choice("layout", layout, LAYOUTS)
        self.problem, self.layout = problem, layout
        self.channels, self.filters = problem.C // problem.groups, problem.K // problem.groups
        sizes, of_filters = problem.letters, problem.letters | {"C": self.channels}
        axes_x, axes_w, axes_y = LAYOUTS[layout]
        self._x, self._w, self._y = _steps(axes_x, sizes), _steps(axes_w, of_filters), _steps(axes_y, sizes)
        self._tap = [(axis, of_filters[axis]) for axis in axes_w if axis != "K"]  # slowest first

    def pixel(self, m):
        """Return (n, p, q): the output pixel of row m."""
        check_index("m", m)
        n, rest = divmod(_wide(m), self.problem.P * self.problem.Q)
        p, q = divmod(rest, self.problem.Q)
        return n, p, q

    def tap(self, k):
        """Return (r, s, c): the tap of column k, and its channel within the group."""
        check_index("k", k)
        (slow, _), (middle, middle_size), (fast, fast_size) = self._tap
        first, rest = divmod(_wide(k), middle_size * fast_size)
        second, third = divmod(rest, fast_size)
        found = {slow: first, middle: second, fast: third}
        return found["R"], found["S"], found["C"]

    def source(self, m, k):
        """Return (n, h, w, c): the pixel that cell (m, k) reads; h and w may lie outside the picture."""
        (n, p, q), (r, s, c) = self.pixel(m), self.tap(k)
        (top, _), (left, _) = self.problem.padding
        h = p * self.problem.stride[0] - top + r * self.problem.dilation[0]
        w = q * self.problem.stride[1] - left + s * self.problem.dilation[1]
        return n, h, w, c

    def inside(self, h, w):
        """Return whether pixel (h, w) lies in the picture."""
        check_index("h", h, least=None)
        check_index("w", w, least=None)
        return self._inside(h, w)

    def _inside(self, h, w):
        H, W = self.problem.H, self.problem.W
        if getattr(h, "dtype", None) == getattr(w, "dtype", None) == np.int64:
            # Without a sign a number below zero is a very large one: one test for both ends.
            return (h.view(np.uint64) < H) & (w.view(np.uint64) < W)
        return (h >= 0) & (h < H) & (w >= 0) & (w < W)

    def x_at(self, m, k, group: int = 0):
        """Return where in flat x cell (m, k) lies; -1 if on padding."""
        self._check_group(group)
        n, h, w, c = self.source(m, k)
        at = n * self._x["N"] + h * self._x["H"] + w * self._x["W"]
        at = at + (c + group * self.channels) * self._x["C"]
        return np.where(self._inside(h, w), at, -1)

    def w_at(self, n, k, group: int = 0):
        """Return where in flat w the weight of filter n and column k lies."""
        self._check_group(group)
        check_index("n", n)
        r, s, c = self.tap(k)
        filters = (_wide(n) + group * self.filters) * self._w["K"]
        return filters + r * self._w["R"] + s * self._w["S"] + c * self._w["C"]

    def y_at(self, m, n, group: int = 0):
        """Return where in flat y the sum of row m and filter n goes."""
        self._check_group(group)
        check_index("n", n)
        image, p, q = self.pixel(m)
        filters = (_wide(n) + group * self.filters) * self._y["K"]
        return image * self._y["N"] + p * self._y["P"] + q * self._y["Q"] + filters

    def _check_group(self, group) -> None:
        if not (group.__class__ is int and 0 <= group < self.problem.groups):
            check_whole("group", group, 0, self.problem.groups - 1)


def _wide(index):
    """Return an index, or an array of them, in which no product of sizes wraps."""
    if isinstance(index, np.ndarray):
        return index.astype(np.int64, copy=False)
    return int(index)


def _steps(axes: str, sizes: dict[str, int]) -> dict[str, int]:
    """Return for each axis how far apart its neighbours lie in a contiguous array."""
    steps, step = {}, 1
    for axis in reversed(axes):
        steps[axis] = step
        step *= sizes[axis]
    return steps
