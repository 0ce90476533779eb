"""Depthwise convolution: every filter reads one channel, and no sum runs over channels.

    y[n, p, q, k] = sum over r, s of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, k // m]
                                    * w[k, r, s]              m = K / C filters read each channel

With m = 1 a number of x meets R*S weights and no more, so there is no matrix product to make of it: its
filters would be one column each. But channels lie side by side in memory, and so do their sums. A vector of
channels of one pixel times the vector of their weights gives a vector of sums, in place: no copy of x, and no
table of places. The window slides along a line: a tile loads each of its pixels once for a line of taps, and
adds it to all the sums that want it. A window with holes or long steps, or of other than 3, 5 or 7 taps, goes
tap by tap.
Taps above and below the picture are left out; taps beside it read a row of zeros.

With m > 1 filters share a channel, and a little of the matrix product comes back: one number of x, a vector
of filters.

Howard et al. 2017, "MobileNets", arXiv:1704.04861, section 3.1.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.spec import Algorithm, Formula
from convlab.cost.common import panel_bytes
from convlab.cost.phases import Phase, stream
from convlab.problem import ConvProblem


def refuses(problem: ConvProblem) -> str | None:
    """Say why filters of this problem read more than one channel."""
    if problem.groups != problem.C:
        return f"each filter reads {problem.C // problem.groups} channels; depthwise needs groups = C"
    return None


def _phases() -> tuple[Phase, ...]:
    tiles, channels = "N*P * ceil(Q/MR)", "ceil(K/VL)*VL"
    lines = stream("N*P*R*W*C*b", "R*W*C*b")  # each output line reads R lines, which the one before read too
    loads = stream(f"{tiles} * R * (MR + 2*S) * {channels} * b", "MR*VL*b")  # pixels and weights of a tile
    streams = stream("N*H*W*C*b"), lines, loads, stream("N*P*Q*K*b")
    flops = Formula(f"2 * {tiles}*MR * {channels} * R*S")
    return (Phase("slide", flops, streams, {"tile": Formula(f"{tiles} * ceil(K/(2*VL))")}),)


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
            functions=("pack", "allocate"),
            bytes_moved=TRAFFIC,
            workspace_bytes=Formula("C * b"),
            packed_bytes=panel_bytes("K/runs", "R*S", "runs", _RUNS),
            phases=_phases,
            rank=1,
        ),
        "gpu": form(__name__, "gpu", functions=("pack",), bytes_moved=TRAFFIC, rank=1),
    },
)
