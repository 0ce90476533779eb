"""Notebook 13: pixels fetched by a table of places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.indirect import indirection_buffer
from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.launches import numbers
from convlab.problem import ConvProblem

_CHANNELS = 32


@cuda.jit
def my_gather(x, table, y):
    # the pixel is cuda.blockIdx.x, the channel cuda.threadIdx.x
    # your code here: y[pixel, tap, channel] for all taps; float32(0) on padding
    m, c = cuda.blockIdx.x, cuda.threadIdx.x
    for tap in range(table.shape[1]):
        place = table[m, tap]  # the same for the whole block: one request, one sector
        y[m, tap, c] = x[place + c] if place >= 0 else float32(0)


def _cases() -> Iterator[Launch]:
    for H, W, R, S, padding in ((2, 3, 2, 2, 0), (3, 3, 3, 3, 1), (2, 2, 6, 6, 2), (4, 5, 2, 3, 1)):
        problem = ConvProblem(1, H, W, _CHANNELS, 1, R, S, padding=padding)
        table = indirection_buffer(problem, 1)[:, :, 0]  # (pixels, taps)
        x = numbers(H * W * _CHANNELS, step=0.25 if H == 4 else 1)
        y = np.zeros((*table.shape, _CHANNELS), np.float32)
        for m, tap in zip(*np.nonzero(table >= 0), strict=True):
            y[m, tap] = x[table[m, tap] :][:_CHANNELS]
        arguments = {"x": x, "table": table.astype(np.int32), "y": None}
        yield Launch((len(table),), (_CHANNELS,), arguments, y)


@cuda.jit
def _a_lane_for_each_tap(x, table, y):
    m, tap = cuda.blockIdx.x, cuda.threadIdx.x
    if tap < table.shape[1]:
        place = table[m, tap]
        for c in range(32):
            y[m, tap, c] = x[place + c] if place >= 0 else float32(0)


@cuda.jit
def _lanes_along_taps(x, table, y):
    m = cuda.blockIdx.x
    for tap in range(cuda.threadIdx.x, table.shape[1], 32):
        place = table[m, tap]
        for c in range(32):
            y[m, tap, c] = x[place + c] if place >= 0 else float32(0)


@cuda.jit
def _a_pixel_for_each_thread(x, table, y):
    m = cuda.grid(1)
    if m < table.shape[0]:
        for tap in range(table.shape[1]):
            place = table[m, tap]
            for c in range(32):
                y[m, tap, c] = x[place + c] if place >= 0 else float32(0)


EXERCISE = KernelExercise(
    notebook="13",
    statement=f"my_gather(x, table, y) is a kernel with a block of {_CHANNELS} threads for each pixel m: "
    f"y[m, tap] gets the {_CHANNELS} numbers of x that begin at table[m, tap], or zeros where that is -1.",
    solution=my_gather,
    why="The whole block asks for one number of the table, which is one sector. Then its 32 lanes read 32 "
    "neighbouring channels, and write them side by side.",
    hints=(
        "Each block has a pixel, each thread a channel. What is left to go over in a loop?",
        "For every tap, read its place from the table. A place is where 32 channels begin: which of them is "
        "yours? And what does -1 mean?",
        "for tap in range(table.shape[1]): place = table[m, tap]; y[m, tap, c] is x[place + c] if "
        "place >= 0, else float32(0).",
    ),
    cases=_cases,
    shapes={"return": ("pixel", "tap", "channel")},
    generous=2.0,  # zeros first, and what is there after them, is one way to write it
    mistakes=(
        Mistake(
            "reads x where the table says -1",
            {" if place >= 0 else float32(0)": ""},
            "-1 is no place: it says that the tap falls on padding, which is zero.",
        ),
        Mistake(
            "takes place 0 for padding, too",
            {"place >= 0": "place > 0"},
            "Place 0 is where the first pixel of x begins. Padding is marked by -1.",
        ),
        Mistake(
            "takes the first pixel for padding",
            {"x[place + c] if place >= 0 else float32(0)": "x[max(place, 0) + c]"},
            "Padding is zero, whatever x begins with.",
        ),
        Mistake(
            "leaves padding out",
            {
                "y[m, tap, c] = x[place + c] if place >= 0 else float32(0)": "if place >= 0:\n"
                "            y[m, tap, c] = x[place + c]"
            },
            "y holds nothing at first: where the table says -1, somebody has to write the zeros.",
        ),
        Mistake(
            "stops at the first tap that falls on padding",
            {"y[m, tap, c] = x": "if place < 0:\n            break\n        y[m, tap, c] = x"},
            "Padding is nothing to read, but the taps behind it are: go on, and write the zeros.",
        ),
        Mistake(
            "hands -1 on to y",
            {"else float32(0)": "else float32(-1)"},
            "-1 in the table marks padding. What is there, in the picture, is zero.",
        ),
        Mistake(
            "looks for the channels a picture apart",
            {"x[place + c]": "x[place // 32 + c * (x.size // 32)]"},
            "Here the channels of a pixel lie side by side: the order is NHWC.",
        ),
        Mistake(
            "has a lane for each tap, but not more taps than lanes",
            _a_lane_for_each_tap,
            "A filter may have more taps than a block has lanes. There is a lane for each channel: let each "
            "go over the taps.",
        ),
        Mistake(
            "lets neighbouring lanes go along the taps",
            _lanes_along_taps,
            "Right numbers. But each lane goes through channels of its own, 32 numbers from its neighbour's: "
            "a sector for every lane.",
        ),
        Mistake(
            "gives each thread a pixel, with all of its channels",
            _a_pixel_for_each_thread,
            "Right numbers. But at any moment lanes ask for a channel of 32 different pixels, a sector for "
            "each. A pixel has a block, and in it each channel a lane.",
        ),
        Mistake(
            "adds the channel before it looks for padding",
            {"if place >= 0": "if place + c >= 0"},
            "-1 and a channel is a place, of another pixel: whether there is one is said by the table alone.",
        ),
        Mistake(
            "counts on nine taps",
            {"range(table.shape[1])": "range(9)"},
            "A pixel has as many places as the filter has taps: `table.shape[1]`.",
        ),
        Mistake(
            "takes a place for the number of a pixel",
            {"x[place + c]": "x[place * 32 + c]"},
            "The table has places in x, of numbers: channels are counted already.",
        ),
        Mistake(
            "reads the first channel for all",
            {"x[place + c]": "x[place]"},
            "A place is where a pixel begins. Channel c lies c numbers further.",
        ),
        Mistake(
            "gathers the first tap only",
            {"range(table.shape[1])": "range(1)"},
            "A pixel has as many places as the filter has taps: `table.shape[1]`.",
        ),
        Mistake(
            "leaves out the last tap",
            {"range(table.shape[1])": "range(table.shape[1] - 1)"},
            "`range(n)` ends at n - 1 already.",
        ),
        Mistake(
            "goes over pixels instead of taps",
            {"range(table.shape[1])": "range(table.shape[0])"},
            "The table is (pixels, taps). The pixel is the block's; the loop goes over taps.",
        ),
        Mistake(
            "exchanges pixel and tap in the table",
            {"table[m, tap]": "table[tap, m]"},
            "The table is (pixels, taps): the pixel comes first.",
        ),
        Mistake(
            "lets every block gather the first pixel's taps",
            {"place = table[m, tap]": "place = table[0, tap]"},
            "Each pixel has a row of the table of its own.",
        ),
        Mistake(
            "takes the thread for the pixel and the block for the channel",
            {"m, c = cuda.blockIdx.x, cuda.threadIdx.x": "c, m = cuda.blockIdx.x, cuda.threadIdx.x"},
            "There is a block for each pixel, and in it a thread for each channel.",
        ),
    ),
)
