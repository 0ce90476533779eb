"""A network that learns: each way back is the derivative of its way forward, and what follows from that."""

from functools import cache

import numpy as np
import pytest

from convlab import ConvError, ConvProblem
from convlab.networks import (
    Conv,
    Dense,
    MaxPool,
    ReLU,
    SoftmaxCrossEntropy,
    Training,
    digits_network,
    load_digits,
)
from convlab.networks.training import digits
from convlab.support.files import data_path

# -- the way back, held against finite differences ---------------------------------------------------------

LAYERS = {
    "conv": lambda: Conv(ConvProblem(1, 6, 4, 2, 3, 3, 3, padding=1, dtype="float64")),
    "strided": lambda: Conv(ConvProblem(1, 6, 4, 2, 3, 3, 2, stride=2, padding=(1, 0), dtype="float64")),
    "grouped": lambda: Conv(ConvProblem(1, 6, 4, 2, 4, 3, 3, dilation=(2, 1), groups=2, dtype="float64")),
    "dense": lambda: Dense((6, 4, 2), 5, dtype="float64"),
    "relu": ReLU,
    "pool": lambda: MaxPool(2),
}


def slope(value, array, place, step=1e-6):
    """Return the derivative of value() with respect to one number of an array that it reads."""
    kept = array[place]
    array[place] = kept + step
    above = value()
    array[place] = kept - step
    below = value()
    array[place] = kept
    return (above - below) / (2 * step)


def slopes(value, array):
    """Return the derivatives with respect to all numbers of an array."""
    return np.array([slope(value, array, place) for place in np.ndindex(array.shape)]).reshape(array.shape)


@pytest.mark.parametrize("name", LAYERS)
def test_the_way_back_is_the_derivative_of_the_way_forward(name):
    rng, layer = np.random.default_rng(1), LAYERS[name]()
    x = rng.standard_normal((2, 6, 4, 2))
    layer.parameters = {name: rng.standard_normal(one.shape) for name, one in layer.parameters.items()}
    dy = rng.standard_normal(layer.forward(x).shape)

    def value():
        return float((layer.forward(x) * dy).sum())

    layer.forward(x)
    dx = layer.backward(dy)
    gradients = layer.gradients
    np.testing.assert_allclose(dx, slopes(value, x), atol=1e-7)
    assert gradients.keys() == layer.parameters.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, slopes(value, layer.parameters[name]), atol=1e-7)


def test_the_loss_is_cross_entropy_and_its_gradient_the_derivative():
    rng, loss = np.random.default_rng(2), SoftmaxCrossEntropy()
    scores, labels = 3 * rng.standard_normal((4, 1, 1, 5)), np.array([0, 4, 2, 2])
    p = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    expected = -np.mean([np.log(p[n, 0, 0, label]) for n, label in enumerate(labels)])
    assert loss.forward(scores, labels) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(
        loss.backward(), slopes(lambda: SoftmaxCrossEntropy().forward(scores, labels), scores), atol=1e-9
    )
    assert loss.forward(scores + 1e4, labels) == pytest.approx(expected, rel=1e-9)  # no exp overflows


def test_of_equal_numbers_in_a_window_one_alone_is_the_largest():
    pool = MaxPool(2)
    pool.forward(np.ones((1, 4, 4, 1)))
    assert pool.backward(np.ones((1, 2, 2, 1))).sum() == 4


def test_the_network_s_gradients_are_torch_s():
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    network, data = digits_network(3, dtype="float64"), load_digits()
    x, labels = data.pictures[:40].astype(np.float64), data.labels[:40]
    arrays = [torch.tensor(one, requires_grad=True) for one in network.parameters]
    y = torch.tensor(x, requires_grad=True)
    first = y
    for place, pools in enumerate((False, True, True)):
        w, bias = arrays[2 * place : 2 * place + 2]
        y = functional.relu(functional.conv2d(y.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), bias, padding=1))
        y = (functional.max_pool2d(y, 2) if pools else y).permute(0, 2, 3, 1)
    scores = functional.linear(y.reshape(40, -1), arrays[6].reshape(10, -1), arrays[7])
    theirs = functional.cross_entropy(scores, torch.tensor(labels))
    theirs.backward()
    loss = SoftmaxCrossEntropy()
    assert loss.forward(network.forward(x), labels) == pytest.approx(theirs.item(), rel=1e-12)
    dx = network.backward(loss.backward())
    np.testing.assert_allclose(dx, first.grad.numpy(), atol=1e-12)
    for ours, array in zip(network.gradients, arrays, strict=True):
        np.testing.assert_allclose(ours, array.grad.numpy(), atol=1e-12)


# -- what is kept ------------------------------------------------------------------------------------------


def test_what_is_kept_is_one_array_a_layer_and_none_counts_twice():
    network, N = digits_network(), 7
    network.forward(load_digits().pictures[:N])
    # x, and behind each ReLU and each pool what the next layer reads
    numbers = 8 * 8 * (1 + 16 + 32) + 4 * 4 * (32 + 32) + 2 * 2 * 32
    assert network.kept_bytes == 4 * N * numbers
    layers = network.layers
    assert layers["relu1"].kept is layers["conv2"].kept
    assert layers["relu2"].kept is layers["pool2"].kept


# -- the digits --------------------------------------------------------------------------------------------


def test_the_file_is_what_the_package_has():
    pytest.importorskip("sklearn")
    from tools.digits import text

    assert data_path("digits.csv").read_text(encoding="utf-8") == text()


def test_the_digits_are_split_once_and_for_all():
    data = load_digits()
    assert [array.shape for array in data] == [(1440, 8, 8, 1), (1440,), (357, 8, 8, 1), (357,)]
    assert data.pictures.dtype == np.float32
    for pictures, labels in (data[:2], data[2:]):
        assert (pictures.min(), pictures.max()) == (0, 1)
        counts = np.bincount(labels)
        assert len(counts) == 10
        assert counts.min() > 0.9 * counts.mean()  # no digit is rare


ROW = f"3,{'0' * 64}\n"
BROKEN = {
    "empty": "",
    "another's": "name,age\nAda,36\n",
    "no row": "label,pixels\n",
    "no label": f"label,pixels\n{ROW[1:]}",
    "no such label": f"label,pixels\n1{ROW}",
    "a pixel too many": f"label,pixels\n{ROW[:-1]}0\n",
    "one row short": f"label,pixels\n{ROW}{ROW[:-2]}\n",
    "no such letter": f"label,pixels\n{ROW[:-2]}h\n",
    "no UTF-8": b"\xff\xfe",
    "not there": None,
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_named(tmp_path, monkeypatch, what):
    if (content := BROKEN[what]) is not None:
        (tmp_path / "digits.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setattr(digits, "data_path", lambda name: tmp_path / name)
    with pytest.raises(ConvError, match=r"digits\.csv"):
        load_digits()


# -- learning ----------------------------------------------------------------------------------------------


def trained(epochs=3, stops=(), **options):
    """Return a network for the digits after some epochs, and its training."""
    data, network = load_digits(), digits_network(9, **options)
    training = Training(network, data.pictures, data.labels, epochs=epochs, seed=9)
    for _ in stops:
        pass
    training.run(progress=False)
    return network, training


def bits(network):
    return b"".join(one.tobytes() for one in network.parameters)


@cache
def accuracy():
    network, training = trained()
    data = load_digits()
    return network.accuracy(data.test_pictures, data.test_labels), training.epoch_losses()
