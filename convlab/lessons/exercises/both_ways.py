"""Notebook 18: a border computed twice, or sent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.distributed.network import Network
from convlab.distributed.span import Span, Windows
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def both_ways(W, C, R, L, flops, latency, bandwidth):
    """Return (recompute, exchange): the seconds that a cut costs a machine."""
    # your code here: which rows are sent, which computed twice, in how many messages?
    border = R // 2  # rows that a layer looks at beyond the cut
    row = 4 * W * C  # bytes
    work = 2 * W * C * C * R * R  # FLOPs of a row
    more = border * L * (L - 1) // 2  # rows that the neighbour computes as well
    recompute = latency + L * border * row / bandwidth + more * work / flops
    exchange = L * (latency + border * row / bandwidth)
    return recompute, exchange


def _cases() -> Iterator[tuple]:
    """(W, C, R, L, flops, latency, bandwidth)"""
    yield 10, 1, 3, 2, 180, 2, 80
    yield 10, 1, 3, 1, 180, 2, 80  # one layer: nothing is computed twice
    yield 10, 1, 3, 3, 180, 2, 80
    yield 8, 2, 5, 3, 6400, 0.25, 256
    yield 224, 64, 3, 4, 1e12, 1e-5, 1e9
    yield 30_000, 32, 3, 8, 5e11, 1e-3, 1.25e9
    yield 56, 16, 7, 5, 4e12, 2e-6, 2.5e10


def _answer(W, C, R, L, flops, latency, bandwidth) -> np.ndarray:
    """The upper machine's rows are followed from the result back to the picture: how far beyond the cut?"""
    layer, network = Windows(size=10**9, out=10**9, taps=R, corner=R // 2), Network(latency, bandwidth)
    cut = 10**6
    ends = [cut]  # of every array: behind the last row that the upper machine needs of it
    for _ in range(L):
        ends.append(layer.look_at(Span(0, ends[-1])).stop)
    bytes_of_a_row = ConvProblem(1, 1, W, C, C, 1, 1).x_bytes
    twice = [ConvProblem(1, end - cut, W, C, C, R, R, padding="same") for end in ends[1:-1]]
    seconds = sum(problem.flops for problem in twice) / flops
    recompute = network.seconds(bytes_of_a_row * (ends[-1] - cut)) + seconds
    return np.array([recompute, network.seconds(L * bytes_of_a_row * (ends[1] - cut), messages=L)])


_SEND, _COMPUTE = "L * border * row / bandwidth", "more * work / flops"
_MORE = "border * L * (L - 1) // 2"

EXERCISE = Exercise(
    notebook="18",
    statement="both_ways(W, C, R, L, flops, latency, bandwidth) returns (recompute, exchange), in seconds: "
    "what a cut costs one of its two machines. There are L layers of R x R filters, R odd and above 1, C "
    'channels in and out, stride 1 and padding "same", in float32; the picture is W wide and cut across its '
    "rows. To recompute, a machine gets in one message all rows of the picture that it needs beyond the cut, "
    "and computes, at `flops` FLOP/s, those rows of the layers before the last that it needs there. To "
    "exchange, it gets one message a layer, with the rows that this layer looks at beyond the cut. A "
    "message takes latency + bytes / bandwidth. Nothing happens at the same time, and taps on padding count.",
    solution=both_ways,
    why="Both ways send the same bytes: L times R // 2 rows, at once or a part for every layer. So it is the "
    "latency of L - 1 messages against rows that are computed twice, and of these there are more and more "
    "the more layers: L * (L - 1) / 2 times R // 2.",
    hints=(
        "Draw three layers of 3 x 3 and a cut. How many rows beyond it are needed of the array before the "
        "last layer, of the one before that, and of the picture?",
        "Of the picture L * (R // 2) rows are needed, and layer l of L computes (L - l) * (R // 2) rows "
        "beyond the cut, the last one none. A row has 4 * W * C bytes and takes 2 * W * C * C * R * R "
        "FLOPs.",
        "recompute = latency + L * (R // 2) * 4 * W * C / bandwidth + extra rows * FLOPs of a row / flops, "
        "with L * (L - 1) / 2 * (R // 2) extra rows; exchange = L * (latency + (R // 2) * 4 * W * C / "
        "bandwidth).",
    ),
    cases=_cases,
    answer=_answer,
    parts=("recompute", "exchange"),
    mistakes=(
        Mistake(
            "swaps the two",
            {"recompute, exchange\n": "exchange, recompute\n"},
            "First what it takes to recompute, then what it takes to exchange.",
        ),
        Mistake(
            "computes nothing twice",
            {f" + {_COMPUTE}": ""},
            "The rows that do not come over the wire have to be computed, on both sides of the cut.",
        ),
        Mistake(
            "computes rows of the last layer twice",
            {"(L - 1)": "(L + 1)"},
            "Nobody looks at the result's rows beyond the cut: the neighbour makes those alone.",
        ),
        Mistake(
            "computes one border a layer",
            {_MORE: "border * (L - 1)"},
            "The further from the result, the more rows are needed beyond the cut.",
        ),
        Mistake(
            "computes as many rows in every layer as in the first",
            {_MORE: "border * (L - 1) ** 2"},
            "The border shrinks from layer to layer, down to none at the result.",
        ),
        Mistake(
            "counts the extra work of both machines",
            {_MORE: "border * L * (L - 1)"},
            "They do it at the same time, each on its side of the cut. Asked is what one of them does.",
        ),
        Mistake(
            "counts a multiply-add as one operation",
            {"work = 2 * ": "work = "},
            "A multiply-add is a multiplication and an addition: two FLOPs.",
        ),
        Mistake(
            "forgets that each filter reads all channels",
            {"C * C": "C"},
            "There are C filters, and each of them sums over C channels.",
        ),
        Mistake(
            "gives a filter R taps",
            {"R * R": "R"},
            "A window has R rows of R taps.",
        ),
        Mistake(
            "takes numbers of eight bytes",
            {"4 * W": "8 * W"},
            "These are float32, of four bytes each.",
        ),
        Mistake(
            "takes the bandwidth for bits",
            {"/ bandwidth": "* 8 / bandwidth"},
            "A link is often sold in bits a second. Here `bandwidth` is in bytes.",
        ),
        Mistake(
            "counts numbers, not bytes",
            {"4 * W": "W"},
            "The bandwidth is in bytes, and a float32 takes more than one.",
        ),
        Mistake(
            "sends one pixel of a row",
            {"4 * W * C": "4 * C"},
            "The picture is cut across its rows: all W pixels of a row go over the wire.",
        ),
        Mistake(
            "sends one channel only",
            {"4 * W * C": "4 * W"},
            "A pixel has C numbers, and all of them are needed.",
        ),
        Mistake(
            "sends R - 1 rows for a layer",
            {"R // 2": "R - 1"},
            "That is the border on both sides of a strip. At one cut it is half of it.",
        ),
        Mistake(
            "sends the whole window",
            {"R // 2": "R"},
            "The window has its middle on this side of the cut: only what lies beyond has to be sent.",
        ),
        Mistake(
            "fetches too few rows of the picture",
            {_SEND: "border * row / bandwidth"},
            "One layer's border is not enough: what is computed from it needs a border of its own.",
        ),
        Mistake(
            "waits for every layer, whichever way",
            {"recompute = latency": "recompute = L * latency"},
            "To recompute, all rows come at once: that is one message.",
        ),
        Mistake(
            "exchanges all in one message",
            {"L * (latency + border * row / bandwidth)": f"latency + {_SEND}"},
            "The border of a layer is sent when it has been computed, so every layer has to wait for its "
            "own.",
        ),
        Mistake(
            "exchanges once",
            {"exchange = L * ": "exchange = "},
            "Every layer looks beyond the cut.",
        ),
        Mistake(
            "exchanges between the layers only",
            {"exchange = L * ": "exchange = (L - 1) * "},
            "The first layer looks beyond the cut as well: at rows of the picture that lie on the other "
            "side.",
        ),
        Mistake(
            "forgets the latency",
            {"latency + ": ""},
            "Every message takes a while before its first byte arrives, however small it is.",
        ),
        Mistake(
            "waits for an answer to every message",
            {"latency + ": "2 * latency + "},
            "The latency is counted once for a message: nobody has to ask for it.",
        ),
        Mistake(
            "computes while it waits",
            {f"latency + {_SEND} + {_COMPUTE}": f"max(latency + {_SEND}, {_COMPUTE})"},
            "What is computed twice is made of the rows that are waited for. Here the times add up.",
        ),
        Mistake(
            "adds up what both machines take",
            {"return recompute, exchange": "return 2 * recompute, 2 * exchange"},
            "They work at the same time, each on its side of the cut. Asked is what one of them takes.",
        ),
        Mistake(
            "recomputes as well as exchanges",
            {"exchange = L": f"exchange = {_COMPUTE} + L"},
            "Those who get the rows need not compute them.",
        ),
    ),
)
