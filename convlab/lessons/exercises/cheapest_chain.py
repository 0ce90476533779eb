"""Notebook 16: the best for a network is not the best for each of its layers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from convlab.lessons.exercise import Exercise, Mistake


def cheapest_chain(seconds, convert):
    """Return the least time of a chain of layers."""
    # your code here: seconds is a list of {layout: time}, one for each layer
    best = dict.fromkeys(seconds[0], 0)  # least time so far of a chain that ends in a layout
    for times in seconds:
        before, best = best, {}
        for layout in times:
            best[layout] = times[layout] + min(
                before[other] + (convert if other != layout else 0) for other in before
            )
    return min(best.values())


def _cases() -> Iterator[tuple]:
    """(seconds, convert)"""
    yield [{"NHWC": 3, "NCHW": 5}], 2
    yield [{"NHWC": 3, "NCHW": 5}, {"NHWC": 4, "NCHW": 1}], 1
    yield [{"NHWC": 3, "NCHW": 5}, {"NHWC": 4, "NCHW": 1}], 10
    yield [{"NHWC": 4, "NCHW": 3}, {"NHWC": 1, "NCHW": 9}, {"NHWC": 5, "NCHW": 2}], 3
    cheap, dear = {"NHWC": 2, "NCHW": 1}, {"NHWC": 1, "NCHW": 9}
    yield [cheap, cheap, dear, cheap], 2.5
    yield [cheap | {"NHWC": 9}, dear | {"NCHW": 20}, cheap | {"NHWC": 9}], 1  # there and back
    yield [{"NHWC": 5}, {"NHWC": 9, "NCHW": 1}, {"NHWC": 5}], 1  # not every layer takes every layout
    early, late = {"NHWC": 0, "NCHW": 20}, {"NHWC": 2, "NCHW": 0}
    yield [early, *[late] * 4], 3  # no single layer pays for the change, all together do
    yield [early, *[late] * 4, early, *[late] * 4], 3
    yield [{"NHWC": 5, "NCHW": 6, "CHWN": 1}, {"NHWC": 1, "NCHW": 9}, {"CHWN": 2, "NCHW": 2}], 1


def _answer(seconds, convert) -> float:
    """Every chain of layouts is tried: slow, and hard to get wrong."""
    return min(
        sum(times[layout] for times, layout in zip(seconds, chain, strict=True))
        + convert * sum(a != b for a, b in pairwise(chain))
        for chain in product(*seconds)
    )


EXERCISE = Exercise(
    notebook="16",
    statement="cheapest_chain(seconds, convert) returns the least time of a chain of layers; `seconds` has a "
    "dict {layout: time} for each, and a change of layout between two layers takes `convert`.",
    solution=cheapest_chain,
    why="All that the rest of the chain has to know of its beginning is the layout it ends in. So one "
    "number for each layout is carried from layer to layer, instead of all chains.",
    hints=(
        "With two layers and two layouts there are four chains. What does each of them cost?",
        "You could try all chains: `itertools.product(*seconds)` makes them. Or keep, for each layout, "
        "the least time of a chain that ends in it.",
        "best[layout] = times[layout] + min(before[other] + (convert if other != layout else 0) for every "
        "other), layer after layer; the answer is the least of the last.",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "forgets to convert",
            {" + (convert if other != layout else 0)": ""},
            "Where one layer's layout is not the next one's, somebody has to rearrange the array.",
        ),
        Mistake(
            "takes the best of each layer, and pays for the changes",
            {
                "    best = dict": "    chain = [min(times, key=times.get) for times in seconds]\n"
                "    changes = sum(a != b for a, b in zip(chain, chain[1:]))\n"
                "    return sum(t[c] for t, c in zip(seconds, chain)) + convert * changes\n    best = dict"
            },
            "A layer may do well to take its second best layout, if that saves a change.",
        ),
        Mistake(
            "decides step by step",
            {
                "    best = dict": "    total, at = 0, None\n"
                "    for times in seconds:\n"
                "        price = {one: times[one] + convert * (at not in (None, one)) for one in times}\n"
                "        at = min(price, key=price.get)\n"
                "        total += price[at]\n"
                "    return total\n    best = dict"
            },
            "What is cheapest now may force a dear change later: keep a candidate for each layout.",
        ),
        Mistake(
            "stays in one layout",
            {"convert if other": "float('inf') if other"},
            "A change may pay, if what follows is so much faster.",
        ),
        Mistake(
            "converts after every layer",
            {
                "for times in seconds": "for number, times in enumerate(seconds)",
                "(convert if other != layout else 0)": "convert * (number > 0)",
            },
            "A change is paid for where the layout changes, and nowhere else.",
        ),
        Mistake(
            "pays for a change before the first layer",
            {
                "(convert if other != layout else 0)": "(convert if other != layout else 0)",
                "best.values())": "best.values()) + convert",
            },
            "The first layer is given its input as it likes it.",
        ),
        Mistake(
            "pays where the layout stays the same",
            {"other != layout": "other == layout"},
            "It is a change of layout that costs.",
        ),
        Mistake(
            "overwrites a time that the next layout still asks for",
            {"before, best = best, {}": "before = best = {**dict.fromkeys(times, float('inf')), **best}"},
            "The chains that end in a layout are made of those that ended one layer *before*: keep these "
            "until all layouts have been looked at.",
        ),
        Mistake(
            "tells the dearest chain",
            {"min(best": "max(best"},
            "The least time is asked for.",
        ),
    ),
)
