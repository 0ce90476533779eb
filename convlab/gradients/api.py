"""The doors to the gradients: `dgrad` of the input, `wgrad` of the weights, `bgrad` of the bias.

`plan_dgrad` and `plan_wgrad` make the first two ready, for who wants them often.

With y = conv2d(x, w) + bias and the gradient dy of some number with respect to y, they are the gradients of
that number with respect to x, w and the bias. The names are those of cuDNN and CUTLASS (fprop, dgrad, wgrad);
PyTorch's are `conv2d_input` and `conv2d_weight`, in torch.nn.grad.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from convlab.backends import choose_backend
from convlab.errors import ShapeError
from convlab.gradients.plan import DataGradient, W, WeightGradient, X, Y, check_operands, shapes
from convlab.gradients.select import choose
from convlab.machine.memory import Memory
from convlab.problem import ConvProblem, check_computed
from convlab.support import device_arrays
from convlab.support.checks import COMPUTES, check_array, check_axes, check_threads


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
        A name from `convlab.gradients.DGRAD`, or "auto": on backend "cpu" the one that is predicted to pack
        the weights and run in the least time, as `conv2d` has it; on "numpy" the first of the table that
        serves, but "col2im" if x has one group of fewer than 8 channels; on "gpu" "depthwise" if each filter
        reads one channel, else "implicit_gemm". The next one where the memory is too little. The convolutions
        inside are chosen as `conv2d` chooses.
    backend : str
        "numpy", "cpu", "gpu" or "auto", as for `conv2d`. With "gpu" dy and w may be arrays of the device, as
        x may be there; the result is one if dy is.
    threads : int
        Threads of the "cpu" backend.
    out : ndarray, (N, H, W, C), optional
        Written and returned; C-contiguous, of dy's dtype, sharing no memory with the inputs. On the device
        if dy is.

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
    threads, memory = check_threads(threads), _posed(problem, X, out, backend, dy=dy, w=w)
    chosen = choose(problem, "dgrad", algorithm, backend, threads, memory)
    return _made(DataGradient, memory, problem, chosen, threads, w, dy).run_checked((dy,), out)


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
        A name from `convlab.gradients.WGRAD`, or "auto": on backend "cpu" the one that is predicted to run in
        the least time; on "numpy" "depthwise" if each filter reads one channel, else "parts". The next one
        where the memory is too little.
    backend, threads
        As in `dgrad`.
    out : ndarray, (K, R, S, C/groups), optional
        Written and returned; C-contiguous, of dy's dtype, sharing no memory with the inputs.

    Returns
    -------
    ndarray, (K, R, S, C/groups)
        On backend "cpu" the same bits for any number of threads; on "gpu" from run to run on one device.

    Raises
    ------
    ConvError
        As in `dgrad`.

    Notes
    -----
    For all w and dy, sum(conv2d(x, w) * dy) = sum(w * wgrad(problem, x, dy)). PyTorch's name is
    torch.nn.grad.conv2d_weight. Chetlur et al. 2014, arXiv:1410.0759.
    """
    threads, memory = check_threads(threads), _posed(problem, W, out, backend, x=x, dy=dy)
    chosen = choose(problem, "wgrad", algorithm, backend, threads, memory)
    return _made(WeightGradient, memory, problem, chosen, threads).run_checked((x, dy), out)


def plan_dgrad(
    problem: ConvProblem,
    w: np.ndarray,
    *,
    algorithm: str = "auto",
    backend: str = "auto",
    threads: int = 1,
) -> DataGradient:
    """Prepare the gradient of the input: choose the algorithm, pack the weights, allocate the workspace.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    w : ndarray, (K, R, S, C/groups)
    algorithm, backend, threads
        As in `dgrad`. "auto" counts the packing too: what is learned has new weights at every step.

    Returns
    -------
    DataGradient
        Call it with dy, as often as you like, and from as many threads: a call that finds the workspace in
        use gets one of its own, which is kept for the next time. Its `update` takes new weights.

    Raises
    ------
    ConvError
        As in `dgrad`, before anything is allocated.

    Examples
    --------
    >>> problem = ConvProblem(1, 1, 5, 1, 1, 1, 3, stride=2)
    >>> w = np.array([1, 10, 100], np.float32).reshape(problem.w_shape)
    >>> prepared, dy = plan_dgrad(problem, w), np.ones(problem.y_shape, np.float32)
    >>> prepared.update(2 * w)
    >>> prepared(dy)[0, 0, :, 0]
    array([  2.,  20., 202.,  20., 200.], dtype=float32)
    """
    threads, memory = check_threads(threads), _posed(problem, X, None, backend, w=w)
    chosen = choose(problem, "dgrad", algorithm, backend, threads, memory)
    return _made(DataGradient, memory, problem, chosen, threads, w)


def plan_wgrad(
    problem: ConvProblem, *, algorithm: str = "auto", backend: str = "auto", threads: int = 1
) -> WeightGradient:
    """Prepare the gradient of the weights: choose the algorithm, allocate the workspace.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    algorithm, backend, threads
        As in `wgrad`.

    Returns
    -------
    WeightGradient
        Call it with x and dy, as often as you like; see `plan_dgrad`.

    Raises
    ------
    ConvError
        As in `wgrad`, before anything is allocated.
    """
    threads, memory = check_threads(threads), _posed(problem, W, None, backend)
    chosen = choose(problem, "wgrad", algorithm, backend, threads, memory)
    return _made(WeightGradient, memory, problem, chosen, threads)


def bgrad(dy: np.ndarray) -> np.ndarray:
    """Return the gradient of the bias: it is added to every output pixel, so theirs are added up.

    Parameters
    ----------
    dy : ndarray, (N, P, Q, K)
        float32 or float64; the sum is made in float64. It may be an array of the device, as for `conv2d`.

    Returns
    -------
    ndarray, (K,)
        Of dy's dtype, and on the device if dy is.

    Raises
    ------
    ConvError
        If dy is no such array.
    """
    there = device_arrays.described("dy", dy)
    if there is None:
        check_array("dy", dy, dtypes=COMPUTES)
    else:
        from convlab.gpu.device import current
        from convlab.gradients import bgrad_gpu

        device_arrays.check_described("dy", there, current())
    shown = dy if there is None else there
    check_axes("dy", shown, Y[1:-1])
    if not prod(shown.shape):
        raise ShapeError(f"dy has shape {shown.shape}; expected at least one number")
    if there is not None:
        db = bgrad_gpu.bgrad(current().adopt(dy))
        current().hand_back(dy)
        return db
    return dy.sum(axis=(0, 1, 2), dtype=np.float64).astype(dy.dtype)


def _made(kind, memory: Memory, *chosen) -> Any:
    """Return the plan of what was chosen, on the side that `memory` is on."""
    if memory.device is None:
        return kind(*chosen)
    from convlab.gradients.device_plan import MADE

    return MADE[kind](memory.device, *chosen)


def _posed(problem: ConvProblem, makes: str, out, backend: str, **given) -> Memory:
    """Look at all that a gradient is given; return what is asked of the memory beside the plan."""
    check_computed(problem)
    made = prod(shapes(problem)[makes]) * problem.itemsize
    if choose_backend(backend) != "gpu":
        check_operands(problem, makes, out, given)
        copied = sum(one.nbytes for one in given.values() if not one.flags.c_contiguous)
        return Memory(output=0 if out is not None else made, copied=copied)
    from convlab.gpu.device import current
    from convlab.gradients import device_plan

    device = current()
    there = bool(given) and device_plan.check_operands(device, problem, makes, out, given)
    copied = 0 if there else sum(one.nbytes for name, one in given.items() if name != "w")
    return Memory(output=0 if there and out is not None else made, copied=copied, device=device)
