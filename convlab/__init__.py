"""convlab: how does a 2-D convolution actually run?

>>> import numpy as np, convlab
>>> x = np.ones((1, 8, 8, 3), np.float32)             # N, H, W, C
>>> w = np.ones((16, 3, 3, 3), np.float32)            # K, R, S, C
>>> convlab.conv2d(x, w, padding=1, algorithm="im2row").shape
(1, 8, 8, 16)
"""

from convlab import networks
from convlab.algorithms import ALGORITHMS
from convlab.algorithms.im2col import col2im, im2col
from convlab.algorithms.im2row import im2row
from convlab.algorithms.implicit_gemm import implicit_gemm
from convlab.backends import BACKENDS
from convlab.errors import (
    ArrayError,
    ConvError,
    ParameterError,
    ShapeError,
    UnsupportedError,
    WorkspaceError,
)
from convlab.layouts import conv2d_nchw, from_nchw, to_nchw
from convlab.plans import Plan, conv2d, plan
from convlab.problem import ConvProblem

__version__ = "0.1.0"


def autotune(problems, *, threads: int = 1, on_problem=lambda problem: None) -> dict:
    """Time the promising algorithms, and let "auto" choose by that: see `convlab.measure.autotune`."""
    from convlab.measure.autotune import autotune  # when it is wanted: it needs Numba

    return autotune(problems, threads=threads, on_problem=on_problem)


__all__ = [
    "ALGORITHMS",
    "BACKENDS",
    "ArrayError",
    "ConvError",
    "ConvProblem",
    "ParameterError",
    "Plan",
    "ShapeError",
    "UnsupportedError",
    "WorkspaceError",
    "autotune",
    "col2im",
    "conv2d",
    "conv2d_nchw",
    "from_nchw",
    "im2col",
    "im2row",
    "implicit_gemm",
    "networks",
    "plan",
    "to_nchw",
]
