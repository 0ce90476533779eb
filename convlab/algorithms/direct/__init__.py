"""Direct convolution: the definition, seven loops deep.

    y[n, p, q, k] = sum over r, s, c of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, c]
                                       * w[k, r, s, c]

A tap that falls outside the picture reads a zero. Nothing is stored beside x, w and y.

Two forms of the same sum. `seven_loops` is the definition as one writes it on a whiteboard. `direct` does
the same additions in another order: the loop over filters k moves inside, where y and the packed weights lie
side by side in memory, so that one vector instruction serves many filters.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.direct.reference import seven_loops
from convlab.algorithms.spec import Algorithm, Formula
from convlab.cost.common import ONCE
from convlab.cost.phases import Phase, stream

__all__ = ["ALGORITHM", "seven_loops"]


def _phases() -> tuple[Phase, ...]:
    macs = "N*P*Q*K*R*S*C/G"
    weights = stream(f"{macs}*b", "K*R*S*C/G*b")  # each is loaded for every pixel,
    sums = stream(f"2*{macs}*b", "K*b")  # and each sum is loaded and stored for every weight
    each = Formula("N*P*Q*R*S*C")  # one number of x, for all filters
    begun = {"number": each, "run": Formula("N*P*Q*R*S*G")}  # and a loop over the channels of a group
    return (Phase("seven loops", Formula(f"2*{macs}"), (weights, sums), begun, shared=False),)


ALGORITHM = Algorithm(
    name="direct",
    summary="The definition: seven loops, no memory beside x, w and y.",
    source="Dumoulin & Visin 2016, arXiv:1603.07285, section 2",
    family="definition",
    forms={
        "numpy": form(__name__, "reference", bytes_moved=ONCE, rank=9),
        "cpu": form(__name__, "cpu", functions=("pack",), bytes_moved=ONCE, phases=_phases, rank=9),
        "gpu": form(__name__, "gpu", functions=("pack", "works"), bytes_moved=ONCE, rank=9),
    },
)
