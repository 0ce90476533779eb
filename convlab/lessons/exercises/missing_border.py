"""Notebook 17: what a seam tells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from convlab.lessons.exercise import Exercise, Mistake


def missing_border(wrong, height):
    """Return (above, below): how many rows of its border a strip lacks."""
    # your code here: wrong is a sorted list of rows of the result
    below = sum(row < height for row in wrong)  # the first strip needs no border above
    above = 0
    while height + above in wrong:  # the head of the second
        above += 1
    return above, below


_LAYERS = (  # P, R, height, above, below
    *((12, 3, 4, 0, 1), (12, 3, 4, 1, 0), (12, 3, 6, 1, 1), (12, 3, 4, 0, 0), (15, 5, 5, 1, 2)),
    *((22, 5, 6, 2, 1), (15, 7, 5, 3, 0), (15, 7, 5, 0, 3), (40, 7, 8, 3, 1), (35, 7, 9, 0, 3)),
    *((25, 9, 10, 4, 0), (19, 9, 11, 2, 4)),
    (12, 7, 6, 3, 3),  # no remainder of `height` but belongs to a wrong row
    (14, 9, 6, 1, 2),  # the last strip has fewer rows than the border: the last cut shows less
)


def _cases() -> Iterator[tuple]:
    """(wrong, height)"""
    for P, R, height, above, below in _LAYERS:
        yield _seams(P, R, height, above, below), height


def _seams(P: int, R: int, height: int, above: int, below: int) -> list[int]:
    """Compute a layer of R taps in strips that lack some rows, and return which rows of the result differ."""
    border = (R - 1) // 2
    picture = np.arange(1, P + 1)
    wrong: list[int] = []
    for top in range(0, P, height):
        end = min(top + height, P)
        first = max(0, top - border + above) if top else 0
        last = end + border - below if end < P else P
        there = np.zeros_like(picture)
        there[first:last] = picture[first:last]
        strip, whole = (
            sliding_window_view(np.pad(rows, border), R).sum(axis=1)[top:end] for rows in (there, picture)
        )
        wrong += (top + np.flatnonzero(strip != whole)).tolist()
    return wrong


def _answer(wrong, height) -> np.ndarray:
    """What the strips lacked that these rows came from."""
    return next(
        np.array(border)
        for P, R, rows, *border in _LAYERS
        if rows == height and _seams(P, R, rows, *border) == wrong
    )


_BELOW = "sum(row < height for row in wrong)"
_ABOVE = "above = 0\n    while height + above in wrong:  # the head of the second\n        above += 1"

EXERCISE = Exercise(
    notebook="17",
    statement="missing_border(wrong, height) returns (above, below): how many rows of its border a strip "
    "lacks above, and how many below. One layer at stride 1 was computed in strips of `height` rows, the "
    "last of what is left, and `wrong` are the rows of the result that differ from the whole. Rows that "
    "lack count as zeros; there is a cut at least, and in no strip all rows are wrong.",
    solution=missing_border,
    why="If rows lack below, the windows of the last rows of a strip miss something: as many rows are wrong "
    "as are lacking, just above the cut. If rows lack above, it is the first rows, just below the cut. "
    "The first strip shows the one alone, for above it there is only the edge of the picture.",
    hints=(
        "Draw two strips of four rows and a filter of three taps. If the upper strip does not see the first "
        "row of the lower one, which row of the result is wrong?",
        "What lacks below shows in the last rows of a strip, what lacks above in the first rows; at the "
        "edges of the picture nothing lacks. One cut is enough to tell both: that between row height - 1 "
        "and row height.",
        "`below` is the number of wrong rows in the first strip, those with row < height. `above` is how "
        "many rows are wrong one after the other from row `height` on.",
    ),
    cases=_cases,
    answer=_answer,
    parts=("above", "below"),
    mistakes=(
        Mistake(
            "tells the side on which the wrong rows lie",
            {"return above, below": "return below, above"},
            "A wrong row at the *foot* of a strip has a window that reaches below the strip. On which side "
            "does the border lack, then?",
        ),
        Mistake(
            "counts the wrong rows of all cuts",
            {
                _BELOW: "sum(row % height > height / 2 for row in wrong)",
                _ABOVE: "above = len(wrong) - below",
            },
            "Every cut shows it anew. How many rows lack is to be seen at the first of them.",
        ),
        Mistake(
            "takes all wrong rows of the second strip for its head",
            {_ABOVE: "above = sum(height <= row < 2 * height for row in wrong)"},
            "If another strip follows, the second one has a foot, too, and that shows what lacks below.",
        ),
        Mistake(
            "takes all that is wrong behind the first cut for one head",
            {_ABOVE: "above = len(wrong) - below"},
            "There are more cuts further down, and each has rows above it and below it.",
        ),
        Mistake(
            "looks for the border above in the first strip",
            {"while height + above in wrong": "while above in wrong"},
            "Above the first strip is the edge of the picture: nothing lacks there.",
        ),
        Mistake(
            "looks for the border below in the last strip with a wrong row",
            {_BELOW: "sum(row // height == wrong[-1] // height for row in wrong)"},
            "Below the last strip is the edge of the picture: what is wrong there is its head.",
        ),
        Mistake(
            "tells that something lacks, but not how much",
            {"return above, below": "return int(above > 0), int(below > 0)"},
            "Of a larger filter's border several rows may lack: as many as are wrong beside a cut.",
        ),
        Mistake(
            "has the cut a row too early",
            {"height + above": "height - 1 + above", "row < height": "row < height - 1"},
            "Rows are counted from 0: the first strip ends with row height - 1.",
        ),
        Mistake(
            "has the cut a row too late",
            {"height + above": "height + 1 + above", "row < height": "row <= height"},
            "Rows are counted from 0: the second strip begins with row `height`.",
        ),
        Mistake(
            "counts the cuts that show it",
            {
                _BELOW: "sum(row % height == height - 1 for row in wrong)",
                _ABOVE: "above = sum(row % height == 0 for row in wrong)",
            },
            "How many cuts there are says how tall the picture is. How many rows lack, each of them says.",
        ),
        Mistake(
            "takes the places of all strips for those of one",
            {
                _BELOW: "0\n    places = {row % height for row in wrong}\n"
                "    while height - 1 - below in places:\n        below += 1",
                "height + above in wrong": "above in places",
            },
            "Row 3 of one strip may be right and that of the next wrong. Look at one cut by itself.",
        ),
        Mistake(
            "takes the two sides for one",
            {"return above, below": "return above + below, above + below"},
            "The cut parts them: rows above it tell of one side of a strip, rows below it of the other.",
        ),
        Mistake(
            "gives both sides what lacks above",
            {"return above, below": "return above, above"},
            "The two sides need not lack the same. Which rows tell of the border below?",
        ),
        Mistake(
            "gives both sides what lacks below",
            {"return above, below": "return below, below"},
            "The two sides need not lack the same. Which rows tell of the border above?",
        ),
        Mistake(
            "always finds that something lacks",
            {"return above, below": "return max(1, above), max(1, below)"},
            "A border may be right: then no row beside a cut is wrong.",
        ),
        Mistake(
            "tells rows of the result",
            {"return above, below": "return height + above, height - below"},
            "That is where the seam begins and ends. Asked is how many rows of the border lack.",
        ),
        Mistake(
            "tells how many rows are right",
            {"return above, below": "return height - above, height - below"},
            "Asked is what lacks: as many rows as are wrong beside a cut.",
        ),
    ),
)
