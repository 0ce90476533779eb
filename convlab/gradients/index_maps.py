"""The index maps of the gradients as implicit products: the siblings of `convlab.IndexMap`.

    dgrad   dx[m, c] = sum over j of D[m, j] * w[j, c]        m = (n*H + h)*W + w, j = (r*S + s)*K + k

        p = (h + top  - r*dilation_h) / stride_h
        q = (w + left - s*dilation_w) / stride_w

        D[m, j] = dy[n, p, q, k]  if both are whole, 0 <= p < P and 0 <= q < Q  else 0

    wgrad   dw[k, i] = sum over m of dy[m, k] * A[m, i]       m = (n*P + p)*Q + q, i = (r*S + s)*C + c

The forward map multiplies by the stride, so this one divides by it, and what does not divide is a zero: the
zeros that others insert into dy. Rounding the quotient instead takes a number of dy that is no neighbour at
all; and where h + top is less than r*dilation, rounding towards 0 makes line 0 of what is line -1. For wgrad
the forward matrix A is read by columns, and the long axis is the one that is summed up: its map is the
forward one, asked the other way round. Cell (i, m) of x lies at ``x_at(m, i)``, cell (k, m) of dy at
``y_at(m, k)``, and the sum of filter k and weight i goes to ``w_at(k, i)``.
"""

from __future__ import annotations

import numpy as np

from convlab.index_map import IndexMap
from convlab.problem import ConvProblem
from convlab.support.checks import check_index


class DgradMap:
    """The cells of D, w and dx, for the gradient of one convolution's input, as offsets into flat arrays.

    Every method takes integers, or NumPy arrays of them that broadcast.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.

    Examples
    --------
    >>> index = DgradMap(ConvProblem(1, 5, 9, 2, 4, 3, 1, stride=2, padding=(1, 0)))
    >>> index.pixel(18), index.tap(5), index.source(18, 5)
    ((0, 2, 0), (1, 0, 1), (0, 1, 0, 1))
    >>> int(index.dy_at(18, 5)), int(index.dy_at(18, 1))  # the second lies between two lines of dy
    (21, -1)
    """

    def __init__(self, problem: ConvProblem):
        self.problem, self._forward = problem, IndexMap(problem)
        self._channels, self._filters = problem.C // problem.groups, problem.K // problem.groups

    def pixel(self, m):
        """Return (n, h, w): the pixel of dx of row m."""
        check_index("m", m)
        n, rest = divmod(m, self.problem.H * self.problem.W)
        h, w = divmod(rest, self.problem.W)
        return n, h, w

    def tap(self, j):
        """Return (r, s, k): the tap of column j, and its filter within the group."""
        check_index("j", j)
        tap, k = divmod(j, self._filters)
        r, s = divmod(tap, self.problem.S)
        return r, s, k

    def source(self, m, j):
        """Return (n, p, q, k): the number of dy that cell (m, j) reads; p or q is -1 where there is none."""
        (n, h, w), (r, s, k) = self.pixel(m), self.tap(j)
        return n, self._line(0, h, r), self._line(1, w, s), k

    def _line(self, axis: int, pixel, tap):
        """Return which line of dy a tap brings to a pixel, along an axis; -1 if none."""
        stride, corner, dilation = (pair[axis] for pair in self.problem.geometry)
        line, between = divmod(pixel + corner - tap * dilation, stride)  # rounds down, below 0 too
        there = (between == 0) & (line >= 0) & (line < self.problem.y_shape[1 + axis])
        return line * there - (1 - there)  # works for integers and arrays alike

    def dy_at(self, m, j, group: int = 0):
        """Return where in flat dy cell (m, j) lies; -1 if it is a zero."""
        n, p, q, k = self.source(m, j)
        P, Q = self.problem.P, self.problem.Q
        row = (n * P + np.maximum(p, 0)) * Q + np.maximum(q, 0)
        return np.where((p >= 0) & (q >= 0), self._forward.y_at(row, k, group), -1)

    def w_at(self, c, j, group: int = 0):
        """Return where in flat w the weight of channel c and column j lies."""
        check_index("c", c)
        r, s, k = self.tap(j)
        return self._forward.w_at(k, (r * self.problem.S + s) * self._channels + c, group)

    def dx_at(self, m, c, group: int = 0):
        """Return where in flat dx the sum of row m and channel c goes."""
        check_index("m", m)
        check_index("c", c)
        return m * self.problem.C + group * self._channels + c
