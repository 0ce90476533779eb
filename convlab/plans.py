"""`plan` and `conv2d`: check, choose, prepare, run.

`plan` does once what can be done once: it checks the problem, packs the weights, allocates the workspace.
Calling the plan runs it. The split is XNNPACK's create / run, and the two are always timed apart.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.base import Algorithm
from convlab.aligned import aligned_empty
from convlab.errors import ArrayError, ParameterError, ShapeError, UnsupportedError, WorkspaceError
from convlab.problem import ConvProblem
from convlab.units import bytes_text

BACKENDS = ("numpy", "cpu")
_COMPUTES = ("float32", "float64")
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
    _check_array("x", x)
    _check_array("w", w)
    problem = ConvProblem.of(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if out is not None:
        _check_out(out, problem, x=x, w=w, bias=bias)
    return plan(problem, w, bias, algorithm=algorithm, backend=backend)(x, out)


def plan(
    problem: ConvProblem,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    algorithm: str = "auto",
    backend: str = "auto",
) -> Plan:
    """Prepare a convolution: check it, choose the algorithm, pack the weights, allocate the workspace.

    Parameters
    ----------
    problem : ConvProblem
    w : ndarray, (K, R, S, C/groups)
    bias : ndarray, (K,), optional
    algorithm, backend : str
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
    if not isinstance(problem, ConvProblem):
        raise ParameterError(f"problem is a {type(problem).__name__}; expected a ConvProblem")
    if problem.dtype not in _COMPUTES:
        raise ParameterError(
            f"problem has dtype={problem.dtype!r}, which is for the cost model only; "
            f"to compute, expected one of {', '.join(_COMPUTES)}"
        )
    _check_array("w", w, problem.w_shape, "(K, R, S, C/groups)", problem.dtype)
    if bias is not None:
        _check_array("bias", bias, (problem.K,), "(K,)", problem.dtype)
    backend = _choose_backend(backend)
    return Plan(problem, w, bias, _choose_algorithm(problem, algorithm, backend), backend)


class Plan:
    """A convolution made ready by `plan`: call it with x.

    Attributes
    ----------
    problem : ConvProblem
    algorithm : Algorithm
    backend : str
    cost : Cost
        The cost model's figures for one run.
    workspace : dict of str to ndarray
        The arrays allocated beside x, w, y and the packed weights.
    packed
        The weights in the layout the kernel reads.
    """

    def __init__(self, problem, w, bias, algorithm: Algorithm, backend: str):
        self.problem, self.algorithm, self.backend = problem, algorithm, backend
        self.cost = algorithm.cost(problem, backend)
        self._form = algorithm.forms[backend]
        self.packed = self._form.pack(problem, np.ascontiguousarray(w))
        self.workspace = self._form.allocate(problem)
        self.bias = None if bias is None else bias.copy()

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
        _check_array("x", x, self.problem.x_shape, "(N, H, W, C)", self.problem.dtype)
        if out is None:
            out = aligned_empty(self.problem.y_shape, self.problem.dtype)
        else:
            _check_out(out, self.problem, x=x)
        self._form.run(self.problem, np.ascontiguousarray(x), self.packed, self.workspace, out)
        if self.bias is not None:
            out += self.bias
        return out

    def __repr__(self) -> str:
        return (
            f"<plan: {self.algorithm.name} on {self.backend}, {self.problem}, "
            f"workspace {bytes_text(self.cost.workspace_bytes)}>"
        )


# -- choosing ----------------------------------------------------------------------------------------------


def _choose_backend(backend: str) -> str:
    has_numba = find_spec("numba") is not None
    if backend == "auto":
        return "cpu" if has_numba else "numpy"
    if backend not in BACKENDS:
        raise ParameterError(f"backend={backend!r}; expected 'auto' or one of {', '.join(BACKENDS)}")
    if backend == "cpu" and not has_numba:
        raise UnsupportedError("backend='cpu' needs Numba (pip install numba); backend='numpy' runs without")
    return backend


def _choose_algorithm(problem: ConvProblem, name: str, backend: str) -> Algorithm:
    """Return the algorithm by name, or a good one for "auto"; refuse what does not serve or does not fit."""
    serving = {a.name: a for a in ALGORITHMS.values() if not a.supports(problem) and backend in a.forms}
    if name == "auto":
        # One channel a group leaves a matrix product nothing to reuse; else im2row, if its matrix fits.
        order = ("direct", "im2row") if problem.groups == problem.C > 1 else ("im2row", "direct")
        fitting = [n for n in order if n in serving and not _too_large(problem, serving[n], backend)]
        name = fitting[0] if fitting else order[-1]
    if name not in ALGORITHMS:
        raise ParameterError(f"algorithm={name!r}; expected 'auto' or one of {', '.join(ALGORITHMS)}")
    if name not in serving:
        reason = ALGORITHMS[name].supports(problem) or f"it has no form for backend={backend!r}"
        raise UnsupportedError(
            f"algorithm={name!r} cannot serve this problem: {reason}; {_list(serving)} can"
        )
    if shortage := _too_large(problem, serving[name], backend):
        fits = [n for n, a in serving.items() if not _too_large(problem, a, backend)]
        raise WorkspaceError(
            f"algorithm={name!r} {shortage}; "
            + (f"{_list(fits)} would fit" if fits else "no algorithm would fit: make the batch N smaller")
        )
    return serving[name]


def _too_large(problem: ConvProblem, algorithm: Algorithm, backend: str) -> str | None:
    """Return why the arrays a run would allocate do not fit in the memory at hand, or None if they do."""
    cost = algorithm.cost(problem, backend)
    needed = cost.workspace_bytes + cost.packed_bytes + problem.y_bytes
    if needed < _NOT_WORTH_ASKING:
        return None
    from convlab.measure.machine import memory_at_hand

    at_hand = memory_at_hand()
    if at_hand is None or needed <= at_hand:
        return None
    return (
        f"needs {bytes_text(needed)} (workspace {bytes_text(cost.workspace_bytes)}, packed weights "
        f"{bytes_text(cost.packed_bytes)}, output {bytes_text(problem.y_bytes)}) and "
        f"{bytes_text(at_hand)} of memory are free"
    )


def _list(names) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


# -- checking ----------------------------------------------------------------------------------------------


def _check_array(name, array, shape=None, axes="", dtype=None) -> None:
    """Refuse what is not a plain NumPy array of the shape and dtype expected."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise ArrayError(
            f"{name} is a {type(array).__name__}; expected a NumPy array"
            + (f", for instance {name}.numpy()" if hasattr(array, "numpy") else "")
        )
    wanted = (dtype,) if dtype else _COMPUTES
    if array.dtype.name not in wanted or not array.dtype.isnative:
        given = array.dtype.name if array.dtype.isnative else f"byte-swapped {array.dtype.name}"
        raise ArrayError(
            f"{name} has dtype {given}; expected {' or '.join(wanted)} "
            f"(convert it with {name}.astype('{wanted[0]}'))"
        )
    if shape is not None and array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}; expected {axes} = {shape}{_which(array, shape)}")


def _which(array, shape) -> str:
    """Name the first axis that differs."""
    if array.ndim != len(shape):
        return f": {array.ndim} axes instead of {len(shape)}"
    axis = next(
        i for i, (given, wanted) in enumerate(zip(array.shape, shape, strict=True)) if given != wanted
    )
    return f": axis {axis} is {array.shape[axis]} instead of {shape[axis]}"


def _check_out(out, problem: ConvProblem, **inputs) -> None:
    _check_array("out", out, problem.y_shape, "(N, P, Q, K)", problem.dtype)
    if not out.flags.writeable:
        raise ArrayError("out is read-only; expected an array that can be written")
    if not out.flags.c_contiguous:
        raise ArrayError(
            f"out has strides {out.strides}; expected a C-contiguous array, for instance np.empty"
        )
    for name, array in inputs.items():
        if array is not None and np.may_share_memory(out, array):
            raise ArrayError(f"out shares memory with {name}; expected an array of its own")
