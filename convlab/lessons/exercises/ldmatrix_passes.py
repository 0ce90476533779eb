"""Notebook 14: eight rows in thirty-two banks."""

from __future__ import annotations

import numpy as np

from convlab.gpu.simulator.bank_conflicts import wavefronts
from convlab.lessons.exercise import Exercise, Mistake


def passes_of(row):
    """Return the passes for 8 rows of 4 words, `row` words apart, over 32 banks."""
    # your code here
    asked = [0] * 32  # how many words each bank is asked for
    for i in range(8):
        for word in range(4):
            asked[(i * row + word) % 32] += 1
    return max(asked)


def _answer(row) -> int:
    """Count as the simulator does, for eight lanes that read 16 bytes each."""
    lanes = np.arange(8)
    return int(wavefronts(np.zeros(8, int), lanes, 4 * row * lanes, 16, "ld").sum())


EXERCISE = Exercise(
    notebook="14",
    statement="passes_of(row) returns how many passes over shared memory it takes to read 8 rows of 4 words, "
    "if the rows are `row` words apart, a multiple of four, and there are 32 banks.",
    solution=passes_of,
    why="In one pass every bank hands out one word. So count for each bank how many of the 32 words lie in "
    "it: the bank that is asked most often decides.",
    hints=(
        "Word number a lies in bank a % 32. In which banks do the 4 words of row 0 lie, and those of row 1, "
        "if the rows are 16 words apart?",
        "Row i has the words i * row to i * row + 3. Count for every bank how many of all 32 words are its "
        "own.",
        "asked = [0] * 32; for i in range(8), for word in range(4): asked[(i * row + word) % 32] += 1. The "
        "passes are max(asked).",
    ),
    cases=lambda: ((row,) for row in (16, 4, 8, 12, 20, 24, 28, 32, 36, 40, 48, 64)),
    answer=_answer,
    mistakes=(
        Mistake(
            "thinks that any gap is enough",
            lambda row: 1 if row % 32 else 8,
            "A row has four words: with a gap the next row begins in another bank, but may meet a later one.",
        ),
        Mistake(
            "counts the rows",
            lambda row: 8,
            "Rows that lie in different banks are read in the same pass.",
        ),
        Mistake(
            "counts the words",
            lambda row: 32,
            "32 words in 32 banks are one pass, if no two lie in the same.",
        ),
        Mistake(
            "thinks that rows never meet",
            lambda row: 1,
            "That is so if all 32 words lie in different banks. Do they, with rows of 16 words?",
        ),
        Mistake(
            "has 16 banks",
            {"[0] * 32": "[0] * 16", "% 32": "% 16"},
            "A warp has 32 lanes, and shared memory has 32 banks.",
        ),
        Mistake(
            "has 64 banks",
            {"[0] * 32": "[0] * 64", "% 32": "% 64"},
            "A warp has 32 lanes, and shared memory has 32 banks.",
        ),
        Mistake(
            "counts the passes that are too many",
            {"max(asked)": "max(asked) - 1"},
            "Without a conflict it takes one pass, not none.",
        ),
        Mistake(
            "counts the banks that are asked",
            {"max(asked)": "sum(count > 0 for count in asked)"},
            "The more banks take part, the better. What matters is how often the busiest is asked.",
        ),
        Mistake(
            "counts the banks that are asked more than once",
            {"max(asked)": "sum(count > 1 for count in asked)"},
            "Banks work side by side: however many are asked twice, it is two passes.",
        ),
        Mistake(
            "takes `row` for bytes",
            {"i * row": "i * row // 4"},
            "The rows are `row` *words* apart, and a bank is a word wide.",
        ),
        Mistake(
            "turns words into bytes",
            {"(i * row + word)": "4 * (i * row + word)"},
            "Banks are a word wide, 4 bytes: neighbouring words lie in neighbouring banks.",
        ),
        Mistake(
            "counts four matrices",
            {"range(8)": "range(32)"},
            "An ldmatrix of four matrices takes four times as many passes. Here it is one matrix, of 8 rows.",
        ),
        Mistake(
            "counts the banks in which rows begin",
            lambda row: len({i * row % 32 for i in range(8)}),
            "The more of them there are, the fewer passes it takes. How many rows meet in the same one?",
        ),
        Mistake(
            "divides the distance of the rows by their length",
            lambda row: row // 4 % 8 or 8,
            "Rows 12 words apart come back to the banks of the first only after all other banks had their "
            "turn.",
        ),
        Mistake(
            "reads 4 rows of 8 words",
            {"for i in range(8)": "for i in range(4)", "word in range(4)": "word in range(8)"},
            "A row of a matrix has 4 words, 16 bytes, and there are 8 rows.",
        ),
        Mistake(
            "adds up the conflicts of all banks",
            {"max(asked)": "sum(count - 1 for count in asked if count > 1)"},
            "Banks work side by side: what counts is how long the busiest takes.",
        ),
        Mistake(
            "leaves a gap of its own",
            {"i * row": "i * (row + 4)"},
            "`row` is the distance from one row to the next: a gap is part of it already.",
        ),
    ),
)
