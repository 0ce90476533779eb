"""Notebook 18: which way to cut a layer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.distributed.splits import Split
from convlab.distributed.traffic import messages
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def choose_split(N, H, W, C, K, R, p):
    """Return (split, bytes): 0 samples, 1 rows, 2 filters; bytes a machine sends."""
    # your code here: what may be cut, and what does each machine send?
    ring = 2 * (p - 1) / p  # how often an array goes over a machine's wire, if it goes around twice
    dw = 4 * K * R * R * C
    borders = min(2, p - 1) * (R // 2) * 4 * N * W * (C + K)  # of x and of dy, to each neighbour
    sent = []  # (bytes, split)
    if N % p == 0:
        sent.append((ring * dw, 0))
    if H % p == 0 and H // p >= R // 2:
        sent.append((ring * dw + borders, 1))
    if K % p == 0 and C % p == 0:
        sent.append((ring * 4 * N * H * W * C, 2))
    nbytes, split = min(sent)
    return split, nbytes


def _cases() -> Iterator[tuple]:
    """(N, H, W, C, K, R, p)"""
    yield 2, 4, 4, 2, 1, 3, 2
    yield 1, 6, 5, 2, 1, 3, 2  # two machines have one neighbour each
    yield 1, 9, 5, 2, 1, 3, 3
    yield 2, 2, 3, 2, 4, 3, 2
    yield 3, 2, 3, 4, 4, 3, 2
    yield 1, 5, 5, 2, 3, 3, 1  # one machine
    yield 4, 4, 3, 8, 8, 1, 2  # no border: rows are as good as samples
    yield 1, 2, 1, 2, 2, 1, 2  # filters and channels are alike
    yield 2, 3, 3, 2, 2, 3, 2
    yield 1, 4, 2, 4, 6, 3, 4  # 4 does not divide the filters
    yield 3, 4, 1, 6, 4, 3, 4  # nor the channels here
    yield 1, 18, 100, 8, 8, 3, 8  # nor the rows here
    yield 1, 16, 100, 8, 8, 7, 8  # two rows each: fewer than the border
    yield 1, 24, 100, 8, 8, 7, 8  # three are enough
    yield 3, 16, 100, 8, 8, 3, 2  # more pictures than machines, but not as many for each
    yield 4, 4, 3, 8, 8, 1, 4
    yield 32, 112, 112, 64, 64, 3, 16
    yield 2, 1024, 1024, 32, 16, 5, 8
    yield 32, 7, 7, 512, 512, 3, 4


def _answer(N, H, W, C, K, R, p) -> np.ndarray:
    """The library counts, for the device with the most, every message of the three passes."""
    problem = ConvProblem(N, H, W, C, K, R, R, padding="same")
    possible = (N % p == 0, H % p == 0 and p * (R // 2) <= H, K % p == 0 and C % p == 0)
    every = [
        (sum(message.nbytes for message in messages(problem, split)), number)
        for number, split in enumerate((Split(N=p), Split(H=p), Split(K=p)))
        if possible[number]
    ]
    nbytes, number = min(every)
    return np.array([number, nbytes])


EXERCISE = Exercise(
    notebook="18",
    statement="choose_split(N, H, W, C, K, R, p) returns (split, bytes): how to cut a layer for p machines "
    "that train it, so that a machine sends the fewest bytes, and how many these are. R x R filters, R odd, "
    'stride 1, padding "same", float32; what is sent in the forward pass and for both gradients counts, at '
    "the machine that sends the most. Split 0, samples: N / p pictures each; dw is all-reduced in a ring, in "
    "which a machine sends 2 * (p - 1) / p of it. Split 1, rows: H / p rows each; R // 2 rows of x, and as "
    "many of dy, go to the neighbour above and to the one below, and dw is all-reduced. Split 2, filters: "
    "C / p channels of x and K / p filters each; x is all-gathered and dx reduce-scattered, in each of which "
    "a machine sends (p - 1) / p of it. A split is possible where p divides what it shares out, and where "
    "rows are at least R // 2 each. One of the three always is; of equals the first.",
    solution=choose_split,
    why="Samples and rows keep a copy of the weights everywhere and have to agree on dw; with filters the "
    "weights stay where they are, and pixels travel. So many pixels and few weights, as in the first layers, "
    "want samples or rows; few pixels and many weights, as in the last, filters.",
    hints=(
        "For each of the three splits: which arrays does a machine lack, forward and backward, and which "
        "of its numbers does another one need?",
        "Samples: 2 * (p - 1) / p of dw, which has 4 * K * R * R * C bytes. Rows: the same, and R // 2 rows "
        "of x and of dy for each neighbour; how many of these has a machine if p is 2? Filters: twice "
        "(p - 1) / p of x. Leave out what cannot be cut like that.",
        "Samples send 2 * (p - 1) / p * 4 * K * R * R * C bytes, rows min(2, p - 1) * (R // 2) * 4 * N * W * "
        "(C + K) more, filters 2 * (p - 1) / p * 4 * N * H * W * C. Put those that are possible into a list, "
        "as pairs (bytes, split): `min` takes the fewest bytes, and of equals the first split.",
    ),
    cases=_cases,
    answer=_answer,
    parts=("split", "bytes"),
    mistakes=(
        Mistake(
            "takes the first split that is possible",
            {"min(sent)": "sent[0]"},
            "Where weights are many and pixels few, dw is the largest thing to send.",
        ),
        Mistake(
            "takes the split that sends the most",
            {"min(sent)": "max(sent)"},
            "The fewest bytes are asked for.",
        ),
        Mistake(
            "shares out pictures that cannot be shared",
            {"if N % p == 0:": "if N:"},
            "If p does not divide N, some machines have a picture more than the others, or have none.",
        ),
        Mistake(
            "shares out pictures if there is one for each machine",
            {"if N % p == 0:": "if N >= p:"},
            "Of three pictures on two machines one has two to do, and the other waits: p has to divide N.",
        ),
        Mistake(
            "shares out rows that cannot be shared",
            {"H % p == 0 and ": ""},
            "Only if p divides H has each machine as many rows as the others.",
        ),
        Mistake(
            "looks for a border at the next neighbour only, where it is too short",
            {" and H // p >= R // 2": ""},
            "A machine with fewer rows than R // 2 cannot give its neighbour all the rows that this needs.",
        ),
        Mistake(
            "needs more rows than a border has",
            {">= R // 2": "> R // 2"},
            "With just R // 2 rows a machine can give its neighbour all that it needs.",
        ),
        Mistake(
            "cuts filters wherever p divides K",
            {" and C % p == 0": ""},
            "The channels of x are shared out as well: they are the filters of the layer before.",
        ),
        Mistake(
            "cuts filters wherever p divides C",
            {"K % p == 0 and ": ""},
            "The filters are shared out: if p does not divide K, some machine has more of them.",
        ),
        Mistake(
            "forgets dw where rows are cut",
            {"ring * dw + borders": "borders"},
            "Each machine has seen a part of the rows only: dw is the sum over all of them.",
        ),
        Mistake(
            "all-reduces dw where filters are cut",
            {"H * W * C, 2": "H * W * C + ring * dw, 2"},
            "A machine's filters are its own. No other one has a part of their gradient.",
        ),
        Mistake(
            "has nothing to send where samples are cut",
            {"(ring * dw, 0)": "(0, 0)"},
            "Forward that is so. But dw is a sum over all pictures, and every machine needs it.",
        ),
        Mistake(
            "counts the forward pass only",
            {
                "(ring * dw, 0)": "(0, 0)",
                "ring * dw + borders": "borders",
                "(C + K)": "C",
                "ring * 4 * N": "ring / 2 * 4 * N",
            },
            "The machines train: both gradients count as well, and dw is summed up over all of them.",
        ),
        Mistake(
            "sends all of an array, however many machines there are",
            {"2 * (p - 1) / p": "(p > 1)"},
            "Around a ring a machine sends p - 1 parts of p, twice over: with two machines that is the array "
            "once, with many nearly twice.",
        ),
        Mistake(
            "has two neighbours always",
            {"min(2, p - 1)": "2"},
            "The machine at the top has none above it, that at the bottom none below. If p is 2, these are "
            "all.",
        ),
        Mistake(
            "has one neighbour",
            {"min(2, p - 1)": "min(1, p - 1)"},
            "A machine in the middle has one above it and one below.",
        ),
        Mistake(
            "forgets the border of dy",
            {"(C + K)": "C"},
            "Backward the gradient of x looks beyond the cut just as the layer did forward: at dy.",
        ),
        Mistake(
            "forgets the border of x",
            {"(C + K)": "K"},
            "Forward the windows look at rows of x beyond the cut.",
        ),
        Mistake(
            "sends the border of dy with the channels of x",
            {"(C + K)": "2 * C"},
            "dy is as y is: it has K channels.",
        ),
        Mistake(
            "sends R - 1 rows to a neighbour",
            {"(R // 2) *": "(R - 1) *"},
            "R - 1 rows are both borders together: half of them go to each neighbour.",
        ),
        Mistake(
            "sends the border of one picture",
            {"4 * N * W * (C + K)": "4 * W * (C + K)"},
            "All N pictures are cut, and each of them has a border.",
        ),
        Mistake(
            "goes around the ring once",
            {"2 * (p - 1) / p": "(p - 1) / p"},
            "An all-reduce is a reduce-scatter and an all-gather; and filters have one of each, too.",
        ),
        Mistake(
            "forgets the way back where filters are cut",
            {"ring * 4 * N": "ring * 2 * N"},
            "Each machine's filters give a part of dx for all channels: those are summed up and shared out.",
        ),
        Mistake(
            "sends its own part as well",
            {"2 * (p - 1) / p": "2 * (p > 1)"},
            "In a ring a machine sends p - 1 of p parts: one of them ends with itself.",
        ),
        Mistake(
            "sends dw to each of the others",
            {"ring * dw": "(p - 1) * dw"},
            "In a ring a part is handed on from one to the next, and summed up on the way.",
        ),
        Mistake(
            "gathers y in place of x",
            {"H * W * C": "H * W * K"},
            "A filter needs all channels of x. The channels of y that it makes stay where they are.",
        ),
        Mistake(
            "counts numbers, not bytes",
            {"4 * ": ""},
            "A float32 takes four bytes.",
        ),
        Mistake(
            "tells what all machines send together",
            {"return split, nbytes": "return split, p * nbytes"},
            "They send at the same time, each over its own wire. Asked is what one of them sends.",
        ),
        Mistake(
            "counts the splits from 1",
            {"return split,": "return split + 1,"},
            "0 is samples, 1 is rows, 2 is filters.",
        ),
        Mistake(
            "takes the last of equals",
            {"min(sent)": "min(sent, key=lambda pair: (pair[0], -pair[1]))"},
            "With filters of one tap rows send no more than samples do. Then samples come first.",
        ),
        Mistake(
            "tells the bytes first",
            {"return split, nbytes": "return nbytes, split"},
            "First which split it is, then how many bytes.",
        ),
    ),
)
