"""dgrad of a depthwise convolution: a number of dy meets the R*S weights of its channel and no more.

    dx[n, h, w, c] = sum over taps (r, s) and filters k of channel c of
                     dy[n, p, q, k] * w[k, r, s]      p*stride + r*dilation - top = h, and q likewise

There is no product of matrices to make of it. On the other backends the convolutions of `subfilters` are
depthwise as well, and take the form that is made for that; a GPU has kernels of their own for the way back.

Howard et al. 2017, "MobileNets", arXiv:1704.04861, section 3.1, has the forward pass.
"""

from __future__ import annotations

from convlab.algorithms.binding import late
from convlab.algorithms.depthwise import refuses
from convlab.algorithms.form import WEIGHTS
from convlab.cost.common import ONCE
from convlab.gradients.spec import Form, Gradient, copy_of_w, no_arrays

_GPU = f"{__name__}_gpu"

ALGORITHM = Gradient(
    name="depthwise",
    summary="Each channel by itself: patches of dx stay where they are, and dy goes by.",
    source="Howard et al. 2017, arXiv:1704.04861, section 3.1",
    forms={
        "gpu": Form(
            late(_GPU, "run"),
            no_arrays,
            ONCE,
            pack=late(_GPU, "pack"),
            packed_bytes=WEIGHTS,
            tables=copy_of_w,
        ),
    },
    refuses=refuses,
)
