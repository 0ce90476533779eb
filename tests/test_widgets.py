"""The widgets without a browser: opening states, what they leave behind, no request to the network."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from html import escape
from itertools import pairwise

import numpy as np
import pytest
from effort import in_turns
from ipywidgets.widgets import widget as kernel
from known_machine import SPEEDS
from widget_kinds import LEADING, WIDGETS

import convlab
from convlab import ConvError, ConvProblem, networks
from convlab.algorithms import Algorithm, Form, Formula
from convlab.auto import speeds
from convlab.auto.predict import predict
from convlab.auto.ranking import order_of
from convlab.benchmark import saved
from convlab.benchmark.roofline_points import point
from convlab.cost.layers import cost_of
from convlab.cpu.tile_model import TileBounds
from convlab.distributed import Device, Network, break_even
from convlab.distributed.budget import strip
from convlab.distributed.piece import piece
from convlab.distributed.strips import work
from convlab.gpu import simulator
from convlab.inspect.access_patterns import ACCESS_PATTERNS
from convlab.inspect.block_footprint import implicit_gemm_blocks, precomputed_gemm_blocks
from convlab.inspect.tiling import Tiling
from convlab.support.units import bytes_text, ratio_text, time_text
from convlab.widgets import (
    ChannelMixing,
    Guess,
    Im2colFills,
    IndirectionExplorer,
    MemoryBlowup,
    PredictedTimes,
    PyramidOverCut,
    RegisterTile,
    RooflineExplorer,
    SlidingWindow,
    Spectra,
    TaskClock,
    TileByTile,
    TilingExplorer,
    TransposedWindow,
    WarpMicroscope,
    WinogradTile,
    predicted_data,
)
from convlab.widgets.channel_mixing import mixing_layer
from convlab.widgets.pyramid_data import Machine, stack, ways
from convlab.widgets.roofline_data import shaped, times_of
from convlab.widgets.shared.javascript import stylesheet
from convlab.widgets.winograd_tile import text, tile_of


@pytest.fixture(params=WIDGETS, ids=lambda kind: kind.__name__)
def widget(request):
    return request.param()


@pytest.mark.inside
@pytest.mark.parametrize(
    ("kind", "state", "words"),
    [
        (SlidingWindow, {"H": 11}, "H=11; expected an integer from 3 to 10"),
        (SlidingWindow, {"R": 2.5}, "R=2.5"),
        (SlidingWindow, {"stride": 0}, "stride=0"),
        (SlidingWindow, {"stride": (1, 5)}, "stride=(1, 5); this figure shows 1 to 4, not 5"),
        (SlidingWindow, {"padding": 5}, "padding=5; this figure shows 0 to 4"),
        (SlidingWindow, {"padding": "same", "R": 5, "dilation": 3, "stride": 1}, "padding='same'"),
        (SlidingWindow, {"R": 2, "S": 2, "dilation": 4}, "dilation=4; this figure shows 1 to 3"),
        (SlidingWindow, {"step": np.array([1, 2])}, "step=array([1, 2])"),
        (SlidingWindow, {"H": 3, "W": 3, "R": 5, "padding": 0}, "P would be"),
        (SlidingWindow, {"flip": 1}, "flip=1; expected True or False"),
        (Spectra, {"kind": "sharp"}, "kind='sharp'; expected one of blur, edges, detail, shift"),
        (Spectra, {"taps": 16}, "taps=16; expected an integer from 1 to 15"),
        (Spectra, {"zeros": -1}, "zeros=-1"),
        (Spectra, {"forget": 1}, "forget=1; expected True or False"),
        (Guess, {"question": ""}, "question"),
        (Guess, {"actual": np.inf}, "actual=inf; expected a number"),
        (Guess, {"misconceptions": {"4": "no"}}, "a key of misconceptions='4'; expected a number"),
        (Im2colFills, {"C": 4}, "C=4"),
        (Im2colFills, {"layout": "im2both"}, "layout='im2both'; expected one of im2row, im2col"),
        (Im2colFills, {"layout": None}, "layout=None"),
        (Im2colFills, {"order": ""}, "order=''; expected one of RSC, CRS"),
        (Im2colFills, {"H": 2, "padding": 0}, "P would be"),
        (TileByTile, {"block_m": 0}, "block_m=0; expected an integer from 1 to 64"),
        (TileByTile, {"block_k": 2.0}, "block_k=2.0"),
        (TileByTile, {"K": 7}, "K=7; expected an integer from 1 to 6"),
        (TileByTile, {"algorithm": "im2row"}, "algorithm='im2row'; expected one of implicit_gemm, precomp"),
        (TileByTile, {"H": 2, "padding": 0}, "P would be"),
        (WinogradTile, {"m": 3}, "m=3; expected one of 2, 4, 6"),
        (WinogradTile, {"dimensions": 3}, "dimensions=3; expected an integer from 1 to 2"),
        (WinogradTile, {"dimensions": "2"}, "dimensions='2'"),
        (WinogradTile, {"step": 5}, "step=5; expected an integer from 0 to 4"),
        (TilingExplorer, {"layer": "conv9"}, "layer='conv9'; expected one of conv1"),
        (TilingExplorer, {"batch": 2}, "batch=2; expected one of 1, 8, 32"),
        (TilingExplorer, {"gpu": "TPU"}, "gpu='TPU'; expected one of A100"),
        (TilingExplorer, {"tiling": Tiling(block_m=100)}, "block_m='100'; expected one of 8, 16"),
        (TransposedWindow, {"H": 6}, "H=6; expected an integer from 2 to 5"),
        (TransposedWindow, {"taps": 0}, "taps=0; expected an integer from 1 to 5"),
        (TransposedWindow, {"view": "gather"}, "view='gather'; expected one of scatter, zeros, subfilters"),
        (TransposedWindow, {"output_padding": 2}, "output_padding[0]=2; expected less than the stride (2)"),
        (TransposedWindow, {"H": 2, "taps": 1, "stride": 1, "padding": 2}, "P would be -2"),
        (
            RooflineExplorer,
            {"machine": "abacus"},
            "machine='abacus'; expected one of zen4_cpu, zen5_cpu, emerald_rapids_cpu, zen3_cpu",
        ),
        (RooflineExplorer, {"machine": "here"}, "machine='here'"),
        (RooflineExplorer, {"algorithm": "magic"}, "algorithm='magic'; expected one of direct"),
        (RooflineExplorer, {"layer": "conv9"}, "resnet18 has no layer 'conv9'"),
        (RooflineExplorer, {"layer": 20}, "layer=20; expected an integer from 0 to 19"),
        (RooflineExplorer, {"batch": 0}, "batch=0"),
        (RooflineExplorer, {"C": -1}, "C=-1; expected an integer from 0 to 4096"),
        (RooflineExplorer, {"R": 12}, "R=12; expected an integer from 0 to 11"),
        (PredictedTimes, {"network": "own"}, "network='own'; expected one of mobilenet_v1"),
        (PredictedTimes, {"layer": "conv9"}, "layer='conv9'; expected one of conv1"),
        (PredictedTimes, {"layer": 99}, "layer=99; expected an integer from 0"),
        (PredictedTimes, {"batch": 3}, "batch=3; expected one of 1, 2, 4"),
        (PredictedTimes, {"machine": "there"}, "machine='there'; expected one of here"),
        (PredictedTimes, {"slower": "all"}, "slower='all'; expected one of nothing, computing"),
        (PredictedTimes, {"own": {"R": 4}}, "own['R']=4; expected one of 1, 3, 5"),
        (PredictedTimes, {"own": {"C": np.ones(2)}}, "own['C']=array([1., 1.])"),
        (PredictedTimes, {"own": {"S": 3}}, "own={'S': 3}; expected a dict with some of H, C"),
        (PredictedTimes, {"own": 5}, "own=5; expected a dict"),
        (ChannelMixing, {"channels": 100}, "channels=100; expected one of 16, 64, 256, 512"),
        (ChannelMixing, {"groups": 3}, "groups=3; expected one of 1, 2, 4, 8, 16, 256"),
        (ChannelMixing, {"groups": True}, "groups=True"),
        (ChannelMixing, {"channels": 16, "groups": 256}, "groups=256"),
        (ChannelMixing, {"size": 6}, "size=6; expected an integer from 7 to 112"),
        (ChannelMixing, {"taps": 8}, "taps=8"),
        (PyramidOverCut, {"layers": 9}, "layers=9; expected an integer from 1 to 8"),
        (PyramidOverCut, {"cut": 0}, "cut=0; expected an integer from 1 to 47"),
        (PyramidOverCut, {"cut": 16, "stride": 2}, "cut=16; the result has 16 rows, expected fewer"),
        (PyramidOverCut, {"taps": 4}, "taps=4; expected one of 1, 3, 5, 7"),
        (PyramidOverCut, {"stride": 3}, "stride=3; expected one of 1, 2"),
        (PyramidOverCut, {"W": 500}, "W=500; expected one of 64, 128"),
        (PyramidOverCut, {"latency": 0.0}, "latency=0.0; expected a number above 0"),
        (PyramidOverCut, {"latency": 3e-5}, "latency=3e-05; expected one of 1e-6, 2e-6, 5e-6, 1e-5"),
        (RegisterTile, {"rows": 15}, "rows=15; expected an integer from 1 to 14"),
        (RegisterTile, {"vectors": 0}, "vectors=0"),
        (RegisterTile, {"registers": 24}, "registers=24; expected one of 32, 16"),
        (RegisterTile, {"units": 3}, "units=3; expected one of 2, 1, 4"),
        (RegisterTile, {"step": 6}, "step=6"),
        (IndirectionExplorer, {"H": 8}, "H=8; expected an integer from 3 to 7"),
        (IndirectionExplorer, {"H": "x"}, "H='x'; expected an integer from 3 to 7"),
        (IndirectionExplorer, {"rows": 0}, "rows=0"),
        (IndirectionExplorer, {"image": 3}, "image=3"),
        (WarpMicroscope, {"traces": {}}, "traces={}; expected a Trace of simulator.run, or a dict"),
        (WarpMicroscope, {"traces": {"one": 1}}, "traces={'one': 1}"),
        (WarpMicroscope, {"kernel": -1}, "kernel=-1; expected an integer from 0"),
        (WarpMicroscope, {"step": 1.5}, "step=1.5"),
        (MemoryBlowup, {"network": "alexnet"}, "alexnet"),
        (MemoryBlowup, {"layer": "conv99"}, "conv99"),
        (MemoryBlowup, {"network": ["vgg16"]}, "network=['vgg16']"),
        (MemoryBlowup, {"layer": 20}, "layer=20; expected an integer from 0 to 19"),
        (MemoryBlowup, {"layer": 1.5}, "layer=1.5; expected"),
        (MemoryBlowup, {"layer": [1]}, "layer=[1]; expected"),
        (MemoryBlowup, {"layer": True}, "layer=True; expected"),
        (MemoryBlowup, {"batch": 5000}, "batch=5000"),
        (MemoryBlowup, {"dtype": "int8"}, "int8"),
        (MemoryBlowup, {"algorithm": "magic"}, "algorithm='magic'; expected one of direct"),
        (MemoryBlowup, {"algorithm": ["im2row"]}, "algorithm=['im2row']"),
        (MemoryBlowup, {"known": ()}, "known=(); expected names of algorithms"),
        (MemoryBlowup, {"known": "direct"}, "known='direct'; expected names"),
        (MemoryBlowup, {"known": ("magic",)}, "known='magic'; expected one of direct"),
        (MemoryBlowup, {"known": ("direct",)}, "algorithm='im2row'; expected one of direct"),
        (MemoryBlowup, {"algorithm": None}, "algorithm=None"),
    ],
)
def test_bad_opening_state_is_refused(kind, state, words):
    with pytest.raises(ConvError, match=re.escape(words)):
        kind(**state)


@pytest.mark.parametrize("kind", LEADING, ids=lambda k: k.__name__)
def test_steps_are_legal_short_and_differ(kind):
    """Each is a state that Python takes, too, and leads somewhere else than the others."""
    opened = kind()
    steps = opened.lead()
    assert len(steps) == 3
    assert steps[0].state == {}  # it is how the widget opens
    found = []
    for step in steps:
        assert len(step.words.split()) <= 25
        assert step.words[-1] in ".?!:"
        assert step.state.keys() <= opened.opening.keys()
        one = kind()
        for name, value in (one.opening | dict(step.state)).items():
            setattr(one, name, value)
        found.append(one.words())
    assert len(set(found)) == 3


@in_turns
@pytest.mark.workshop
def test_steps_lead_somewhere_in_every_notebook():
    from tools.stills import ROOT, shown_in

    shown = [widget for path in sorted((ROOT / "notebooks").glob("*.ipynb")) for widget in shown_in(path)]
    assert len(shown) > 12
    for widget in shown:
        states = [widget.opening | dict(step.state) for step in widget.lead()]
        assert len(states) > 1 or widget.measured_here is None or len(widget.kernels) == 1
        assert all(states.count(state) == 1 for state in states), widget.words()
        for name, value in (pair for state in states for pair in state.items()):
            setattr(widget, name, value)


def test_the_microscope_leads_through_kernels_of_your_own():
    traces = {access.name: access.trace() for access in ACCESS_PATTERNS[:4]}
    shown = WarpMicroscope(traces, kernel=1)
    assert [step.state for step in shown.lead()] == [
        {},
        {"kernel": 0, "access": 0, "step": 0},
        {"kernel": 2, "access": 0, "step": 0},
    ]
    assert "“one for all”, x" in shown.lead()[2].words
    assert WarpMicroscope(traces["side by side"]).lead() == []  # one kernel: look at it
    others = {"a": ACCESS_PATTERNS[-1].trace(), "b": ACCESS_PATTERNS[0].trace()}
    assert "it never asks for tile" in WarpMicroscope(others, access=2).lead()[1].words
    assert WarpMicroscope(traces).key != WarpMicroscope(others).key  # a link tells them apart


def test_the_memory_explorer_lists_what_is_known():
    shown = MemoryBlowup(known=("im2col", "direct"), algorithm="im2col")
    assert "direct" in shown.words()
    assert "im2row" not in shown.words()
    assert '"im2row"' not in shown.tables()
    with pytest.raises(ConvError, match="algorithm='im2row'; expected one of direct, im2col"):
        shown.algorithm = "im2row"
    assert len(shown.lead()) == 3
    assert len(MemoryBlowup(known=("im2row",)).lead()) == 2


def test_a_value_set_later_is_checked_too():
    window = SlidingWindow()
    with pytest.raises(ConvError, match="stride_h=9"):
        window.stride_h = 9


@pytest.mark.parametrize(
    ("shown", "trait", "value", "words"),
    [
        (MemoryBlowup(), "own", {}, "own={}; expected a dict of H, W, C, K"),
        (MemoryBlowup(), "own", {"H": 0}, "own['H']=0; expected an integer from 1 to 8192"),
        (MemoryBlowup(), "own", {"H": "x"}, "own['H']='x'"),
        (MemoryBlowup(), "own", None, "own=None; expected a dict"),
        (IndirectionExplorer(), "was", {}, "was={}; expected a dict of N, H, W"),
        (IndirectionExplorer(), "was", {"rows": 8}, "was['rows']=8; expected an integer from 1 to 7"),
        (PredictedTimes(), "machine", "", "machine=''; expected one of here"),
    ],
    ids=lambda value: getattr(value, "key", None),
)
def test_what_python_sets_later_is_refused_in_words(shown, trait, value, words):
    with pytest.raises(ConvError, match=re.escape(words)):
        setattr(shown, trait, getattr(shown, trait) | value if value else value)


def test_numbers_of_numpy_are_taken_later_too():
    shown = MemoryBlowup(network="vgg16")
    shown.own = shown.own | {"H": np.int64(96)}
    assert type(shown.own["H"]) is int
    assert shown.own_refusals["own"] == shown.own


def of_own(sizes, **state):
    """Return the memory explorer with one's own layer, as the page sets it."""
    shown = MemoryBlowup(**state)
    shown.own, shown.network = sizes, "own"
    return shown


OWN = {"H": 8, "W": 8, "C": 1, "K": 1, "R": 3, "S": 3, "stride": 1, "padding": 0, "dilation": 1, "groups": 1}


def test_state_describes_the_problem():
    window = SlidingWindow(7, 9, 2, 3, stride=(2, 1), padding=((1, 0), (2, 3)), dilation=(1, 2))
    assert window.problem == ConvProblem(
        1, 7, 9, 1, 1, 2, 3, stride=(2, 1), padding=((1, 0), (2, 3)), dilation=(1, 2)
    )
    assert SlidingWindow(7, 9, stride=2, padding="same").problem.P == 4
    assert Im2colFills(layout="im2col").order == "CRS"
    assert MemoryBlowup("vgg16", "features.5", batch=3, dtype="float64").problem == ConvProblem(
        3, 112, 112, 64, 128, 3, 3, padding=1, dtype="float64"
    )
    mixing = ChannelMixing(64, groups=64, size=14, taps=5)
    assert mixing.problem == ConvProblem(1, 14, 14, 64, 64, 5, 5, padding=2, groups=64)
    mixing.channels = "16"  # fewer places on the slider: the last stays the last
    assert mixing.problem.groups == 16
    sizes = {"H": 10, "W": 12, "C": 4, "K": 6, "R": 3, "S": 3, "stride": 2, "padding": 1, "groups": 2}
    own = of_own(sizes | {"dilation": 1}, batch=2, dtype="float16")
    assert own.problem == ConvProblem(2, **sizes, dtype="float16")


@pytest.mark.parametrize("name", networks.names())
def test_opens_at_the_layer_with_the_largest_workspace(name):
    network = networks.load(name)
    largest = max(convlab.ALGORITHMS["im2row"].workspace_bytes(layer.problem) for layer in network)
    shown = MemoryBlowup(name)
    assert convlab.ALGORITHMS["im2row"].workspace_bytes(shown.problem) == largest


def test_bundle_has_a_live_view_and_what_stands_in_for_it(widget):
    bundle, metadata = widget._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    assert bundle["text/plain"] == widget.words()
    assert len(bundle["text/plain"].split()) > 20
    page = bundle["text/html"]
    assert page.index(escape(widget.words())) < page.index("<script")
    assert len(re.findall(r'id="([^"]+)"', page)) == 1
    assert ("image/png" in bundle) == ("<img" in page) == (widget.still() is not None)
    if "image/png" in bundle:
        assert metadata["image/png"]["alt"] == widget.words()


def test_alt_text_says_the_numbers():
    assert "whose value is 15" in SlidingWindow(stride=2).words()
    assert "9.0 times as many" in Im2colFills().words()
    assert "In its 36 cells stand 14 different numbers of the picture and 6 zeros" in TileByTile().words()
    assert "36 multiplications instead of 144" in WinogradTile(m=4).words()
    assert "64 of 256 channels for each filter" in ChannelMixing().words()
    assert "1 × 1" not in ChannelMixing(groups=1).words()
    conv1 = networks.load("resnet18")["conv1"].problem
    ratio = convlab.ALGORITHMS["im2row"].workspace_bytes(conv1) / conv1.x_bytes
    assert f"{ratio:.1f}× its input" in MemoryBlowup().words()


PYRAMIDS = [
    {},
    {"layers": 3, "cut": 1, "H": 9},
    {"layers": 8, "taps": 7, "dilation": 2, "cut": 20},
    {"stride": 2, "cut": 5, "H": 31, "taps": 5, "dilation": 2},
    {"stride": 2, "cut": 8, "taps": 1},
]


@pytest.mark.parametrize("state", PYRAMIDS, ids=str)
@pytest.mark.parametrize("every", [1, 2, 8])
def test_a_pyramid_has_what_its_taps_read_and_no_more(state, every):
    """Tap by tap: what a machine computes reads rows that it has, and the last row of its border."""
    shown = PyramidOverCut(every=every, **state)
    lines, group = shown.lines, shown.at[1]
    for at, (node, before, line) in enumerate(
        zip(shown.network.nodes[1:], lines[:-1], lines[1:], strict=True)
    ):
        problem = node.convolution
        assert (before.size, line.size) == (problem.H, problem.P)
        for side, way in ((0, 1), (1, -1)):
            rows = np.arange(*line.made[side])[:, None] * problem.stride[0] - problem.padding[0][0]
            read = set((rows + np.arange(problem.R) * problem.dilation[0]).flat) & set(range(problem.H))
            if at % group:  # no message before this layer
                assert before.sent == (0, 0)
                border = {row for row in range(*before.made[side]) if row not in range(*before.own[side])}
            else:
                assert before.made == before.own
                edge = before.cut - side
                border = {edge + way * row for row in range(before.sent[side])}
            assert read <= set(range(*before.own[side])) | border
            assert not border or max(border, key=lambda row: way * row) in read


@pytest.mark.parametrize("state", PYRAMIDS, ids=str)
def test_a_pyramid_repeats_what_two_strips_do(state):
    shown = PyramidOverCut(**state)
    layers, cut = shown.network, shown.at[0]
    halves = [strip(layers, 0, cut), strip(layers, cut, layers.shape[1] - cut)]
    done = sum(work(piece(layers, half).nodes) for half in halves)
    assert done / work(layers.nodes) == pytest.approx(1 + shown.cost.share)
    assert shown.cost == shown.ways[-1]
    assert shown.ways[0].share == shown.ways[0].repeated == 0


@pytest.mark.parametrize("taps", [3, 5])
@pytest.mark.parametrize("layers", [2, 5])
def test_a_pyramid_costs_what_the_library_says(layers, taps):
    """Two ways to count: rows on both sides of a cut, and what two devices lack of each array."""
    shown = stack(layers, 32, 64, 8, taps, 1, 1)
    exchange, *_, recompute = ways(shown, 16, Machine(1e12, 1e-5, 1e9))
    found = break_even(shown, 2, Device(1e12, 1e12), Network(1e-5, 1e9))
    for one, other in ((exchange, found.exchange), (recompute, found.recompute)):
        assert one.messages == other.exchanges
        assert one.seconds == pytest.approx(other.seconds)


def test_a_pyramid_says_what_the_cut_costs():
    shown = PyramidOverCut()
    assert "the border grows to 5 rows on either side of the cut" in shown.words()
    assert "8 after layer 1, 6 after layer 2, 4 after layer 3, 2 after layer 4" in shown.words()
    row = 512 * 32 * 4  # bytes
    assert f"1 message each way, {bytes_text(10 * row)}, " in shown.words()
    exchange = PyramidOverCut(every=1)
    assert f"5 messages each way, {bytes_text(10 * row)}, 0.0" in exchange.words()
    assert exchange.cost.seconds - exchange.cost.own == pytest.approx(5 * (1e-5 + row / 1e10))
    assert "No row is computed twice" in exchange.words()
    slow = PyramidOverCut(flops=1e12, latency=1e-6)
    assert "Cheapest here: every layer (exchange)" in slow.words()
    assert "the cut costs nothing" in PyramidOverCut(taps=1).words()
    assert "grows to 7 rows for machine 1 and 6 rows for" in PyramidOverCut(4, 8, stride=2).words()


def test_indirection_explorer_asks_the_library():
    opened = IndirectionExplorer(5, 5)
    assert opened.rebuilt == ("nothing", 9)
    assert "25 output pixels, each with 9 places in the table" in opened.words()
    assert "made anew" not in opened.words()  # of that only later
    assert "new" not in opened.lead()[0].words
    opened.image = 1
    assert "20, 22, each + 50 for image 1, and 3 zeros" in opened.words()
    opened.image, opened.was = 0, opened.was | {"H": 4}
    assert opened.rebuilt == ("part", 5)
    assert "Part of the buffer is new: 4 of 9 tiles" in opened.words()
    assert "its taps at 0, 2, 10, 12, 20, 22, and 3 zeros" in opened.words()
    sizes = opened.was | {"H": 5}
    for before, left in (
        ({"W": 4}, ("all", 0)),
        ({"N": 1}, ("nothing", 9)),
        ({"padding": 0}, ("all", 0)),
    ):
        opened.was = sizes | before
        assert opened.rebuilt == left
    opened.was = sizes | {"N": 3}
    assert "Nothing had to be made anew" in opened.words()


def test_register_tile_says_what_holds_it_up():
    alt = RegisterTile(7, 2).words()
    assert "14 multiply-adds, 9 loads, 17 of 32 registers. 7 × 2 can reach 100 % of the peak" in alt
    assert "50 % of the peak: each sum waits" in RegisterTile(4, 1).words()
    assert "4 × 1 can reach 100 %" in RegisterTile(4, 1, units=1).words()
    assert "7 × 2 can reach 88 %" in RegisterTile(7, 2, units=4).words()
    assert "does not fit: 1 sum too many" in RegisterTile(7, 2, registers=16).words()
    assert RegisterTile(9, 3, units=1).bounds == TileBounds(9, 3, units=1)


def test_predicted_times_are_those_of_the_model():
    shown = PredictedTimes("resnet18", "layer4.0.conv2", batch=2)
    assert shown.problem == ConvProblem(2, 7, 7, 512, 512, 3, 3, padding=1)
    shown.slower = "moving"
    slow = predict(shown.problem, "im2row", shown.speeds)
    computed, moved = (sum(getattr(part, kind) for part in slow.parts) for kind in ("computing", "moving"))
    plain = predict(shown.problem, "im2row", speeds.speeds())
    assert moved == pytest.approx(10 * sum(part.moving for part in plain.parts))
    assert computed == sum(part.computing for part in plain.parts)
    alt = shown.words()
    assert f"im2row {time_text(slow.seconds)}: fill the matrix {time_text(slow.parts[0].seconds)}" in alt
    seconds = {
        name: predict(shown.problem, name, shown.speeds).seconds
        for name, algorithm in predicted_data.on_cpu().items()
        if not algorithm.supports(shown.problem)
    }
    assert f"the model chooses {order_of(seconds, shown.problem)[0]}, " in alt
    assert "pointwise: the filter is 3x3" in alt
    for what, factor in (("computing", 10), ("beginning", 10), ("nothing", 1)):
        shown.slower = what
        now = predict(shown.problem, "direct", shown.speeds).parts[0]
        then = predict(shown.problem, "direct", speeds.speeds()).parts[0]
        assert getattr(now, what, 1.0) == pytest.approx(factor * getattr(then, what, 1.0))
    own = PredictedTimes(own={"R": 5, "C": 128, "depthwise": True, "stride": np.int64(2)})
    assert own.problem == ConvProblem(1, 56, 56, 128, 128, 5, 5, stride=2, padding=2, groups=128)
    assert "your layer: the model chooses depthwise" in own.words()


def test_saved_machines_can_be_chosen(tmp_path, monkeypatch):
    machine = {"processor": "Old One", "instruction_set": None}
    told = {"what": "convlab bench cpu", "date": "2026-03-01", "complete": True, "machine": machine}
    older = saved.Measurement(told | {"roofs": SPEEDS["roofs"]})
    roofs = SPEEDS["roofs"] | {"flops": 1e9}
    newer = saved.Measurement(told | {"roofs": roofs, "overheads": SPEEDS["overheads"]})
    saved.write(tmp_path / "older.csv", older)
    saved.write(tmp_path / "newer.csv", newer)
    monkeypatch.setattr(predicted_data, "data_path", lambda *parts: tmp_path)
    predicted_data._saved.cache_clear()
    try:
        shown = PredictedTimes(machine="newer")
        assert {name: words for name, (words, _) in shown.machines.items() if name != "here"} == {
            "newer": "newer: Old One"
        }
        assert shown.speeds.flops == shown.machines["newer"][1]["flops"] == 1e9
    finally:
        predicted_data._saved.cache_clear()


def test_still_has_every_algorithm_here_and_at_its_peak():
    network = networks.load("resnet18", batch=4)
    chosen = network["layer3.0.conv1"]
    alt = MemoryBlowup("resnet18", chosen.name, batch=4, algorithm="direct").words()
    largest = max(network, key=lambda layer: layer.problem.x_bytes)
    for name, algorithm in convlab.ALGORITHMS.items():
        here = algorithm.workspace_bytes(chosen.problem)
        served = [layer for layer in network if not algorithm.supports(layer.problem)]
        peak = max(served, key=lambda layer: algorithm.workspace_bytes(layer.problem), default=None)
        if reason := algorithm.supports(chosen.problem):
            assert f"{name} refused: {reason}" in alt
        elif here:
            assert f"{name} {bytes_text(here)}, {ratio_text(here / chosen.problem.x_bytes)} input" in alt
        if peak and (most := algorithm.workspace_bytes(peak.problem)):
            assert f"(peak {bytes_text(most)} at {peak.name})" in alt
    assert f"(peak {bytes_text(largest.problem.x_bytes)} at {largest.name})" in alt


def test_two_of_a_kind_do_not_share_an_id(widget):
    first, second = (
        re.search(r'<div id="([^"]+)"', widget._repr_mimebundle_()[0]["text/html"]) for _ in "ab"
    )
    assert first[1] != second[1]


def test_nothing_is_asked_of_the_network(widget):
    urls = re.findall(r"\w+://[^\s\"'`)]+", widget.module() + stylesheet())
    assert set(urls) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\((?!#)", stylesheet())


def test_a_page_is_told_everything_at_once(widget, monkeypatch):
    """What came in a second message might come after the first picture was drawn, and be missing in it."""
    messages, real = [], kernel.comm.create_comm

    def listening(**arguments):
        messages.append(arguments["data"]["state"])
        return real(**arguments)

    monkeypatch.setattr(kernel.comm, "create_comm", listening)
    another = type(widget)()
    (first,) = (message for message in messages if "limits" in message)
    names = another.state()
    assert {name: first[name] for name in names} == another.get_state(list(names))


def test_page_carries_the_present_state(widget):
    names = {MemoryBlowup: "batch", Spectra: "zeros", TilingExplorer: "split_k", RooflineExplorer: "K"}
    names |= {PyramidOverCut: "layers", PredictedTimes: "layer", Guess: "sure", TaskClock: "told"}
    name = next((name for kind, name in names.items() if isinstance(widget, kind)), "step")
    value = {"split_k": "4", "sure": "70"}.get(name, 3)
    setattr(widget, name, value)
    page = widget._repr_mimebundle_()[0]["text/html"]
    state = json.loads(re.search(r"state = (\{.*\});\n", page)[1].replace("<\\/", "</"))
    assert state[name] == value
    assert not any(key.startswith("_") or key in ("layout", "comm", "tooltip") for key in state)


@pytest.mark.parametrize(
    ("widget", "turn"),
    [
        (SlidingWindow(4, 4, padding=0), {"dilation_h": 3}),
        (Im2colFills(3, 3), {"padding": 0, "H": 2}),
        (TileByTile(3, 3), {"padding": 0, "H": 2}),
        (of_own(OWN), {"own": OWN | {"R": 9}}),
        (TransposedWindow(2, 2, 2), {"stride": 1, "padding": 2}),
    ],
    ids=("sliding", "filling", "tiles", "memory", "transposed"),
)
def test_a_knob_turned_too_far_still_shows(widget, turn):
    for name, value in turn.items():
        setattr(widget, name, value)
    assert "P would be" in widget.words()


def test_blocks_are_the_librarys_in_either_order():
    shown = TileByTile(5, 4, 3, 2, R=2, block_m=7, block_n=2, block_k=5)
    assert shown.blocks == implicit_gemm_blocks(shown.problem, 7, 2, 5)
    shown.algorithm = "precomputed_gemm"
    assert shown.blocks == precomputed_gemm_blocks(shown.problem, 7, 2, 5)
    shown.step = 3000  # beyond the last
    assert f"Block {len(shown.blocks)} of {len(shown.blocks)}" in shown.words()


def test_a_new_algorithm_appears_by_itself(monkeypatch):
    def refuses(problem):
        return "it wants an odd number of rows" if problem.H % 2 == 0 else None

    form = Form(run=None, bytes_moved=Formula("0"), workspace_bytes=Formula("ceil(H/3) * max(W, C) * b"))
    new = Algorithm("brand_new", "Something new.", "nobody", {"gpu": form}, refuses)
    monkeypatch.setitem(convlab.ALGORITHMS, "brand_new", new)
    shown = MemoryBlowup("resnet18", "layer4.1.conv1", algorithm="brand_new")
    assert "Math.round(ceil(H/3) * max(W, C) * b)" in shown.module()
    assert shown.refusals["float32"]["resnet18"]["0"]["brand_new"] == "it wants an odd number of rows"
    assert "brand_new refused: it wants" in MemoryBlowup("resnet18", "conv1").words()
    own = of_own(OWN)
    assert own.own_refusals["reasons"]["brand_new"] == "it wants an odd number of rows"
    own.own = {**own.own, "H": 9}
    assert "brand_new" not in own.own_refusals["reasons"]


def test_three_ways_make_one_output():
    shown = TransposedWindow(output_padding=1)
    products = [
        TransposedWindow(output_padding=1, view=view).products for view in ("scatter", "zeros", "subfilters")
    ]
    assert {one.pixel for one in products} == {shown.overlaps.sum()}
    assert [one.inserted > 0 for one in products] == [False, True, False]
    assert shown.y.shape == shown.overlaps.shape == shown.problem.x_shape[1:3] == (8, 10)
    shown.stride = 1  # the output padding is too large for it
    assert "expected less than the stride (1)" in shown.words()


@pytest.mark.parametrize(
    ("taps", "stride", "words"),
    [
        (3, 2, "3 is no multiple of the stride 2: the parts of the filter have 1, 2 or 4 taps"),
        (5, 3, "the parts of the filter have 1, 2 or 4 taps, and that is the checkerboard"),
        (4, 2, "each part of the filter has 4 taps, and there is no checkerboard"),
        (2, 2, "each part of the filter has 1 tap, and there is no checkerboard"),
        (3, 1, "the filter is one part of 9 taps"),
        (1, 2, "23 of the 35 outputs take no product and stay 0"),
    ],
)
def test_a_checkerboard_and_why(taps, stride, words):
    """What is said of the overlaps is so, where no border is near."""
    shown = TransposedWindow(5, 5, taps, stride=stride)
    inside = shown.overlaps[taps - 1 : 1 - taps or None, taps - 1 : 1 - taps or None]
    parts = {len(range(a, taps, stride)) * len(range(b, taps, stride)) for a, b in np.ndindex(stride, stride)}
    assert set(inside.ravel()) == parts
    assert words in TransposedWindow(3, 4, taps, stride=stride).words()


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("m", [2, 4, 6])
def test_the_tile_ends_where_the_definition_ends(m, dimensions):
    tile = tile_of(m, dimensions)
    d, g = (np.array(part, np.float64) for part in (tile.d, tile.g))
    windows = np.lib.stride_tricks.sliding_window_view(d, g.shape)
    assert np.array_equal(np.einsum("pqrs,rs->pq", windows, g), np.array(tile.y, np.float64))
    shown = WinogradTile(m, dimensions)
    assert shown.tiles[str(dimensions)][str(m)]["y"] == [[str(int(n)) for n in row] for row in tile.y]
    few, many = (m + 2) ** dimensions, (3 * m) ** dimensions
    assert f"{few} multiplications instead of {many}" in shown.words()
    assert "Shown up to V." in WinogradTile(m, dimensions, step=1).words()


def test_numbers_fit_into_cells():
    shown = {
        fraction: text(Fraction(fraction)) for fraction in ("-3", "7/4", "-1/3", "25/2", "-1234/9", "1/900")
    }
    assert list(shown.values()) == ["−3", "1.75", "−0.33", "12.5", "−137", "0.00"]


def test_costs_of_layers_add_up():
    layer = ConvProblem(1, 28, 28, 256, 256, 3, 3, padding=1, groups=256)
    pointwise = mixing_layer(layer)
    assert pointwise == ConvProblem(1, 28, 28, 256, 256, 1, 1)
    both = cost_of(layer, pointwise)
    assert both.flops == layer.flops + pointwise.flops
    assert both.weights == 256 * 9 + 256 * 256
    assert both.bytes == 4 * (4 * 28 * 28 * 256 + both.weights)
    assert both.intensity == both.flops / both.bytes


def test_zeros_decide_whether_a_picture_wraps_around():
    for kind in ("blur", "shift"):
        wrong = [int(Spectra(kind, taps=5, zeros=zeros).through.wrong.sum()) for zeros in range(7)]
        assert all(a > b for a, b in pairwise(wrong[:5]))
        assert wrong[4:] == [0, 0, 0]
    assert Spectra(taps=1, zeros=0).through.wrong.sum() == 0
    assert Spectra("shift", taps=5, zeros=4, forget=True).through.wrong.sum() > 500
    shifted = Spectra("shift", taps=5, zeros=4).through
    np.testing.assert_allclose(shifted.y[:28, :28], shifted.x[4:, 4:], atol=1e-9)
    around = Spectra("shift", taps=5, zeros=0).through
    np.testing.assert_allclose(around.y, np.roll(around.x, (-4, -4), axis=(0, 1)), atol=1e-9)


def test_the_still_of_spectra_says_what_it_shows():
    assert "All 1024 outputs are right: 6 zeros are enough" in Spectra(taps=7, zeros=6).words()
    assert "wraps around" in Spectra(taps=7, zeros=2).words()
    assert "the filter is flipped" in Spectra("edges", taps=7, zeros=6, forget=True).words()


@pytest.mark.parametrize(
    ("kernel", "access", "words"),
    [
        (0, 0, "4 sectors for 128 B: nothing is moved in vain"),
        (1, 0, "5 sectors where 4 would do: 1.25 times the bytes"),
        (2, 0, "1 sector for 4 B: nothing is moved in vain"),
        (3, 0, "8 sectors where 4 would do: 2 times the bytes"),
        (4, 0, "16 sectors for 512 B: nothing is moved in vain"),
        (5, 0, "32 sectors where 4 would do: 8 times the bytes"),
        (6, 1, "No bank conflict: 1 pass over shared memory"),
        (6, 2, "A bank conflict: 32 passes where 1 would do"),
        (7, 2, "No bank conflict: 1 pass over shared memory"),
    ],
)
def test_the_microscope_says_what_an_access_costs(kernel, access, words):
    shown = WarpMicroscope(kernel=kernel, access=access, step=2)
    assert f" {words}. All requests" in shown.words()


@pytest.mark.parametrize("access", ACCESS_PATTERNS, ids=lambda access: access.name)
def test_the_microscopes_kernels_do_what_they_say(access):
    x, y = access.pictures()
    simulator.run(access.kernel, 1, 32, x, y).check()
    assert np.array_equal(y, access.answer(x))


def test_the_microscope_takes_kernels_of_your_own():
    trace = ACCESS_PATTERNS[3].trace()
    one, two = WarpMicroscope(trace), WarpMicroscope({"a": trace, "b": ACCESS_PATTERNS[0].trace()}, kernel=1)
    assert one.kernels[0]["name"] == "every_other"
    assert one.kernels[0]["source"][0]["text"] == "@cuda.jit"
    assert two.shown[0]["name"] == "b"
    assert one.request["cost"] == 2 * two.request["cost"]
    store = next(site for site in trace.sites() if site.kind == "st")
    assert WarpMicroscope(trace, access=store).shown[1]["kind"] == "st"
    with pytest.raises(ConvError, match="access is line"):
        WarpMicroscope(ACCESS_PATTERNS[0].trace(), access=store)


def test_the_microscope_shows_the_functions_a_kernel_calls():
    """The lines of every access stand in the source, wherever they are; and the marked part is the access."""
    from convlab import ConvProblem
    from convlab.algorithms.implicit_gemm.gpu import rung
    from convlab.gpu.gemm.tile import Tile
    from convlab.inspect.traffic import first_block

    own = rung("", Tile(16, 16, 8, 4, 4), "", "").algorithm("implicit_gemm")
    (kernel,) = WarpMicroscope(first_block(ConvProblem(1, 4, 5, 8, 16, 1, 1), own)[0]).kernels
    text = {(line["file"], line["number"]): line["text"] for line in kernel["source"]}
    marked = {
        (a["array"], a["kind"]): text[a["file"], a["line"]][a["begin"] : a["end"]] for a in kernel["accesses"]
    }
    assert {name for name, _ in text} == {"kernel.py", "tile_io.py", "vector_io.py", ""}
    assert len([line for line in kernel["source"] if line["text"].startswith("def ")]) == 4  # each once
    assert marked["a", "st"] == "a[buffer, k + i, m]"
    assert marked["x", "ld"] == marked["b", "ld"] == "load4(memory, i)"
    assert marked["y", "st"] == "store4(memory, i, a, b, c, d)"


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (ChannelMixing(groups=1), "256 channels in 1 group: 256 of 256 channels"),
        (
            Im2colFills(H=2, W=2, C=1, R=2, S=2, padding=0, layout="im2col", step=0),
            "1 channel, 4 numbers, and its im2col matrix of 4 rows and 1 column, 4 cells or 1.0 times as "
            "many; 1 of 1 window copied",
        ),
        (IndirectionExplorer(R=1, S=1, rows=1), "49 tiles, 1 tap and 1 pixel. Output pixel 5 reads 1 zero. "),
        (RegisterTile(1, 1), "of 1 row and 1 vector. At step"),
        (RegisterTile(1, 1), "1 multiply-add, 2 loads"),
        (Spectra(zeros=1), "with 1 line of zeros"),
        (
            TileByTile(block_m=1, block_k=1),
            "In its 1 cell stand 0 different numbers of the picture and 1 zero",
        ),
    ],
    ids=lambda value: getattr(value, "key", ""),
)
def test_one_is_no_plural(shown, words):
    assert words in shown.words()


def test_tiling_explorer_says_what_holds_it_up():
    alt = TilingExplorer().words()
    assert "128 threads, about 116 registers each, 12.2 KiB of shared memory; 4 blocks at once on H100" in alt
    assert "held up by registers" in alt
    assert "49 blocks for the 108" in TilingExplorer(batch=1, gpu="A100", tiling=Tiling(64, 64)).words()
    assert "has 32" in TilingExplorer(tiling=Tiling(8, 8)).words()
    assert "shared memory; 49152 is the most" in TilingExplorer(tiling=Tiling(256, 256, 32)).words()
    for one in (Tiling(8, 64, thread_m=16), Tiling(256, 256, thread_m=1, thread_n=1)):  # no thread; too many
        words = TilingExplorer(tiling=one).words()
        assert f"{one.threads} threads" in words
        assert "0 blocks at once on H100" in words
        assert words.endswith(f"{one.trouble}.")


def test_the_roofline_explorer_says_what_holds_a_layer_up():
    widget = RooflineExplorer()
    line, one = widget.line, widget.point
    assert one.speed == pytest.approx(line.ceiling(one)) == pytest.approx(line.adds.rate)
    alt = widget.words()
    most = f"{line.adds.rate / 1e9:.3g} GFLOP/s"
    assert alt.startswith(
        f"layer1.0.conv1 with indirect: at most {most}, by the multiply-adds. Roofs of AMD EPYC"
    )
    assert "indirect, at most" in alt
    assert RooflineExplorer(machine="nvidia_t4", algorithm="im2row").bound == "the memory"
    assert RooflineExplorer(layer="layer2.0.downsample.0", C=1).bound == "the L2 cache"
    refused = RooflineExplorer(layer="conv1", algorithm="winograd_2x2")
    assert refused.point is None
    assert "winograd_2x2 does not serve conv1: the filter is 7x7" in refused.words()


def test_times_of_the_way_back_are_none_of_the_way_forward():
    problem = ConvProblem(1, 8, 8, 4, 4, 3, 3, padding=1)
    forward, back = (
        point(problem, "indirect", seconds, pass_=p) for seconds, p in ((1.0, "fprop"), (2.0, "dgrad"))
    )
    assert times_of([forward, back]) == {problem: {"indirect": 1.0}}


def test_the_roofline_explorer_shows_this_machine_first():
    here = replace(RooflineExplorer().line, machine="this machine")
    layer = networks.load("resnet18")["layer1.0.conv1"]
    took = point(layer.problem, "im2row", 3e-3, layer=layer.name)
    widget = RooflineExplorer(here=here, measured=[took], algorithm="im2row")
    assert widget.line.machine == "this machine"
    assert f"im2row {took.speed / 1e9:.1f} GFLOP/s" in widget.words()  # the point that was measured
    assert next(iter(widget.machines)) == "here"


def test_a_depthwise_layer_stays_one():
    own = networks.load("mobilenet_v1")["conv_dw_7"].problem
    wider = shaped(own, 2, C=48, K=7, R=5)
    assert (wider.C, wider.K, wider.groups, wider.N) == (48, 48, 48, 2)
    assert (wider.P, wider.Q) == (own.P, own.Q)
    assert shaped(own, 1) == own
