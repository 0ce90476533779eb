"""The front door: `conv2d` and `plan` check what they are given, ask which algorithm, and make a plan of it.

    conv2d    problem   the arrays are looked at, once
              auto      which algorithm: the one that was asked for, or the best
              plans     the weights are packed, the workspace is allocated, and it runs
    plan      the same up to the run, which comes when the plan is called

Which algorithm "auto" takes is decided in `convlab.auto.select`; how a plan runs stands in
`convlab.plans.plan`, and for a GPU in `convlab.plans.device_plan`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convlab.algorithms.implicit_gemm import blocked
from convlab.algorithms.spec import Algorithm
from convlab.auto.select import Chosen, choose
from convlab.backends import choose_backend
from convlab.machine.memory import Memory
from convlab.plans.epilogue import check_epilogue
from convlab.plans.plan import Plan
from convlab.problem import ConvProblem, check_computed
from convlab.support import device_arrays
from convlab.support.checked import Size, checked
from convlab.support.checks import COMPUTES, check_array, check_form, check_out, check_threads


def conv2d(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    stride=1,
    padding=0,
    dilation=1,
    groups: int = 1,
    algorithm: str | Algorithm = "auto",
    backend: str = "auto",
    threads: int = 1,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Convolve a batch of images with a bank of filters (cross-correlation, as in every framework).

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
        The images, float32 or float64. With ``backend="gpu"`` also an array that lies on the device, of
        any library that has `__cuda_array_interface__` (Numba, CuPy, PyTorch); it must be C-contiguous.
    w : ndarray, (K, R, S, C/groups)
        The filters, of x's dtype.
    bias : ndarray, (K,), optional
        Added to every output pixel.
    stride, padding, dilation, groups
        As in `ConvProblem`.
    algorithm : str or Algorithm
        A name from `ALGORITHMS`, an algorithm that is not in the table, or "auto": the one that is predicted
        to be the fastest, packing the weights included. The prediction is made from this machine's speeds
        if they were measured (``convlab bench speeds``), else from those of a processor like it; what
        `autotune` measured takes the place of a predicted run. Nothing is measured here. It may be a
        transform (Winograd, FFT), which rounds more than a plain sum does; who minds names another. It is
        none where x or w hold numbers that would be lost in one: NaN, infinity, very large or small ones,
        or both large and small ones (`convlab.auto.magnitudes`).
    backend : str
        "numpy" (the reference form: short, exact, slow), "cpu" (compiled by Numba), "gpu" (Numba CUDA, on
        an NVIDIA GPU) or "auto": "cpu" where Numba is installed.
    threads : int
        Threads of the "cpu" backend; a request, for a small problem one may serve best. Others ignore it.
        A process that was forked after threads had run computes on one, where Numba's threads are those of
        GNU OpenMP (the usual ones on Linux), and says so; "spawn" and "forkserver" are free of that.
    out : ndarray, (N, P, Q, K), optional
        Written and returned; C-contiguous, of x's dtype, sharing no memory with the inputs. On the device
        if x is.

    Returns
    -------
    ndarray, (N, P, Q, K)
        An array of the device (Numba's) if x is one: nothing is copied to NumPy and back unasked.

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
    backend, threads = choose_backend(backend), check_threads(threads)
    shaping = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    posed = _posed_on_device if backend == "gpu" else _posed
    problem, w, bias, memory = posed(x, w, bias, out, shaping)
    chosen = choose(problem, algorithm, backend, threads, memory, w, x, include_packing=True)
    return _made(problem, w, bias, chosen, backend, threads, memory).run_checked(x, out)


def plan(
    problem: ConvProblem,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    algorithm: str | Algorithm = "auto",
    backend: str = "auto",
    threads: int = 1,
    epilogue: str | None = None,
) -> Plan:
    """Prepare a convolution: check it, choose the algorithm, pack the weights, allocate the workspace.

    Parameters
    ----------
    problem : ConvProblem
    w : ndarray, (K, R, S, C/groups)
    bias : ndarray, (K,), optional
        With ``backend="gpu"`` both may also lie on the device.
    algorithm, backend, threads
        As in `conv2d`; but for "auto" a run alone counts, predicted or measured: the weights are packed
        once, and then the plan runs often. And x is not known yet: if numbers of the first one would be lost
        in the transform that was chosen, that call warns and says what to name instead. Later ones do not.
    epilogue : str, optional
        What is done to the output beside the bias: "relu" sets what is below zero to zero, "add" adds a
        `residual` that each call is given, "add_relu" does both, in this order. Compiled forms do it while
        the sums are in registers, so that no further pass goes over memory (`convlab.cpu.epilogue`).

    Returns
    -------
    Plan
        Call it with x, as often as you like, and from as many threads: a call that finds the workspace in
        use gets one of its own, which is kept for the next time.

    Raises
    ------
    ConvError
        As in `conv2d`; a `WorkspaceError` before anything is allocated if the memory would not suffice.
    """
    backend, threads = choose_backend(backend), check_threads(threads)
    check_computed(problem)
    check_epilogue(epilogue)
    device = _device() if backend == "gpu" else None
    if device is not None:
        w, bias = device_arrays.on_host("w", w, device), device_arrays.on_host("bias", bias, device)
    check_array("w", w, problem.w_shape, "(K, R, S, C/groups)", (problem.dtype,))
    _check_bias(bias, problem)
    memory = Memory(output=problem.y_bytes, device=device)
    chosen = choose(problem, algorithm, backend, threads, memory, w)
    return _made(problem, w, bias, chosen, backend, threads, memory, epilogue)


@checked
def implicit_gemm(
    x: np.ndarray,
    w: np.ndarray,
    problem: ConvProblem,
    *,
    block_m: Size | None = None,
    block_n: Size | None = None,
    block_k: Size | None = None,
    backend: str = "numpy",
) -> np.ndarray:
    """Convolve with blocks of your own choice; no choice changes the answer beyond rounding.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    w : ndarray, (K, R, S, C/groups)
    problem : ConvProblem
    block_m, block_n, block_k
        As in `convlab.algorithms.implicit_gemm.blocked`.
    backend : str
        "numpy" takes blocks of any size, the others those that fit their register tile or their GPU.

    Returns
    -------
    ndarray, (N, P, Q, K)

    Raises
    ------
    ConvError
        If an array does not fit the problem, or a block is none.
    """
    return plan(problem, w, algorithm=blocked(block_m, block_n, block_k), backend=backend)(x)


def _made(
    problem, w, bias, chosen: Chosen, backend: str, threads: int, memory: Memory, epilogue: str | None = None
) -> Plan:
    """Return the plan of the algorithm that was chosen, on the side that `memory` is on."""
    all_of_it = problem, w, bias, chosen.algorithm, backend, threads, chosen.why, chosen.watch
    if memory.device is None:
        return Plan(*all_of_it, epilogue=epilogue)
    from convlab.plans.device_plan import DevicePlan

    return DevicePlan(memory.device, *all_of_it, epilogue=epilogue)


# -- what conv2d is given, looked at -----------------------------------------------------------------------


def _posed(x, w, bias, out, shaping: dict) -> tuple[ConvProblem, np.ndarray, Any, Memory]:
    """Return the problem that arrays pose, the filters and the bias, and what is asked of the memory."""
    problem = _problem_of(x, w, bias, shaping)
    if out is not None:
        check_out(out, problem.y_shape, problem.dtype, x=x, w=w, bias=bias)
    output = problem.y_bytes if out is None else 0
    copied = 0 if x.flags.c_contiguous else problem.x_bytes
    return problem, w, bias, Memory(output=output, copied=copied)


def _posed_on_device(x, w, bias, out, shaping: dict) -> tuple[ConvProblem, np.ndarray, Any, Memory]:
    """Return the same for a run on the device; x and `out` may lie there, and so may w and the bias."""
    device, there = _device(), device_arrays.described("x", x)
    posing = device_arrays.stand_in("x", x, device)
    w, bias = device_arrays.on_host("w", w, device), device_arrays.on_host("bias", bias, device)
    problem = _problem_of(posing, w, bias, shaping)
    if out is not None:
        on_device = there is not None
        device_arrays.check_out_beside(on_device, out, problem.y_shape, problem.dtype, device, x=x)
    output = problem.y_bytes if there is None or out is None else 0
    copied = problem.x_bytes if there is None else 0
    return problem, w, bias, Memory(output=output, copied=copied, device=device)


def _problem_of(x, w, bias, shaping: dict) -> ConvProblem:
    problem = ConvProblem.of(x, w, dtypes=COMPUTES, **shaping)
    check_form("w", w, (problem.dtype,))
    _check_bias(bias, problem)
    return problem


def _check_bias(bias, problem: ConvProblem) -> None:
    if bias is not None:
        check_array("bias", bias, (problem.K,), "(K,)", (problem.dtype,))


def _device():
    """Return the device that backend "gpu" runs on now."""
    from convlab.gpu.device import current

    return current()
