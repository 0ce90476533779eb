"""Dask: blocks are the whole to the last bit, however the picture is cut; workers come and fail."""

import gc
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter

import numpy as np
import pytest
from cases import CASES, arrays
from effort import examples, in_turns
from hypothesis import given, settings
from hypothesis import strategies as st
from test_strips import chains, instead, seams, three_layers, transformed

import convlab
from convlab import ConvError, distributed
from convlab.distributed import Layers, Span, cluster, dask_worker
from convlab.distributed.blocks import cuts, parts, regions, result_sizes
from convlab.distributed.cluster import check_versions
from convlab.distributed.span import Windows
from convlab.distributed.stages import stages
from convlab.networks import load_model

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
PLAIN = {"algorithm": "indirect"}
EMPTY = np.empty((0, 0, 0, 0), "float32")


@pytest.fixture(autouse=True)
def _in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@st.composite
def cut_up(draw, size):
    """Draw the sizes of some blocks: thinner than a border, and not alike."""
    found = []
    while sum(found) < size:
        found.append(min(draw(st.integers(1, 9)), size - sum(found)))
    return tuple(found)


def blocks_of(x, data):
    sizes = [data.draw(cut_up(size)) for size in x.shape[:3]]
    return da.from_array(x, chunks=(*sizes, (x.shape[3],)))


@in_turns
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_one_layer(case, data):
    problem = CASES[case]
    x, w, bias = arrays(problem)
    shaping = {name: getattr(problem, name) for name in ("stride", "padding", "dilation", "groups")}
    y = distributed.conv2d(blocks_of(x, data), w, bias, **shaping, **PLAIN)
    assert y.shape == problem.y_shape
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.compute(), convlab.conv2d(x, w, bias, **shaping, **PLAIN))


@in_turns
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_layers_at_once_and_one_after_the_other(data):
    """Applied at once they compute borders twice; one after the other they exchange them."""
    layers = data.draw(chains(pictures=data.draw(st.integers(1, 2)), channels=data.draw(st.integers(1, 3))))
    x = np.random.default_rng(0).standard_normal(layers.picture_shape).astype(np.float32)
    whole = distributed.run(layers, x, height=layers.shape[1], progress=False, **PLAIN).result
    lying = blocks_of(x, data)
    np.testing.assert_array_equal(distributed.apply(layers, lying, **PLAIN).compute(), whole)
    y = lying
    for step in stages(layers):
        y = distributed.apply(step, y, **PLAIN)
    np.testing.assert_array_equal(y.compute(), whole)


@in_turns
def test_a_whole_network():
    model = load_model("squeezenet1_0", size=(139, 171))
    x = np.random.default_rng(0).random(model.photo_shape, np.float32)
    reference = model.reference(x)
    y = distributed.apply(Layers.of(model), da.from_array(x, chunks=(1, 50, 70, 3)), **PLAIN).compute()
    assert np.abs(y.reshape(reference.shape) - reference).max() <= model.tolerance(reference)


def test_two_images_and_threads():
    layers, _ = three_layers(61, 50)
    x = np.random.default_rng(1).random((1, 61, 50, 3), np.float32)
    whole = distributed.run(layers, x, height=99, progress=False, **PLAIN).result
    y = distributed.apply(layers, da.from_array(x, chunks=(1, 7, 50, 3)), **PLAIN)
    np.testing.assert_array_equal(y.compute(scheduler="threads", num_workers=4), whole)


# -- how the picture is cut --------------------------------------------------------------------------------


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_blocks_cover_the_result_and_parts_what_is_read(data):
    layers = data.draw(chains())
    _, H, W, _ = layers.picture_shape
    rows, columns = data.draw(cut_up(H)), data.draw(cut_up(W))
    down, across = result_sizes(layers.nodes, rows, columns)
    _, P, Q, _ = layers.shape
    assert (sum(down), sum(across)) == (P, Q)
    assert min(down) > 0
    assert len(down) <= len(rows)
    for _, output in regions(down, across):
        read = distributed.needs(layers.nodes, output)["picture"]
        seen = np.zeros((read.rows.size, read.columns.size), int)
        for part in parts(read, cuts(rows), cuts(columns)):
            at = [slice(*span) for span in part.place]
            seen[tuple(at)] += 1
            for span, inside, edges, number in zip(
                part.place, part.inside, (cuts(rows), cuts(columns)), part.block, strict=True
            ):
                assert span.size == inside.size
                assert 0 <= inside.start < inside.stop <= edges[number + 1] - edges[number]
        assert (seen == 1).all()


def test_a_block_stays_where_its_picture_is():
    """A 3x3 layer with padding: the result is cut as the picture is; with stride 2 in half the rows."""
    w = np.ones((1, 3, 3, 1), np.float32)
    x = da.ones((1, 40, 30, 1), chunks=(1, (8, 20, 12), (10, 20), 1), dtype="float32")
    assert distributed.conv2d(x, w, padding=1).chunks[1:3] == ((8, 20, 12), (10, 20))
    assert distributed.conv2d(x, w, padding=1, stride=2).chunks[1:3] == ((4, 10, 6), (5, 10))


def test_only_borders_are_cut_off(monkeypatch):
    """What a block reads of its neighbours is cut off first; its own part is used where it is."""
    sent = []

    def border(block, inside):
        sent.append(dask_worker.border(block, inside))
        return sent[-1]

    monkeypatch.setattr("convlab.distributed.dask_arrays.border", border)
    x = da.ones((1, 30, 10, 2), chunks=(1, 10, 10, 2), dtype="float32")
    distributed.conv2d(x, np.ones((1, 5, 3, 2), np.float32), padding=1, **PLAIN).compute()
    # Of five rows that a window sees the middle one is at home; so two come from either side.
    assert [one.shape for one in sent] == [(1, 2, 10, 2)] * 4


def test_nothing_is_computed_before_it_is_asked_for():
    def never(block):
        raise AssertionError

    x = da.zeros((1, 1000, 1000, 3), chunks=(1, 100, 100, 3), dtype="float32")
    x = x.map_blocks(never, dtype="float32", meta=EMPTY)
    y = distributed.conv2d(x, np.ones((4, 3, 3, 3), np.float32))
    assert y.shape == (1, 998, 998, 4)


def test_plans_are_kept():
    """Blocks of one kind share a plan: at the two edges, and inside."""
    before = dask_worker.READY.made
    w = np.random.default_rng(3).random((4, 3, 3, 3), np.float32)
    x = da.ones((1, 100, 12, 3), chunks=(1, 5, 12, 3), dtype="float32")
    distributed.conv2d(x, w, padding=1, **PLAIN).compute()
    assert dask_worker.READY.made - before == 3


def test_plans_are_kept_in_a_grid_and_by_layers_in_turn():
    """Nine kinds of block for each of two layers: corners, edges, and those inside."""
    before, rng = dask_worker.READY.made, np.random.default_rng(4)
    y = da.ones((1, 40, 40, 2), chunks=(1, 8, 8, 2), dtype="float32")
    for _ in range(2):
        y = distributed.conv2d(y, rng.random((2, 3, 3, 2), np.float32), padding=1, **PLAIN)
    y.compute()
    assert dask_worker.READY.made - before == 18


def test_large_plans_are_not_hoarded():
    """Four are kept in any case, and more if they take little."""
    ready = dask_worker.Ready(4, 1 << 19)
    layers = Layers.on((1, 64, 64, 3)).conv(np.ones((8, 3, 3, 3), np.float32), padding=1)
    work = dask_worker.Work(layers, {"conv1": "indirect"}, "indirect", "cpu", 1, "", convlab.__version__)
    sizes = []
    for rows in (2, 3, 4, 5, 6, 7, 40, 41, 42, 43, 44):
        ready.take(work, distributed.Tile(*tile_of_rows(layers, rows)))
        sizes.append((len(ready), ready.nbytes))
    assert sizes[5][0] == 6
    assert sizes[-1][0] == 4
    assert sizes[-1][1] > 1 << 19


def tile_of_rows(layers, rows):
    output = distributed.Region(Span(1, 1 + rows), Span(0, 64))
    return output, distributed.needs(layers.nodes, output)


def test_a_border_is_no_view_that_keeps_its_block_alive():
    array = np.ones((1, 9, 8, 2), np.float32)
    part = dask_worker.border(array, distributed.Region(Span(2, 4), Span(0, 8)))
    assert part.shape == (1, 2, 8, 2)
    assert not np.shares_memory(part, array)


def test_a_border_one_row_short_is_found(monkeypatch):
    rng = np.random.default_rng(0)
    w, x = rng.random((4, 3, 3, 3), np.float32), rng.random((1, 24, 9, 3), np.float32)
    whole = convlab.conv2d(x, w, padding=1, **PLAIN)
    lying = da.from_array(x, chunks=(1, 8, 9, 3))
    assert seams(distributed.conv2d(lying, w, padding=1, **PLAIN).compute(), whole) == []
    read = Windows.read

    def short(self, rows):
        found = read(self, rows)
        return Span(found.start + (found.start > 0 and found.size < self.size), found.stop)

    monkeypatch.setattr(Windows, "read", short)
    assert seams(distributed.conv2d(lying, w, padding=1, **PLAIN).compute(), whole) == [8, 16]


# -- bad input ---------------------------------------------------------------------------------------------

W = np.ones((4, 3, 3, 2), np.float32)
GOOD = {"shape": (1, 8, 8, 2), "chunks": (1, 4, 4, 2), "dtype": "float32"}
WRONG = {
    "expected an array of Dask's": lambda: np.ones((1, 8, 8, 2), np.float32),
    "expected (N, H, W, C)": lambda: da.ones((8, 8, 2), dtype="float32"),
    "x.rechunk({3: -1})": lambda: da.ones(**GOOD | {"chunks": (1, 4, 4, 1)}),
    "x.compute_chunk_sizes()": lambda: da.ones(**GOOD)[da.ones(1, chunks=1) > 0],
    "dtype='int64'": lambda: da.ones(**GOOD | {"dtype": "int64"}),
    "axis 3 is 2": lambda: da.ones((1, 8, 8, 3), chunks=(1, 4, 4, 3), dtype="float32"),
    "expected float64": lambda: da.ones(**GOOD | {"dtype": "float64"}),
}


@pytest.mark.parametrize("says", WRONG)
def test_mistakes_are_named_before_anything_runs(says):
    with pytest.raises(ConvError) as caught:
        distributed.conv2d(WRONG[says](), W)
    assert says in str(caught.value)


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ConvError, match=r"Dask is not installed.*cluster"):
        distributed.conv2d(None, W)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConvError, match=r"Dask is not installed.*cluster"):
        distributed.connect()


def test_another_version_is_refused_where_a_block_is_computed():
    """A worker may join after the graph was made."""
    x = da.ones(**GOOD)
    y = distributed.conv2d(x, W, **PLAIN)
    work = dask_worker.Work(None, {}, "auto", "cpu", 1, "", "0.0.1")
    with pytest.raises(ConvError, match=r"convlab .*; expected 0\.0\.1"):
        dask_worker.block(work, None, ())
    assert y.compute().shape == (1, 6, 6, 4)


def test_a_block_warns_of_pixels_that_a_transform_would_lose():
    layers, x = transformed()
    lying = da.from_array(x, chunks=(1, 20, 30, -1))
    with pytest.warns(RuntimeWarning, match=r'"auto" chose \w+, and what conv1 reads') as caught:
        distributed.apply(layers, lying).compute()
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distributed.apply(layers, lying, algorithm=instead(caught[0])).compute()


# -- workers -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed")
    with distributed.connect(workers=2, memory="1 GiB") as client:
        yield client


def test_two_workers_make_the_whole(client):
    layers, x = three_layers(60, 50)
    whole = distributed.run(layers, x, height=99, progress=False, **PLAIN).result
    y = distributed.apply(layers, da.from_array(x, chunks=(1, 9, 20, 3)), **PLAIN)
    np.testing.assert_array_equal(client.compute(y).result(timeout=100), whole)
    made = client.run(lambda: dask_worker.READY.made)
    assert all(made.values()), "each has computed some"


def test_a_warning_of_a_worker_is_heard_here(client):
    layers, x = transformed()
    y = distributed.apply(layers, da.from_array(x, chunks=(1, 20, 30, -1)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        client.compute(y).result(timeout=100)
        for _ in range(100):  # it comes by another way than the result
            if caught:
                break
            time.sleep(0.1)
    assert '"auto" chose' in str(caught[0].message)


def test_what_is_computed_shows_how_many_blocks_are_done(client, monkeypatch):
    bars = []

    def counted(items, label, show):
        bars.append([label, show, len(items), 0])
        for item in items:
            yield item
            bars[-1][3] += 1

    monkeypatch.setattr("convlab.distributed.computed.shown", counted)
    x = np.random.default_rng(5).random((1, 40, 20, 2), np.float32)
    y = distributed.conv2d(da.from_array(x, chunks=(1, 10, 10, 2)), W, padding=1, **PLAIN)
    right = convlab.conv2d(x, W, padding=1, **PLAIN)
    np.testing.assert_array_equal(distributed.compute(y), right)
    assert bars == [["blocks computed", True, 8, 8]]
    # What fails is raised, and no bar waits for it.
    broken = da.from_array(x, chunks=(1, 10, 10, 2)).map_blocks(fails, dtype="float32", meta=x[:0])
    with pytest.raises(ZeroDivisionError):
        distributed.compute(distributed.conv2d(broken, W, **PLAIN), progress=False)
    # Without workers it is the same, by threads of this process.
    monkeypatch.setattr("convlab.distributed.computed.current", lambda: None)
    np.testing.assert_array_equal(distributed.compute(y), right)
    assert len(bars) == 2


def fails(block):
    raise ZeroDivisionError


def test_the_same_by_the_cluster_s_address(client):
    with distributed.connect(client.scheduler.address) as other:
        x = da.ones(**GOOD)
        y = other.compute(distributed.conv2d(x, W, padding=1, **PLAIN)).result(timeout=60)
    np.testing.assert_array_equal(y, convlab.conv2d(x.compute(), W, padding=1, **PLAIN))


@in_turns
def test_a_worker_that_is_killed_costs_only_its_own_tiles(client, tmp_path):
    """What it had made is made again, and what its tiles read over their borders; nothing else."""
    rng = np.random.default_rng(0)
    x, w = rng.random((1, 200, 30, 2), np.float32), rng.random((4, 3, 3, 2), np.float32)
    folder = str(tmp_path)
    victim, survivor = client.run(os.getpid).items()

    def noted(block, kind, first=0, seconds=0.0, block_info=None):
        """Say which process has made which block of what, and take a while."""
        time.sleep(seconds)
        number = first + block_info[0]["chunk-location"][1]
        name = f"{kind}_{number}_{os.getpid()}_"
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, prefix=name):
            return block

    def made(kind):
        """(block, process) of each time that one was made."""
        return [tuple(map(int, path.name.split("_")[1:3])) for path in tmp_path.glob(f"{kind}_*")]

    def half(first, worker):
        """20 blocks of the picture that lie with one worker, as long as that one lives."""
        lying = da.from_array(x[:, 5 * first :][:, :100], chunks=(1, 5, 30, 2))
        with dask.annotate(workers=[worker], allow_other_workers=True):
            return lying.map_blocks(noted, "block", first, 0.1, dtype="float32", meta=EMPTY)

    slow = da.concatenate([half(0, victim[0]), half(20, survivor[0])], axis=1)
    y = distributed.conv2d(slow, w, padding=1, **PLAIN).map_blocks(noted, "tile", dtype="float32", meta=EMPTY)
    future = client.compute(y)
    while [pid for _, pid in made("block")].count(victim[1]) < 8:
        time.sleep(0.02)
    os.kill(victim[1], signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    np.testing.assert_array_equal(future.result(timeout=100), convlab.conv2d(x, w, padding=1, **PLAIN))

    times = Counter(block for block, _ in made("block"))
    assert len(times) == 40
    lost = {block for block, pid in made("block") if pid == victim[1]}
    tiles = {tile for tile, pid in made("tile") if pid == victim[1]}
    # A tile beside a lost block may have been ready there, and not yet noted.
    tiles |= {block + step for block in lost for step in (-1, 0, 1)}
    spared = set(times) - {tile + step for tile in tiles for step in (-1, 0, 1)}
    assert {times[block] for block in spared} == {1}, "none of them, or one made twice"


def test_a_worker_with_another_version_is_refused(client):
    def pretend(version):
        convlab.__version__ = version

    client.wait_for_workers(1)  # the test before kills one
    assert check_versions(client) is None
    worker = next(iter(client.scheduler_info()["workers"]))
    client.run(pretend, "0.0.1", workers=[worker])
    try:
        with pytest.raises(ConvError, match=r"the worker at .* has convlab 0\.0\.1; expected"):
            distributed.conv2d(da.ones(**GOOD), W)
    finally:
        client.run(pretend, convlab.__version__, workers=[worker])


@in_turns
def test_a_scheduler_that_is_not_there_is_said_at_once():
    pytest.importorskip("distributed")
    start = time.perf_counter()
    with pytest.raises(ConvError, match="no scheduler answers"):
        distributed.connect("tcp://127.0.0.1:1", seconds=1)
    with pytest.raises(ConvError, match="no scheduler answers"):
        distributed.connect("nonsense", seconds=1)
    for seconds in (1e-4, 1e-3, 1e-2) * 5:  # given up in the middle of anything
        with pytest.raises(ConvError, match="no scheduler answers"):
            distributed.connect("nonsense", seconds=seconds)
    gc.collect()  # Dask complains when it clears away what was given up; here, not in a test that comes later
    # Nor is a client left behind that leads nowhere.
    assert distributed.conv2d(da.ones(**GOOD), W).shape == (1, 6, 6, 4)
    assert time.perf_counter() - start < 30


@in_turns
def test_a_scheduler_without_workers_is_said_and_one_that_is_about_to_come_is_waited_for():
    """Else whatever is computed there would be waited for for ever."""
    lonely = pytest.importorskip("distributed").LocalCluster(
        n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None
    )
    before = cluster.current()
    with lonely:
        with pytest.raises(ConvError, match=r"has 0 workers, and none came within 0\.3 s; `dask worker"):
            distributed.connect(lonely.scheduler_address, seconds=0.3)
        assert cluster.current() is before, "a client was left behind"
        lonely.scale(1)
        with distributed.connect(lonely.scheduler_address, seconds=30) as client:
            assert len(client.scheduler_info()["workers"]) == 1
