"""A kernel for a convolution whose channels lie innermost: which threads are neighbours?"""

from __future__ import annotations

from collections.abc import Iterator

from convlab.gpu.numba_cuda import cuda, float32
from convlab.interview.coding.tasks.kernel_padded import BIASED, OUTSIDE
from convlab.interview.coding.tasks.launches import BLOCK, channels_last, sectors_of_a_request
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.kernel_run import Ran

SECTORS = 5  # of a request, on average: a warp's 32 numbers side by side lie in four, or in five


@cuda.jit
def conv2d(x, w, y, padding):
    # your code here
    P, Q, K = y.shape
    i = cuda.grid(1)
    if i < P * Q * K:
        p, q, k = i // (Q * K), i // K % Q, i % K  # neighbours: filters of one pixel
        total = float32(0)
        for r in range(w.shape[0]):
            for s in range(w.shape[1]):
                row, col = p + r - padding, q + s - padding
                if 0 <= row < x.shape[0] and 0 <= col < x.shape[1]:
                    for c in range(x.shape[2]):
                        total += x[row, col, c] * w[r, s, c, k]
        y[p, q, k] = total


def _cases() -> Iterator[Launch]:
    yield channels_last(1, 3, 4, 8, 2, 2, 0)
    yield channels_last(2, 3, 4, 8, 2, 3, 1)
    yield channels_last(3, 5, 4, 24, 3, 2, 1)
    yield channels_last(2, 2, 3, 128, 2, 3, 0)
    yield channels_last(8, 3, 6, 32, 2, 1, 1, whole=False)


def _side_by_side(ran: Ran) -> str:
    """Name the array whose requests are spread over too many sectors."""
    for name, sectors in sectors_of_a_request(ran).items():
        if sectors > SECTORS:
            return (
                f"A request for {name} takes {sectors:.3g} sectors on average, and may take {SECTORS}. Which "
                f"index of {name} runs fastest in memory, and does it belong to the thread's neighbour?"
            )
    return ""


_MINE = "p, q, k = i // (Q * K), i // K % Q, i % K"
_ON = "0 <= row < x.shape[0] and 0 <= col < x.shape[1]"

EXERCISE = KernelExercise(
    notebook="19",
    statement="conv2d(x, w, y, padding) is a kernel for channels that lie innermost: y[p, q, k] is the sum "
    "over r, s, c of x[p + r - padding, q + s - padding, c] * w[r, s, c, k], with zeros outside of x. x is "
    f"(H, W, C), w (R, S, C, K), y (P, Q, K). The grid and its blocks of {BLOCK} threads are "
    "one-dimensional, with a thread at least for every number of y. Coalesced: on average a request of a "
    f"warp takes at most {SECTORS} sectors, of x, of w and of y.",
    solution=conv2d,
    why="Neighbouring threads are neighbouring filters of one pixel. Then w and y are read and written side "
    "by side, and all lanes ask for the same number of x, which is one sector for the whole warp.",
    hints=(
        "Write down where y[p, q, k] lies in memory. What must two neighbouring threads differ in, so that "
        "they write side by side?",
        "In k. And what do 32 threads with the same p and q, and 32 different k, ask of x and of w?",
        "k = i % K, q = i // K % Q, p = i // (Q * K); all else as in the naive kernel, with the indices of "
        "these arrays.",
    ),
    cases=_cases,
    shapes={"return": "PQK"},
    generous=2.0,
    method=_side_by_side,
    mistakes=(
        Mistake(
            "lets neighbouring threads be neighbouring pixels",
            {_MINE: "k, p, q = i // (P * Q), i // Q % P, i % Q"},
            "So it was right for channels that come first. Here neighbouring pixels lie K numbers apart in "
            "y, and C in x.",
        ),
        Mistake(
            "goes down the columns",
            {_MINE: "k, q, p = i // (P * Q), i // P % Q, i % P"},
            "Two threads that differ in p are Q * K numbers apart in y, and W * C in x.",
        ),
        Mistake(
            "lets threads work that have no output",
            {"if i < P * Q * K:": "if True:"},
            "The last block has more threads than there are outputs. They must be told to do nothing.",
        ),
        Mistake("reads wherever a tap falls", {f"if {_ON}:": "if True:"}, OUTSIDE),
        Mistake("adds the padding where it should take it away", {" - padding": " + padding"}, BIASED),
        Mistake("ignores the padding", {" - padding": ""}, BIASED),
        Mistake(
            "reads the first channel only",
            {"range(x.shape[2])": "range(1)"},
            "An output adds up all channels; each has weights of its own.",
        ),
        Mistake("takes the first filter for all", {"c, k]": "c, 0]"}, "Output channel k has filter k."),
        Mistake(
            "flips the filter",
            {"w[r, s, c, k]": "w[w.shape[0] - 1 - r, w.shape[1] - 1 - s, c, k]"},
            "In a network the filter lies on the picture as it is.",
        ),
        Mistake(
            "swaps r and s in the filter",
            {"w[r, s, c, k]": "w[s, r, c, k]"},
            "w is (R, S, C, K): the row of taps comes first.",
        ),
        Mistake("keeps the last product only", {"total +=": "total ="}, "Every tap *adds*."),
        Mistake(
            "adds up in y",
            {
                "total = float32(0)": "y[p, q, k] = 0",
                "total +=": "y[p, q, k] +=",
                "        y[p, q, k] = total\n": "",
            },
            "The numbers are right. But every tap reads and writes memory, where a variable would stay in a "
            "register.",
        ),
        Mistake(
            "takes the numbers of y apart with P where Q is meant",
            {_MINE: "p, q, k = i // (P * K), i // K % P, i % K"},
            "y is (P, Q, K): its rows have Q pixels of K numbers.",
        ),
    ),
)
