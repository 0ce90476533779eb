"""Notebook 08: FLOPs for each byte of a depthwise layer."""

from __future__ import annotations

from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def depthwise_intensity(H, W, C, R, S):
    """Return FLOPs for each byte moved."""
    # your code here: a multiply-add is two FLOPs
    flops = 2 * H * W * C * R * S
    x = y = H * W * C
    w = C * R * S
    return flops / (4 * (x + w + y))


def _answer(H, W, C, R, S) -> float:
    layer = ConvProblem(1, H, W, C, C, R, S, padding="same", groups=C)
    return layer.flops / (layer.x_bytes + layer.w_bytes + layer.y_bytes)


EXERCISE = Exercise(
    notebook="08",
    statement="depthwise_intensity(H, W, C, R, S) returns FLOPs for each byte of a float32 depthwise layer "
    "with stride 1 and an output as large as its input, every number moved once.",
    solution=depthwise_intensity,
    why="Each of the H * W * C outputs takes R * S multiply-adds, and two numbers, one in and one out, are "
    "moved for it. For 3 x 3 taps that is 18 FLOPs for 8 bytes, however many channels there are.",
    hints=(
        "Two counts, one divided by the other. How many multiply-adds does one output take? And which three "
        "arrays are moved?",
        "FLOPs: 2 * R * S for each of H * W * C outputs. Numbers: x and y have H * W * C each, w has one "
        "filter of R * S for each channel.",
        "2 * H * W * C * R * S, divided by 4 * (H * W * C + C * R * S + H * W * C): a float32 has four "
        "bytes.",
    ),
    cases=lambda: (
        *((2, 3, 1, 3, 4), (4, 5, 1, 1, 1), (2, 3, 5, 3, 4), (112, 112, 32, 3, 3)),
        *((28, 30, 256, 5, 3), (7, 7, 1024, 3, 3)),
    ),
    answer=_answer,
    mistakes=(
        Mistake(
            "counts multiply-adds",
            {"2 * H * W": "H * W"},
            "A multiply-add is two floating-point operations: a product and a sum. Or do your numbers have "
            "eight bytes? A float32 has four.",
        ),
        Mistake(
            "counts numbers, not bytes",
            {"4 * (x": "(x"},
            "A float32 has four bytes, and the intensity is FLOPs for each byte.",
        ),
        Mistake(
            "moves one picture only",
            {" + y)": ")"},
            "x is read and y is written: both cross the bus.",
        ),
        Mistake(
            "forgets the weights",
            {" + w": ""},
            "They are few beside a large picture, but in late layers, with 7 x 7 pixels, they show.",
        ),
        Mistake(
            "sums over the channels, as a full layer does",
            {"R * S\n    x": "R * S * C\n    x"},
            "A depthwise output reads one channel: R * S multiply-adds.",
        ),
        Mistake(
            "moves the weights of a full layer",
            {"w = C * R * S": "w = C * C * R * S"},
            "There is one filter of R * S numbers for each channel, not one for each pair of channels.",
        ),
        Mistake(
            "moves one filter for all channels",
            {"w = C * R * S": "w = R * S"},
            "Each channel has a filter of its own.",
        ),
        Mistake(
            "moves one channel of the pictures",
            {"y = H * W * C": "y = H * W"},
            "x and y have C channels each. Or does each of your filters read all C of them, as in a full "
            "layer?",
        ),
        Mistake(
            "reads x anew for every tap",
            {"(x + w + y)": "(x * R * S + w + y)"},
            "So im2row would. Here every number is moved once, and then used for R * S taps.",
        ),
        Mistake(
            "moves the padding as well",
            {"x = y = H * W * C": "x, y = (H + R - 1) * (W + S - 1) * C, H * W * C"},
            "The zeros around the picture are nowhere in memory: only the H x W pixels are read.",
        ),
        Mistake(
            "makes the output smaller by the filter",
            {"2 * H * W": "2 * (H - R + 1) * (W - S + 1)", "+ y)": "+ (H - R + 1) * (W - S + 1) * C)"},
            "The layer is padded: y is as large as x.",
        ),
        Mistake(
            "multiplies by the numbers after dividing by 4",
            {"(4 * (x + w + y))": "4 * (x + w + y)"},
            "Python divides and multiplies from left to right: all bytes together need brackets.",
        ),
        Mistake(
            "is upside down",
            {"flops / (4 * (x + w + y))": "4 * (x + w + y) / flops"},
            "FLOPs for each byte: the bytes stand below.",
        ),
        Mistake(
            "drops the fraction",
            {"flops /": "flops //"},
            "An intensity need not be whole: `/` keeps what `//` drops.",
        ),
    ),
)
