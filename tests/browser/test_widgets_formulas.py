"""The widgets' JavaScript against the library over random problems: every number shown is the library's."""

import base64
import random

import numpy as np
import pytest

import convlab
from convlab import ConvProblem, ShapeError, units
from convlab.figures.filling import matrix_of
from convlab.figures.memory import ratio_text, workspace_of
from convlab.widgets import Im2colFills, MemoryBlowup, SlidingWindow

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def javascript(browser):
    """Return ask(widget, body, data): what `body` gives for each d of data, with the widget's module as m."""
    page = browser.new_page()

    def ask(widget, body, data):
        code = (
            "data:text/javascript;charset=utf-8;base64," + base64.b64encode(widget.module().encode()).decode()
        )
        return page.evaluate(
            f"async ([code, data]) => {{ const m = await import(code); return data.map((d) => {body}); }}",
            [code, data],
        )

    yield ask
    page.close()


def problems(count, seed, *, largest=40):
    """Return random problems, some of them too large for their filter's dilation (None where refused)."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        groups = rng.choice([1, 1, 1, 2, 4])
        found.append(
            {
                "N": rng.choice([1, 2, 7, 64, 4096]),
                **{name: rng.randint(1, largest) for name in "HW"},
                **{name: groups * rng.randint(1, 60) for name in "CK"},
                **{name: rng.randint(1, 7) for name in "RS"},
                "stride": [rng.randint(1, 4) for _ in range(2)],
                "padding": [[rng.randint(0, 4) for _ in range(2)] for _ in range(2)],
                "dilation": [rng.randint(1, 3) for _ in range(2)],
                "groups": groups,
                "dtype": rng.choice(["float16", "float32", "float64"]),
            }
        )
    return found


def accepted(raw):
    """Return the ConvProblem of the given numbers, or None if it is refused."""
    try:
        return ConvProblem(**raw)
    except ShapeError:
        return None


def test_sizes_and_bytes(javascript):
    given = problems(400, seed=1)
    got = javascript(SlidingWindow(), "[m.whyNot(d), m.letters(d), m.tensorBytes(d)]", given)
    served = 0
    for raw, (why, letters, count) in zip(given, got, strict=True):
        problem = accepted(raw)
        assert (why is None) == (problem is not None), raw
        if problem:
            served += 1
            assert letters == problem.letters
            assert count == {"x": problem.x_bytes, "w": problem.w_bytes, "y": problem.y_bytes}
    assert 100 < served < 400  # both kinds were tried


def test_groups_that_do_not_divide_are_refused(javascript):
    raw = {**problems(1, seed=2)[0], "H": 40, "W": 40, "C": 6, "K": 8, "groups": 4}
    assert accepted(raw) is None
    assert "does not divide C = 6" in javascript(SlidingWindow(), "m.whyNot(d)", [raw])[0]


def test_same_padding(javascript):
    given = problems(300, seed=3)
    body = (
        "[[d.H, d.R, 0], [d.W, d.S, 1]].map(([n, t, i]) => m.samePadding(n, t, d.stride[i], d.dilation[i]))"
    )
    got = javascript(SlidingWindow(), body, given)
    for raw, pads in zip(given, got, strict=True):
        expected = ConvProblem(**{**raw, "padding": "same"}).padding
        assert tuple(map(tuple, pads)) == expected, raw


def test_workspace_of_every_algorithm(javascript):
    given = [raw for raw in problems(400, seed=4, largest=224) if accepted(raw)]
    got = javascript(MemoryBlowup(), "m.ALGORITHMS.map((a) => [a.name, a.workspace(m.letters(d))])", given)
    for raw, spaces in zip(given, got, strict=True):
        problem = ConvProblem(**raw)
        assert dict(spaces) == {
            name: workspace_of(algorithm, problem) for name, algorithm in convlab.ALGORITHMS.items()
        }


def test_largest_batch(javascript):
    algorithm, limit = convlab.ALGORITHMS["im2row"], 8 * 2**30
    given = [raw for raw in problems(60, seed=5, largest=224) if accepted(raw)]
    body = "m.largestBatch(d, m.ALGORITHMS.find((a) => a.name === 'im2row').workspace, 2 ** 33)"

    def needs(raw, batch):
        p = ConvProblem(**{**raw, "N": batch})
        return p.x_bytes + p.w_bytes + p.y_bytes + workspace_of(algorithm, p)

    for raw, batch in zip(given, javascript(MemoryBlowup(), body, given), strict=True):
        assert batch == 0 or needs(raw, batch) <= limit
        assert needs(raw, batch + 1) > limit


def test_numbers_as_text(javascript):
    rng = random.Random(6)
    counts = [0, 1, 999, 1000, 1023, 1024, 1536, 10_234, 1_048_576, 12.25 * 2**20]
    counts += [rng.randrange(2 ** rng.randint(1, 44)) for _ in range(500)]
    counts += [n * 2**20 // 8 for n in range(1, 200)]  # values exactly half way between two texts
    for (size, number), count in zip(
        javascript(SlidingWindow(), "[m.bytesText(d), m.countText(d)]", counts), counts, strict=True
    ):
        assert size == units.bytes_text(count), count
        assert number == units.count_text(count), count
    ratios = [n / 8 for n in range(1, 1000)] + [
        rng.random() * 10**k for k in range(-3, 4) for _ in range(100)
    ]
    assert javascript(SlidingWindow(), "m.ratioText(d)", ratios) == [ratio_text(value) for value in ratios]


@pytest.mark.parametrize("flip", [False, True])
def test_convolution_numbers(javascript, flip):
    rng = np.random.default_rng(7)
    given = [raw for raw in problems(120, seed=8, largest=10) if accepted(raw)]
    cases = []
    for raw in given:
        image, taps = rng.integers(-9, 10, (raw["H"], raw["W"])), rng.integers(-3, 4, (raw["R"], raw["S"]))
        cases.append({"problem": raw, "image": image.tolist(), "taps": taps.tolist()})
    body = f"m.convolve(d.problem, d.image, m.facing(d.taps, {str(flip).lower()}))"
    for case, got in zip(cases, javascript(SlidingWindow(), body, cases), strict=True):
        p = ConvProblem(**case["problem"])
        x, w = np.pad(case["image"], p.padding), np.array(case["taps"])
        w = w[::-1, ::-1] if flip else w
        y = np.zeros((p.P, p.Q), int)
        for i in range(p.P):
            for j in range(p.Q):
                for r in range(p.R):
                    for s in range(p.S):
                        row, column = i * p.stride[0] + r * p.dilation[0], j * p.stride[1] + s * p.dilation[1]
                        y[i, j] += x[row, column] * w[r, s]
        assert got == y.tolist()


def test_who_reads_a_pixel(javascript):
    given = [raw for raw in problems(60, seed=9, largest=8) if accepted(raw)]
    row = "Array.from({ length: d.W }, (_, w) => m.readersOf(d, h, w).length)"
    body = f"Array.from({{ length: d.H }}, (_, h) => {row})"
    for raw, got in zip(given, javascript(SlidingWindow(), body, given), strict=True):
        p = ConvProblem(**raw)
        counts = np.zeros((p.H, p.W), int)
        for r in range(p.R):
            for s in range(p.S):
                _, (h, w) = p.inside(r, s)
                counts[h, w] += 1
        assert got == counts.tolist()


@pytest.mark.parametrize("order", ["RSC", "CRS"])
def test_matrix_of_windows(javascript, order):
    given = []
    for raw in problems(80, seed=10, largest=6):
        raw |= {"N": 1, "C": 1 + raw["C"] % 3, "K": 1, "groups": 1, "dilation": [1, 1]}
        if accepted(raw):
            given.append(raw)
    body = f"m.matrixOf(d, '{order}').map((row) => row.map((cell) => cell.at))"
    for raw, got in zip(given, javascript(Im2colFills(), body, given), strict=True):
        assert got == matrix_of(ConvProblem(**raw), "im2row", order).tolist()
