"""What a plan does to its output beside the convolution: the epilogue.

    None         y = conv(x) + bias
    "relu"       y = max(conv(x) + bias, 0)
    "add"        y = conv(x) + bias + residual
    "add_relu"   y = max(conv(x) + bias + residual, 0)

Compiled forms do all of it in the registers, on the way of the sums into y (`convlab.cpu.epilogue`). For the
others it is done here, pass by pass over y. PyTorch calls such layers ConvReLU2d and ConvAddReLU2d.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from convlab.errors import ArrayError, ParameterError
from convlab.support.checks import check_array, check_choice, check_pixels, share_memory


class Epilogue(NamedTuple):
    """What is done after the bias.

    Attributes
    ----------
    adds : bool
        Is a residual added?
    floor : float
        What every number is raised to: 0 is ReLU, minus infinity lets everything pass.
    """

    adds: bool
    floor: float


EPILOGUES: dict[str | None, Epilogue] = {
    None: Epilogue(False, -np.inf),
    "relu": Epilogue(False, 0.0),
    "add": Epilogue(True, -np.inf),
    "add_relu": Epilogue(True, 0.0),
}


def check_epilogue(epilogue) -> None:
    """Refuse what is no epilogue."""
    if epilogue is not None:
        check_choice("epilogue", epilogue, [name for name in EPILOGUES if name])


def check_wanted(epilogue: str | None, residual) -> None:
    """Refuse a residual that nobody adds, or one that is missing."""
    if not EPILOGUES[epilogue].adds:
        raise ParameterError(
            f"residual: this plan has epilogue={epilogue!r}; expected none, or a plan with epilogue='add' or "
            "'add_relu'"
        )
    if residual is None:
        raise ParameterError(f"residual is missing: this plan has epilogue={epilogue!r}")


def check_residual(epilogue: str | None, residual, out, shape: tuple[int, ...], dtype) -> None:
    """Refuse a residual of NumPy that does not fit a plan, or that shares a part of its memory with `out`."""
    check_wanted(epilogue, residual)
    check_array("residual", residual, shape, "(N, P, Q, K)", (np.dtype(dtype).name,))
    check_pixels("residual", residual)
    if out is not None and not _same(out, residual) and share_memory(out, residual):
        raise ArrayError(
            "out shares memory with residual; expected an array of its own, or the residual itself"
        )


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Say if two arrays of one shape are the same numbers in the same memory."""
    return a is b or (a.ctypes.data == b.ctypes.data and a.strides == b.strides)


def apply(y: np.ndarray, bias: np.ndarray | None, residual: np.ndarray | None, floor: float) -> None:
    """Do it to y (N, P, Q, K), in place: a pass over memory for each."""
    if bias is not None:
        y += bias
    if residual is not None:
        y += residual
    if floor > -np.inf:
        np.maximum(y, y.dtype.type(floor), out=y)
