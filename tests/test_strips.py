"""Tiles and strips: a tile needs what influences it, and strips are the whole, to the last bit."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from effort import examples, in_turns, sampled
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from convlab import ALGORITHMS, ConvError, ConvProblem, WorkspaceError, conv2d
from convlab.distributed import Layers, Region, Span, needs, run, tiles
from convlab.distributed.budget import strip, strip_takes, takes
from convlab.distributed.piece import piece
from convlab.distributed.settings import Settings
from convlab.distributed.span import Windows
from convlab.distributed.tile_runner import chosen
from convlab.networks import load_model, model_names
from convlab.networks.graph import Node
from convlab.networks.prepared import Prepared

BORDERS = ("recompute", "exchange", "keep")
PLAIN = {"progress": False, "backend": "cpu", "algorithm": "im2row"}


@st.composite
def chains(draw, pictures=1, gaps=True, channels=1, padded=True):
    """Draw some layers; without gaps every window begins where the one before it looks, or next to that."""

    def integer(low, high):
        return draw(st.integers(low, high))

    layers = Layers.on((pictures, integer(5, 30), integer(5, 30), channels))
    rng, most = np.random.default_rng(integer(0, 99)), 4 if padded else 0
    for _ in range(integer(1, 5)):
        try:
            if integer(0, 3) == 0:
                window = integer(1, 4)
                stride = integer(1, 4 if gaps else window)
                layers = layers.max_pool(window, stride, integer(0, window // 2 if padded else 0))
                continue
            R, S = integer(1, 4), integer(1, 4)
            K = integer(1, 4)
            w = rng.uniform(0.5, 1, (K, R, S, layers.shape[3])).astype(np.float32)
            layers = layers.conv(
                w,
                stride=(integer(1, 3 if gaps else R), integer(1, 3 if gaps else S)),
                padding=tuple((integer(0, most), integer(0, most)) for _ in range(2)),
                dilation=(integer(1, 3), integer(1, 3)) if gaps else 1,
            )
        except ConvError:  # the picture has become too small
            assume(False)
    return layers


@st.composite
def branches(draw):
    """Draw a layer without padding, two behind it, their sum or both side by side, and one more."""

    def integer(low, high):
        return draw(st.integers(low, high))

    rng = np.random.default_rng(integer(0, 99))

    def weights(K, R, S, C):
        return rng.uniform(0.5, 1, (K, R, S, C)).astype(np.float32)

    shaping = {one: (integer(1, 3), integer(1, 3)) for one in ("stride", "dilation")}
    picture = Layers.on((1, integer(9, 30), integer(9, 30), 1))
    stem = picture.conv(weights(2, integer(1, 3), integer(1, 3), 1), **shaping)
    shape, nodes, kept = stem.shape, list(stem.nodes), dict(stem.weights)
    for name in ("left", "right"):
        half, dilation = (integer(0, 2), integer(0, 2)), (integer(1, 3), integer(1, 3))
        w = weights(2, 2 * half[0] + 1, 2 * half[1] + 1, 2)
        around = half[0] * dilation[0], half[1] * dilation[1]
        one = Layers.on(shape).conv(w, padding=around, dilation=dilation)
        nodes.append(replace(one.nodes[-1], name=name, inputs=(stem.nodes[-1].name,)))
        kept[name] = one.weights["conv1"]
    op = draw(st.sampled_from(["add", "concat"]))
    shape = (*shape[:3], 2 if op == "add" else 4)
    nodes.append(Node("joined", op, ("left", "right"), shape, "float32", relu=op == "add"))
    return Layers(tuple(nodes), kept).conv(weights(2, 3, 3, shape[3]), padding=1, stride=integer(1, 2))


@st.composite
def part(draw, size):
    """Draw some of the rows."""
    start = draw(st.integers(0, size - 1))
    return Span(start, draw(st.integers(start + 1, size)))


def influence(layers: Layers, region: Region) -> Region | None:
    """Return what of the picture changes a region of the result: tried, row by row and column by column.

    All weights are above zero. So what lights up when one row of the picture is lit depends on that row.
    """
    _, H, W, C = layers.picture_shape
    lit = np.zeros((H + W, H, W, C), np.float32)  # a picture for each row, and one for each column
    lit[np.arange(H), np.arange(H)] = 1
    lit[H + np.arange(W), :, np.arange(W)] = 1
    y = run(batch(layers, H + W), lit, progress=False, backend="numpy", algorithm="im2row").result
    seen = y[region.within(Region(Span(0, y.shape[1]), Span(0, y.shape[2])))].any(axis=(1, 2, 3))
    rows, columns = np.flatnonzero(seen[:H]), np.flatnonzero(seen[H:])
    if not rows.size or not columns.size:
        return None
    return Region(*(Span(int(found[0]), int(found[-1]) + 1) for found in (rows, columns)))


def batch(layers: Layers, N: int) -> Layers:
    """Return the same layers on so many pictures."""
    nodes = (
        replace(node, shape=(N, *node.shape[1:]), problem=node.problem and replace(node.problem, N=N))
        for node in layers.nodes
    )
    return Layers(tuple(nodes), layers.weights)


def assert_it_needs_what_influences_it(layers, data):
    _, P, Q, _ = layers.shape
    region = Region(data.draw(part(P)), data.draw(part(Q)))
    traced = influence(layers, region)
    assume(traced is not None)  # it looks at padding alone
    assert needs(layers.nodes, region)["picture"] == traced


@in_turns
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_a_tile_needs_what_influences_it(data):
    assert_it_needs_what_influences_it(data.draw(chains(gaps=False)), data)


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_a_tile_needs_what_influences_it_with_gaps_too(data):
    """Dilations, and strides beyond the window: without padding the first and last row are always seen."""
    assert_it_needs_what_influences_it(data.draw(chains(padded=False)), data)


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_a_tile_needs_what_influences_it_through_branches(data):
    assert_it_needs_what_influences_it(data.draw(branches()), data)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_tile_needs_no_less_where_windows_leave_gaps(data):
    """What lies in a gap is computed along with its neighbours, and may itself look farther."""
    layers = data.draw(chains())
    _, P, Q, _ = layers.shape
    region = Region(data.draw(part(P)), data.draw(part(Q)))
    traced = influence(layers, region)
    assume(traced is not None)
    found = needs(layers.nodes, region)["picture"]
    assert found.hull(traced) == found
    if len(layers.nodes) == 2:
        assert found == traced


# -- strips are the whole ----------------------------------------------------------------------------------


def assert_strips_are_the_whole(layers, x, height, algorithm="im2row", threads=1):
    how = {"progress": False, "algorithm": algorithm, "threads": threads}
    whole = run(layers, x, height=layers.shape[1], **how)
    assert whole.result.shape == layers.shape
    for borders in BORDERS:
        done = run(layers, x, height=height, borders=borders, **how)
        np.testing.assert_array_equal(done.result, whole.result, err_msg=borders)
        assert done.height == height
    return whole.result


@sampled(6)
@pytest.mark.parametrize("algorithm", ["im2row", "indirect", "precomputed_gemm"])
@pytest.mark.parametrize("case", CASES)
def test_one_layer(case, algorithm):
    problem = CASES[case]
    x, w, bias = arrays(problem)
    shaping = {name: getattr(problem, name) for name in ("stride", "padding", "dilation", "groups")}
    layers = Layers.on(problem.x_shape, problem.dtype).conv(w, bias, **shaping)
    for height in {1, 2, max(1, problem.P - 1)}:
        y = assert_strips_are_the_whole(layers, x, height, algorithm)
    np.testing.assert_array_equal(y, conv2d(x, w, bias, algorithm=algorithm, **shaping))


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_random_layers(data):
    layers = data.draw(chains(pictures=data.draw(st.integers(1, 2)), channels=data.draw(st.integers(1, 3))))
    x = np.random.default_rng(0).standard_normal(layers.picture_shape).astype(np.float32)
    assert_strips_are_the_whole(layers, x, data.draw(st.integers(1, layers.shape[1])))


@settings(max_examples=examples(10), deadline=None)
@given(data=st.data())
def test_random_branches(data):
    """Layer by layer a sum may begin with the other summand, and is rounded in another order."""
    layers = data.draw(branches())
    x = np.random.default_rng(0).standard_normal(layers.picture_shape).astype(np.float32)
    height = data.draw(st.integers(1, layers.shape[1]))
    whole = run(layers, x, height=layers.shape[1], **PLAIN).result
    rounded = 1e-5 if "add" in {node.op for node in layers.nodes} else 0
    for borders in BORDERS:
        got = run(layers, x, height=height, borders=borders, **PLAIN).result
        off = 0 if borders == "recompute" else rounded * np.abs(whole).max()
        np.testing.assert_allclose(got, whole, rtol=0, atol=off, err_msg=borders)


def test_a_row_that_reads_less_than_the_one_before():
    """Below the edge one window reaches row 4 and the next only row 3: a dilation over the padding."""
    w = np.ones((1, 2, 1, 1), np.float32)
    layers = (
        Layers.on((1, 5, 5, 1))
        .conv(w, padding=((1, 1), (0, 0)))
        .conv(w, padding=((0, 2), (0, 0)), dilation=(2, 1))
    )
    layers = layers.conv(w[:, :1], stride=(3, 1), padding=((2, 0), (0, 0)))
    x = np.random.default_rng(0).random((1, 5, 5, 1), np.float32)
    for height in range(1, layers.shape[1] + 1):
        assert_strips_are_the_whole(layers, x, height)


def test_windows_whose_taps_all_miss_the_picture():
    """With holes as large as the picture a window may span it, and no tap hit it: it reads padding."""
    first, x = np.ones((1, 1, 1, 1), np.float32), np.random.default_rng(0).random((1, 5, 4, 1), np.float32)
    for taps, dilation, padding in ((3, 10, 12), (3, 3, 4), (2, 5, 5), (2, 7, 3), (3, 6, 7)):
        w = np.ones((1, taps, 1, 1), np.float32)
        layers = Layers.on(x.shape).conv(first).conv(w, padding=(padding, 0), dilation=(dilation, 1))
        for height in range(1, layers.shape[1] + 1):
            assert_strips_are_the_whole(layers, x, height)


@sampled(0)
@pytest.mark.parametrize("name", model_names())
def test_whole_networks(name):
    """Their mean is added up strip by strip, in float64: so it is the same within the tolerance only."""
    model = load_model(name, size=(139, 171))
    x = np.random.default_rng(0).random(model.photo_shape, np.float32)
    reference = model.reference(x)
    for borders in BORDERS:
        done = run(Layers.of(model), x, borders=borders, height=2, algorithm="indirect", progress=False)
        assert np.abs(done.result.reshape(reference.shape) - reference).max() <= model.tolerance(reference)


@pytest.mark.parametrize("algorithm", ["winograd_4x4", "fft_tiled"])
def test_transforms_are_the_whole_within_rounding(algorithm):
    """Their tiles begin where a strip does, so the same sums are made of other numbers."""
    problem = ConvProblem(1, 40, 23, 8, 16, 3, 3, padding=1)
    x, w, bias = arrays(problem)
    layers = Layers.on(problem.x_shape).conv(w, bias, padding=1)
    for borders in BORDERS:
        y = run(layers, x, borders=borders, height=7, algorithm=algorithm, progress=False).result
        assert_close(y, x, w, problem, bias, borders, ALGORITHMS[algorithm].rounding)


def transformed():
    """Return a layer that "auto" gives to a transform, and a picture with a pixel that spoils its tile."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 60, 60, 32), np.float32)
    layers = Layers.on(x.shape).conv(rng.standard_normal((32, 3, 3, 32), np.float32), padding=1)
    x[0, 33, 13, 0] = 1e8
    return layers, x


def instead(warning):
    """Return the algorithm that a warning names."""
    return re.search(r"algorithm='(\w+)'", str(warning.message))[1]


@pytest.mark.parametrize("borders", BORDERS)
def test_each_strip_is_looked_at_where_auto_chose_a_transform(borders):
    """The pixel that is lost lies in one of the middle."""
    layers, x = transformed()
    how = {"borders": borders, "height": 10, "progress": False}
    with pytest.warns(RuntimeWarning, match=r'"auto" chose \w+, and what conv1 reads') as caught:
        run(layers, x, **how)
    assert len(caught) == 1
    asked = re.search(r'"auto" chose (\w+)', str(caught[0].message))[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(layers, x, algorithm=instead(caught[0]), **how)
        run(layers, x, algorithm=asked, **how)  # who names it knows what it does
        run(layers, x * (np.abs(x) < 1e6), **how)


def test_layers_that_are_none_are_refused():
    with pytest.raises(ConvError, match="layers has only a picture"):
        run(Layers.on((1, 9, 9, 1)), np.zeros((1, 9, 9, 1), np.float32))


@sampled(0)
def test_threads_change_nothing():
    layers, x = three_layers(60, 50)
    assert_strips_are_the_whole(layers, x, 5, threads=2)


def three_layers(H, W, C=3):
    rng = np.random.default_rng(0)

    def weights(*shape):
        return (rng.standard_normal(shape) / 5).astype(np.float32)

    layers = Layers.on((1, H, W, C)).conv(weights(8, 3, 3, C), weights(8), padding=1, relu=True)
    layers = layers.conv(weights(8, 5, 5, 8), stride=2, padding=2, relu=True).max_pool(3, 2, 1)
    layers = layers.conv(weights(4, 3, 3, 8), padding=2, dilation=2)
    return layers, rng.random((1, H, W, C), np.float32)


# -- a border that is one row short ------------------------------------------------------------------------


def seams(got: np.ndarray, wanted: np.ndarray) -> list[int]:
    """Return the rows that differ."""
    return np.flatnonzero((got != wanted).any(axis=(0, 2, 3))).tolist()


@pytest.mark.parametrize("side", ["above", "below"])
def test_a_border_one_row_short_is_found(side, monkeypatch):
    """Zeros in the place of the last row of the border: a seam at every cut, and nowhere else."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    layers, x = Layers.on((1, 24, 9, 3)).conv(w, padding=1), rng.random((1, 24, 9, 3), np.float32)
    whole = run(layers, x, height=24, **PLAIN).result
    assert seams(run(layers, x, height=8, **PLAIN).result, whole) == []
    read = Windows.read

    def short(self, rows):
        found = read(self, rows)
        if found.size == self.size:
            return found
        if side == "above" and found.start > 0:
            return Span(found.start + 1, found.stop)
        return Span(found.start, found.stop - (side == "below" and found.stop < self.size))

    monkeypatch.setattr(Windows, "read", short)
    cuts = [8, 16] if side == "above" else [7, 15]
    assert seams(run(layers, x, height=8, **PLAIN).result, whole) == cuts


# -- how much it takes -------------------------------------------------------------------------------------


def test_repeated_work_is_counted():
    w = np.ones((1, 3, 3, 1), np.float32)
    layers = Layers.on((1, 12, 8, 1)).conv(w, padding=1).conv(w, padding=1)
    x = np.ones((1, 12, 8, 1), np.float32)
    # The first layer: 5 + 6 + 5 of 12 rows. The second: all 12, once.
    assert run(layers, x, height=4, **PLAIN).repeated == (5 + 6 + 5 + 12) / 24
    for borders in ("exchange", "keep"):
        assert run(layers, x, height=4, borders=borders, **PLAIN).repeated == 1


def test_what_lies_between_the_layers_is_stated():
    layers, x = three_layers(60, 50)
    sizes = {node.name: node.nbytes for node in layers.nodes}
    # While the second layer runs the first one's array is there as well.
    disk = max(sizes["conv1"] + sizes["conv2"], sizes["conv2"] + sizes["pool1"])
    assert run(layers, x, borders="exchange", **PLAIN).disk == disk
    assert run(layers, x, borders="keep", **PLAIN).disk == 0


@in_turns
@pytest.mark.parametrize("borders", BORDERS)
def test_a_budget_is_kept(borders):
    layers, x = three_layers(400, 300)
    whole = run(layers, x, borders=borders, height=100, **PLAIN)
    some = run(layers, x, borders=borders, height=10, **PLAIN)
    tight = run(layers, x, borders=borders, memory=some.memory, **PLAIN)
    assert tight.memory <= some.memory < whole.memory
    assert 5 < tight.height < 100
    np.testing.assert_array_equal(tight.result, whole.result)
    least = run(layers, x, borders=borders, height=1, **PLAIN).memory
    with pytest.raises(WorkspaceError, match="MiB"):
        run(layers, x, borders=borders, memory=least // 2, **PLAIN)


@in_turns
@pytest.mark.inside
def test_what_a_strip_takes_is_what_it_takes():
    """Beforehand it is stated by formulas; `Prepared` adds up what it has allocated."""
    model = load_model("resnet18")
    layers = Layers.of(model).but_for_the_mean()
    how = Settings(1 << 30, 3, "auto", "cpu", 1, False)
    for tile in (strip(layers, 0, 3), strip(layers, 3, 1)):
        small = piece(layers, tile)
        algorithms = chosen(layers, tile, how)
        stated = takes(small, algorithms, "cpu", 1)
        held = Prepared(small, algorithms, "cpu", 1, True, False).memory
        assert {name: stated[name] for name in held} == held


def test_a_strip_of_resnet_needs_the_whole_picture():
    """Its last layers see 435 pixels: more than a photo of 224 has."""
    nodes = load_model("resnet18", size=(2240, 64)).nodes[:-1]
    rows = [tile.needs["photo"].rows.size for tile in tiles(nodes, 1)]
    assert max(rows) == 435


@pytest.mark.parametrize("seed", [2, 11, 13, 19, 21, 28, 45, 53, 58])
def test_no_strip_takes_more_than_is_said_of_all(seed):
    """Only strips that can differ are looked at. Here the largest is none of the first, nor the last few."""
    rng = np.random.default_rng(seed)
    layers = Layers.on((1, 60, 9, int(rng.integers(1, 6))))
    for _ in range(5):
        sides = (int(rng.integers(0, 6)), int(rng.integers(0, 6))), (1, 1)
        R, K = int(rng.integers(1, 6)), int(rng.integers(1, 20))
        w = np.zeros((K, R, 3, layers.shape[3]), np.float32)
        dilation = int(rng.integers(1, 4)), 1
        stride = int(rng.integers(1, 3)) if layers.shape[1] > 40 else 1, 1
        layers = layers.conv(w, padding=sides, dilation=dilation, stride=stride)
        if rng.random() < 0.3:
            layers = layers.max_pool(3, 1, 1)
    algorithms = {node.name: ALGORITHMS["im2row"] for node in layers.nodes if node.op == "conv"}
    for height in (1, 2, 3, 7):
        every = [strip(layers, start, height) for start in range(0, layers.shape[1], height)]
        sizes = [sum(takes(piece(layers, one), algorithms, "cpu", 1).values()) for one in every]
        assert strip_takes(layers, height, algorithms, "cpu", 1) == max(sizes)
