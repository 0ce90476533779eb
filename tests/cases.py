"""The table of cases that every algorithm on every backend must pass, and the one helper that checks them."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from convlab import ALGORITHMS, ConvError, ConvProblem
from convlab.oracle import reference, tolerance

_PLAIN = {"N": 1, "H": 9, "W": 7, "C": 4, "K": 6, "R": 3, "S": 3}

# Nothing is square: a swap of H and W, R and S, or the two strides cannot hide.
CASES = {
    name: ConvProblem(**_PLAIN | sizes)
    for name, sizes in {
        "plain": {},
        "one pixel of padding": {"padding": 1},
        "column filter": {"R": 3, "S": 1},
        "row filter": {"R": 1, "S": 7},
        "wide image": {"H": 4, "W": 17, "padding": (0, 2)},
        "different strides": {"stride": (2, 3), "padding": (1, 2)},
        "stride beyond the filter": {"R": 2, "S": 1, "stride": (3, 2)},
        "stride beyond the image": {"stride": (20, 11), "padding": 1},
        "padding on one side": {"padding": ((2, 0), (0, 3))},
        "padding like TensorFlow": {"padding": "same", "stride": (2, 2), "H": 8},
        "padding as wide as the filter": {"padding": (3, 4), "R": 3, "S": 2},
        "windows wholly on padding": {"padding": ((7, 8), (9, 1)), "stride": (2, 1)},
        "dilation": {"dilation": (2, 3), "padding": (1, 2)},
        "dilation beyond the image": {"dilation": (5, 1), "padding": ((6, 3), (0, 0)), "H": 6},
        "two groups": {"groups": 2, "padding": 1},
        "groups, dilation, strides": {"groups": 2, "dilation": (2, 1), "stride": (1, 2), "padding": 2},
        "groups side by side": {"H": 4, "W": 5, "C": 20, "K": 20, "groups": 5, "padding": 1},
        "depthwise": {"C": 5, "K": 5, "groups": 5, "padding": 1},
        "depthwise, two filters a channel": {"C": 3, "K": 6, "groups": 3, "stride": 2},
        "one channel": {"C": 1, "K": 7},
        "one filter on a picture": {"N": 2, "H": 9, "W": 12, "C": 1, "K": 1, "padding": ((1, 0), (2, 1))},
        "three channels": {"C": 3, "R": 7, "S": 5, "stride": 2, "padding": 3},
        "first layer": {"N": 2, "H": 15, "C": 3, "K": 37, "R": 7, "S": 6, "stride": 2, "padding": 3},
        "five channels, one filter": {"C": 5, "K": 1},
        "more filters than a tile": {"C": 3, "K": 37, "padding": 1},
        "pointwise": {"R": 1, "S": 1, "C": 8, "K": 9},
        "pointwise, stride": {"R": 1, "S": 1, "stride": (2, 1)},
        "batch": {"N": 3, "padding": 1, "stride": (1, 2)},
        "batch of eight": {"N": 8, "H": 5, "W": 4, "C": 3, "padding": 1},
        "batch of 32": {"N": 32, "H": 3, "W": 4, "C": 2, "K": 3, "padding": 1},
        "batch, groups": {"N": 2, "groups": 2, "H": 5, "W": 6},
        "one output pixel": {"H": 3, "W": 3},
        "one of everything": {"H": 1, "W": 1, "C": 1, "K": 1, "R": 1, "S": 1},
        "two output pixels": {"H": 3, "W": 4, "K": 33},
        "double precision, stride": {"dtype": "float64", "R": 5, "S": 4, "stride": 2, "padding": (0, 1)},
        "double precision": {"dtype": "float64", "padding": 1, "stride": (2, 1)},
        "double precision, groups": {"dtype": "float64", "groups": 2, "K": 34, "dilation": (1, 2)},
        "double precision, groups side by side": {"dtype": "float64", "C": 10, "K": 10, "groups": 5},
    }.items()
}


def in_parts(parts: int, in_a_word: int) -> ConvProblem:
    """Return a problem whose sums tensor cores can cut into two parts, or three; the last one is shorter.

    A part ends within a tap. Of the first problem several taps lie in one line of the first cache.
    """
    sizes = {
        2: {"C": 2 * 20 * in_a_word, "groups": 2, "R": 4, "S": 2, "padding": (2, 1)},  # five pieces
        3: {"C": 36 * in_a_word, "K": 8, "R": 2, "S": 3, "padding": 1, "stride": (1, 2)},  # seven
    }
    return ConvProblem(**_PLAIN | {"H": 5, "W": 6} | sizes[parts])


FORMS = [(name, backend) for name in ALGORITHMS for backend in ("numpy", "cpu")]


def serving(algorithm, problems):
    """Return those of some problems that an algorithm serves; there must be one."""
    served = [problem for problem in problems if not ALGORITHMS[algorithm].supports(problem)]
    assert served, f"{algorithm} serves none of the cases"
    return served


def arrays(problem: ConvProblem, seed: int = 0):
    """Return random x, w and bias for a problem."""
    rng = np.random.default_rng(seed)
    return tuple(
        rng.standard_normal(shape).astype(problem.dtype)
        for shape in (problem.x_shape, problem.w_shape, (problem.K,))
    )


def assert_close(y, x, w, problem, bias=None, label="", rounding=1.0):
    """Hold y against the float64 reference, within what rounding explains (see `Algorithm.rounding`)."""
    assert y.shape == problem.y_shape
    assert y.dtype == problem.dtype
    error = np.abs(y - reference(x, w, problem, bias))
    limit = tolerance(x, w, problem, bias) * rounding
    worst = np.unravel_index(error.argmax(), error.shape)
    assert error.max() <= limit, f"{label}: error {error.max():.2e} at {worst}, limit {limit:.2e}"


@st.composite
def problems(draw, algorithm="direct", most_macs=20_000):
    """Draw a random problem that an algorithm serves, small enough for seven Python loops.

    Some algorithms serve few: so what they all ask for (a 1x1, 3x3 or large filter, steps of one or of two,
    one channel a group) is tried on purpose if the plain draw is refused.
    """

    def integer(low, high):
        return draw(st.integers(low, high))

    groups = integer(1, 3)
    sizes = {
        "N": integer(1, 3),
        "H": integer(1, 12),
        "W": integer(1, 12),
        "C": groups * integer(1, 4),
        "K": groups * integer(1, 5),
        "R": integer(1, 5),
        "S": integer(1, 5),
        "stride": (integer(1, 4), integer(1, 4)),
        "padding": ((integer(0, 4), integer(0, 4)), (integer(0, 4), integer(0, 4))),
        "dilation": (integer(1, 3), integer(1, 3)),
        "groups": groups,
        "dtype": draw(st.sampled_from(["float32", "float64"])),
    }
    steps = {"stride": 1, "dilation": 1}
    channel = sizes["C"]
    for narrowed in (
        {},
        steps,
        {"R": 3, "S": 3, **steps},
        {"groups": channel, "K": channel * integer(1, 3)},
        {"R": 1, "S": 1, "padding": 0, **steps},
        {"R": integer(5, 8), "S": integer(1, 8), "groups": 1, "stride": 2, "dilation": 1},
    ):
        try:
            problem = ConvProblem(**sizes | narrowed)
        except ConvError:
            continue
        if problem.macs <= most_macs and not ALGORITHMS[algorithm].supports(problem):
            return problem
    return assume(False)
