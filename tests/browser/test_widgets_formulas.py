"""The widgets' JavaScript against the library over random problems: every number shown is the library's."""

import base64
import itertools
import json
import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from effort import in_turns

import convlab
from convlab import ConvError, ConvProblem, ShapeError, networks
from convlab.algorithms import Algorithm, Form, Formula
from convlab.algorithms.indirect import indirection_buffer
from convlab.algorithms.precomputed_gemm.offsets import deltas, walk
from convlab.algorithms.winograd.transforms import transforms
from convlab.auto.predict import predict
from convlab.auto.ranking import ALIKE, order_of
from convlab.auto.speeds import speeds as current_speeds
from convlab.benchmark.roofline_points import compulsory_bytes, point
from convlab.cost.layers import cost_of
from convlab.cpu.tile_model import LATENCY, LOADS, TileBounds
from convlab.gpu.occupancy import GPUS
from convlab.gpu.simulator.requests import Request
from convlab.inspect import block_footprint, tiling
from convlab.inspect.tiling import Tiling
from convlab.support import units
from convlab.support.markup import as_script
from convlab.widgets import (
    ChannelMixing,
    Im2colFills,
    IndirectionExplorer,
    MemoryBlowup,
    PredictedTimes,
    PyramidOverCut,
    RegisterTile,
    RooflineExplorer,
    SlidingWindow,
    Spectra,
    TileByTile,
    TilingExplorer,
    TransposedWindow,
    WarpMicroscope,
    WinogradTile,
    spectra,
)
from convlab.widgets.channel_mixing import groups_of, mixing_layer
from convlab.widgets.indirection_explorer import rebuilt
from convlab.widgets.memory_data import form_of, workspace_of
from convlab.widgets.predicted_data import SLOWER, on_cpu, own_problem, slowed
from convlab.widgets.pyramid_over_cut import BANDWIDTHS, FLOPS, LATENCIES
from convlab.widgets.shared.javascript import FROM_PYTHON, IMPORT, parts_of, read

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
            name: form_of(algorithm).workspace_bytes(problem)
            for name, algorithm in convlab.ALGORITHMS.items()
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
    counts += [step**k - 1 for step in (1000, 1024) for k in range(1, 5)]  # they read as the next unit
    counts += [1023.6, 999.9, 15 * 2**60, 2.18e-05, 9.99999e-05, 1.5e-9]
    counts += [n * 2**20 // 8 for n in range(1, 200)]  # values exactly half way between two texts
    counts += [10 + n / 32 for n in range(32)] + [n / 2**12 for n in range(1, 99)]  # and six digits of them
    for (size, number), count in zip(
        javascript(SlidingWindow(), "[m.bytesText(d), m.countText(d)]", counts), counts, strict=True
    ):
        assert size == units.bytes_text(count), count
        assert number == units.count_text(count), count
    assert javascript(SlidingWindow(), 'm.plural(d, "pass", "passes")', [0, 1, 2, 1234567]) == [
        units.plural(count, "pass", "passes") for count in (0, 1, 2, 1234567)
    ]
    ratios = [n / 8 for n in range(1, 1000)] + [
        rng.random() * 10**k for k in range(-3, 4) for _ in range(100)
    ]
    seconds = [rng.random() * 10**k for k in range(-9, 3) for _ in range(60)] + [6.4e20, 1e24]
    assert javascript(SlidingWindow(), "m.timeText(d)", seconds) == [units.time_text(t) for t in seconds]
    assert javascript(SlidingWindow(), "m.ratioText(d)", ratios) == [
        units.ratio_text(value) for value in ratios
    ]


def test_peaks(javascript):
    """The layer with the largest input and workspaces, over every network, batch and dtype."""
    given = [
        {"network": name, "batch": batch, "dtype": dtype}
        for name, batch, dtype in [("resnet18", 1, "float32"), ("vgg16", 64, "float16")]
        + [(name, 8, "float64") for name in networks.names()]
    ]
    widget = MemoryBlowup()
    catalogue = json.dumps({network["name"]: network["layers"] for network in widget.catalogue})
    body = (
        f"((all) => ['x', ...m.ALGORITHMS.map((a) => a.name)].map((key) => "
        f"{{ const top = all[m.peak(all, key)]; return [key, top.layer.name, top.bytes[key]]; }}))"
        f"({catalogue}[d.network].map((layer) => m.measure(layer, d, {{}})))"
    )
    for raw, tops in zip(given, javascript(widget, body, given), strict=True):
        network = networks.load(raw["network"], batch=raw["batch"], dtype=raw["dtype"])
        counts = {"x": lambda p: p.x_bytes} | {
            name: form_of(algorithm).workspace_bytes for name, algorithm in convlab.ALGORITHMS.items()
        }
        expected = []
        for key, count in counts.items():
            top = max(network, key=lambda layer: count(layer.problem))
            expected.append([key, top.name, count(top.problem)])
        assert tops == expected


def test_words_go_by_the_formula_not_by_the_name(javascript, monkeypatch):
    """The sentence about the matrix of windows comes with its formula, whatever the algorithm is called."""
    for name, formula in {"copyist": "b * S*R*C * Q*P*N", "im2rowish": "2 * R*S*C * b"}.items():
        form = Form(run=None, bytes_moved=Formula("0"), workspace_bytes=Formula(formula))
        monkeypatch.setitem(convlab.ALGORITHMS, name, Algorithm(name, "New.", "nobody", {"cpu": form}))
    layer = {
        **dict.fromkeys("HW", 8),
        "C": 2,
        "K": 2,
        "R": 3,
        "S": 3,
        "stride": 1,
        "padding": 1,
        "dilation": 1,
    }
    here = "m.measure(d, { batch: 1, dtype: 'float32' }, {})"
    body = f"m.ALGORITHMS.map((a) => [a.name, m.explain(a, {here}).join()])"
    (words,) = javascript(MemoryBlowup(), body, [layer])
    speak = {name for name, text in words if "cells of the matrix" in text}
    assert speak == {"im2row", "im2col", "copyist"}


def test_functions_of_formulas(javascript):
    """What Python adds to the functions of JavaScript, a page without Python computes too."""
    served = [problem for raw in problems(200, seed=5) if (problem := accepted(raw))]
    given = [problem.letters for problem in served]
    for text in ("tiled(N*ceil(P/4)*ceil(Q/4))", "tiled(C*P/7)", "fast((Q+S-1)/2)", "log2(fast(P+R))"):
        formula = Formula(text)
        body = f"(({{ {', '.join(given[0])} }}) => {{ {formula.javascript_quick} }})(d)"
        expected = [formula.quick(problem) for problem in served]
        assert javascript(WinogradTile(), body, given) == pytest.approx(expected, rel=1e-14), text


def test_digits_end_where_they_would_be_wrong(javascript):
    """Beyond 2^53 a browser's number no longer holds every digit: then only the rounded size is said."""
    size = {"C": 8192, "K": 1, "R": 31, "S": 31, "stride": 1, "padding": 15, "dilation": 1}
    given = [{**size, "H": 100, "W": 100}, {**size, "H": 8192, "W": 8192}]
    here = "m.measure(d, { batch: 4096, dtype: 'float64' }, {})"
    body = f"m.formulaLines(m.ALGORITHMS.find((a) => a.unrolls), {here}).at(-1).textContent"
    small, large = javascript(MemoryBlowup(), body, given)
    exact, rounded = (ConvProblem(4096, **raw, dtype="float64").letters for raw in given)
    count = [math.prod(sizes[letter] for letter in "NPQRSCb") for sizes in (exact, rounded)]
    assert small.endswith(f" = {count[0]:,} B = {units.bytes_text(count[0])}")
    assert count[1] > 2**53
    assert large.endswith(f"8 ≈ {units.bytes_text(count[1])}")


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
        problem = ConvProblem(**raw)
        places = np.arange(1, 1 + np.prod(problem.x_shape), dtype="f8")  # 0 is padding
        rows = convlab.im2row(places.reshape(problem.x_shape), problem)  # columns in the order r, s, c
        if order == "CRS":
            rows = rows.reshape(len(rows), -1, problem.C).swapaxes(1, 2).reshape(rows.shape)
        assert got == (rows - 1).tolist()


def _one_image(seed):
    """Return small problems of one image and one group."""
    given = [raw | {"N": 1, "C": 1 + raw["C"] % 4, "groups": 1} for raw in problems(80, seed, largest=6)]
    return [raw | {"K": 1 + raw["K"] % 6} for raw in given if accepted(raw | {"K": 6})]


@pytest.mark.parametrize("walks", [False, True])
def test_blocks_and_what_they_touch(javascript, walks):
    rng = random.Random(11)
    cases = [{"problem": raw, "blocks": [rng.randint(1, 9) for _ in range(3)]} for raw in _one_image(12)]
    order = f"m.blocksOf(d.problem, d.blocks, {str(walks).lower()})"
    counts = "((c) => [c.cells, c.padding, c.numbers, c.flops, c.bytes])(m.countsOf(d.problem, b))"
    got = javascript(TileByTile(), f"{order}.map((b) => [b, {counts}])", cases)
    for case, listed in zip(cases, got, strict=True):
        problem = ConvProblem(**case["problem"])
        expected = (
            block_footprint.precomputed_gemm_blocks if walks else block_footprint.implicit_gemm_blocks
        )(problem, *case["blocks"])
        assert len(listed) == len(expected)
        for (edges, found), block in zip(listed, expected, strict=True):
            assert edges[:6] == [edge for part in block for edge in (part.start, part.stop)]
            c = block_footprint.count(problem, block)
            assert found == [c.cells, c.padding, c.numbers, c.flops, c.bytes]


def test_the_delta_named_is_the_step_of_the_walk(javascript):
    cases = [{"problem": raw, "block": 1 + i % 3} for i, raw in enumerate(_one_image(13))]
    moves = "m.blocksOf(d.problem, [999, 999, d.block], true).map((b) => b[6])"
    got = javascript(TileByTile(), f"[{moves}, m.deltasOf(d.problem, d.block)]", cases)
    for case, (named, by_name) in zip(cases, got, strict=True):
        problem = ConvProblem(**case["problem"])
        assert tuple(by_name.values()) == deltas(problem, case["block"])
        distances = [step[3] for step in walk(problem, case["block"])]
        assert named[0] == ""
        assert [by_name[name] for name in named[1:]] == np.diff(distances).tolist()


@pytest.mark.parametrize("m", [2, 4, 6])
def test_coefficients_of_a_tile(javascript, m):
    """Each cell of V, U and y, in one dimension and in two, is made of what the page says it is made of."""
    widget = WinogradTile(m)
    matrices = transforms(m)
    body = "m.fraction(m.coefficient(d.matrix, d.dimensions, d.here, d.there))"
    for name, matrix in matrices._asdict().items():
        places = [
            (i, j, a, b) for i, row in enumerate(matrix) for a in range(len(row)) for j, b in ((1, 0), (0, 2))
        ]
        for dimensions in ("1", "2"):
            given = [
                {
                    "matrix": widget.matrices[str(m)][name],
                    "dimensions": dimensions,
                    "here": [i, j],
                    "there": [a, b],
                }
                for i, j, a, b in places
            ]
            for (i, j, a, b), got in zip(places, javascript(widget, body, given), strict=True):
                exact = matrix[j][b] * (matrix[i][a] if dimensions == "2" else 1)
                assert got == str(exact).replace("-", "−")


@in_turns
def test_costs_of_groups(javascript):
    given = [
        {"channels": str(C), "size": size, "taps": taps, "groups": groups}
        for C in (16, 64, 256, 512)
        for size in (7, 28, 111)
        for taps in (1, 2, 3, 7)
        for groups in groups_of(C)
    ]
    body = """[d.groups, 1].map((groups) => m.layerOf(d, groups)).map((layer) =>
        [layer, m.costOf(layer), m.costOf(layer, m.layerOf({ ...d, taps: 1 }, 1))])"""
    for raw, both in zip(given, javascript(ChannelMixing(), body, given), strict=True):
        for layer, alone, together in both:
            problem = ConvProblem(**layer)
            shown = ChannelMixing(
                int(raw["channels"]), groups=layer["groups"], size=raw["size"], taps=raw["taps"]
            ).problem
            assert problem == shown
            for got, cost in ((alone, cost_of(shown)), (together, cost_of(shown, mixing_layer(shown)))):
                for name in ("flops", "weights", "bytes", "intensity"):
                    assert got[name] == getattr(cost, name), (raw, name)


@in_turns
def test_pyramids_and_what_they_cost(javascript):
    rng = random.Random(31)
    given = []
    for _ in range(150):
        rows, stride = rng.randint(8, 48), rng.choice([1, 2])
        state = {"layers": rng.randint(1, 8), "H": rows, "cut": rng.randint(1, -(-rows // stride) - 1)}
        state |= {"taps": rng.choice([1, 3, 5, 7]), "stride": stride, "dilation": rng.choice([1, 2])}
        state |= {"every": rng.randint(1, 8), "W": 2 ** rng.randint(6, 13), "C": 2 ** rng.randint(2, 9)}
        speeds = zip(("flops", "latency", "bandwidth"), (FLOPS, LATENCIES, BANDWIDTHS), strict=True)
        given.append(state | {name: float(rng.choice(words)) for name, words in speeds})
    widgets = [PyramidOverCut(**state) for state in given]
    got = javascript(PyramidOverCut(), "m.sizesUp(d)", [widget.state() for widget in widgets])
    uneven = 0
    for widget, there in zip(widgets, got, strict=True):
        for line, shown in zip(widget.lines, there["lines"], strict=True):
            assert (line.size, line.cut) == (shown["size"], shown["cut"])
            assert [list(rows) for rows in line.made] == shown["made"]
            assert list(line.sent) == shown["sent"]
            uneven += line.sent[0] != line.sent[1]
        for cost, shown in zip(widget.ways, there["ways"], strict=True):
            assert {**cost._asdict(), "seconds": cost.seconds} == pytest.approx(shown, abs=1e-18)
        times = [cost.seconds for cost in widget.ways]
        if widget.cost.messages:
            assert times[there["best"] - 1] == pytest.approx(min(times))
        else:
            assert there["best"] == 0
        assert there["rows"] == widget.network.shape[1]
    assert uneven > 20
    assert {there["best"] for there in got} >= {0, 1, 2, 3}


def test_bounds_of_a_tile(javascript):
    names = ("rows", "vectors", "registers", "units")
    sizes = itertools.product(range(1, 15), range(1, 5), (16, 32), LOADS)
    tiles = [dict(zip(names, size, strict=True)) for size in sizes]
    given = [tile | {"latency": LATENCY, "loads": LOADS[tile["units"]]} for tile in tiles]
    for raw, got in zip(given, javascript(RegisterTile(), "m.tileBounds(d)", given), strict=True):
        bounds = TileBounds(*(raw[name] for name in names))
        counts = {
            name: getattr(bounds, name) for name in ("used", "spilled", "fetched", "cycles", "limit", "share")
        }
        assert got == counts | {"multiplyAdds": bounds.multiply_adds}, raw


def test_what_a_tiling_takes_and_saves(javascript):
    """Registers, shared memory, blocks and traffic, over random tilings and layers."""
    rng, widget = random.Random(14), TilingExplorer()
    sizes = {"block_m": widget.choices["block_m"], "block_n": widget.choices["block_n"]}
    sizes |= {name: widget.choices[name] for name in ("block_k", "thread_m", "thread_n", "split_k")}
    given = []
    for raw in problems(300, seed=14, largest=30):
        if accepted(raw | {"dtype": "float32"}):
            cut = {name: int(rng.choice(some)) for name, some in sizes.items()} | {
                "buffers": rng.randint(1, 2)
            }
            given.append(
                {"problem": raw | {"dtype": "float32"}, "tiling": cut, "gpu": rng.choice(list(GPUS))}
            )
    most, gpus = json.dumps(widget.most), json.dumps(widget.gpus)
    plain = "{ block_m: 1, block_n: 1, split_k: 1 }"
    body = f"""(() => {{ const takes = m.tilingOf(d.tiling, {most});
        return [takes, m.occupancyOf(takes, {gpus}[d.gpu]), m.gridOf(d.problem, d.tiling),
          m.trafficOf(d.problem, d.tiling), m.trafficOf(d.problem, {plain})]; }})()"""
    refused = 0
    for one, (takes, held, grid, asked, plain) in zip(given, javascript(widget, body, given), strict=True):
        cut, problem = Tiling(**one["tiling"]), ConvProblem(**one["problem"])
        names = {"threads": "threads", "staged": "staged", "registers": "registers", "shared": "shared_bytes"}
        names |= {
            "blockIntensity": "block_intensity",
            "threadIntensity": "thread_intensity",
            "trouble": "trouble",
        }
        assert takes == {name: getattr(cut, attribute) for name, attribute in names.items()}, one
        assert (grid["blocks"], asked) == (
            tiling.blocks(problem, cut),
            tiling.tile_traffic(problem, cut),
        ), one
        assert plain == tiling.untiled(problem)
        assert grid["wasted"] == pytest.approx(tiling.wasted(problem, cut))
        if cut.trouble:
            refused += 1
            continue
        there = cut.held(GPUS[one["gpu"]][0])
        expected = {"blocks": there.blocks, "warps": there.warps, "share": there.share}
        assert {name: held[name] for name in expected} == expected
        assert held["limitedBy"] == there.limited_by
    assert 30 < refused < len(given) - 30


@in_turns
def test_where_a_layer_stands_under_the_roofs(javascript):
    """Bytes, operations, ceiling and words of the roofline explorer, over layers bent at random."""
    rng, shown = random.Random(15), RooflineExplorer()
    given = []
    for _ in range(500):
        name = rng.choice(networks.names())
        given.append(
            {
                "network": list(networks.names()).index(name),
                "layer": rng.randrange(len(networks.load(name))),
                "batch": rng.choice([1, 2, 16, 256]),
                "C": rng.choice([0, 1, rng.randint(1, 2048)]),
                "K": rng.choice([0, 1, rng.randint(1, 2048)]),
                "R": rng.randint(0, 11),
                "machine": rng.choice(list(shown.machines)),
                "algorithm": rng.randrange(len(convlab.ALGORITHMS)),
                "slower": 10 ** rng.uniform(-0.02, 2),
            }
        )
    state = json.dumps({"catalogue": shown.catalogue, "machines": shown.machines, "no": shown.refusals})
    body = f"""((all) => {{ const machine = all.machines[d.machine], algorithm = m.ALGORITHMS[d.algorithm];
        const problem = m.shaped(all.catalogue[d.network].layers[d.layer], d);
        const here = m.standing(machine, algorithm, problem);
        return [m.refusal(all.no, algorithm, problem) ?? null, m.letters(problem),
          m.bare(machine, problem), here,
          m.bound(here, machine, (d.slower * here.flops) / here.ceiling)]; }})({state})"""
    refused = 0
    for one, (why, sizes, bare, here, words) in zip(given, javascript(shown, body, given), strict=True):
        shown.network = networks.names()[one["network"]]
        shown.algorithm = list(convlab.ALGORITHMS)[one["algorithm"]]
        for name in ("layer", "batch", "C", "K", "R", "machine"):
            setattr(shown, name, one[name])
        problem, line = shown.problem, shown.line
        assert sizes == problem.letters, one
        intensity = problem.flops / compulsory_bytes(problem)
        best = line.attainable(intensity, line.home(compulsory_bytes(problem)))
        assert bare == pytest.approx({"intensity": intensity, "best": best}, rel=1e-12)
        assert why == convlab.ALGORITHMS[shown.algorithm].supports(problem), one
        if why:
            refused += 1
            continue
        backend = shown.machines[one["machine"]]["backend"]
        there = point(problem, shown.algorithm, 1.0, backend=backend)
        expected = {
            "done": there.done,
            "moved": there.moved,
            "once": compulsory_bytes(problem),
            "flops": problem.flops,
        }
        assert {name: here[name] for name in expected} == expected, one
        assert here["home"]["name"] == line.home(there.size).name, one
        for name, number in (("counted", there.counted), ("intensity", there.intensity)):
            assert here[name] == pytest.approx(number, rel=1e-12), one
        assert here["ceiling"] == pytest.approx(shown.point.speed, rel=1e-12), one
        slower = replace(shown.point, seconds=shown.point.seconds * one["slower"])
        assert words == line.bound(slower), one
    assert 50 < refused < 450


def test_predicted_times_and_their_order(javascript):
    """Seconds, what they go to, and who is chosen, over random problems and machines."""
    widget, served = PredictedTimes(), on_cpu()
    given = []
    for number, raw in enumerate(problems(200, seed=15, largest=112)):
        raw |= {"dtype": "float32", "N": 1 + raw["N"] % 5}
        if problem := accepted(raw):
            reasons = {name: one.supports(problem) for name, one in served.items()}
            refused = {name: reason for name, reason in reasons.items() if reason}
            given.append({"problem": raw, "refused": refused, "slower": SLOWER[number % 4]})
    speeds = json.dumps(widget.machines["here"][1])

    def end_of(seconds):  # the last that is neither eight times the first nor longer than half of them
        limit = max(8 * seconds[0], seconds[(len(seconds) - 1) // 2])
        return max(each for each in seconds if each <= limit)

    body = f"""(({{ ranked, chosen }}) => [
          ranked.map((r) => [r.name, r.seconds, r.parts, r.parts.map(m.boundOf), r.parts.map(m.spent)]),
          chosen.name, m.axisEnd(ranked.map((r) => r.seconds))]
        )(m.ranking(m.letters(d.problem), m.slowed({speeds}, d.slower), d.refused, {ALIKE}))"""
    for one, (ranked, chosen, end) in zip(given, javascript(widget, body, given), strict=True):
        problem, machine = ConvProblem(**one["problem"]), slowed(current_speeds(), one["slower"])
        expected = {name: predict(problem, name, machine) for name in served if name not in one["refused"]}
        seconds = {name: one.seconds for name, one in expected.items()}
        order = sorted(seconds, key=seconds.get)
        assert [name for name, *_ in ranked] == order, one
        assert chosen == order_of(seconds, problem)[0], one
        assert end == pytest.approx(end_of(sorted(seconds.values())), rel=1e-9)
        for name, total, parts, bounds, goes in ranked:
            assert total == pytest.approx(seconds[name], rel=1e-9)
            for found, part in zip(parts, expected[name].parts, strict=True):
                assert found.pop("name") == part.name
                assert found == pytest.approx({what: getattr(part, what) for what in found}, rel=1e-9)
            assert bounds == [part.bound for part in expected[name].parts]
            slower = ["computing" if p.computing >= p.moving else "moving" for p in expected[name].parts]
            kinds = [[kind, "beginning"] for kind in slower]
            assert [[kind for kind, _ in pieces] for pieces in goes] == kinds


def test_layers_and_reasons_of_predicted_times(javascript):
    """What the page takes for the layer, and for refused, is what the library does."""
    widget, rng = PredictedTimes(), random.Random(16)
    states = [  # beyond its last layer a network stays at that
        {"network": name, "layer": layer, "batch": "2"}
        for name in networks.names()
        for layer in range(widget.limits["layer"][1] + 1)
    ]
    names = ("C", "R", "stride", "depthwise")  # a reason may depend on these
    for numbers in itertools.product(*(widget.choices[name] for name in names)):
        own = dict(zip(names, numbers, strict=True))
        own |= {name: rng.choice(widget.choices[name]) for name in "HK"}
        states.append({"network": "own", "own": own, "batch": rng.choice(["1", "32"])})
    data = {name: getattr(widget, name) for name in ("catalogue", "refusals")}
    body = f"((all) => [all.problem, all.refused])(m.shownOf({{ ...{json.dumps(data)}, ...d }}))"
    for state, (shown, refused) in zip(states, javascript(widget, body, states), strict=True):
        if state["network"] == "own":
            problem = own_problem(state["own"], int(state["batch"]))
        else:
            widget.network, widget.layer, widget.batch = (state[n] for n in ("network", "layer", "batch"))
            problem = widget.problem
        shown.pop("name")
        assert ConvProblem(**shown) == problem
        reasons = {name: one.supports(problem) for name, one in on_cpu().items()}
        assert refused == {name: reason for name, reason in reasons.items() if reason}


def test_sums_of_a_tile(javascript):
    widget = RegisterTile()
    a, b = np.array(widget.a), np.array(widget.b)
    given = [{"a": widget.a, "b": widget.b, "step": step} for step in range(6)]
    for step, got in enumerate(javascript(widget, "m.sumsOf(d.a, d.b, 14, 16, d.step)", given)):
        assert got == (a[:, : step + 1] @ b[: step + 1]).tolist()


def test_indirection_buffer(javascript):
    given = []
    for number, raw in enumerate(problems(80, seed=12, largest=8)):
        raw |= {"N": 1, "C": 1 + raw["C"] % 4, "K": 1, "groups": 1}
        if accepted(raw):
            given.append({"problem": raw, "rows": 1 + number % 7})
    got = javascript(IndirectionExplorer(), "m.bufferOf(d.problem, d.rows)", given)
    for one, table in zip(given, got, strict=True):
        assert table == indirection_buffer(ConvProblem(**one["problem"]), one["rows"]).tolist(), one


def test_what_a_change_rebuilds(javascript):
    """What the explorer says of a change is what the library does: the word, and the tiles it keeps."""
    rng, given = random.Random(13), []
    for raw in problems(500, seed=13, largest=9):
        raw |= {"C": 2, "K": 1, "groups": 1}
        after = raw | {name: rng.randint(1, 9) for name in rng.choice(["N", "H", "H", "W", "HW", "NH"])}
        if accepted(raw) and accepted(after):
            given.append({"before": raw, "after": after, "rows": rng.randint(1, 7)})
    got = javascript(IndirectionExplorer(), "m.resizeOf(d.before, d.after, d.rows)", given)
    for one, change in zip(given, got, strict=True):
        word, kept = rebuilt(ConvProblem(**one["before"]), ConvProblem(**one["after"]), one["rows"])
        assert change == {"word": word, "kept": kept}, one
    assert {change["word"] for change in got} == {"nothing", "part", "all"}


@in_turns
def test_transposed_convolutions(javascript):
    """Of every filter, stride and padding: the three ways, what they multiply, and what is refused."""
    shown, views = TransposedWindow(), ("scatter", "zeros", "subfilters")
    limits = {name: shown.limits[name] for name in ("taps", "stride", "padding", "output_padding")}
    rng, given = np.random.default_rng(14), []
    ranges = {name: range(least, most + 1) for name, (least, most) in limits.items()}
    for sizes in itertools.product(*ranges.values()):
        state = dict(zip(ranges, sizes, strict=True)) | {"H": int(rng.integers(2, 6)), "W": 3}
        x, w = rng.integers(1, 6, (state["H"], 3)), rng.integers(-2, 3, (state["taps"], state["taps"]))
        given.append({"state": state, "x": x.tolist(), "w": w.tolist()})
    body = f"""m.whyNoOutput(d.state) ?? {json.dumps(views)}.map((view) =>
      m.madeBy(m.transposeOf(d.state), view, d.x, d.w))"""
    served = 0
    for case, got in zip(given, javascript(shown, body, given), strict=True):
        state = case["state"]
        x, w = (np.array(case[name], np.float32)[None, :, :, None] for name in "xw")
        sizes = {name: state[name] for name in ("stride", "padding", "output_padding")}
        try:
            y = convlab.conv_transpose2d(x, w, **sizes)[0, :, :, 0]
        except ConvError:
            assert isinstance(got, str), state
            continue
        served += 1
        widget = TransposedWindow(**state)
        for view, made in zip(views, got, strict=True):
            widget.view = view
            assert made["y"] == y.tolist(), (view, state)
            assert made["hits"] == widget.overlaps.tolist()
            assert made["products"] == widget.products._asdict(), (view, state)
    assert 60 < served < len(given)


def test_transposed_convolutions_in_the_order_of_the_steps(javascript):
    given = [
        {"view": view, "stride": stride}
        for view in ("scatter", "zeros", "subfilters")
        for stride in (1, 2, 3)
    ]
    base = {"H": 3, "W": 4, "taps": 3, "padding": 1, "output_padding": 0}
    body = f"""m.stepsOf(m.transposeOf({{ ...{json.dumps(base)}, ...d }}), d.view).map(Object.values)"""
    for state, got in zip(given, javascript(TransposedWindow(), body, given), strict=True):
        assert [tuple(at) for at in got] == TransposedWindow(**base, **state).order()


def test_spectra_are_numpys(javascript):
    rng = np.random.default_rng(0)
    given = []
    for kind in spectra.KINDS:
        for taps, zeros, conjugate in ((1, 0, True), (3, 2, True), (4, 1, True), (5, 4, False), (6, 0, True)):
            x = rng.integers(0, 256, (7, 7)).tolist()
            given.append({"kind": kind, "taps": taps, "zeros": zeros, "conjugate": conjugate, "x": x})
    body = """(() => {
      const w = m.tapsOf(d.kind, d.taps), t = m.through(d.x, w, d.zeros, d.conjugate);
      return { w, y: t.y, wanted: t.wanted, wrong: t.wrong, strength: m.strength(0.05),
        spectra: [t.X, t.W, t.Y].map(({ re, im }) => [[...re], [...im]]) };
    })()"""
    for raw, got in zip(given, javascript(Spectra(), body, given), strict=True):
        w = spectra.taps(raw["kind"], raw["taps"])
        expected = spectra.Through(np.array(raw["x"], float), w, raw["zeros"], raw["conjugate"])
        np.testing.assert_array_equal(got["w"], w)
        np.testing.assert_allclose(got["y"], expected.y, rtol=0, atol=1e-9)
        np.testing.assert_allclose(got["wanted"], expected.wanted, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(got["wrong"], expected.wrong)
        for (real, imaginary), spectrum in zip(got["spectra"], expected.spectra, strict=True):
            np.testing.assert_allclose(
                np.array(real) + 1j * np.array(imaginary), spectrum.ravel(), rtol=0, atol=1e-8
            )
        assert got["strength"] == pytest.approx(1 + math.log10(0.05) / 3)


def test_requests_of_a_warp(javascript):
    """What the microscope draws of a request costs what the lane simulator counted."""
    widget = WarpMicroscope()
    given = [
        {"shared": access["space"] == "shared", **request}
        for kernel in widget.kernels
        for access in kernel["accesses"]
        for request in access["requests"]
    ]
    lanes = np.arange(32)
    ways = lanes, lanes // 2, lanes // 4 * 2 + lanes % 2, lanes % 4
    for way, size, kind in itertools.product(ways, (8, 16), ("ld", "st")):
        request = Request((0, 0, 0), 0, (), lanes, way * size, size, kind)
        wide = {"shared": True, "lanes": request.addresses.tolist(), "size": size, "kind": kind}
        given.append(wide | {"cost": request.wavefronts})
    sectors = "m.linesOf(d).map(([, words]) => new Set([...words.keys()].map((word) => word >> 3)).size)"
    body = f"d.shared ? m.passesOf(d).length : {sectors}.reduce((a, b) => a + b)"
    assert javascript(widget, body, given) == [request["cost"] for request in given]
    assert {request["shared"] for request in given} == {False, True}


def test_a_sentence_is_said_alike(javascript):
    """Every sentence finds its numbers: none is left with a name in braces."""
    for name in convlab.widgets.__all__:
        widget = getattr(convlab.widgets, name)()
        blanks = [re.findall(r"{(\w+)}", sentence) for sentence in widget.sentences.values()]
        given = [
            {"key": key, "values": {name: f"<{name}>" for name in names}}
            for key, names in zip(widget.sentences, blanks, strict=True)
        ]
        if given:
            said = javascript(widget, "m.say(d.key, d.values)", given)
            assert said == [widget.sentences[one["key"]].format(**one["values"]) for one in given]


@pytest.mark.parametrize("name", convlab.widgets.__all__)
def test_each_file_imports_what_it_uses(browser, name):
    """Joined, a file might live on what another one imports. Here they are the modules they are."""
    widget, page, troubles = getattr(convlab.widgets, name)(), browser.new_page(), []
    tables = f"const SENTENCES = {json.dumps(widget.sentences)};\n{widget.tables()}"
    imports = [one for file in parts_of(f"{widget.file_name()}.js") for one in IMPORT.findall(read(file))]
    names = {name for names, source in imports if source == FROM_PYTHON for name in names.split(", ")}
    tables = tables.replace("export const", "const") + f"export {{ {', '.join(names)} }};"
    start = """(module) => module.default.render({ el: document.body, model: {
      get: (name) => state[name], set() {}, save_changes() {}, on() {}, off() {} } })"""
    home = f"""<!doctype html><body>
      <script type="importmap">{{ "imports": {{ "python": "./python" }} }}</script>
      <script type="module">const state = {as_script(widget.state())};
      import("./{widget.file_name()}.js").then({start});</script>"""

    def answer(route):
        asked = route.request.url.removeprefix("http://widgets.test/")
        kind = "text/javascript" if asked else "text/html"
        route.fulfill(body={"": home, "python": tables}.get(asked) or read(asked), content_type=kind)

    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.route("http://widgets.test/**", answer)
    page.goto("http://widgets.test/")
    page.locator(".convlab .cl-title").wait_for(timeout=9000)
    page.wait_for_timeout(50)
    assert page.locator(".cl-alert").all_text_contents() == []
    assert page.locator(".cl-title").text_content()
    assert troubles == []
    page.close()
