"""The networks' layers, held against totals known from their papers and sources."""

from itertools import pairwise

import pytest

from convlab import ALGORITHMS, ConvError, networks
from convlab.networks import layers
from convlab.support.files import data_path

# Multiply-adds of all convolutions, in thousands: counted by running torchvision's own models.
TOTALS = {
    "resnet18": (20, 1_813_561),
    "squeezenet1_0": (26, 818_925),
    "vgg16": (13, 15_346_631),
    "mobilenet_v1": (27, 567_716),
    "mobilenet_v2": (52, 299_494),
}


@pytest.mark.parametrize("name", TOTALS)
def test_totals(name):
    network = networks.load(name)
    layers, kilo_macs = TOTALS[name]
    assert len(network) == layers
    assert round(network.macs / 1000) == kilo_macs


@pytest.mark.parametrize("name", networks.names())
def test_every_network_names_its_source(name):
    network = networks.load(name)
    assert "arXiv" in network.source
    assert network.title
    assert len({layer.name for layer in network}) == len(network)


def test_a_new_file_is_a_new_network(tmp_path, monkeypatch):
    text = data_path("networks", "vgg16.csv").read_text(encoding="utf-8").replace("VGG-16", "Mine")
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    monkeypatch.setattr(layers, "data_path", lambda room, *name: tmp_path.joinpath(*name))
    forget()
    try:
        assert networks.names() == ("mine",)
        assert networks.load("mine").title == "Mine"
        with pytest.raises(ConvError, match="expected one of mine"):
            networks.load("resnet18")
    finally:
        forget()


def forget():
    for function in (layers.names, layers._read):
        function.cache_clear()


@pytest.mark.parametrize("name", ["resnet18", "vgg16"])
def test_layers_fit_together(name):
    """Each layer's channels are the output channels of the one before, side branches aside."""
    main = [layer.problem for layer in networks.load(name) if "downsample" not in layer.name]
    for before, after in pairwise(main):
        assert before.K == after.C


@pytest.mark.parametrize("name", ["mobilenet_v1", "mobilenet_v2"])
def test_mobilenets_chain_exactly(name):
    shapes = [layer.problem for layer in networks.load(name)]
    for before, after in pairwise(shapes):
        assert (before.P, before.Q, before.K) == (after.H, after.W, after.C)


def test_keras_pads_one_side():
    strided = [layer.problem for layer in networks.load("mobilenet_v1") if layer.problem.stride == (2, 2)]
    assert len(strided) == 5
    assert all(problem.padding == ((0, 1), (0, 1)) for problem in strided)


def test_distinct_shapes_of_resnet18():
    distinct = networks.load("resnet18").distinct()
    assert (len(distinct), sum(distinct.values())) == (11, 20)


def test_resnet18_peak_matrix_by_hand():
    """The largest im2col matrix of ResNet-18 and what it is of its input, worked out on paper.

    conv1: P = Q = (224 + 3 + 3 - 7) // 2 + 1 = 112, so M = 112 * 112 = 12544 output pixels.
    A window is 7 * 7 taps * 3 channels = 147 numbers of 4 bytes.
    12544 * 147 * 4 = 7,375,872 bytes = 7.03 MiB; the picture is 224 * 224 * 3 * 4 = 602,112 bytes.
    7,375,872 / 602,112 = 12.25: stride 2 takes a quarter of the positions, 49 / 4 = 12.25.
    """
    layers = networks.load("resnet18")
    for name in ("im2row", "im2col"):
        sizes = {layer.name: ALGORITHMS[name].workspace_bytes(layer.problem) for layer in layers}
        peak = max(sizes, key=sizes.get)
        assert peak == "conv1"
        assert sizes[peak] == 12544 * 147 * 4 == 7_375_872
        assert sizes[peak] / layers[peak].problem.x_bytes == 12.25
        assert sizes["layer1.0.conv1"] == 56 * 56 * 9 * 64 * 4 == 7_225_344


def test_batch_and_dtype():
    layer = networks.load("vgg16", batch=8, dtype="float16")[1]
    assert layer.problem.x_shape == (8, 224, 224, 64)
    assert layer.problem.x_bytes == 8 * 224 * 224 * 64 * 2


@pytest.mark.parametrize("wrong", [{"name": "resnet19"}, {"name": "resnet18", "batch": 0}])
def test_wrong_requests(wrong):
    with pytest.raises(ConvError, match=r"resnet19|batch=0"):
        networks.load(**wrong)
    with pytest.raises(ConvError, match="conv1"):
        networks.load("resnet18")["conv99"]
