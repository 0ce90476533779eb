"""Transposed convolution: the gradient of the input of a convolution, run forwards.

    y = conv_transpose2d(x, w)   is   dgrad(problem, x, w)   of the problem whose input is y and output is x

With stride s, inputs of s different sizes have outputs of one size. Which of them is meant, `output_padding`
says: so many more lines at the bottom and columns at the right, with what the filters leave there.
"""

from __future__ import annotations

import numpy as np

from convlab.backends import choose_backend
from convlab.errors import ParameterError, ShapeError, UnsupportedError, WorkspaceError
from convlab.gradients.api import dgrad
from convlab.gradients.plan import Y
from convlab.machine.memory import Memory
from convlab.problem import ConvProblem, both_sides, pair
from convlab.support import device_arrays
from convlab.support.checks import COMPUTES, LARGEST, check_array, check_axes, check_out, check_whole, said


def conv_transpose2d(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    stride=1,
    padding=0,
    output_padding=0,
    dilation=1,
    groups: int = 1,
    algorithm: str = "auto",
    backend: str = "auto",
    threads: int = 1,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the transposed convolution of a batch of images, as torch.nn.functional.conv_transpose2d has it.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
        The images, float32 or float64.
    w : ndarray, (C, R, S, K/groups)
        PyTorch's (C, K/groups, R, S) with its channels last; of x's dtype.
    bias : ndarray, (K,), optional
        Added to every output pixel.
    stride, dilation : int or (int, int)
        Of the convolution that this is the transpose of.
    padding : int, (int, int) or ((int, int), (int, int))
        Likewise: so many lines and columns are taken away from the output, at each side.
    output_padding : int or (int, int)
        Lines and columns the output has more, at the bottom and at the right. As in PyTorch, less than the
        stride or less than the dilation of its axis.
    groups : int
    algorithm, backend, threads
        As in `dgrad`. With ``backend="gpu"`` x, w and the bias may lie on the device; the result does if x
        does.
    out : ndarray, (N, P, Q, K), optional
        Written and returned; C-contiguous, of x's dtype, sharing no memory with the inputs.

    Returns
    -------
    ndarray, (N, P, Q, K)
        P = (H - 1)*stride - top - bottom + dilation*(R - 1) + output_padding + 1, and Q likewise.

    Raises
    ------
    ConvError
        As in `dgrad`.

    Notes
    -----
    Dumoulin & Visin 2016, arXiv:1603.07285, chapter 4.

    Examples
    --------
    >>> x, w = np.ones((1, 1, 3, 1), np.float32), np.ones((1, 1, 3, 1), np.float32)
    >>> conv_transpose2d(x, w, stride=2)[0, 0, :, 0]  # where windows overlap there is more: a checkerboard
    array([1., 1., 2., 1., 2., 1., 1.], dtype=float32)
    """
    posing, there = (x, w), False  # what has their shapes and dtypes; whether x lies on the device
    if choose_backend(backend) == "gpu":
        from convlab.gpu.device import current

        device = current()
        posing = device_arrays.stand_in("x", x, device), device_arrays.stand_in("w", w, device)
        there, bias = posing[0] is not x, device_arrays.on_host("bias", bias, device)
    problem = _problem(*posing, stride, padding, output_padding, dilation, groups)
    if bias is not None:
        check_array("bias", bias, (problem.C,), "(K,)", (problem.dtype,))
    if out is not None and not there:  # there `dgrad` looks at it
        check_out(out, problem.x_shape, problem.dtype, Y, x=x, w=w, bias=bias)
    if there and problem.y_shape != posing[0].shape:
        raise UnsupportedError(
            f"output_padding={said(output_padding)} wants lines of zeros below x, which lies on a device; "
            "expected a NumPy array"
        )
    if problem.y_shape != posing[0].shape:
        # A dilated filter may leave room for more windows; there was nothing there.
        if lacking := Memory().lacking({"x with lines of zeros": problem.y_bytes}):
            raise WorkspaceError(f"conv_transpose2d {lacking}; make the dilation or the batch N smaller")
        more = ((0, large - small) for large, small in zip(problem.y_shape, x.shape, strict=True))
        x = np.pad(x, tuple(more))
    y = dgrad(problem, x, w, algorithm=algorithm, backend=backend, threads=threads, out=out)
    if bias is not None and there:
        from convlab.gpu.epilogue import apply

        apply(y if out is None else device.adopt(y), device.put(bias))
        device.hand_back(*([] if out is None else [out]))
    elif bias is not None:
        y += bias
    return y


def _problem(x, w, stride, padding, output_padding, dilation, groups) -> ConvProblem:
    """Return the convolution whose input is the output of this one; its K are the C channels of x."""
    for name, array, axes in (("x", x, "N, H, W, C"), ("w", w, "C, R, S, K/groups")):
        check_array(name, array, dtypes=COMPUTES if name == "x" else (x.dtype.name,))
        check_axes(name, array, axes)
        if not array.size:
            raise ShapeError(f"{name} has shape {array.shape}; expected at least one number")
    (N, *sizes, C), (channels, *taps, filters) = x.shape, w.shape
    groups = check_whole("groups", groups, 1, LARGEST)
    if channels != C:
        raise ShapeError(f"w has {channels} input channels (axis 0), x has C={C} (axis 3)")
    if C % groups:
        raise ShapeError(f"groups={groups} does not divide C={C} (channels of x)")
    if isinstance(padding, str):
        raise ParameterError(f"padding={said(padding)}; expected numbers")
    stride, dilation = pair("stride", stride, least=1), pair("dilation", dilation, least=1)
    padding, more = both_sides(padding), pair("output_padding", output_padding, least=0)
    shape = []
    for axis, letter in enumerate("PQ"):
        step, gap, extra = stride[axis], dilation[axis], more[axis]
        if extra >= max(step, gap):
            raise ParameterError(
                f"output_padding[{axis}]={extra}; expected less than the stride ({step}) or the "
                f"dilation ({gap}) of that axis"
            )
        reach = (sizes[axis] - 1) * step + gap * (taps[axis] - 1) + 1  # lines that the windows cover
        shape.append(reach - sum(padding[axis]) + extra)
        if shape[axis] < 1:
            raise ShapeError(
                f"{letter} would be {shape[axis]}: the windows cover {reach} pixels, the padding takes "
                f"{' + '.join(map(str, padding[axis]))} away, output_padding adds {extra}; "
                f"expected {letter} >= 1"
            )
        if shape[axis] > LARGEST:
            raise ShapeError(f"{letter} would be {shape[axis]}; expected {LARGEST} at most")
    (P, Q), (R, S) = shape, taps
    return ConvProblem(N, P, Q, filters * groups, C, R, S, stride, padding, dilation, groups, x.dtype.name)
