"""Notebook 08: what is saved if a layer first looks around and then mixes."""

from __future__ import annotations

from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def separable_saving(C, K, R, S):
    """Return full / (depthwise + pointwise), in multiply-adds."""
    # your code here
    full = R * S * C * K
    depthwise = R * S * C
    pointwise = C * K
    return full / (depthwise + pointwise)


def _answer(C, K, R, S) -> float:
    """Count the multiply-adds of three real layers."""
    full = ConvProblem(1, 9, 8, C, K, R, S, padding="same")
    depthwise = ConvProblem(1, 9, 8, C, C, R, S, padding="same", groups=C)
    return full.macs / (depthwise.macs + ConvProblem(1, 9, 8, C, K, 1, 1).macs)


EXERCISE = Exercise(
    notebook="08",
    statement="separable_saving(C, K, R, S) returns how many times as many multiply-adds a full layer takes "
    "as a depthwise and a pointwise one together.",
    solution=separable_saving,
    why="All three write the same pixels, so it is enough to count for one of them: the full layer has a "
    "filter of R x S x C for each of K outputs, the depthwise one R x S for each channel, the pointwise one "
    "C for each output. C cancels: the saving is 1 / (1/K + 1/(RS)).",
    hints=(
        "Count the multiply-adds for *one* pixel of the output, for each of the three layers by itself.",
        "Full: K filters of R * S * C numbers. Depthwise: C filters of R * S. Pointwise: K filters of 1 * 1 "
        "* C.",
        "Divide R * S * C * K by the sum (R * S * C + C * K). Mind the brackets.",
    ),
    cases=lambda: (
        *((5, 3, 2, 3), (1, 1, 1, 1), (4, 8, 3, 3), (16, 16, 3, 2)),
        *((32, 64, 3, 3), (512, 256, 5, 3), (3, 1000, 1, 7)),
    ),
    answer=_answer,
    mistakes=(
        Mistake(
            "forgets the pointwise layer",
            {" + pointwise": ""},
            "The depthwise layer alone does not mix channels. The second step costs C * K for each pixel.",
        ),
        Mistake(
            "forgets the depthwise layer",
            {"depthwise + ": ""},
            "R * S is the bound that the saving comes near to. The first step costs something, too.",
        ),
        Mistake(
            "is upside down",
            {"full / (depthwise + pointwise)": "(depthwise + pointwise) / full"},
            "Asked is how many times *as many* the full layer takes.",
        ),
        Mistake(
            "tells the share that is saved",
            {"full / (depthwise + pointwise)": "1 - (depthwise + pointwise) / full"},
            "That is what goes away, as a share. Asked is a ratio: how many times as many.",
        ),
        Mistake(
            "subtracts",
            {"full / (depthwise + pointwise)": "full - (depthwise + pointwise)"},
            "That is how many fewer. Asked is how many times as many.",
        ),
        Mistake(
            "divides by the depthwise layer and then adds the pointwise one",
            {"(depthwise + pointwise)": "depthwise + pointwise"},
            "Python divides before it adds: the two layers together need brackets.",
        ),
        Mistake(
            "divides by both layers, one after the other",
            {"depthwise + pointwise": "depthwise * pointwise"},
            "The layers run one after the other: what they cost is added up.",
        ),
        Mistake(
            "gives the depthwise layer a filter for each output channel",
            {"depthwise = R * S * C": "depthwise = R * S * K"},
            "It has one filter for each channel of its *input*, C of them. The pointwise layer makes K out "
            "of C.",
        ),
        Mistake(
            "lets the depthwise layer mix channels",
            {"depthwise = R * S * C": "depthwise = R * S * C * C"},
            "A depthwise filter reads one channel: C filters of R * S numbers each.",
        ),
        Mistake(
            "gives the pointwise layer R x S taps",
            {"pointwise = C * K": "pointwise = R * S * C * K"},
            "A pointwise filter is 1 x 1: it looks at no neighbours.",
        ),
        Mistake(
            "forgets that the pointwise layer reads all channels",
            {"pointwise = C * K": "pointwise = K"},
            "Each of its K outputs is a sum over C channels.",
        ),
        Mistake(
            "forgets that the full layer reads all channels",
            {"full = R * S * C * K": "full = R * S * K"},
            "A filter of the full layer has R * S * C numbers.",
        ),
        Mistake(
            "takes R + S for the taps",
            {"R * S": "(R + S)"},
            "A window has R rows of S taps: they are multiplied.",
        ),
        Mistake(
            "takes 3 x 3 taps, whatever R and S are",
            {"R * S": "9"},
            "3 x 3 is what MobileNet has. R and S may be others.",
        ),
        Mistake(
            "drops the fraction",
            {"full / ": "full // "},
            "A ratio need not be whole: `/` keeps what `//` drops.",
        ),
    ),
)
