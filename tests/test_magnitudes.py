"""Which numbers `auto` gives to a transform: ordinary ones all, and none that would be lost there."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from effort import in_turns

from convlab import ALGORITHMS, ConvProblem, conv2d, plan
from convlab.algorithms.winograd.error import growth
from convlab.auto import magnitudes
from convlab.oracle import reference
from convlab.plans import plan as plans

pytestmark = pytest.mark.inside

LAYER = ConvProblem(1, 32, 32, 16, 16, 3, 3, padding=1)
PROBLEMS = {
    "layer": LAYER,
    "batch of photos": ConvProblem(2, 40, 37, 3, 8, 3, 3, padding=1),
    "one channel": ConvProblem(1, 64, 64, 1, 4, 3, 3),
    "first layer": ConvProblem(1, 64, 64, 3, 8, 7, 7, stride=2, padding=3),
    "large filter": ConvProblem(1, 50, 50, 4, 4, 15, 15, padding=7),
    "groups": ConvProblem(1, 30, 30, 8, 8, 3, 3, groups=4, padding=1),
    "double precision": replace(LAYER, dtype="float64"),
}
CASES = [
    (algorithm, name)
    for name, problem in PROBLEMS.items()
    for algorithm in ALGORITHMS.values()
    if algorithm.mixing and not algorithm.supports(problem)
]
cases = pytest.mark.parametrize(("algorithm", "name"), CASES, ids=lambda one: getattr(one, "name", one))


def found(algorithm, problem, x, w):
    weight, trouble = magnitudes.of_weights(problem, algorithm, w)
    return trouble or magnitudes.of_pixels(problem, algorithm, x, weight)


def normal(shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def spread(x):
    """From 0 to 1, out of normal numbers."""
    return np.argsort(np.argsort(x, axis=None)).reshape(x.shape) / x.size


ORDINARY = {
    "normal": lambda x: x,
    "uniform": spread,
    "bytes": lambda x: np.floor(256 * spread(x)),
    "dark bytes": lambda x: np.floor(256 * spread(x) ** 6),
    "fading to black": lambda x: spread(x) * np.linspace(0, 1, x.shape[1])[:, None, None],
    "after ReLU": lambda x: np.maximum(x, 0),
    "after ReLU, nine of ten zero": lambda x: np.maximum(x - 1.3, 0),
    "heavy tails": lambda x: x / np.abs(np.roll(x, 7)) ** 0.5,
    "log-normal": lambda x: np.exp(1.5 * x),
    "one channel is a thousand times as large": lambda x: x * np.where(np.arange(x.shape[3]) == 0, 1000, 1),
    "small": lambda x: x * 1e-20,
    "large": lambda x: x * 1e15,
    "zero": lambda x: x * 0,
    "one pixel, all else zero": lambda x: x * (np.arange(x.size) == 99).reshape(x.shape),
}


@cases
@pytest.mark.parametrize("what", ORDINARY)
def test_ordinary_numbers_raise_no_alarm(algorithm, name, what):
    problem = PROBLEMS[name]
    x = ORDINARY[what](normal(problem.x_shape)).astype(problem.dtype)
    for scale in (0.02, 1):
        w = scale * normal(problem.w_shape, problem.dtype, seed=1)
        assert found(algorithm, problem, x, w.astype(problem.dtype)) is None


def one_pixel(size):
    def change(x):
        x[0, 11, 13, 0] = size

    return change


def _half(x):
    x[:, :, x.shape[2] // 2 :] *= 1e12


def _all(size):
    def change(x):
        x *= size

    return change


# What is done to x of size 1, and words of what is said.
HOSTILE = {
    "one pixel of 1e30": (one_pixel(1e30), r"windows that are \S+ times smaller than others"),
    "one pixel of 1e6": (one_pixel(1e6), "times smaller than others"),
    "one half of 1e12": (_half, "times smaller than others"),
    "all near 1e36": (_all(1e36), r"as large as 4e\+36, which would overflow"),
    "all near 1e-38": (_all(1e-38), "no larger than 4e-38, which would lose their last digits"),
    "a NaN": (one_pixel(np.nan), "x holds NaN or infinity, which it would spread"),
    "an infinity": (one_pixel(-np.inf), "x holds NaN or infinity, which it would spread"),
}


def hostile(what):
    x = normal(LAYER.x_shape)
    HOSTILE[what][0](x)
    return x


def test_the_layer_below_goes_to_a_transform():
    """Or the next tests would show nothing."""
    x, w = normal(LAYER.x_shape), normal(LAYER.w_shape, seed=1)
    assert plan(LAYER, w, backend="cpu").algorithm.mixing
    assert chosen(x, w).algorithm.mixing


def chosen(x, w, **options):
    """Return the plan that conv2d makes."""
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans.Plan, "run_checked", lambda self, x, out: made.append(self))
        conv2d(x, w, padding=1, backend="cpu", **options)
    return made[0]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("what", HOSTILE)
def test_conv2d_takes_no_transform_for_what_would_be_lost_in_it(what):
    x, w = hostile(what), normal(LAYER.w_shape, seed=1)
    made = chosen(x, w)
    assert not made.algorithm.mixing
    assert made.why.startswith("it is the best that is no transform; ")
    assert re.search(HOSTILE[what][1], made.why), made.why
    y, sums = conv2d(x, w, padding=1, backend="cpu"), reference(x, w, LAYER)
    errors = np.abs(y - sums) / reference(np.abs(x), np.abs(w), LAYER)  # of what lies under each window
    fine = np.isfinite(sums)
    assert (np.isfinite(y) == fine).all()
    assert fine.mean() > 0.9
    assert errors[fine].max() < (1e-4 if "1e-38" in what else 1e-5)  # sums near 1e-38 have fewer digits
    assert chosen(x, w, algorithm="winograd_4x4").why == "it was asked for"


@pytest.mark.parametrize("what", HOSTILE)
def test_a_plan_says_so_once_at_its_first_call(what):
    w = normal(LAYER.w_shape, seed=1)
    made = plan(LAYER, w, backend="cpu")
    x = hostile(what)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made(x)
        made(x)
    (said,) = (str(one.message) for one in caught if "this plan" in str(one.message))
    assert f"this plan chose {made.algorithm.name} by itself, and x " in said
    named = said.partition("algorithm='")[2].partition("'")[0]
    assert not ALGORITHMS[named].mixing
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan(LAYER, w, backend="cpu")(normal(LAYER.x_shape))
        plan(LAYER, w, algorithm=named, backend="cpu")(hostile("one pixel of 1e30"))


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1e20, "w has taps at the edge that are"),  # where a window hangs over the edge, the huge tap is not
        (1e35, r"w has numbers as large as 1e\+35, which would overflow"),
        (np.nan, "w holds NaN"),
    ],
)
def test_weights_are_looked_at_when_the_plan_is_made(size, words):
    w = normal(LAYER.w_shape, seed=1)
    w[3, 0, 0, 2] = size
    made = plan(LAYER, w, backend="cpu")
    assert not made.algorithm.mixing
    assert re.search(words, made.why), made.why


# Taps that alone are large fall on padding in some windows: neither in the first of them nor in the last.
BEYOND_THE_EDGE = {
    "padding as wide as the filter": (replace(LAYER, padding=3), (0, 0)),
    "padding wider than the filter, below": (replace(LAYER, padding=((0, 5), (1, 1))), (2, 1)),
    "no tap at the corner": (replace(LAYER, padding=2), (1, 1)),
    "a picture lower than the filter": (ConvProblem(1, 1, 40, 8, 8, 3, 3, padding=(2, 1)), ([0, 2], 1)),
    "every second window": (ConvProblem(1, 30, 30, 4, 4, 7, 7, stride=2, padding=8), (0, 3)),
}


@pytest.mark.parametrize("what", BEYOND_THE_EDGE)
def test_weights_of_every_window_that_hangs_over_the_edge_are_looked_at(what):
    problem, (r, s) = BEYOND_THE_EDGE[what]
    x, w = normal(problem.x_shape), normal(problem.w_shape, seed=1)
    if what == "no tap at the corner":
        w[:, ::2, ::2] = 0
    w[:, r, s] *= 1e9
    size = reference(np.abs(x), np.abs(w), problem)  # of what lies under each window
    for algorithm in ALGORITHMS.values():
        if algorithm.mixing and not algorithm.supports(problem):
            y = plan(problem, w, algorithm=algorithm, backend="cpu")(x)
            errors = np.abs(y - reference(x, w, problem))
            assert (errors > size)[size > 0].any()  # or there would be nothing to say
            assert "w has taps at the edge that are" in found(algorithm, problem, x, w)
            assert found(algorithm, problem, x, normal(problem.w_shape, seed=1)) is None


def test_other_weights_are_looked_at_too():
    """And x once more, beside them."""
    w = normal(LAYER.w_shape, seed=1)
    made, large = plan(LAYER, w, backend="cpu"), 1e25 * w
    made(normal(LAYER.x_shape))
    with pytest.warns(RuntimeWarning, match=r"this plan chose \w+ by itself, and w holds NaN") as caught:
        made.with_weights(np.where(w == w[3, 0, 0, 2], np.nan, w))
    assert caught[0].filename == __file__
    other = made.with_weights(large)
    with pytest.warns(RuntimeWarning, match="x has numbers as large as .* would overflow") as caught:
        other(1e10 * normal(LAYER.x_shape))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.with_weights(2 * w)(normal(LAYER.x_shape))
        plan(LAYER, w, algorithm=made.algorithm, backend="cpu").with_weights(large)


@in_turns
@cases
def test_numbers_just_within_bounds_come_through(algorithm, name):
    """The largest and the smallest that raise no alarm: nothing overflows, and no digits are lost."""
    problem = PROBLEMS[name]
    x, w = np.sign(normal(problem.x_shape, problem.dtype)), normal(problem.w_shape, problem.dtype, seed=1)
    w /= np.abs(w).max()
    info, bound = np.finfo(problem.dtype), algorithm.mixing(problem).growth
    for size in (0.99 * float(info.max) / bound, 1.01 * float(info.tiny) * bound):
        scaled = (x * size).astype(problem.dtype)
        assert found(algorithm, problem, scaled, w) is None
        y = plan(problem, w, algorithm=algorithm, backend="cpu")(scaled)
        exact = reference(x, w, problem)
        worst = np.abs(y / size - exact).max() / np.sqrt(np.mean(exact**2))
        assert worst < 100 * algorithm.rounding * info.eps
    for size in (1.01 * float(info.max) / bound, 0.99 * float(info.tiny) * bound):
        assert found(algorithm, problem, (x * size).astype(problem.dtype), w)


def test_growth_bounds_what_the_matrices_do():
    """Rows of BT of F(2, 3) add up to 2, of G to 3/2, of AT to 3: each is applied along both axes."""
    assert growth(2) >= (2 * 1.5 * 3) ** 2
    assert growth(2) < growth(4) < growth(6)
