"""Networks that nobody would build: whatever reads whatever, in whatever order, the answer is the same."""

from types import SimpleNamespace

import numpy as np
import pytest
from effort import in_turns

from convlab import ConvProblem
from convlab.networks.fuse import fuse
from convlab.networks.graph import Node
from convlab.networks.memory_plan import alive, share
from convlab.networks.prepared import Prepared

H, W = 5, 6
CHANNELS = (2, 3)


def some_network(seed):
    """Return a network of convolutions, sums and concatenations, each of any arrays made before it."""
    rng = np.random.default_rng(seed)
    nodes = [Node("picture", "input", (), (1, H, W, 2), "float64")]
    weights = {}

    def note(op, inputs, K, **more):
        name = f"{op} {len(nodes)}"
        nodes.append(Node(name, op, tuple(one.name for one in inputs), (1, H, W, K), "float64", **more))

    def conv(x, K):
        problem = ConvProblem(*x.shape, K, 3, 3, padding=1, dtype="float64")
        note("conv", [x], K, problem=problem, relu=bool(rng.random() < 0.3))
        weights[nodes[-1].name] = rng.standard_normal(problem.w_shape), rng.standard_normal(K)

    for _ in range(int(rng.integers(4, 12))):
        x = nodes[int(rng.integers(len(nodes)))]
        alike = [one for one in nodes if one.shape == x.shape]
        op = rng.choice(["conv", "add", "residual", "concat", "branches"])
        if op == "conv":
            conv(x, int(rng.choice(CHANNELS)))
        elif op == "add" and len(alike) > 1:
            summands = rng.choice(np.array(alike, object), 2, replace=rng.random() < 0.2)
            note("add", summands, x.shape[3], relu=True)
        elif op == "residual":
            conv(x, x.shape[3])
            note("add", [x, nodes[-1]], x.shape[3])
        elif op == "branches":  # a block of GoogLeNet's, side by side in any order
            for _ in range(3):
                conv(x, int(rng.choice(CHANNELS)))
            parts = [nodes[-1 - i] for i in rng.permutation(3)]
            note("concat", parts, sum(one.shape[3] for one in parts))
        else:
            parts = [nodes[i] for i in rng.permutation(len(nodes))[:2]]
            note("concat", parts, sum(one.shape[3] for one in parts))
    read = {name for node in nodes for name in node.inputs}
    loose = [node for node in nodes if node.name not in read]
    note("concat", loose, sum(one.shape[3] for one in loose))
    conv(nodes[-1], 2)
    layers = tuple(node for node in nodes if node.op == "conv")
    return SimpleNamespace(title=f"network {seed}", nodes=tuple(nodes), layers=layers, weights=weights)


def plainly(network, picture):
    """Return what it makes of a picture, every array one of its own."""
    arrays = {"picture": picture}
    for node in network.nodes[1:]:
        inputs = [arrays[name] for name in node.inputs]
        if node.op == "conv":
            w, bias = network.weights[node.name]
            padded = np.pad(inputs[0], ((0, 0), (1, 1), (1, 1), (0, 0)))
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
            y = np.einsum("npqcrs,krsc->npqk", windows, w) + bias
        else:
            y = sum(inputs) if node.op == "add" else np.concatenate(inputs, axis=3)
        arrays[node.name] = np.maximum(y, 0) if node.relu else y
    return arrays[network.nodes[-1].name]


@pytest.mark.inside
@in_turns
@pytest.mark.parametrize("seed", range(40))
def test_any_network_gives_the_same_answer_in_little_memory(seed):
    network = some_network(seed)
    picture = np.random.default_rng(seed).standard_normal((1, H, W, 2))
    expected = plainly(network, picture)
    scale = np.abs(expected).max()
    for backend, algorithm, fused in (("numpy", "im2row", False), ("cpu", "indirect", True)):
        ready = Prepared(network, algorithm, backend, 1, fused, False)
        for _ in range(2):  # whatever the arrays held before
            with ready.borrowed() as graph:
                graph.inputs["picture"][:] = picture
                graph.run()
                np.testing.assert_allclose(graph.features, expected, rtol=0, atol=1e-11 * scale)
        assert max(alive(ready.nodes)) <= sum(share(ready.nodes)[1])


def test_these_networks_hold_what_they_are_for():
    """Parts put side by side in another order than they are made, sums of what somebody reads later."""
    kinds = set()
    for seed in range(40):
        network = some_network(seed)
        place = {node.name: i for i, node in enumerate(network.nodes)}
        last = {name: i for i, node in enumerate(network.nodes) for name in node.inputs}
        for node in fuse(network.nodes, [one.name for one in network.layers]):
            inputs = node.inputs
            if node.op == "add":
                kinds.add(tuple(last[name] > place[node.name] for name in inputs))
            elif node.op == "room":
                inputs = network.nodes[place[node.name]].inputs
                kinds |= {"another order"} if [*inputs] != sorted(inputs, key=place.get) else set()
            if node.op in ("add", "conv") and len({*inputs}) < len(inputs):
                kinds.add(f"{node.op}, twice the same")
    assert kinds >= {(True, True), (True, False), (False, True), (False, False)}
    assert kinds >= {"another order", "add, twice the same", "conv, twice the same"}
