"""The doors to the gradients: `dgrad` of the input, `wgrad` of the weights, `bgrad` of the bias.

With y = conv2d(x, w) + bias and the gradient dy of some number with respect to y, they are the gradients of
that number with respect to x, w and the bias. The names are those of cuDNN and CUTLASS (fprop, dgrad, wgrad);
PyTorch's are `conv2d_input` and `conv2d_weight`, in torch.nn.grad.
"""

from __future__ import annotations

import numpy as np

from convlab.errors import ShapeError
from convlab.gradients.spec import Table, choose
from convlab.gradients.tables import WGRAD, dgrad_order
from convlab.machine.memory import Memory
from convlab.plans.plan import refused_by_the_system
from convlab.problem import ConvProblem, check_computed
from convlab.support.aligned import aligned_empty
from convlab.support.checks import COMPUTES, check_array, check_axes, check_out, check_threads

X, W, Y = "(N, H, W, C)", "(K, R, S, C/groups)", "(N, P, Q, K)"


def dgrad(
    problem: ConvProblem,
    dy: np.ndarray,
    w: np.ndarray,
    *,
    algorithm: str = "auto",
    backend: str = "auto",
    threads: int = 1,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the gradient of the input: the adjoint of the convolution with w, for fixed w.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    dy : ndarray, (N, P, Q, K)
        The gradient with respect to its output, of the problem's dtype.
    w : ndarray, (K, R, S, C/groups)
    algorithm : str
        A name from `convlab.gradients.DGRAD`, or "auto": "col2im" if x has fewer than 8 channels and one
        group, else "flipped" at stride 1 and "subfilters" at any other; the next one where the memory is too
        little. The convolutions inside choose by themselves, as `conv2d` does.
    backend : str
        "numpy", "cpu" or "auto", as for `conv2d`.
    threads : int
        Threads of the "cpu" backend.
    out : ndarray, (N, H, W, C), optional
        Written and returned; C-contiguous, of dy's dtype, sharing no memory with the inputs.

    Returns
    -------
    ndarray, (N, H, W, C)

    Raises
    ------
    ConvError
        If an argument is wrong, if the algorithm does not serve the problem, or if the memory does not
        suffice; nothing has been allocated or written then.

    Notes
    -----
    For all x and dy, sum(conv2d(x, w) * dy) = sum(x * dgrad(problem, dy, w)). PyTorch's name is
    torch.nn.grad.conv2d_input. Chetlur et al. 2014, arXiv:1410.0759; Dumoulin & Visin 2016, arXiv:1603.07285.

    Examples
    --------
    >>> problem = ConvProblem(1, 1, 5, 1, 1, 1, 3, stride=2)
    >>> w = np.array([1, 10, 100], np.float32).reshape(problem.w_shape)
    >>> dgrad(problem, np.ones(problem.y_shape, np.float32), w)[0, 0, :, 0]  # two windows share a pixel
    array([  1.,  10., 101.,  10., 100.], dtype=float32)
    """
    check_computed(problem)
    operands = {"dy": (dy, problem.y_shape, Y), "w": (w, problem.w_shape, W)}
    return _run(
        problem, dgrad_order(problem), operands, (problem.x_shape, X), algorithm, backend, threads, out
    )


def wgrad(
    problem: ConvProblem,
    x: np.ndarray,
    dy: np.ndarray,
    *,
    algorithm: str = "auto",
    backend: str = "auto",
    threads: int = 1,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the gradient of the weights: for each of them a sum over all output pixels of all pictures.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    x : ndarray, (N, H, W, C)
    dy : ndarray, (N, P, Q, K)
        The gradient with respect to its output, of the problem's dtype.
    algorithm : str
        A name from `convlab.gradients.WGRAD`, or "auto": "depthwise" if each filter reads one channel, else
        "parts"; the next one where the memory is too little.
    backend, threads
        As in `dgrad`.
    out : ndarray, (K, R, S, C/groups), optional
        Written and returned; C-contiguous, of dy's dtype, sharing no memory with the inputs.

    Returns
    -------
    ndarray, (K, R, S, C/groups)
        On backend "cpu" the same bits for any number of threads.

    Raises
    ------
    ConvError
        As in `dgrad`.

    Notes
    -----
    For all w and dy, sum(conv2d(x, w) * dy) = sum(w * wgrad(problem, x, dy)). PyTorch's name is
    torch.nn.grad.conv2d_weight. Chetlur et al. 2014, arXiv:1410.0759.
    """
    check_computed(problem)
    operands = {"x": (x, problem.x_shape, X), "dy": (dy, problem.y_shape, Y)}
    return _run(problem, WGRAD, operands, (problem.w_shape, W), algorithm, backend, threads, out)


def bgrad(dy: np.ndarray) -> np.ndarray:
    """Return the gradient of the bias: it is added to every output pixel, so theirs are added up.

    Parameters
    ----------
    dy : ndarray, (N, P, Q, K)
        float32 or float64; the sum is made in float64.

    Returns
    -------
    ndarray, (K,)
        Of dy's dtype.

    Raises
    ------
    ConvError
        If dy is no such array.
    """
    check_array("dy", dy, dtypes=COMPUTES)
    check_axes("dy", dy, Y[1:-1])
    if not dy.size:
        raise ShapeError(f"dy has shape {dy.shape}; expected at least one number")
    return dy.sum(axis=(0, 1, 2), dtype=np.float64).astype(dy.dtype)


def _run(
    problem: ConvProblem,
    table: Table,
    operands: dict,
    result: tuple[tuple, str],
    algorithm: str,
    backend: str,
    threads: int,
    out: np.ndarray | None,
) -> np.ndarray:
    """Look at the operands (by name: the array, its shape and axes), choose, allocate, and compute."""
    (shape, axes), threads = result, check_threads(threads)
    for name, (array, expected, its_axes) in operands.items():
        check_array(name, array, expected, its_axes, (problem.dtype,))
    arrays = {name: array for name, (array, *_) in operands.items()}
    if out is not None:
        check_out(out, shape, problem.dtype, axes, **arrays)
    output = 0 if out is not None else int(np.prod(shape)) * problem.itemsize
    copied = sum(array.nbytes for array in arrays.values() if not array.flags.c_contiguous)
    memory = Memory(output=output, copied=copied)
    chosen, backend = choose(problem, table, algorithm, backend, threads, memory)
    form = chosen.forms[backend]
    try:
        one, other = (np.ascontiguousarray(array) for array in arrays.values())
        workspace = form.allocate(problem, threads)
        if out is None:
            out = aligned_empty(shape, problem.dtype)
        form.run(problem, one, other, workspace, out, threads)
    except MemoryError as error:
        raise refused_by_the_system(error) from error
    return out
