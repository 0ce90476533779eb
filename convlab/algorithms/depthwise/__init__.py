"""Depthwise convolution: every filter reads one channel, and no sum runs over channels.

    y[n, p, q, k] = sum over r, s of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, k // m]
                                    * w[k, r, s]              m = K / C filters read each channel

With m = 1 a number of x meets R*S weights and no more, so there is no matrix product to make of it: its
filters would be one column each. But channels lie side by side in memory, and so do their sums. A vector of
channels of one pixel times the vector of their weights gives a vector of sums, in place: no copy of x, and no
table of places. The window slides over two lines at once: each pixel under a few outputs of both is loaded
once, and added to all the sums that want it. It stays in its place until all channels have come by, so that
x and y are read and written from end to end. Taps beside the picture read a row of zeros. A window with
holes or long steps, or of other taps than 3 x 3, 5 x 5 or 7 x 7, goes tap by tap.

With m > 1 filters share a channel, and a little of the matrix product comes back: one number of x, a vector
of filters.

Howard et al. 2017, "MobileNets", arXiv:1704.04861, section 3.1.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.spec import Algorithm, Formula
from convlab.cost.common import panel_bytes
from convlab.cost.phases import BOTH, ONLY_READ, ONLY_WRITTEN, Phase, stream
from convlab.problem import ConvProblem


def refuses(problem: ConvProblem) -> str | None:
    """Say why filters of this problem read more than one channel."""
    if problem.groups != problem.C:
        return f"each filter reads {problem.C // problem.groups} channels; depthwise needs groups = C"
    return None


# A place of the window: two lines of seven outputs, and what is under them. H/P is the stride, near enough.
# Where a tile is less tall (`window_tile`), a few of them make one such place.
_PLACE = {
    "places": "N * ceil(P/2) * ceil(Q/7)",
    "channels": "ceil(K/VL)*VL",
    "down": "R + H/P",
    "across": "S + 6*W/Q",
}


def _phases() -> tuple[Phase, ...]:
    down, inside = "(down)*W*C*b", "((down)*(across) + 2*R*S + 1)"  # bytes of lines; vectors of a place
    x, y = stream(f"{ONLY_READ} * N*H*W*C*b", BOTH), stream(f"{ONLY_WRITTEN} * N*P*Q*K*b", BOTH)
    again = f"max(0, N*ceil(P/2) * {down} - N*H*W*C*b)"  # lines that were read for the two before, too
    lines = stream(f"{ONLY_READ} * {again}", down, _PLACE)
    loads = stream(f"{ONLY_READ} * places * {inside} * channels * b", "8*VL*b", _PLACE)  # into registers
    flops = Formula("2 * 14*places * channels * R*S", _PLACE)
    return (Phase("slide", flops, (x, lines, loads, y), {"tile": Formula("places", _PLACE)}),)


TRAFFIC = Formula("(N*H*W*C + K*R*S + N*P*Q*K) * b")

# One filter a channel: they lie in one run of vectors. More: those of each channel are a run.
_RUNS = {"runs": "1 + min(1, K-C) * (C-1)"}

ALGORITHM = Algorithm(
    name="depthwise",
    summary="Every filter reads one channel: vectors of channels, summed where they lie.",
    source="Howard et al. 2017, arXiv:1704.04861, section 3.1",
    refuses=refuses,
    forms={
        "numpy": form(__name__, "reference", bytes_moved=TRAFFIC, rank=1),
        "cpu": form(
            __name__,
            "cpu",
            epilogue=True,
            functions=("pack", "allocate", "bind"),
            bytes_moved=TRAFFIC,
            workspace_bytes=Formula("C * b"),
            packed_bytes=panel_bytes("K/runs", "R*S", "runs", _RUNS),
            phases=_phases,
            rank=1,
        ),
        "gpu": form(__name__, "gpu", functions=("pack", "works"), bytes_moved=TRAFFIC, rank=1),
    },
)
