"""A network that learns: each way back is the derivative of its way forward, and what follows from that."""

import os
import signal
import sys
from collections import Counter
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest
from effort import sampled

from convlab import ConvError, ConvProblem, dgrad, wgrad
from convlab.networks import (
    Checkpointed,
    Conv,
    Dense,
    MaxPool,
    ReLU,
    Sequential,
    SoftmaxCrossEntropy,
    Training,
    checkpointing,
    digits_network,
    load_digits,
    load_model,
    model_names,
)
from convlab.networks.graph import Node
from convlab.networks.training import descent, digits, layers
from convlab.support.files import data_path
from tools.digits import text

pytestmark = pytest.mark.inside


@pytest.fixture(autouse=True)
def torch_s_gradients():
    """Turn PyTorch's on: a benchmark before has turned them off, for the whole process."""
    if torch := sys.modules.get("torch"):
        torch.set_grad_enabled(True)


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


# -- checkpoints -------------------------------------------------------------------------------------------


def there_and_back(network, pictures=12):
    """Go forward and backward once; return all gradients, and the multiply-adds of all `forward`s."""
    data, loss, macs = load_digits(), SoftmaxCrossEntropy(), []
    x, labels = data.pictures[:pictures], data.labels[:pictures]
    for layer in network.layers.values():
        if isinstance(layer, Conv):

            def counted(x, layer=layer):
                macs.append(layer.node("y", Node("x", "input", (), x.shape, "float32")).convolution.macs)
                return type(layer).forward(layer, x)

            layer.forward = counted
    loss.forward(network.forward(x), labels)
    dx = network.backward(loss.backward())
    return [dx, *network.gradients], sum(macs)


EVERY = range(1, 11)


@pytest.mark.parametrize("every", EVERY)
def test_checkpoints_change_no_gradient_and_keep_and_repeat_what_is_said(every):
    plain, less = digits_network(1), Checkpointed(every, **digits_network(1).layers)
    nodes, (gradients, macs) = plain.nodes(12), there_and_back(plain)
    again, macs_again = there_and_back(less)
    assert all(map(np.array_equal, again, gradients))
    assert checkpointing(nodes, every) == (less.most_kept_bytes, macs_again - macs)
    assert less.kept_bytes == 0
    if every >= len(plain.layers):
        assert checkpointing(nodes, every) == (plain.kept_bytes, 0)


def test_cut_behind_every_layer_all_arrays_are_kept_and_nothing_is_repeated():
    nodes = digits_network().nodes(8)
    assert checkpointing(nodes, 1) == (sum(node.nbytes for node in nodes[:-1]), 0)


def by_name(nodes, every):
    """Return the same as `checkpointing`, array by array: who is alive, and what must be made for whom."""
    needs = {
        node.name: {*(node.inputs if node.op in ("conv", "max_pool") else ()), *[node.name] * node.relu}
        for node in nodes
    }
    made = {node.name: node for node in nodes}
    begins = [*range(1, len(nodes), every), len(nodes)]
    cuts = [
        {
            name
            for late in nodes[begin:]
            for name in late.inputs
            if name in {one.name for one in nodes[:begin]}
        }
        for begin in begins
    ]
    most = macs = 0
    for place, (begin, end) in enumerate(pairwise(begins)):
        wanted = set().union(*(needs[node.name] for node in nodes[begin:end]))
        there = cuts[place] | cuts[place + 1] if end < len(nodes) else set(made)
        ran = set()

        def make(name, there=there, ran=ran):
            if name not in there | ran:
                ran.add(name)
                for before in made[name].inputs:
                    make(before)

        for name in wanted:
            make(name)
        most = max(most, sum(made[name].nbytes for name in set().union(wanted, *cuts[: place + 1])))
        macs += sum(made[name].convolution.macs for name in ran if made[name].op == "conv")
    return most, macs


@pytest.mark.parametrize("name", model_names())
def test_arrays_that_go_around_a_cut_are_kept_too(name):
    nodes = load_model(name, size=64, batch=2).nodes
    for every in range(1, len(nodes) + 1):
        assert checkpointing(nodes, every) == by_name(nodes, every)
    assert checkpointing(nodes, 4).kept_bytes < checkpointing(nodes, len(nodes)).kept_bytes


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_0"])  # MobileNet's padding makes it copy arrays
def test_torch_keeps_as_much(name):
    """What its autograd saves of a whole network, beside the weights and the places of a pool's winners."""
    torch = pytest.importorskip("torch")
    from convlab.benchmark.rivals.torch_network import compute

    model, saved = load_model(name, size=64, batch=2), {}
    made = {"photo": torch.rand(2, 3, 64, 64)}
    weights = {
        name: (torch.tensor(w.transpose(0, 3, 1, 2)).requires_grad_(), torch.tensor(bias).requires_grad_())
        for name, (w, bias) in model.weights.items()
    }
    learned = {one.data_ptr() for pair in weights.values() for one in pair}

    def keep(tensor):
        if tensor.is_floating_point() and tensor.data_ptr() not in learned:
            saved[tensor.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        for node in model.nodes[1:]:
            made[node.name] = compute(node, [made[name] for name in node.inputs], weights.get(node.name))
    theirs = sum(tensor.nbytes for tensor in saved.values())
    assert checkpointing(model.nodes, len(model.nodes)).kept_bytes == theirs


# -- learning ----------------------------------------------------------------------------------------------

FLOOR = 0.94  # after two epochs; a wrong gradient learns, too, but not so well


def trained(epochs=2, **options):
    """Return a network for the digits after some epochs, and its training."""
    data, network = load_digits(), digits_network(**options)
    training = Training(network, data.pictures, data.labels, epochs=epochs)
    training.run(progress=False)
    return network, training


def accuracy(network):
    data = load_digits()
    return network.accuracy(data.test_pictures, data.test_labels)


def bits(network):
    return b"".join(one.tobytes() for one in network.parameters)


def test_the_loss_falls():
    _, training = trained()
    first, second = np.reshape(training.losses, (2, -1)).mean(axis=1)  # of each epoch
    assert first > 3 * second
    assert training.losses[0] == pytest.approx(np.log(10), abs=0.7)  # it knows nothing


def test_each_epoch_sees_all_pictures_in_an_order_of_its_own():
    training, seen = fresh(), []
    forward = training.network.forward
    training.network.forward = lambda x: seen.extend(x) or forward(x)
    training.run(progress=False)
    epochs = [[one.tobytes() for one in seen[at : at + 50]] for at in (0, 50)]
    assert len(seen) == 100
    assert epochs[0] != epochs[1]
    assert Counter(epochs[0]) == Counter(epochs[1])


@sampled(1)
@pytest.mark.parametrize(("epochs", "floor"), [(2, FLOOR), (15, 0.97)])
def test_the_longer_it_trains_the_fewer_its_mistakes(epochs, floor):
    network, training = trained(epochs)
    assert training.step == training.steps == epochs * 45
    assert accuracy(network) > floor


def turned(w):
    return np.ascontiguousarray(w[:, ::-1, ::-1])


# The name of what is spoilt in `layers`: how.
PLANTED = {
    "the filters of dgrad are not turned": {
        "dgrad": lambda problem, dy, w, **how: dgrad(problem, dy, turned(w), **how)
    },
    "dgrad is a row off": {"dgrad": lambda *given, **how: np.roll(dgrad(*given, **how), 1, axis=1)},
    "wgrad is turned": {"wgrad": lambda *given, **how: turned(wgrad(*given, **how))},
    "wgrad is a row off": {"wgrad": lambda *given, **how: np.roll(wgrad(*given, **how), 1, axis=1)},
}


@sampled(1)
@pytest.mark.parametrize("what", PLANTED)
def test_with_a_wrong_gradient_it_learns_less(monkeypatch, what):
    for name, spoilt in PLANTED[what].items():
        monkeypatch.setattr(layers, name, spoilt)
    assert accuracy(trained()[0]) < FLOOR - 0.03


@sampled(1)
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_change_no_bit(threads):
    network, _ = trained(epochs=1, threads=threads)
    assert bits(network) == bits(trained(epochs=1)[0])


def test_checkpoints_change_no_bit_of_a_training():
    few, nets = load_digits(), [small(), Checkpointed(2, **small().layers)]
    for network in nets:
        Training(network, few.pictures[:50], few.labels[:50], epochs=2, batch=20).run(progress=False)
    assert bits(nets[0]) == bits(nets[1])


def test_torch_s_optimiser_takes_the_same_steps():
    torch = pytest.importorskip("torch")
    data, network = load_digits(), small("float64")
    arrays = [torch.tensor(one, requires_grad=True) for one in network.parameters]
    training = Training(network, data.pictures[:50].astype(float), data.labels[:50], epochs=2, batch=20)
    optimiser = torch.optim.SGD(arrays, training.rate, training.momentum, weight_decay=training.decay)
    falling = torch.optim.lr_scheduler.LinearLR(optimiser, 1, 0, total_iters=training.steps)
    while training.step < training.steps:
        training.take_step()
        for array, gradient in zip(arrays, network.gradients, strict=True):
            array.grad = torch.tensor(gradient)
        optimiser.step()
        falling.step()
    for ours, array in zip(network.parameters, arrays, strict=True):
        np.testing.assert_allclose(ours, array.detach().numpy(), rtol=1e-12)


# -- stopped, and gone on with -----------------------------------------------------------------------------


def small(dtype="float32"):
    """Return a network that learns little, and quickly."""
    conv = Conv(ConvProblem(1, 8, 8, 1, 3, 3, 3, padding=1, dtype=dtype), backend="numpy")
    dense = Dense((4, 4, 3), 10, dtype=dtype, backend="numpy")
    return Sequential(conv=conv, relu=ReLU(), pool=MaxPool(2), dense=dense)


def fresh():
    data = load_digits()
    return Training(small(), data.pictures[:50], data.labels[:50], epochs=2, batch=20, seed=3)


class StopAt:
    """Raises KeyboardInterrupt at a line of the training, the n-th that is run; or counts them."""

    def __init__(self, at=0):
        self.at, self.lines = at, 0

    def __call__(self, frame, event, arg):
        if f"networks{os.sep}training" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                raise KeyboardInterrupt
        return self


def traced(stop, run):
    before = sys.gettrace()
    sys.settrace(stop)
    try:
        run()
    finally:
        sys.settrace(before)


@cache
def uninterrupted():
    training, counter = fresh(), StopAt()
    traced(counter, partial(training.run, progress=False))
    return bits(training.network), training.losses, counter.lines


@sampled(12)
@pytest.mark.parametrize("place", range(60))
def test_stopped_at_any_line_it_goes_on_to_the_same_end(place):
    expected, losses, lines = uninterrupted()
    training = fresh()
    with pytest.raises(KeyboardInterrupt):
        traced(StopAt(1 + place * lines // 60), partial(training.run, progress=False))
    training.run(progress=False)
    assert bits(training.network) == expected
    assert training.losses == losses


def test_a_real_interrupt_stops_it_and_it_goes_on(monkeypatch):
    expected, losses, _ = uninterrupted()
    training, forward = fresh(), Sequential.forward

    def interrupted(network, x):
        if training.step == 4:
            signal.raise_signal(signal.SIGINT)  # what Ctrl-C and the stop button send
        return forward(network, x)

    # A shell that starts the tests in the background has them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Sequential, "forward", interrupted)
            with pytest.raises(KeyboardInterrupt):
                training.run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert training.step == 4
    training.run()
    assert bits(training.network) == expected
    assert training.losses == losses
    training.run()  # nothing is left
    assert training.step == training.steps


def test_the_bar_counts_epochs_goes_away_at_a_stop_and_goes_on_where_it_was(monkeypatch):
    told = []

    def bar(items, label, show):
        told.append((list(items), label, show))
        try:
            yield from items
        finally:
            told.append("away")

    monkeypatch.setattr(descent, "shown", bar)
    training, take_step = fresh(), Training.take_step

    def interrupted(training):
        if training.step == training.steps_per_epoch + 1:
            raise KeyboardInterrupt
        take_step(training)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "take_step", interrupted)
        with pytest.raises(KeyboardInterrupt) as stop:  # keeps all frames alive, as Jupyter does
            training.run()
    assert told == [([0, 1], "training: epochs", True), "away"]
    del stop
    training.run()
    assert told[2:] == [([1], "training: epochs", True), "away"]
    end = bits(training.network)
    with pytest.raises(ConvError, match=f"all {training.steps} steps are done; expected a new Training"):
        training.take_step()
    assert bits(training.network) == end


# -- bad input ---------------------------------------------------------------------------------------------


def test_a_rate_too_large_is_named_with_its_step_and_what_to_try():
    data = load_digits()
    training = Training(small(), data.pictures, data.labels, rate=1e6)
    with pytest.raises(
        ConvError, match=r"rate=1e\+06: the loss of step \d+ is \w+; .*try rate=100000 "
    ) as told:
        training.run(progress=False)
    step = training.step
    assert f"step {step} " in str(told.value)
    assert len(training.losses) == step
    assert np.isfinite(training.losses).all()


def test_a_last_step_that_leads_nowhere_is_named_too():
    data = load_digits()
    training = Training(small(), data.pictures, data.labels, epochs=1, batch=2000, rate=1e300)
    with pytest.raises(ConvError, match=r"rate=1e\+300: the largest parameter after step 0 is (inf|nan); "):
        training.run(progress=False)
    assert training.step == 0
    assert all(np.isfinite(one).all() for one in training.network.parameters)


WRONG = {
    "a label too large": (dict(labels=np.array([3, 10])), r"labels\[1\] is 10; expected 0 to 9"),
    "a label below 0": (dict(labels=np.array([-1, 0])), r"labels\[0\] is -1"),
    "labels that are no integers": (dict(labels=np.array([0.0, 1.0])), "labels has dtype float64"),
    "labels side by side": (dict(labels=np.zeros((2, 1), int)), r"labels has shape \(2, 1\)"),
    "one label short": (dict(labels=np.zeros(1, int)), r"labels has shape \(1,\); expected \(N,\) = \(2,\)"),
    "pictures without channels": (dict(pictures=np.zeros((2, 8, 8), np.float32)), "pictures has 3 axes"),
    "other pictures": (dict(pictures=np.zeros((2, 9, 8, 1), np.float32)), "axis 1 is 9 instead of 8"),
    "another type": (dict(pictures=np.zeros((2, 8, 8, 1))), "pictures has dtype float64; expected float32"),
    "no picture": (
        dict(pictures=np.zeros((0, 8, 8, 1), np.float32), labels=np.zeros(0, int)),
        r"\(0, 8, 8, 1\)",
    ),
    "NaN": (dict(pictures=np.full((2, 8, 8, 1), np.nan, np.float32)), "pictures holds NaN"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_learned_from_is_refused(what):
    changed, words = WRONG[what]
    right = {"pictures": np.zeros((2, 8, 8, 1), np.float32), "labels": np.array([0, 9])}
    Training(small(), **right)
    with pytest.raises(ConvError, match=words):
        Training(small(), **right | changed)


def test_what_fits_no_layer_is_refused():
    with pytest.raises(ConvError, match=r"Conv\.backward has nothing kept; expected forward before"):
        Conv(ConvProblem(1, 4, 4, 1, 1, 3, 3)).backward(np.zeros((1, 2, 2, 1), np.float32))
    for thing in (SoftmaxCrossEntropy().backward, lambda: Checkpointed(1, **small().layers).backward(0)):
        with pytest.raises(ConvError, match="nothing kept"):
            thing()
    with pytest.raises(ConvError, match="x has 5x4 pixels; MaxPool expected multiples of 2"):
        MaxPool(2).forward(np.zeros((1, 5, 4, 1)))
    relu = ReLU()
    relu.forward(np.zeros((1, 5, 4, 1)))
    with pytest.raises(ConvError, match=r"dy has shape \(1, 5, 4, 2\)"):
        relu.backward(np.zeros((1, 5, 4, 2)))
    for shape in ((2, 2, 2, 3), (0, 1, 1, 3)):
        with pytest.raises(ConvError, match=r"scores has shape .*; expected"):
            SoftmaxCrossEntropy().forward(np.zeros(shape, np.float32), np.zeros(shape[0], int))
    with pytest.raises(ConvError, match="expected a Conv, which knows what it reads"):
        Sequential(relu=relu)
    with pytest.raises(ConvError, match="expected one: end with a Dense"):
        Sequential(conv=Conv(ConvProblem(1, 4, 4, 1, 1, 3, 3))).accuracy(
            np.zeros((1, 4, 4, 1), np.float32), np.zeros(1, int)
        )
    conv = Conv(ConvProblem(1, 4, 4, 1, 2, 3, 3))
    with pytest.raises(
        ConvError, match=r"conv has shape \(1, 2, 2, 2\), float32; dense expected \(1, 2, 2, 3\)"
    ):
        Sequential(conv=conv, dense=Dense((2, 2, 3), 10))
    with pytest.raises(ConvError, match=r"relu2 is the layer relu1; expected one that keeps its own array"):
        Sequential(conv=conv, relu1=relu, relu2=relu)
    nodes = small().nodes(1)
    for some in (nodes[1:], nodes[1:] + nodes[:1]):  # x is missing, or comes too late
        with pytest.raises(ConvError, match="none that makes x before conv; expected all, from the input on"):
            checkpointing(some, 2)
    network = small()
    with pytest.raises(ConvError, match="parameters are 3 arrays; expected 4"):
        network.load(network.parameters[:3])
    with pytest.raises(ConvError, match=r"parameters\[1\] has shape \(1,\)"):
        network.load([network.parameters[0], np.zeros(1, np.float32), *network.parameters[2:]])
