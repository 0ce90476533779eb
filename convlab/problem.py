"""The shape of one convolution: the only place where P, Q, FLOPs, bytes and the GEMM view are computed.

The letters are those of CUTLASS and cuDNN::

    x  input    (N, H, W, C)          N images, H rows, W columns, C channels
    w  filter   (K, R, S, C/groups)   K filters of R rows and S columns
    y  output   (N, P, Q, K)          P rows, Q columns, K channels

As in every deep-learning framework, "convolution" here means cross-correlation: the filter is not flipped.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from convlab.errors import ParameterError, ShapeError
from convlab.support.checks import (
    COMPUTES,
    LARGEST,
    check_array,
    check_dtype,
    check_instance,
    check_whole,
    said,
)

Pair = tuple[int, int]
DTYPES = ("float16", "float32", "float64")


@dataclass(frozen=True)
class ConvProblem:
    """One 2-D convolution, described by its sizes.

    Parameters
    ----------
    N, H, W, C : int
        Images in the batch; height, width (pixels) and channels of the input.
    K, R, S : int
        Number of filters; height and width of a filter (taps).
    stride : int or (int, int)
        Steps of the window, (vertical, horizontal), in input pixels.
    padding : int, (int, int), ((int, int), (int, int)), "same" or "valid"
        Zero pixels added around the input: both axes alike, (vertical, horizontal), or
        ((top, bottom), (left, right)). "same" gives P = ceil(H / stride) as TensorFlow does,
        the odd pixel at the bottom and at the right; "valid" is 0.
    dilation : int or (int, int)
        Distance between neighbouring taps, in input pixels.
    groups : int
        Channels and filters are split into this many independent convolutions.
    dtype : str
        Type of x, w and y: "float16", "float32" or "float64".

    Raises
    ------
    ParameterError, ShapeError
        If the numbers do not describe a convolution.

    Notes
    -----
    After construction `stride` and `dilation` are pairs and `padding` is ((top, bottom), (left, right)).

    Examples
    --------
    >>> problem = ConvProblem(N=1, H=224, W=224, C=3, K=64, R=7, S=7, stride=2, padding=3)
    >>> problem.P, problem.Q, problem.flops
    (112, 112, 236027904)
    """

    N: int
    H: int
    W: int
    C: int
    K: int
    R: int
    S: int
    stride: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)
    groups: int = 1
    dtype: str = "float32"

    if TYPE_CHECKING:  # a dataclass's own constructor takes what it keeps; this one takes more

        def __init__(
            self,
            N: int,
            H: int,
            W: int,
            C: int,
            K: int,
            R: int,
            S: int,
            stride: int | Pair = 1,
            padding: int | Pair | tuple[Pair, Pair] | str = 0,
            dilation: int | Pair = 1,
            groups: int = 1,
            dtype: str = "float32",
        ) -> None: ...

    def __post_init__(self) -> None:
        def settle(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        for name in "NHWCKRS":
            settle(name, _integer(name, getattr(self, name), least=1))
        settle("stride", pair("stride", self.stride, least=1))
        settle("dilation", pair("dilation", self.dilation, least=1))
        settle("groups", _integer("groups", self.groups, least=1))
        settle("padding", self._both_sides(self.padding))
        settle("dtype", check_dtype(self.dtype, DTYPES))
        for letter, what in (("C", "input channels"), ("K", "filters")):
            if getattr(self, letter) % self.groups:
                raise ShapeError(
                    f"groups={self.groups} does not divide {letter}={getattr(self, letter)} ({what}); "
                    f"every group needs the same number of {what}"
                )
        for out, size, taps, axis, side in (("P", "H", "R", 0, "rows"), ("Q", "W", "S", 1, "columns")):
            if getattr(self, out) < 1:
                before, after = self.padding[axis]
                padded = getattr(self, size) + before + after
                raise ShapeError(
                    f"{out} would be {getattr(self, out)}: the filter covers {self.extent[axis]} {side} "
                    f"({taps}={getattr(self, taps)}, dilation {self.dilation[axis]}), but the padded input "
                    f"has only {padded} ({size}={getattr(self, size)}, padding {before} + {after}); "
                    f"expected {out} >= 1"
                )

    # -- geometry ------------------------------------------------------------------------------------------

    @cached_property
    def extent(self) -> Pair:
        """Rows and columns of input that one filter spans, holes of the dilation included (pixels)."""
        return self.dilation[0] * (self.R - 1) + 1, self.dilation[1] * (self.S - 1) + 1

    @cached_property
    def P(self) -> int:
        """Output height (pixels)."""
        return (self.H + sum(self.padding[0]) - self.extent[0]) // self.stride[0] + 1

    @cached_property
    def Q(self) -> int:
        """Output width (pixels)."""
        return (self.W + sum(self.padding[1]) - self.extent[1]) // self.stride[1] + 1

    @cached_property
    def x_shape(self) -> tuple[int, int, int, int]:
        """Shape of the input, (N, H, W, C)."""
        return self.N, self.H, self.W, self.C

    @cached_property
    def w_shape(self) -> tuple[int, int, int, int]:
        """Shape of the filter, (K, R, S, C/groups)."""
        return self.K, self.R, self.S, self.C // self.groups

    @cached_property
    def y_shape(self) -> tuple[int, int, int, int]:
        """Shape of the output, (N, P, Q, K)."""
        return self.N, self.P, self.Q, self.K

    @cached_property
    def geometry(self) -> tuple[Pair, Pair, Pair]:
        """How the windows lie on the picture, as loops take it: (stride, corner, dilation).

        The corner is where the first window begins: rows of padding at the top, columns at the left.
        """
        (top, _), (left, _) = self.padding
        return self.stride, (top, left), self.dilation

    @cached_property
    def gemm(self) -> tuple[int, int, int]:
        """(M, N, K) of the equivalent matrix product, per group: output pixels, filters, taps x channels."""
        return (
            self.N * self.P * self.Q,
            self.K // self.groups,
            self.R * self.S * (self.C // self.groups),
        )

    def inside(self, r: int, s: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """Return ((p, q), (h, w)): the output pixels whose tap (r, s) hits the picture, and what it hits.

        The slices match one to one: ``y[:, p, q]`` reads ``x[:, h, w]`` through tap (r, s). Both are empty
        if the tap reads padding everywhere.
        """
        if not (r.__class__ is s.__class__ is int and 0 <= r < self.R and 0 <= s < self.S):
            r, s = check_whole("r", r, 0, self.R - 1), check_whole("s", s, 0, self.S - 1)
        (top, _), (left, _) = self.padding
        p, h = _hits(r * self.dilation[0] - top, self.stride[0], self.H, self.P)
        q, w = _hits(s * self.dilation[1] - left, self.stride[1], self.W, self.Q)
        return (p, q), (h, w)

    # -- work and memory -----------------------------------------------------------------------------------

    @property
    def macs(self) -> int:
        """Multiply-adds of the direct algorithm, taps that fall on padding included."""
        m, n, k = self.gemm
        return self.groups * m * n * k

    @property
    def flops(self) -> int:
        """Floating-point operations of the direct algorithm: a multiply and an add for each of `macs`."""
        return 2 * self.macs

    @property
    def itemsize(self) -> int:
        """Bytes of one number."""
        return np.dtype(self.dtype).itemsize

    @property
    def x_bytes(self) -> int:
        """Bytes of the input."""
        return self.N * self.H * self.W * self.C * self.itemsize

    @property
    def w_bytes(self) -> int:
        """Bytes of the filter."""
        return self.K * self.R * self.S * (self.C // self.groups) * self.itemsize

    @property
    def y_bytes(self) -> int:
        """Bytes of the output."""
        return self.N * self.P * self.Q * self.K * self.itemsize

    @cached_property
    def letters(self) -> dict[str, int]:
        """Every size by its letter, for the formulas of the cost model; `b` is the bytes of one number."""
        sizes = {name: getattr(self, name) for name in "NHWCKRSPQ"}
        return sizes | {"G": self.groups, "b": self.itemsize}

    @classmethod
    def of(
        cls, x: np.ndarray, w: np.ndarray, *, dtypes: tuple[str, ...] = DTYPES, **parameters: Any
    ) -> ConvProblem:
        """Return the problem that arrays `x` (N, H, W, C) and `w` (K, R, S, C/groups) pose.

        Parameters
        ----------
        x, w : ndarray
        dtypes : tuple of str
            Which types they may be of.
        **parameters
            stride, padding, dilation and groups.

        Raises
        ------
        ShapeError
            If either is not 4-D, or their channels do not match.
        """
        check_instance("dtypes", dtypes, tuple)
        for dtype in dtypes:
            check_instance("dtypes", dtype, str)
        check_pair(x, w, parameters.get("groups", 1), dtypes=dtypes)
        (N, H, W, C), (K, R, S, _) = x.shape, w.shape
        return cls(N, H, W, C, K, R, S, dtype=x.dtype.name, **parameters)

    def _both_sides(self, padding: Any) -> tuple[Pair, Pair]:
        """Normalise every accepted spelling to ((top, bottom), (left, right))."""
        if isinstance(padding, str):
            if padding == "valid":
                return (0, 0), (0, 0)
            if padding != "same":
                raise ParameterError(f'padding={said(padding)}; as a word, expected "same" or "valid"')
            return self._same(0, self.H), self._same(1, self.W)
        return both_sides(padding)

    def _same(self, axis: int, size: int) -> Pair:
        out = -(-size // self.stride[axis])
        total = max((out - 1) * self.stride[axis] + self.extent[axis] - size, 0)
        return total // 2, total - total // 2


@lru_cache(1024)
def _hits(shift: int, step: int, size: int, out: int) -> tuple[slice, slice]:
    """Return which of `out` outputs a tap hits the picture for, and what it hits, along one axis.

    Output i reads pixel ``i * step + shift``, if there is one. All runs ask for it, tap by tap.
    """
    first = max(0, -(shift // step))  # the first output whose input is not above the picture
    last = min(out - 1, (size - 1 - shift) // step)  # the last one whose input is not below it
    count = max(0, last - first + 1)
    start = first * step + shift if count else 0
    return slice(first, first + count), slice(start, start + count * step, step)


def check_computed(problem: Any) -> None:
    """Refuse what is no problem, or one whose type of number is for the cost model only.

    Raises
    ------
    ParameterError
    """
    if not isinstance(problem, ConvProblem):
        raise ParameterError(f"problem is a {type(problem).__name__}; expected a ConvProblem")
    if problem.dtype not in COMPUTES:
        raise ParameterError(
            f"problem has dtype={problem.dtype!r}, which is for the cost model only; "
            f"to compute, expected one of {', '.join(COMPUTES)}"
        )


def check_pair(
    x: np.ndarray,
    w: np.ndarray,
    groups: int,
    axes_x: Sequence[str] = ("N", "H", "W", "C"),
    axes_w: Sequence[str] = ("K", "R", "S", "C/groups"),
    dtypes: tuple[str, ...] = DTYPES,
) -> None:
    """Refuse arrays that are no images and filters for them; the axes are named as they lie.

    Raises
    ------
    ConvError
    """
    for name, array, axes in (("x", x, axes_x), ("w", w, axes_w)):
        check_array(name, array, dtypes=dtypes)
        if array.ndim != 4:
            raise ShapeError(
                f"{name} has {array.ndim} axes, shape {array.shape}; expected 4: ({', '.join(axes)})"
                + (f", for one image use {name}[None]" if array.ndim == 3 and name == "x" else "")
            )
        for axis, (letter, size) in enumerate(zip(axes, array.shape, strict=True)):
            if size == 0:
                raise ShapeError(f"{name} has {letter}=0 on axis {axis}; expected at least 1")
    groups = _integer("groups", groups, least=1)
    at_x, at_w = axes_x.index("C"), axes_w.index("C/groups")
    C, channels = x.shape[at_x], w.shape[at_w]
    if channels * groups != C:
        raise ShapeError(
            f"w has {channels} input channels (axis {at_w}), x has C={C} (axis {at_x}); "
            + (
                "with groups=1 they must be equal"
                if groups == 1
                else f"with groups={groups} w must have C/groups = {C / groups:g}"
            )
        )


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _integer(name: str, value: Any, *, least: int) -> int:
    """Return `value` as an int, or say which argument is not one."""
    if isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name}={said(value)} is a truth value; expected an integer >= {least}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ParameterError(
            f"{name}={said(value)} is a {type(value).__name__}; expected an integer >= {least}"
        ) from None
    if number < least:
        raise ParameterError(f"{name}={number}; expected an integer >= {least}")
    if number > LARGEST:
        raise ParameterError(f"{name} is above {LARGEST}; expected an integer from {least} to {LARGEST}")
    return number


def both_sides(padding: Any) -> tuple[Pair, Pair]:
    """Return padding in numbers, however it is written, as ((top, bottom), (left, right))."""
    if not _is_sequence(padding):
        both = _integer("padding", padding, least=0)
        return (both, both), (both, both)
    axes = tuple(padding)
    if len(axes) != 2:
        raise ParameterError(
            f"padding={said(padding)} has {len(axes)} entries; "
            "expected one integer, (vertical, horizontal) or ((top, bottom), (left, right))"
        )
    vertical, horizontal = axes
    return (
        pair("padding[0] (vertical)", vertical, least=0),
        pair("padding[1] (horizontal)", horizontal, least=0),
    )


def pair(name: str, value: Any, *, least: int) -> Pair:
    """Return one integer, or a pair of them, as a pair (vertical, horizontal) or (before, after)."""
    if not _is_sequence(value):
        one = _integer(name, value, least=least)
        return one, one
    entries = tuple(value)
    if len(entries) != 2:
        raise ParameterError(f"{name}={said(value)} has {len(entries)} entries; expected one integer or two")
    first, second = (_integer(f"{name}[{i}]", entry, least=least) for i, entry in enumerate(entries))
    return first, second
