"""Whole networks: put together as they should be, the same answer from every algorithm, little memory."""

import io
import re
import tracemalloc
import weakref
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from effort import in_turns, sampled
from PIL import Image

from convlab import ALGORITHMS, ConvError, ConvProblem, networks, plan
from convlab.algorithms.implicit_gemm import blocked
from convlab.auto.timing import check_output
from convlab.benchmark.baselines import at_hand
from convlab.benchmark.comparison import Effort
from convlab.benchmark.layers import Workload, whole_networks
from convlab.benchmark.network_comparison import NetworkComparison
from convlab.benchmark.rivals import NETWORK, RIVALS
from convlab.figures import network_profile, photograph
from convlab.figures.network_chart import bars_of, finding
from convlab.networks import ops as ops_numpy
from convlab.networks import ops_cpu
from convlab.networks.fuse import fuse
from convlab.networks.graph import GraphBuilder, pooled
from convlab.networks.memory_plan import alive, allocate, last_reads, share, share_workspace, written_over
from convlab.support import progress
from convlab.support.units import bytes_text, time_text

SIZE = (64, 75)  # small, odd and even, and not square
PHOTO = photograph()[:, 100 : 100 + SIZE[0], 100 : 100 + SIZE[1]].copy()
NAMES = networks.model_names()
OPS = {"numpy": ops_numpy, "cpu": ops_cpu}


@cache
def small(name):
    """Return a network for small photos, the features of one, and the tolerance of float32."""
    model = networks.load_model(name, size=SIZE)
    reference = model.reference(PHOTO)
    return model, reference, model.tolerance(reference)


# -- how they are put together -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_convolution_of_the_network_runs_once_in_order(name):
    model, network = networks.load_model(name), networks.load(name)
    assert [(node.name, node.problem) for node in model.layers] == [
        (one.name, one.problem) for one in network
    ]
    assert len({node.name for node in model.nodes}) == len(model.nodes)
    read = {name for node in model.nodes for name in node.inputs}
    assert read == {node.name for node in model.nodes[:-1]}, "every array but the last is read"


def test_a_model_says_what_it_is():
    assert (
        repr(networks.load_model("resnet18", batch=2))
        == "<ResNet-18: 20 convolutions, photos (2, 224, 224, 3)>"
    )


def test_shapes_of_feature_maps_are_those_of_the_papers():
    shapes = {name: {node.name: node.shape for node in networks.load_model(name).nodes} for name in NAMES}
    assert shapes["resnet18"]["layer4.1"] == (1, 7, 7, 512)
    assert shapes["resnet18"]["avgpool"] == (1, 1, 1, 512)
    squeezenet = shapes["squeezenet1_0"]
    assert [squeezenet[f"features.{i}"][1] for i in (2, 5, 6, 11)] == [54, 54, 27, 13]  # rounded up
    assert squeezenet["classifier.3"] == (1, 1, 1, 1000)


# -- the same answer ---------------------------------------------------------------------------------------


# ResNet-18's 11 million weights are packed for some algorithms only; the other network tries them all.
RUNS = [("resnet18", algorithm) for algorithm in ("auto", "indirect", "winograd_4x4")]
RUNS += [("mobilenet_v1", "auto")]
RUNS += [("squeezenet1_0", algorithm) for algorithm in ("auto", *ALGORITHMS)]


@sampled(0)
@pytest.mark.parametrize(("name", "algorithm"), RUNS)
def test_every_algorithm_gives_the_same_features(name, algorithm):
    model, reference, limit = small(name)
    ready = model.prepare(algorithm, backend="cpu")
    features = ready.run(PHOTO)
    assert features.dtype == np.float32
    assert np.abs(features - reference).max() <= limit * ready.rounding
    assert np.array_equal(ready.run(PHOTO), features)  # whatever the arrays held before
    for node in model.layers:
        serves = algorithm != "auto" and not ALGORITHMS[algorithm].supports(node.problem)
        assert (node.name in ready.replaced) == (algorithm != "auto" and not serves)
        assert not serves or ready.plans[node.name].algorithm.name == algorithm
    assert all(name in repr(ready) for name in ready.replaced)


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("name", NAMES)
def test_the_tolerance_sees_a_mistake_in_any_layer(name):
    model, reference, limit = small(name)
    for node in model.layers:
        w, bias = model.weights[node.name]
        turned = np.ascontiguousarray(w[:, ::-1, ::-1]) if w.shape[1] > 1 else w[:, :, :, ::-1].copy()
        for wrong in ((turned, bias), (w, 0 * bias)):
            other = networks.load_model(name, size=SIZE)
            vars(other)["weights"] = model.weights | {node.name: wrong}
            error = np.abs(other.prepare("indirect", backend="cpu").run(PHOTO) - reference).max()
            assert error > 25 * limit, node.name


@pytest.mark.parametrize("rival", [one for one in RIVALS if one.pass_ == NETWORK], ids=lambda one: one.name)
def test_rivals_give_the_same_features(rival):
    if reason := rival.missing() or rival.broken():
        pytest.skip(reason)
    for name in NAMES:
        model, reference, limit = small(name)
        call = rival.prepare(model, PHOTO, 1)
        for _ in range(2):  # what the first has written does not lie in the way of the second
            check_output(f"{rival.name} on {name}", call.array(call.run()), reference, limit)


@in_turns
@pytest.mark.inside
def test_a_batch_in_double_precision():
    name = "squeezenet1_0"
    photos = np.concatenate([PHOTO, PHOTO[:, ::-1]]).astype(np.float64)
    model = networks.load_model(name, size=SIZE, batch=2, dtype="float64")
    features = model.prepare("indirect", backend="cpu").run(photos)
    reference = model.reference(photos)
    assert np.abs(features - reference).max() <= model.tolerance(reference)
    assert np.abs(features[:1] - small(name)[1]).max() <= model.tolerance(reference)
    assert not np.allclose(features[0], features[1])


@sampled(0)
@pytest.mark.parametrize("backend", OPS)
@pytest.mark.parametrize("name", NAMES)
def test_fusion_changes_nothing_but_the_order_of_sums(name, backend):
    model, _, limit = small(name)
    algorithm = {"cpu": "indirect", "numpy": "im2row"}[backend]
    fused, plain = (model.prepare(algorithm, backend=backend, fused=fused) for fused in (True, False))
    assert np.abs(fused.run(PHOTO) - plain.run(PHOTO)).max() <= limit
    ops = Counter(node.op for node in fused.nodes)
    gone = {"resnet18": "add", "squeezenet1_0": "concat", "mobilenet_v1": "none"}[name]
    assert (ops[gone] == 0) == (backend == "cpu" or gone == "none")
    assert len({node.name for node in fused.nodes}) == len(fused.nodes)
    assert {node.layer or node.name for node in fused.nodes if node.op == "conv"} == {*plain.plans}
    assert plain.nodes == model.nodes


def test_what_is_fused_depends_on_who_can_and_who_reads():
    model, *_ = small("resnet18")
    nodes, names = model.nodes, [node.name for node in model.layers]
    assert fuse(nodes, []) == nodes
    (last,) = (node for node in fuse(nodes, ["layer4.1.conv2"]) if node.layer)
    assert (last.layer, last.name, last.inputs) == (
        "layer4.1.conv2",
        "layer4.1",
        ("layer4.1.conv1", "layer4.0"),
    )
    assert (last.relu, last.shape) == (True, nodes[-2].shape)
    # In the first block of a stage both summands are convolutions: the first takes the other along.
    both = next(node for node in fuse(nodes, names) if node.name == "layer2.0")
    assert (both.layer, both.inputs[1]) == ("layer2.0.conv2", "layer2.0.downsample.0")
    other = next(node for node in fuse(nodes, ["layer2.0.downsample.0"]) if node.name == "layer2.0")
    assert (other.layer, other.inputs[1]) == ("layer2.0.downsample.0", "layer2.0.conv2")
    # A summand with a ReLU of its own, or one that somebody else reads too, stays what it is.
    ends = [replace(node, relu=True) if node.name == "layer1.0.conv2" else node for node in nodes]
    assert not any(node.layer for node in fuse(ends, ["layer1.0.conv2"]))
    twice = [
        replace(node, inputs=("layer1.0.conv2",)) if node.name == "layer1.1.conv1" else node for node in nodes
    ]
    assert not any(node.layer for node in fuse(twice, ["layer1.0.conv2"]))


def test_parts_lie_side_by_side_where_all_can():
    model, *_ = small("squeezenet1_0")
    nodes, pair = model.nodes, ["features.3.expand1x1", "features.3.expand3x3"]
    assert fuse(nodes, pair[:1]) == nodes
    fused = fuse(nodes, pair)
    places = {node.name: place for place, node in enumerate(fused)}
    room, *parts = (fused[places[name]] for name in ("features.3", *pair))
    assert (room.op, room.inputs) == ("room", ())
    assert places["features.3"] < min(places[name] for name in pair)
    assert [(part.into, part.first) for part in parts] == [
        ("features.3", 0),
        ("features.3", parts[0].shape[3]),
    ]
    assert len(fused) == len(nodes)
    arrays, _ = allocate(fused)
    wide = arrays["features.3"]
    for part in parts:
        wide[...] = 0
        arrays[part.name][...] = 1
        assert wide.sum() == arrays[part.name].size
        assert wide[..., part.first : part.first + part.shape[3]].all()


# -- between the layers ------------------------------------------------------------------------------------


@sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_compiled_operations_are_the_numpy_form(dtype):
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((2, 2, 7, 6, 5)).astype(dtype)
    x[0, 3, 2, 1], bias = np.nan, rng.standard_normal(5).astype(dtype)
    for padding, shape in ((0, (2, 3, 3, 5)), (1, (2, 4, 3, 5)), (0, (2, 3, 2, 5))):
        outs = [np.empty(shape, dtype) for _ in range(2)]
        for ops, out in zip(OPS.values(), outs, strict=True):
            ops.max_pool(x, 3, 2, (padding, padding), out)
        np.testing.assert_array_equal(*outs)
        assert np.isnan(outs[0]).sum() >= 1
    wide = [np.zeros((2, 7, 6, 9), dtype) for _ in range(2)]
    for ops, out in zip(OPS.values(), wide, strict=True):
        ops.place(x, out, 3)
    np.testing.assert_array_equal(*wide)
    assert not wide[0][..., :3].any()
    assert not wide[0][..., 8:].any()
    one, two = OPS["numpy"], OPS["cpu"]
    for floor in (np.dtype(dtype).type(0), np.dtype(dtype).type(-np.inf)):
        summed, ended = [x.copy(), x.copy()], [x.copy(), x.copy()]
        for ops, total, out in zip((one, two), summed, ended, strict=True):
            ops.add(total, z, floor)
            ops.finish(out, bias, floor)
        np.testing.assert_array_equal(*summed)
        np.testing.assert_array_equal(*ended)
        np.testing.assert_array_equal(ended[0], np.maximum(x + bias, floor))
    rows = [np.empty((2, 5), dtype) for _ in range(2)]
    for ops, out in zip((one, two), rows, strict=True):
        ops.normalise(z[0, :2, 0], bias, z[1, 0, 0], out)
    np.testing.assert_array_equal(*rows)
    means = [np.empty((2, 1, 1, 5), dtype) for _ in range(2)]
    one.mean(z, means[0])
    two.mean(z, means[1])
    np.testing.assert_allclose(*means, rtol=50 * np.finfo(dtype).eps)


@sampled(0)
@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 1), (5, 3), (4, 4), (1, 1)])
def test_a_pool_of_any_window(window, stride):
    x = np.random.default_rng(0).standard_normal((2, 9, 11, 3)).astype(np.float32)
    builder = GraphBuilder(networks.load("resnet18", batch=2), 9, 11)
    for padding in range(window // 2 + 1):
        shape = builder.max_pool("pool", builder.photo, window, stride, padding).shape
        outs = [np.empty(shape, np.float32) for _ in OPS]
        for ops, out in zip(OPS.values(), outs, strict=True):
            ops.max_pool(x, window, stride, (padding, padding), out)
        np.testing.assert_array_equal(*outs)
        shared = np.full_like(outs[0], np.nan)
        OPS["cpu"].max_pool(x, window, stride, (padding, padding), shared, threads=2)
        np.testing.assert_array_equal(shared, outs[0])
        wide = np.pad(x, ((0, 0), *[(padding, padding)] * 2, (0, 0)), constant_values=-np.inf)
        assert (outs[0][:, 0, 0] == wide[:, :window, :window].max(axis=(1, 2))).all()
        assert outs[0].max() <= x.max()


@pytest.mark.parametrize("round_up", [False, True])
def test_every_window_of_a_pool_sees_a_pixel_and_no_other_would(round_up):
    for size, window, stride in product(range(1, 9), range(1, 5), range(1, 5)):
        for padding in range(window // 2 + 1):
            firsts = range(-padding, size, stride)
            if round_up:  # up to the first that reaches the end of the padding, or beyond
                within = [first for first in firsts if first - stride + window < size + padding]
            else:
                within = [first for first in firsts if first + window <= size + padding]
            if size + 2 * padding >= window:
                assert pooled(size, window, stride, padding, round_up) == len(within)


def test_a_pool_that_rounds_up_sees_the_last_pixels():
    x = np.zeros((1, 8, 8, 1), np.float32)
    x[0, 7, 7] = 5
    y = np.empty((1, 4, 4, 1), np.float32)
    OPS["cpu"].max_pool(x, 3, 2, (0, 0), y)
    assert y[0, 3, 3] == 5
    assert y.sum() == 5


# -- memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_are_alive_together_never_share_memory(name, fused):
    nodes = networks.load_model(name).nodes
    nodes = fuse(nodes, [node.name for node in nodes if node.op == "conv"]) if fused else nodes
    piece, sizes = share(nodes)
    last = last_reads(nodes)
    made = {node.name: place for place, node in enumerate(nodes)}
    for place, node in enumerate(nodes):
        if node.into:
            assert node.name not in piece, "it is a part of another"
            continue
        assert node.nbytes <= sizes[piece[node.name]]
        for other in nodes[:place]:
            if other.into:
                continue
            reads_on = last[other.name] > place or (last[other.name] == place and made[other.name] < place)
            if other.name == written_over(node, place, last):
                assert piece[other.name] == piece[node.name]
            elif reads_on:
                assert piece[other.name] != piece[node.name], (node.name, other.name)
    assert max(alive(nodes)) <= sum(sizes) < 0.4 * sum(node.nbytes for node in nodes)


def test_bytes_alive_counted_by_hand():
    model = networks.load_model("resnet18")
    live = dict(zip((node.name for node in model.nodes), alive(model.nodes), strict=True))
    photo, conv1, pooled = 4 * 224 * 224 * 3, 4 * 112 * 112 * 64, 4 * 56 * 56 * 64
    assert live["conv1"] == photo + conv1
    assert live["maxpool"] == conv1 + pooled
    assert live["layer1.0.conv1"] == 2 * pooled
    assert live["layer1.0.conv2"] == 3 * pooled  # the way around still waits
    assert live["layer1.0"] == 2 * pooled  # written over the first summand
    fused = fuse(model.nodes, ["layer1.0.conv2"])
    live = dict(zip((node.name for node in fused), alive(fused), strict=True))
    assert live["layer1.0"] == 2 * pooled  # what conv1 made, and the sum, written over the way around


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize(
    ("name", "algorithm"),
    [("resnet18", "im2row"), ("squeezenet1_0", "winograd_4x4"), ("squeezenet1_0", "fft")],
)
def test_memory_is_what_is_really_allocated(name, algorithm):
    model, *_ = small(name)
    model.prepare(algorithm, backend="cpu").run(PHOTO)  # weights made, kernels compiled before we count
    tracemalloc.start()
    try:
        ready = model.prepare(algorithm, backend="cpu")
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        features = ready.run(PHOTO)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    planned = sum(ready.memory.values())
    assert planned <= held <= 1.01 * planned + 300_000  # the rest is Python's own: plans, steps, functions
    assert peak - held <= features.nbytes + 30_000, "a run allocates nothing large"
    assert ready.profile(PHOTO, rounds=1).peak_bytes == planned


def test_a_photo_is_not_kept_after_its_run():
    model, *_ = small("resnet18")
    many = np.concatenate((PHOTO, PHOTO))
    kept = weakref.ref(many)
    ready = model.prepare(backend="numpy")
    ready.run(many[:1])
    ready.profile(many[:1], rounds=1)
    del many
    assert kept() is None


def test_the_size_of_photos_may_be_a_list():
    assert networks.load_model("resnet18", size=[64, 96]) == networks.load_model("resnet18", size=(64, 96))


def test_layers_of_one_shape_share_a_workspace():
    plans = networks.load_model("resnet18", size=SIZE).prepare("im2row", backend="cpu").plans
    one, same, other = (plans[f"layer{name}"] for name in ("1.0.conv1", "1.1.conv2", "2.0.conv2"))
    assert one.workspace is same.workspace
    assert one.workspace is not other.workspace


@cache
def mixed():
    """Return a small network made ready, whose layers are served by all algorithms in turn."""
    model, *_ = small("squeezenet1_0")
    names = list(ALGORITHMS)
    wanted = {node.name: names[place % len(names)] for place, node in enumerate(model.layers)}
    return model.prepare(wanted, backend="cpu")


def extent(array):
    start = array.__array_interface__["data"][0]
    return start, start + array.nbytes


@pytest.mark.inside
def test_one_piece_of_memory_is_the_scratch_of_all_layers():
    plans = mixed().plans.values()
    used = {one.algorithm.name for one in plans}
    assert used >= {"im2row", "indirect", "winograd_4x4", "fft", "implicit_gemm"}
    scratch, tables = [], {}
    for one in plans:
        form = one.algorithm.forms[one.backend]
        fresh = form.allocate(one.problem, one.threads)
        assert {name: (a.shape, a.dtype) for name, a in one.workspace.items()} == {
            name: (a.shape, a.dtype) for name, a in fresh.items()
        }
        mine = sorted(extent(one.workspace[name]) for name in form.scratch)
        assert all(start % 64 == 0 for start, _ in mine)
        assert all(end <= start for (_, end), (start, _) in pairwise(mine)), "no two arrays of a plan overlap"
        scratch += mine
        kept = {name: one.workspace[name] for name in fresh.keys() - {*form.scratch}}
        tables |= {extent(array): array.nbytes for array in kept.values()}
        assert all(np.array_equal(array, fresh[name]) for name, array in kept.items())
    low, high = min(start for start, _ in scratch), max(end for _, end in scratch)
    ends = sorted(tables)
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))
    assert all(end <= low or start >= high for start, end in ends)
    assert mixed().memory["workspace"] == -(-(high - low) // 64) * 64 + sum(tables.values())


@pytest.mark.inside
def test_sharing_changes_no_bit_whatever_the_order():
    ready = mixed()
    features = ready.run(PHOTO)
    bytes_left = share_workspace(reversed(ready.plans.values()))
    for one in ready.plans.values():
        for name in one.algorithm.forms[one.backend].scratch:
            one.workspace[name].view(np.uint8)[...] = 255  # NaN
    assert np.array_equal(ready.run(PHOTO), features)
    assert bytes_left == ready.memory["workspace"]


def test_plans_of_one_problem_share_only_what_is_alike():
    problem = ConvProblem(1, 20, 20, 8, 40, 3, 3, padding=1)
    w = np.ones(problem.w_shape, np.float32)
    kinds = [("winograd_4x4", 1), ("winograd_4x4", 2), (blocked(7, None, 9), 1), (blocked(70, None, 18), 1)]
    plans = [plan(problem, w, algorithm=algorithm, backend="cpu", threads=n) for algorithm, n in kinds]
    shapes = [{name: array.shape for name, array in one.workspace.items()} for one in plans]
    share_workspace(plans)
    assert [{name: array.shape for name, array in one.workspace.items()} for one in plans] == shapes


# -- profile, picture, progress, mistakes -------------------------------------------------------------------


def test_profile():
    model, *_ = small("squeezenet1_0")
    ready = model.prepare({"features.0": "im2row"}, backend="cpu")
    profile = ready.profile(PHOTO, rounds=3)
    assert [one.node for one in profile.nodes] == list(ready.nodes)
    assert [one.node.name for one in profile.layers] == [node.name for node in model.layers]
    assert all(one.seconds > 0 for one in profile.nodes)
    assert profile.seconds > sum(one.seconds for one in profile.layers)
    first = profile.layers[0]
    assert (first.algorithm, first.node.name) == ("im2row", "features.0")
    assert first.workspace == ready.plans["features.0"].cost.workspace_bytes
    assert first.bytes == first.live + first.workspace
    assert "SqueezeNet 1.0" in str(profile)


@in_turns
@sampled(0)
def test_picture_of_a_profile():
    model, *_ = small("resnet18")
    profile = model.prepare("winograd_2x2", backend="cpu").profile(PHOTO, rounds=1)
    bars = bars_of(profile)
    assert sum(bar.seconds for bar in bars) == pytest.approx(profile.seconds)
    picture = network_profile(profile)
    assert Image.open(io.BytesIO(picture.png)).width > 1000
    names = {node.name for node in model.layers}
    assert {one.name for one in profile.layers} == names  # also of those that a sum became part of
    for one in profile.layers:
        assert f"{one.name} by {one.algorithm}" in picture.alt
    assert bytes_text(profile.memory["packed weights"]) in picture.alt
    assert time_text(profile.seconds) in finding(profile)


def test_progress_is_shown_in_a_notebook_and_goes_away(monkeypatch):
    assert list(progress.shown([1, 2], "working")) == [1, 2]
    pages = []
    handle = SimpleNamespace(update=lambda page: pages.append(page.data))
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda page, display_id: pages.append(page.data) or handle)
    assert list(progress.shown(["a", "b"], 'x & "y"')) == ["a", "b"]
    assert [re.search(r'value="(\d)" max="2"', page)[1] for page in pages[:3]] == ["0", "1", "2"]
    assert 'aria-label="x &amp; &quot;y&quot;"' in pages[0]
    assert pages[3:] == [""]
    assert list(progress.shown(["a"], "hidden", show=False)) == ["a"]
    assert len(pages) == 4


def test_progress_on_a_terminal_leaves_nothing_behind(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert list(progress.shown(range(3), "working")) == [0, 1, 2]
    assert not capsys.readouterr().out


def test_steps_are_told_line_by_line_where_there_is_no_terminal(capsys):
    with progress.Steps() as steps:
        steps.expect(2)
        for name in ("one", "two"):
            steps.begin(name)
            steps.part(1, 3)
    with suppress(KeyboardInterrupt), progress.Steps(1) as steps:
        steps.begin("never done")
        raise KeyboardInterrupt
    said = capsys.readouterr()
    assert [line.split()[:2] for line in said.err.splitlines()] == [["[1/2]", "one"], ["[2/2]", "two"]]
    assert said.out == ""


def test_steps_on_a_terminal_are_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with progress.Steps(2) as steps:
        for name in ("one", "two"):
            steps.begin(name)
            steps.part(1, 3)
    said = capsys.readouterr()
    assert "two" in said.err
    assert "2/2" in said.err
    assert said.out == ""


WRONG = {
    "network='vgg16'": lambda: networks.load_model("vgg16"),
    "size=0": lambda: networks.load_model("resnet18", size=0),
    "expected P >= 1": lambda: networks.load_model("squeezenet1_0", size=5),
    "less than its window": lambda: networks.load_model("squeezenet1_0", size=9),
    "algorithm='fastest'": lambda: small("resnet18")[0].prepare("fastest"),
    "layer 'conv9'": lambda: small("resnet18")[0].prepare({"conv9": "direct"}),
    "backend='gpu'; a whole network": lambda: small("resnet18")[0].prepare(backend="gpu"),
    "from 0 to 255; expected 0 to 1": lambda: ready().run(np.rint(PHOTO * 255 / PHOTO.max())),
    "from nan to nan": lambda: ready().run(PHOTO * np.float32("nan")),
    "axis 1 is 63": lambda: ready().run(PHOTO[:, 1:]),
    "dtype float64": lambda: ready().run(PHOTO.astype(np.float64)),
}


@cache
def ready():
    return small("resnet18")[0].prepare(backend="cpu")


@sampled(0)
@pytest.mark.parametrize("says", WRONG)
def test_mistakes_are_named(says):
    with pytest.raises(ConvError) as refused:
        WRONG[says]()
    assert says in str(refused.value)


# -- against others ---------------------------------------------------------------------------------------


@pytest.mark.inside
def test_a_comparison_of_whole_networks():
    assert [(case.network, case.layer, case.problem.H) for case in whole_networks()] == [
        (name, "whole", 224) for name in NAMES
    ]
    problem = replace(networks.load("squeezenet1_0").layers[0].problem, H=40, W=33)
    comparison = NetworkComparison(
        Workload("squeezenet1_0", "whole", problem), Effort(rounds=2, budget=0.0, patience=9)
    )
    comparison.enter_ours(("auto", "im2row"))
    here, _ = at_hand(RIVALS)
    comparison.enter_baselines(here)
    rows = comparison.rows("stacks")
    there = {"auto", "im2row"} | {one.name for one in here}
    assert {row.candidate for row in rows} == there
    assert {row.candidate for row in rows if row.ours} == {"auto", "im2row"}
    assert {(row.network, row.layer, row.problem) for row in rows} == {("squeezenet1_0", "whole", problem)}
