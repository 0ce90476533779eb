"""`plan` and `conv2d`: check, choose, prepare, run.

`plan` does once what can be done once: it checks the problem, packs the weights, allocates the workspace.
Calling the plan runs it. The split is XNNPACK's create / run, and the two are always timed apart.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.base import Algorithm, Cost
from convlab.aligned import aligned_empty
from convlab.backends import choose_backend
from convlab.checks import COMPUTES, check_array, check_out
from convlab.errors import ParameterError, UnsupportedError, WorkspaceError
from convlab.problem import ConvProblem
from convlab.threads import check_threads
from convlab.units import bytes_text

_NOT_WORTH_ASKING = 1 << 20  # bytes; below this the memory at hand is not looked up


def conv2d(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    stride=1,
    padding=0,
    dilation=1,
    groups: int = 1,
    algorithm: str = "auto",
    backend: str = "auto",
    threads: int = 1,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Convolve a batch of images with a bank of filters (cross-correlation, as in every framework).

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
        The images, float32 or float64.
    w : ndarray, (K, R, S, C/groups)
        The filters, of x's dtype.
    bias : ndarray, (K,), optional
        Added to every output pixel.
    stride, padding, dilation, groups
        As in `ConvProblem`.
    algorithm : str
        A name from `ALGORITHMS`, or "auto".
    backend : str
        "numpy" (the reference form: short, exact, slow), "cpu" (compiled by Numba) or "auto": "cpu" where
        Numba is installed.
    threads : int
        Threads of the "cpu" backend; a request, for a small problem one may serve best.
    out : ndarray, (N, P, Q, K), optional
        Written and returned; C-contiguous, of x's dtype, sharing no memory with the inputs.

    Returns
    -------
    ndarray, (N, P, Q, K)

    Raises
    ------
    ConvError
        If an argument is wrong; the message names it, its value and what was expected. Nothing has been
        allocated or written then.

    Examples
    --------
    >>> x, w = np.ones((1, 5, 5, 2), np.float32), np.ones((3, 3, 3, 2), np.float32)
    >>> conv2d(x, w, padding=1)[0, :, :, 0]
    array([[ 8., 12., 12., 12.,  8.],
           [12., 18., 18., 18., 12.],
           [12., 18., 18., 18., 12.],
           [12., 18., 18., 18., 12.],
           [ 8., 12., 12., 12.,  8.]], dtype=float32)
    """
    check_array("x", x)
    check_array("w", w)
    problem = ConvProblem.of(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if out is not None:
        check_out(out, problem.y_shape, problem.dtype, x=x, w=w, bias=bias)
    copied = 0 if x.flags.c_contiguous else problem.x_bytes
    output = problem.y_bytes if out is None else 0
    return _prepare(problem, w, bias, algorithm, backend, threads, output, copied)(x, out)


def plan(
    problem: ConvProblem,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    algorithm: str = "auto",
    backend: str = "auto",
    threads: int = 1,
) -> Plan:
    """Prepare a convolution: check it, choose the algorithm, pack the weights, allocate the workspace.

    Parameters
    ----------
    problem : ConvProblem
    w : ndarray, (K, R, S, C/groups)
    bias : ndarray, (K,), optional
    algorithm, backend, threads
        As in `conv2d`.

    Returns
    -------
    Plan
        Call it with x, as often as you like. One plan serves one thread at a time: its workspace is reused.

    Raises
    ------
    ConvError
        As in `conv2d`; a `WorkspaceError` before anything is allocated if the memory would not suffice.
    """
    return _prepare(problem, w, bias, algorithm, backend, threads, output=None, copied=0)


def _prepare(problem, w, bias, algorithm, backend, threads, output, copied) -> Plan:
    """Check, choose and pack; `output` and `copied` are bytes that running the plan will also allocate."""
    if not isinstance(problem, ConvProblem):
        raise ParameterError(f"problem is a {type(problem).__name__}; expected a ConvProblem")
    if problem.dtype not in COMPUTES:
        raise ParameterError(
            f"problem has dtype={problem.dtype!r}, which is for the cost model only; "
            f"to compute, expected one of {', '.join(COMPUTES)}"
        )
    check_array("w", w, problem.w_shape, "(K, R, S, C/groups)", (problem.dtype,))
    if bias is not None:
        check_array("bias", bias, (problem.K,), "(K,)", (problem.dtype,))
    backend, threads = choose_backend(backend), check_threads(threads)
    memory = _Memory(problem.y_bytes if output is None else output, copied, threads)
    return Plan(problem, w, bias, _choose(problem, algorithm, backend, memory), backend, threads)


class Plan:
    """A convolution made ready by `plan`: call it with x.

    Attributes
    ----------
    problem : ConvProblem
    algorithm : Algorithm
    backend : str
    threads : int
    workspace : dict of str to ndarray
        The arrays allocated beside x, w, y and the packed weights.
    packed
        The weights in the layout the kernel reads.
    """

    def __init__(self, problem, w, bias, algorithm: Algorithm, backend: str, threads: int):
        self.problem, self.algorithm, self.backend, self.threads = problem, algorithm, backend, threads
        self._form = algorithm.forms[backend]
        self.packed = self._form.pack(problem, w)  # always a copy: changing w later changes nothing
        self.workspace = self._form.allocate(problem, threads)
        self.bias = None if bias is None else bias.copy()

    @cached_property
    def cost(self) -> Cost:
        """The cost model's figures for one run."""
        return self.algorithm.cost(self.problem, self.backend, self.threads)

    def __call__(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the convolution of x, written into `out` if it is given.

        Parameters
        ----------
        x : ndarray, (N, H, W, C)
            Of the plan's shape and dtype. Copied first if it is not C-contiguous.
        out : ndarray, (N, P, Q, K), optional

        Raises
        ------
        ConvError
            If x or out does not fit the plan.
        """
        check_array("x", x, self.problem.x_shape, "(N, H, W, C)", (self.problem.dtype,))
        if out is None:
            out = aligned_empty(self.problem.y_shape, self.problem.dtype)
        else:
            inside = {"packed": self.packed, "bias": self.bias} | self.workspace
            check_out(out, self.problem.y_shape, self.problem.dtype, x=x, **inside)
        self._form.run(self.problem, np.ascontiguousarray(x), self.packed, self.workspace, out, self.threads)
        if self.bias is not None:
            out += self.bias
        return out

    def __repr__(self) -> str:
        return (
            f"<plan: {self.algorithm.name} on {self.backend}, {self.problem}, "
            f"workspace {bytes_text(self.cost.workspace_bytes)}>"
        )


# -- choosing ----------------------------------------------------------------------------------------------


def _choose(problem: ConvProblem, name: str, backend: str, memory: _Memory) -> Algorithm:
    """Return the algorithm by name, or a good one for "auto"; refuse what does not serve or does not fit."""
    if not isinstance(name, str) or name not in ("auto", *ALGORITHMS):
        raise ParameterError(f"algorithm={name!r}; expected 'auto' or one of {', '.join(ALGORITHMS)}")
    serving = {a.name: a for a in ALGORITHMS.values() if not a.supports(problem) and backend in a.forms}
    if name == "auto":
        # One channel a group leaves a matrix product nothing to reuse; else im2row, if its matrix fits.
        order = ("direct", "im2row") if problem.groups == problem.C > 1 else ("im2row", "direct")
        for name in order:
            if name in serving and not memory.shortage(problem, serving[name], backend):
                return serving[name]
    if name not in serving:
        reason = ALGORITHMS[name].supports(problem) or f"it has no form for backend={backend!r}"
        raise UnsupportedError(f"algorithm={name!r} cannot serve this: {reason}; {_list(serving)} can")
    if shortage := memory.shortage(problem, serving[name], backend):
        fits = [n for n, a in serving.items() if not memory.shortage(problem, a, backend)]
        raise WorkspaceError(
            f"algorithm={name!r} {shortage}; "
            + (f"{_list(fits)} would fit" if fits else "no algorithm would fit: make the batch N smaller")
        )
    return serving[name]


class _Memory:
    """What a run would allocate, held against the memory at hand (looked up once, and only if needed)."""

    def __init__(self, output: int, copied: int, threads: int):
        self.output, self.copied, self.threads = output, copied, threads

    def shortage(self, problem: ConvProblem, algorithm: Algorithm, backend: str) -> str | None:
        """Return why the arrays do not fit, or None if they do or it cannot be known."""
        cost = algorithm.cost(problem, backend, self.threads)
        parts = {
            "workspace": cost.workspace_bytes,
            "packed weights": cost.packed_bytes,
            "output": self.output,
            "a contiguous copy of x": self.copied,
        }
        needed = sum(parts.values())
        if needed < _NOT_WORTH_ASKING or self.at_hand is None or needed <= self.at_hand:
            return None
        listed = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts.items() if size)
        return f"needs {bytes_text(needed)} ({listed}) and {bytes_text(self.at_hand)} of memory are free"

    @cached_property
    def at_hand(self) -> int | None:
        """Bytes of memory that are free now."""
        from convlab.measure.machine import memory_at_hand

        return memory_at_hand()


def _list(names) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
