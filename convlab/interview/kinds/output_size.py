"""How many rows the output of a layer has."""

from __future__ import annotations

from random import Random

from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.shapes import outputs, said, window
from convlab.interview.slips import of_layer
from convlab.interview.units import count


def _ask(random: Random) -> Asked:
    problem = window(random)
    (top, _), _ = problem.padding
    return Asked(
        f"{said(problem, dtype=False)} How many rows does the output have?",
        problem.P,
        outputs(problem)[:1],
        (
            *of_layer(problem, lambda seen: seen.P, "rounds the output size up"),
            Slip(
                "leaves out the first window",
                problem.P - 1,
                "The steps are counted, and there is a window before the first of them.",
            ),
            *of_layer(problem, lambda seen: seen.P, "forgets the padding", "forgets the dilation"),
            Slip(
                "counts the padding on one side only",
                (problem.H + top - problem.extent[0]) // problem.stride[0] + 1,
                "The border of zeros is above the picture and below it.",
            ),
            *of_layer(problem, lambda seen: seen.P, "forgets the stride"),
            Slip(
                "divides by the stride alone",
                problem.H // problem.stride[0],
                "The filter has a size, too, and so has the border.",
            ),
            Slip(
                "counts columns",
                problem.Q,
                "Asked are rows: the first of the two sizes of the picture.",
            ),
        ),
    )


KIND = Kind(
    name="output_size",
    title="output size",
    unit=count("row", "rows", "output rows", "output row", "lines", "line", "pixels"),
    ask=_ask,
    read=(("01", "output_size"),),
    tolerance=0,
)
