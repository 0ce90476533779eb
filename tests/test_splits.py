"""A convolution on several devices: what travels is what a device needs and has not, counted one by one."""

import socket
import threading
from collections import defaultdict
from itertools import product
from math import inf, prod
from types import SimpleNamespace

import numpy as np
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from convlab import ConvError, ConvProblem, UnsupportedError, networks
from convlab.distributed import (
    Device,
    Layers,
    Network,
    Split,
    best_splits,
    border_cost,
    break_even,
    measure_network,
    messages,
    network_roof,
    network_speed,
    time_of,
)
from convlab.distributed.shares import rows_read, share
from convlab.distributed.span import windows
from convlab.distributed.splits import refuses
from convlab.distributed.traffic import PASSES

GPU, LINK = Device(flops=10e12, bandwidth=1e12), Network(latency=1e-5, bandwidth=10e9)


# -- counted one by one ------------------------------------------------------------------------------------


def part_of(index, size: int, parts: int):
    """Return the part that entries of an axis belong to."""
    return ((np.asarray(index) + 1) * parts - 1) // size


def part(letter, axis, size, parts, one):
    """Return, as booleans that lie along an axis of four, which entries belong to one part."""
    shape = [1, 1, 1, 1]
    shape[axis] = size
    assert part_of(np.arange(size), size, parts).max(initial=0) < parts, letter
    return (part_of(np.arange(size), size, parts) == one).reshape(shape)


class OneDevice:
    """What one device has, computes and needs: arrays of booleans, with an entry for every number."""

    def __init__(self, problem: ConvProblem, split: Split, place: tuple[int, ...]) -> None:
        self.problem, self.split = problem, split
        n, h, w, k, c = place
        pk, pc = split.K, split.C
        pictures = part("N", 0, problem.N, split.N, n)
        x_pixels = part("H", 1, problem.H, split.H, h) & part("W", 2, problem.W, split.W, w)
        y_pixels = part("H", 1, problem.P, split.H, h) & part("W", 2, problem.Q, split.W, w)
        if problem.groups > 1:
            self.x_block = self.x_channels = part("K", 3, problem.C, pk, k)
            self.y_block = self.y_channels = part("K", 3, problem.K, pk, k)
        else:
            self.x_block, self.y_block = part("C", 3, problem.C, pc, c), part("K", 3, problem.K, pk, k)
            self.x_channels = part("C", 3, problem.C, pk * pc, c * pk + k)
            self.y_channels = part("K", 3, problem.K, pk * pc, k * pc + c)
        self.own_x = pictures & x_pixels & self.x_channels
        self.own_y = pictures & y_pixels & self.y_channels
        self.makes_y = pictures & y_pixels & self.y_block
        self.makes_dx = pictures & x_pixels & self.x_block
        self.replica = np.ravel_multi_index((n, h, w), (split.N, split.H, split.W))

    def taps(self):
        """Yield which pixel of y reads which pixel of x, one after the other, as the seven loops do."""
        problem = self.problem
        (top, _), (left, _) = problem.padding
        for p, q, r, s in product(*map(range, (problem.P, problem.Q, problem.R, problem.S))):
            h = p * problem.stride[0] + r * problem.dilation[0] - top
            w = q * problem.stride[1] + s * problem.dilation[1] - left
            if 0 <= h < problem.H and 0 <= w < problem.W:
                yield p, q, h, w

    def needs_x(self):
        """For its part of y, and for its part of dw."""
        found = np.zeros(self.problem.x_shape, bool)
        for p, q, h, w in self.taps():
            pictures = self.makes_y[:, p, q].any(axis=1)
            found[pictures, h, w] |= self.x_block.ravel()
        return found

    def needs_dy(self):
        """For its part of dx."""
        found = np.zeros(self.problem.y_shape, bool)
        for p, q, h, w in self.taps():
            pictures = self.makes_dx[:, h, w].any(axis=1)
            found[pictures, p, q] |= self.y_block.ravel()
        return found

    def travels(self, passes):
        """Return how many numbers travel, by pass, kind and array."""
        found, has_x, has_dy = {}, self.own_x, self.own_y

        def fetch(during, array, needed, has, channels):
            new = needed & ~has
            found[during, "halo exchange", array] = (new & channels).sum()
            found[during, "all-gather", array] = (new & ~channels).sum()
            return has | needed

        if "forward" in passes:
            has_x = fetch("forward", "x", self.needs_x(), has_x, self.x_channels)
            found["forward", "reduce-scatter", "y"] = (self.makes_y & ~self.own_y).sum()
        if "dgrad" in passes:
            has_dy = fetch("dgrad", "dy", self.needs_dy(), has_dy, self.y_channels)
            found["dgrad", "reduce-scatter", "dx"] = (self.makes_dx & ~self.own_x).sum()
        if "wgrad" in passes:
            fetch("wgrad", "x", self.needs_x(), has_x, self.x_channels)
            fetch("wgrad", "dy", self.makes_y, has_dy, self.y_channels)
            found["wgrad", "all-reduce", "dw"] = self.reduced()
        return found

    def reduced(self):
        """Weights whose sum another replica makes are sent to it, and come back as many."""
        problem, split = self.problem, self.split
        channels = problem.C // problem.groups if problem.groups > 1 else int(self.x_block.sum())
        count = int(self.y_block.sum()) * problem.R * problem.S * channels
        replicas = split.N * split.H * split.W
        summed_here = part_of(np.arange(count), count, replicas) == self.replica
        return 2 * (count - summed_here.sum())


def counted(problem: ConvProblem, split: Split, passes) -> dict:
    """Return the bytes of the device with the most of each, none left out."""
    most: dict = defaultdict(int)
    for place in product(*map(range, split.parts.values())):
        for what, numbers in OneDevice(problem, split, place).travels(passes).items():
            most[what] = max(most[what], int(numbers) * problem.itemsize)
    return {what: nbytes for what, nbytes in most.items() if nbytes}


@st.composite
def cut_problems(draw):
    """Draw a small convolution and a split of it."""

    def integer(low, high):
        return draw(st.integers(low, high))

    groups = draw(st.sampled_from([1, 1, 1, 2, 4]))
    channels = [groups * integer(1, 6 // groups + 1) for _ in range(2)]
    shaping = {
        "stride": (integer(1, 3), integer(1, 3)),
        "padding": tuple((integer(0, 2), integer(0, 2)) for _ in range(2)),
        "dilation": (integer(1, 2), integer(1, 2)),
    }
    sizes = integer(1, 3), integer(3, 9), integer(3, 7), *channels, integer(1, 3), integer(1, 3)
    try:
        problem = ConvProblem(*sizes, **shaping, groups=groups)
    except ConvError:
        assume(False)
    split = Split(
        N=integer(1, problem.N),
        H=integer(1, min(problem.P, 4)),
        W=integer(1, min(problem.Q, 2)),
        K=draw(st.sampled_from([one for one in (1, 2, 3, 4) if one <= problem.K])),
        C=draw(st.sampled_from([one for one in (1, 2, 3) if one <= problem.C])),
    )
    assume(split.devices <= 24 and not refuses(problem, split))
    return problem, split


@settings(max_examples=examples(250), deadline=None)
@given(cut_problems(), st.sets(st.sampled_from(PASSES), min_size=1))
def test_what_travels_is_what_is_needed_and_not_there(cut, passes):
    problem, split = cut
    found = messages(problem, split, tuple(passes))
    told = {(one.during, one.kind, one.array): one.nbytes for one in found}
    assert len(told) == len(found)
    assert told == counted(problem, split, passes)


@settings(max_examples=examples(60), deadline=None)
@given(cut_problems())
def test_who_takes_part(cut):
    problem, split = cut
    rings = {"x": split.K, "dx": split.K, "y": split.C, "dy": split.C, "dw": split.N * split.H * split.W}
    for one in messages(problem, split):
        if one.kind != "halo exchange":
            assert one.group == rings[one.array]
            assert one.rounds == (one.group - 1) * (2 if one.array == "dw" else 1)
            continue
        most = 0
        for place in product(*map(range, split.parts.values())):
            device = OneDevice(problem, split, place)
            needed = device.needs_x() if one.array == "x" else device.needs_dy()
            _, rows, columns, _ = np.nonzero(needed)
            _, H, W, _ = needed.shape
            owners = set(zip(part_of(rows, H, split.H), part_of(columns, W, split.W), strict=True))
            most = max(most, len(owners))
        assert one.group == most
        assert one.rounds == 1


# -- known splits ------------------------------------------------------------------------------------------

EVEN = ConvProblem(N=8, H=16, W=16, C=32, K=64, R=3, S=3, padding=1)


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        (Split(), []),
        (Split(N=4), [("wgrad", "all-reduce", "dw", 2 * 3 / 4 * EVEN.w_bytes, 4)]),
        (
            Split(K=4),
            [
                ("forward", "all-gather", "x", 3 / 4 * EVEN.x_bytes, 4),
                ("dgrad", "reduce-scatter", "dx", 3 / 4 * EVEN.x_bytes, 4),
            ],
        ),
        (
            Split(C=4),
            [
                ("forward", "reduce-scatter", "y", 3 / 4 * EVEN.y_bytes, 4),
                ("dgrad", "all-gather", "dy", 3 / 4 * EVEN.y_bytes, 4),
            ],
        ),
        (
            Split(H=4),
            [
                ("forward", "halo exchange", "x", 2 * EVEN.x_bytes / 16, 3),  # two rows of sixteen
                ("dgrad", "halo exchange", "dy", 2 * EVEN.y_bytes / 16, 3),
                ("wgrad", "all-reduce", "dw", 2 * 3 / 4 * EVEN.w_bytes, 4),
            ],
        ),
        (
            Split(H=4, W=4),  # a tile of 4 × 4 pixels and all round it: 6² − 4²
            [
                ("forward", "halo exchange", "x", 20 * EVEN.x_bytes / 256, 9),
                ("dgrad", "halo exchange", "dy", 20 * EVEN.y_bytes / 256, 9),
                ("wgrad", "all-reduce", "dw", 2 * 15 / 16 * EVEN.w_bytes, 16),
            ],
        ),
    ],
    ids=str,
)
def test_known_splits(split, expected):
    assert [tuple(one) for one in messages(EVEN, split)] == expected


def test_whole_groups_need_nothing():
    depthwise = ConvProblem(2, 9, 9, 8, 8, 3, 3, padding=1, groups=8)
    assert messages(depthwise, Split(K=4)) == ()


@pytest.mark.parametrize(
    ("split", "said"),
    [
        (Split(N=3), "N=3, and there are 2 pictures"),
        (Split(K=5), "K=5 does not divide the 8 groups"),
        (Split(C=2), "C=2, and the channels are in 8 groups"),
        (Split(H=10), "H=10, and there are 9 rows of y"),
    ],
    ids=str,
)
def test_what_cannot_be_cut_is_refused(split, said):
    grouped = ConvProblem(2, 9, 9, 16, 16, 3, 3, padding=1, groups=8)
    for ask in (lambda: messages(grouped, split), lambda: time_of(grouped, split, GPU, LINK)):
        with pytest.raises(UnsupportedError, match=said):
            ask()


def test_what_one_pass_received_the_next_has():
    halo = ("halo exchange", "x")
    alone = messages(EVEN, Split(H=4), ("wgrad",))
    assert halo in [(one.kind, one.array) for one in alone]
    after = messages(EVEN, Split(H=4), ("forward", "wgrad"))
    assert [one.during for one in after if (one.kind, one.array) == halo] == ["forward"]


# -- how long it takes -------------------------------------------------------------------------------------


def test_rings():
    net = Network(latency=3.0, bandwidth=2.0)
    assert net.seconds(10) == 3 + 5
    assert net.halo_exchange(10) == 3 + 10
    assert net.halo_exchange(10, at_once=False) == 2 * (3 + 5)
    assert net.halo_exchange(10, neighbours=0) == 0
    assert net.all_gather(40, 4) == net.reduce_scatter(40, 4) == 3 * (3 + 10 / 2)
    assert net.all_reduce(40, 4) == 6 * (3 + 10 / 2)
    assert net.all_reduce(40, 1) == 0


def test_the_time_of_a_message_is_that_of_its_ring():
    for split, ring, nbytes in [
        (Split(N=4), LINK.all_reduce, EVEN.w_bytes),
        (Split(K=4), LINK.all_gather, 2 * EVEN.x_bytes),
        (Split(C=8), LINK.reduce_scatter, 2 * EVEN.y_bytes),
    ]:
        found = time_of(EVEN, split, GPU, LINK)
        rounds = 0 if split.N > 1 else (split.devices - 1) * LINK.latency  # two rings, each of half the bytes
        assert found.network == pytest.approx(ring(nbytes, split.devices) + rounds)


def test_computing_and_sending():
    problem = networks.load("resnet18", batch=8)["layer4.1.conv2"].problem
    both = time_of(problem, Split(N=8), GPU, LINK)
    apart = time_of(problem, Split(N=8), GPU, LINK, overlap=False)
    assert both.seconds == both.network > both.compute
    assert apart.seconds == both.network + both.compute
    one = time_of(problem, Split(), GPU, LINK)
    assert one.network == 0
    assert one.compute == 3 * problem.flops / GPU.flops == 8 * both.compute
    slow = time_of(problem, Split(), Device(GPU.flops, 1.0), LINK, ("forward",))
    assert slow.compute == problem.x_bytes + problem.w_bytes + problem.y_bytes


@settings(max_examples=examples(60), deadline=None)
@given(cut_problems(), st.sampled_from(PASSES))
def test_what_a_device_reads_and_writes(cut, one_pass):
    """Where memory holds it up: of each array, the bytes of the device with the most."""
    problem, split = cut
    found = time_of(problem, split, Device(flops=1e30, bandwidth=1.0), LINK, (one_pass,))
    devices = [OneDevice(problem, split, place) for place in product(*map(range, split.parts.values()))]
    depth = max(int(one.x_block.sum()) for one in devices) if problem.groups == 1 else problem.w_shape[3]
    w = max(int(one.y_block.sum()) for one in devices) * problem.R * problem.S * depth
    if one_pass == "dgrad":
        arrays = [one.makes_dx for one in devices], [one.needs_dy() for one in devices]
    else:
        arrays = [one.needs_x() for one in devices], [one.makes_y for one in devices]
    numbers = w + sum(max(int(one.sum()) for one in array) for array in arrays)
    assert found.compute == numbers * problem.itemsize


@pytest.mark.parametrize("devices", [1, 7, 8, 12])
def test_all_splits_are_tried_and_ranked(devices):
    problem = ConvProblem(4, 8, 6, 16, 24, 3, 3, padding=1)
    sizes = problem.N, problem.P, problem.Q, problem.K, problem.C
    found = best_splits(problem, devices, GPU, LINK)
    wanted = {parts for parts in product(*(range(1, size + 1) for size in sizes)) if prod(parts) == devices}
    assert {tuple(one.split.parts.values()) for one in found} == wanted
    assert len(found) == len(wanted)
    seconds = [one.seconds for one in found]
    assert seconds == sorted(seconds)
    assert found[0] == time_of(problem, found[0].split, GPU, LINK)
    with pytest.raises(UnsupportedError, match="devices=11"):
        best_splits(ConvProblem(1, 5, 5, 2, 2, 1, 1), 11, GPU, LINK)


@pytest.mark.parametrize(
    ("layer", "batch", "axes"),
    [("conv1", 1, "HW"), ("conv1", 256, "N"), ("layer4.1.conv2", 8, "KC"), ("layer4.1.conv2", 1024, "N")],
)
def test_where_each_split_wins(layer, batch, axes):
    """Large pictures are cut where they are large, many pictures by themselves, many weights by channels."""
    problem = networks.load("resnet18", batch=batch)[layer].problem
    cut_once = (one for one in best_splits(problem, 4, GPU, LINK) if max(one.split.parts.values()) == 4)
    first = next(cut_once)
    assert next(letter for letter, parts in first.split.parts.items() if parts == 4) in axes
    others = [one for one in cut_once if not any(one.split.parts[letter] == 4 for letter in axes)]
    assert all(one.network > first.network for one in others)
    assert others


# -- the third roof ----------------------------------------------------------------------------------------


@settings(max_examples=examples(60), deadline=None)
@given(cut_problems(), st.sampled_from([1e6, 1e9, 1e12]), st.sampled_from([1e8, 1e10, 1e13]))
def test_the_roofs_are_the_times_without_latency(cut, wire, memory):
    problem, split = cut
    device, link = Device(10e12, memory), Network(0.0, wire)
    roof, took = network_roof(problem, split, device, link), time_of(problem, split, device, link)
    work = 3 * 2 * most_macs(problem, split)
    assert roof.attainable == pytest.approx(work / took.seconds)
    if roof.bound == "memory":
        assert roof.intensity == pytest.approx(work / (took.compute * memory))
    if took.network:
        assert roof.network_intensity == pytest.approx(work / (took.network * wire))
    else:
        assert roof.network_intensity == inf
        assert roof.bound != "network"


def most_macs(problem: ConvProblem, split: Split) -> int:
    """Return the multiply-adds of the device with the most of them."""

    def most(size, parts):
        return int(np.bincount(part_of(np.arange(size), size, parts)).max())

    pixels = most(problem.N, split.N) * most(problem.P, split.H) * most(problem.Q, split.W)
    depth = problem.C // problem.groups if problem.groups > 1 else most(problem.C, split.C)
    return pixels * most(problem.K, split.K) * problem.R * problem.S * depth


def test_the_line_of_the_network():
    roof = network_roof(EVEN, Split(N=8), GPU, Network(0.0, 1e9))
    flat = min(roof.limits["multiply-adds"], roof.limits["memory"])
    at = np.array([0.0, roof.ridge / 2, roof.ridge, 2 * roof.ridge])
    np.testing.assert_allclose(roof.over(at), [0, flat / 2, flat, flat])
    assert roof.over(np.array(roof.network_intensity)) == roof.attainable
    assert roof.bound == "network"
    assert network_roof(EVEN, Split(N=8), GPU, Network(0.0, inf)).bound != "network"


def test_a_message_takes_half_of_there_and_back(monkeypatch):
    here, there = socket.socketpair()
    clock = iter(range(10**6))
    monkeypatch.setattr(network_speed, "time", SimpleNamespace(perf_counter=lambda: next(clock)))

    def echo():
        while head := network_speed._received(there, 8):
            there.sendall(network_speed._received(there, int.from_bytes(head, "big")))

    other = threading.Thread(target=echo)
    other.start()
    with here, there:
        assert set(network_speed._one_way(here, network_speed.SMALL)) == {0.5}
        here.shutdown(socket.SHUT_RDWR)
        other.join()


# -- compute a border twice, or send it --------------------------------------------------------------------


def two_layers():
    w = np.ones((1, 3, 3, 1), np.float32)
    return Layers.on((1, 12, 8, 1)).conv(w, padding=1).conv(w, padding=1)


def test_borders_of_two_layers():
    """Three devices have four of twelve rows each; that in the middle has two neighbours."""
    device, net = Device(1e6, 1.0), Network(1e-3, 1e6)
    found = break_even(two_layers(), 3, device, net)
    row, row_bytes = 2 * 8 * 9, 8 * 4
    assert found.recompute[:3] == ((6 + 4) * row, 1, 4 * row_bytes)
    assert found.exchange[:3] == ((4 + 4) * row, 2, (2 + 2) * row_bytes)
    assert found.recompute.seconds == pytest.approx(10 * row / 1e6 + 1e-3 + 128 / 1e6)
    assert found.exchange.seconds == pytest.approx(8 * row / 1e6 + 2e-3 + 128 / 1e6)
    assert found.latency == pytest.approx(2 * row / 1e6)  # two rows more, and one wait less
    assert found.bandwidth is None  # both send as many bytes


@pytest.mark.parametrize("devices", [2, 3])
def test_a_row_that_several_read_travels_once(devices):
    nodes = networks.load_model("resnet18", size=64).nodes
    several = 0
    for node in nodes:
        readers = [one for one in nodes if node.name in one.inputs]
        several += len(readers) > 1
        most = 0
        for device in range(devices):
            wanted = {
                row
                for reader in readers
                for row in rows_read(windows(reader, node.shape)[0], share(reader.shape[1], devices, device))
            }
            own = share(node.shape[1], devices, device)
            most = max(most, len(wanted - {*range(own.start, own.stop)}))
        assert border_cost._border(node, nodes, devices) == most, node.name
    assert several > 3


@pytest.mark.parametrize("devices", [2, 5])
def test_where_both_take_as_long(devices):
    w = np.ones((8, 5, 5, 3), np.float32)
    layers = Layers.on((1, 80, 16, 3)).conv(w, padding=2).conv(np.ones((4, 3, 3, 8), np.float32), padding=1)
    device = Device(1e9, 1.0)
    first = break_even(layers, devices, device, Network(1e-7, 1e9))
    for net in (Network(first.latency, 1e9), Network(1e-7, first.bandwidth)):
        there = break_even(layers, devices, device, net)
        assert there.recompute.seconds == pytest.approx(there.exchange.seconds)
    slow = break_even(layers, devices, device, Network(10 * first.latency, 1e9))
    assert slow.recompute.seconds < slow.exchange.seconds
    thin = break_even(layers, devices, device, Network(1e-7, first.bandwidth / 10))
    assert thin.recompute.seconds < thin.exchange.seconds


def test_one_layer_has_nothing_to_compute_twice():
    layers = Layers.on((1, 12, 8, 1)).conv(np.ones((1, 3, 3, 1), np.float32), padding=1)
    found = break_even(layers, 3, GPU, LINK)
    assert found.recompute == found.exchange
    assert found.latency is found.bandwidth is None


def test_one_device_has_no_border():
    found = break_even(Layers.of(networks.load_model("resnet18", size=(64, 64))), 1, GPU, LINK)
    assert found.recompute[1:3] == found.exchange[1:3] == (0, 0)
    assert found.recompute.flops == found.exchange.flops


def test_a_whole_network():
    """Exchanged is what windows of more than one row reach over, once for each array."""
    layers = Layers.of(networks.load_model("resnet18", size=(448, 64)))
    found = break_even(layers, 2, GPU, LINK)
    windowed = {
        name
        for node in layers.but_for_the_mean().nodes
        if node.window > 1 or (node.op == "conv" and node.problem.R > 1)
        for name in node.inputs
    }
    assert found.exchange.exchanges == len(windowed)
    assert found.recompute.flops > 1.3 * found.exchange.flops
    with pytest.raises(ConvError, match="devices=15; expected 14"):
        break_even(layers, 15, GPU, LINK)


# -- measured ----------------------------------------------------------------------------------------------


def test_a_network_is_measured():
    found = measure_network()
    assert 1e-7 < found.latency < 0.1
    assert 1e6 < found.bandwidth < 1e13


def test_other_bytes_than_were_sent_are_noticed():
    here, there = socket.socketpair()
    here.settimeout(5)

    def turn_a_bit():
        head = network_speed._received(there, 8)
        message = network_speed._received(there, int.from_bytes(head, "big"))
        message[-1] ^= 1
        there.sendall(message)

    other = threading.Thread(target=turn_a_bit)
    other.start()
    with here, there, pytest.raises(ConnectionError, match="others came back"):
        network_speed._one_way(here, network_speed.SMALL)
    other.join()


def test_a_stranger_is_not_listened_to():
    with socket.create_server((network_speed.HOST, 0)) as door:
        callers = [socket.create_connection(door.getsockname()) for _ in range(2)]
        callers[0].sendall(b"nonsense")
        callers[1].sendall(b"the word")
        with network_speed._expected(door, "the word") as line:
            assert line.getpeername() == callers[1].getsockname()
        for caller in callers:
            caller.close()
