"""convlab: how does a 2-D convolution actually run?

>>> import numpy as np, convlab
>>> x = np.ones((1, 8, 8, 3), np.float32)             # N, H, W, C
>>> w = np.ones((16, 3, 3, 3), np.float32)            # K, R, S, C
>>> convlab.conv2d(x, w, padding=1, algorithm="im2row").shape
(1, 8, 8, 16)
"""

from typing import TYPE_CHECKING

from convlab import networks
from convlab.algorithms import ALGORITHMS
from convlab.algorithms.im2col import col2im, im2col
from convlab.algorithms.im2row import im2row
from convlab.algorithms.indirect import indirection_buffer
from convlab.api import conv2d, implicit_gemm, plan
from convlab.backends import BACKENDS
from convlab.errors import (
    ArrayError,
    ConvError,
    ParameterError,
    ShapeError,
    UnsupportedError,
    WorkspaceError,
)
from convlab.gradients.api import bgrad, dgrad, plan_dgrad, plan_wgrad, wgrad
from convlab.gradients.transposed import conv_transpose2d
from convlab.index_map import IndexMap
from convlab.nchw import conv2d_nchw, from_nchw, to_nchw
from convlab.plans.plan import Plan
from convlab.problem import ConvProblem
from convlab.support.version import VERSION

if TYPE_CHECKING:
    from convlab.auto.autotune import autotune
__version__ = VERSION

__all__ = [
    "ALGORITHMS",
    "BACKENDS",
    "ArrayError",
    "ConvError",
    "ConvProblem",
    "IndexMap",
    "ParameterError",
    "Plan",
    "ShapeError",
    "UnsupportedError",
    "WorkspaceError",
    "autotune",
    "bgrad",
    "col2im",
    "conv2d",
    "conv2d_nchw",
    "conv_transpose2d",
    "dgrad",
    "from_nchw",
    "im2col",
    "im2row",
    "implicit_gemm",
    "indirection_buffer",
    "networks",
    "plan",
    "plan_dgrad",
    "plan_wgrad",
    "to_nchw",
    "wgrad",
]


def __getattr__(name: str):
    if name == "autotune":  # what measures is imported when it is wanted
        from convlab.auto.autotune import autotune

        return autotune
    raise AttributeError(f"module 'convlab' has no attribute {name!r}")
