"""What travels between devices, if a convolution is cut: which messages, and how many bytes.

    axis    forward                        dgrad                          wgrad
    N       nothing                        nothing                        all-reduce of dw
    H, W    halo exchange of x             halo exchange of dy            all-reduce of dw
    K       all-gather of x's channels     reduce-scatter of dx           nothing: dw belongs to the device
    C       reduce-scatter of y            all-gather of dy's channels    nothing, likewise

Where several axes are cut, a border comes first, with the channels that its owner has; then the channels of
the group are gathered, border and all. So nothing arrives twice. What has arrived in one pass is kept for
the next: wgrad takes the x of the forward pass, and the dy of dgrad.

If K and C are cut both, the channels of y belong to other devices than those of x: device (k, c) has part
c·K + k of x's channels, and part k·C + c of y's. The next layer then counts the devices in another order;
a sum with an earlier array, as in a residual block, would have to be sent first, and that is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convlab.distributed.splits import Split, check_split, largest
from convlab.problem import ConvProblem
from convlab.support.checked import Filled, checked
from convlab.support.checks import check_choice

PASSES = ("forward", "dgrad", "wgrad")


class Message(NamedTuple):
    """What one device sends or receives; of all devices that with the most bytes.

    Attributes
    ----------
    during : str
        The pass in which it travels: "forward", "dgrad" or "wgrad".
    kind : str
        "halo exchange", "all-gather", "reduce-scatter" or "all-reduce".
    array : str
        Of what: "x", "y", "dy", "dx" or "dw".
    nbytes : int
        Bytes that arrive, for a halo exchange and an all-gather; bytes that leave, for a reduce-scatter;
        for an all-reduce both, since it is the one and then the other.
    group : int
        Devices that take part: those of a ring, or of a halo exchange itself and the neighbours.
    """

    during: str
    kind: str
    array: str
    nbytes: int
    group: int

    @property
    def rounds(self) -> int:
        """Messages that follow one another: neighbours all send at once, in a ring one hands on to the next.

        That of an all-reduce goes round twice.
        """
        return {"halo exchange": 1, "all-reduce": 2 * (self.group - 1)}.get(self.kind, self.group - 1)


@checked
def messages(
    problem: ConvProblem, split: Split, passes: Filled[Sequence[str]] = PASSES
) -> tuple[Message, ...]:
    """Return what travels between the devices; what has no bytes is left out.

    Parameters
    ----------
    problem : ConvProblem
    split : Split
    passes : sequence of str
        Which of "forward", "dgrad" and "wgrad" are run. They are run in this order, and what one of them has
        received is there for the next.

    Returns
    -------
    tuple of Message

    Raises
    ------
    UnsupportedError
        If the convolution cannot be cut like that: an axis has fewer entries than parts, or channels are in
        groups that the split would cut apart.

    Examples
    --------
    >>> problem = ConvProblem(N=1, H=56, W=56, C=64, K=64, R=3, S=3, padding=1)
    >>> [(one.kind, one.nbytes) for one in messages(problem, Split(H=4), ("forward",))]
    [('halo exchange', 28672)]
    """
    check_passes(passes)
    check_split(problem, split)
    most, b = largest(problem, split), problem.itemsize
    pictures = most.N * b
    replicas = split.N * split.H * split.W  # devices with the same weights
    found: list[Message] = []

    def tell(during: str, kind: str, array: str, nbytes: int, group: int) -> None:
        if nbytes:
            found.append(Message(during, kind, array, nbytes, group))

    def bring_x(during: str) -> None:
        tell(during, "halo exchange", "x", pictures * most.reads.new * most.own_C, most.reads.owners)
        tell(during, "all-gather", "x", pictures * most.reads.need * most.other_C, split.K)

    if "forward" in passes:
        bring_x("forward")
        tell("forward", "reduce-scatter", "y", pictures * most.y * most.other_K, split.C)
    if "dgrad" in passes:
        tell("dgrad", "halo exchange", "dy", pictures * most.dx_reads.new * most.own_K, most.dx_reads.owners)
        tell("dgrad", "all-gather", "dy", pictures * most.dx_reads.need * most.other_K, split.C)
        tell("dgrad", "reduce-scatter", "dx", pictures * most.x * most.other_C, split.K)
    if "wgrad" in passes:
        if "forward" not in passes:
            bring_x("wgrad")
        late = most.dw_reads.new if "dgrad" in passes else most.y
        tell("wgrad", "all-gather", "dy", pictures * late * most.other_K, split.C)
        tell("wgrad", "all-reduce", "dw", 2 * (most.w - most.w // replicas) * b, replicas)
    return tuple(found)


def check_passes(passes: Sequence[str]) -> None:
    """Refuse what is no pass.

    Raises
    ------
    ParameterError
    """
    for place, one in enumerate(passes):
        check_choice(f"passes[{place}]", one, PASSES)
