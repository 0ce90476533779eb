"""Which algorithm "auto" takes: predicted or measured; what is kept on disk, and is safe from bad files."""

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import CASES, arrays
from effort import in_turns, sampled
from known_machine import SPEEDS

import convlab
from convlab import ALGORITHMS, ConvProblem, ParameterError, networks, plan
from convlab.algorithms.indirect import indirection_buffer
from convlab.auto import autotune, machine_file, measure, overheads
from convlab.auto.predict import Speeds, predict
from convlab.auto.ranking import ALIKE, order_of, predicted
from convlab.auto.shipped import shipped_speeds
from convlab.auto.speeds import speeds as current_speeds
from convlab.cost.phases import OVERHEADS
from convlab.cpu.product_tile import tile_of
from convlab.cpu.tile_size import tile_for
from convlab.machine import facts
from convlab.plans import plan as plans

RESNET = networks.load("resnet18")
LAYER = RESNET["layer1.0.conv1"].problem
SMALL = ConvProblem(1, 9, 7, 4, 6, 3, 3)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own, and nothing known."""
    monkeypatch.setenv("CONVLAB_CACHE_DIR", str(tmp_path))
    machine_file.forget()
    yield tmp_path
    machine_file.forget()


def speeds(**changes):
    """Return the tests' machine, changed: roofs by their name, overheads by theirs."""
    roofs, overheads = dict(SPEEDS["roofs"]), dict(SPEEDS["overheads"])
    for name, value in changes.items():
        (overheads if name in overheads else roofs)[name] = value
    return Speeds.of(roofs, overheads)


def prepared(problem, **options):
    return plan(problem, np.zeros(problem.w_shape, problem.dtype), backend="cpu", **options)


# -- the model -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_has_phases_that_can_be_timed(algorithm):
    problems = [p for p in CASES.values() if not ALGORITHMS[algorithm].supports(p)]
    for problem in problems:
        found = predict(problem, algorithm, speeds())
        assert found.seconds > SPEEDS["overheads"]["call"]
        assert all(math.isfinite(part.seconds) and part.seconds > 0 for part in found.parts), problem
        least = 0 if "winograd" in algorithm or "fft" in algorithm else problem.flops / 100e9
        assert found.seconds >= least
        assert {name for one in ALGORITHMS[algorithm].forms["cpu"].phases() for name in one.begins} <= set(
            OVERHEADS
        )


def test_a_prediction_is_what_its_phases_say():
    """A 1x1 layer, worked out by hand: whole tiles on one core, the weights in L1."""
    problem = ConvProblem(1, 14, 14, 64, 64, 1, 1)
    (one,) = predict(problem, "pointwise", speeds()).parts
    tile, usual = tile_of(problem), tile_for("float32")
    tiles = -(-196 // tile.rows)
    assert one.computing == pytest.approx(2 * tiles * tile.rows * 64 * 64 / 100e9)
    # To begin a tile and to store it is measured with the usual one.
    of_usual = tile.rows * tile.cols / (usual.rows * usual.cols)
    assert one.beginning == pytest.approx(tiles * (64 // tile.cols) * of_usual * 15e-9)
    pixels, weights = 196 * 64 * 4, 64 * 64 * 4
    blocks = -(-tiles * tile.rows // 56)
    assert one.moving == pytest.approx(pixels / 100e9 + blocks * weights * 2 / 3 / 200e9 + pixels / 100e9)
    assert one.seconds == max(one.computing, one.moving) + one.beginning
    assert predict(problem, "pointwise", speeds()).seconds == one.seconds + 4e-6


def test_steps_of_a_tile_are_counted_by_hand():
    """A part of a panel counts as one, a tile that is half beside the picture as a tile; and each group.

    Of five vectors two tiles are whole and one is narrow. Three and four fit a wide tile, if there is one:
    a step of it loads more numbers than one of the usual, with which steps are measured.
    """
    usual, slow = tile_for("float32"), speeds()
    slow.overheads["step"] = 2e-9
    for vectors in (3, 4, 5):
        problem = ConvProblem(1, 9, 11, 24, 2 * vectors * usual.lanes, 3, 3, padding=1, groups=2)
        tile = tile_of(problem)
        across, loads = -(-vectors // tile.vectors), (tile.rows + tile.vectors) / (usual.rows + 2)
        steps = 2 * -(-99 // tile.rows) * across * 12 * 9  # groups, tiles down and across, length of a sum
        for algorithm in ("indirect", "im2row"):
            before, after = (predict(problem, algorithm, one).seconds for one in (speeds(), slow))
            assert after - before == pytest.approx(steps * loads * 2e-9)
    assert speeds().overheads["step"] == 0  # of a file that was written before steps were measured


def test_windows_that_leave_the_cache_are_fetched_for_each_panel():
    """F(6x6) keeps 56 windows of 64 channels, 0.9 MB, and reads them again for each 2 vectors of filters."""
    cols = tile_for("float32").cols
    problem = ConvProblem(1, 48, 48, 64, 4 * cols, 3, 3, padding=1)
    windows, again = 64 * 64 * 64 * 4, 2 / 3 * 3  # bytes of 64 tiles' windows; how often a copy of them
    for least, speed in ((1 << 18, 60e9), (1 << 20, 100e9)):  # bytes of a quarter of the second cache
        copies = SPEEDS["roofs"]["copies"] | {"L2": [least, 100e9]}
        moving, *_ = predict(problem, "winograd_6x6", speeds(copies=copies)).parts
        assert moving.seconds == pytest.approx(2 * windows / 100e9 + again * windows / speed)


def plain_speeds(**overheads):
    """Return a machine that moves 1 GB/s from anywhere, and begins what is not named for nothing."""
    begun = dict.fromkeys(OVERHEADS, 0.0) | overheads
    return Speeds(1e18, 2e18, 2, ((math.inf, 1e9),), begun)


def test_bytes_that_depthwise_moves_are_counted_by_hand():
    """A line is read for two lines of y, with one above and one below: four lines, so each comes twice.

    What is only written counts twice as much as what is only read: it is fetched before. A place of the
    window is two lines of seven outputs, under which lie 4 x 9 vectors; 18 more are the weights, for each
    line, and one the bias.
    """
    layer = ConvProblem(1, 8, 14, 64, 64, 3, 3, padding=1, groups=64)
    (one,) = predict(layer, "depthwise", plain_speeds(tile=1e-6)).parts
    x = y = 8 * 14 * 64 * 4
    loads = (4 * 2) * (4 * 9 + 18 + 1) * 64 * 4  # places; vectors, of all channels
    assert one.moving == pytest.approx((2 / 3 * x + 2 / 3 * x + 4 / 3 * y + 2 / 3 * loads) / 1e9)
    assert one.beginning == pytest.approx(4 * 2 * 1e-6)


def test_weights_of_few_windows_arrive_at_half_the_speed():
    """Nine windows fill one register tile; with ten, products are left to do while weights arrive."""
    for pictures, times in ((9, 2), (10, 1), (56, 1), (57, 2)):  # and 56 windows are a block
        layer = ConvProblem(pictures, 4, 4, 64, 64, 3, 3, padding=1)
        _, _, multiply, *_ = predict(layer, "winograd_4x4", plain_speeds()).parts
        assert multiply.moving == pytest.approx(times * 2 / 3 * 36 * 64 * 64 * 4 / 1e9)


def test_runs_that_are_folded_are_counted_by_hand():
    """A pixel of the folded picture is two runs of x: one of each line. 7 x 7 taps become 4 x 4."""
    layer = ConvProblem(2, 32, 32, 3, 64, 7, 7, stride=2, padding=3)
    fold, *_ = predict(layer, "winograd_s2d", plain_speeds(run=1e-6)).parts
    pixels = 2 * (16 + 3) * (16 + 3)
    assert fold.beginning == pytest.approx(2 * pixels * 1e-6)
    assert fold.moving == pytest.approx((2 * 32 * 32 * 3 + pixels * 12) * 4 / 1e9)


def test_operations_of_transforms_are_counted_by_hand():
    """13 + 3 rows and columns: 16 x 16, which is 16 x 9 frequencies of a real picture.

    A transform of 16 complex numbers takes 5 * 16 * 4 operations, of 16 real ones half of that. There, the
    13 rows that hold numbers are transformed, then 9 columns; back, 9 columns and the 14 rows of y.
    """
    layer = ConvProblem(2, 13, 13, 3, 5, 3, 3, padding=((1, 2), (1, 2)))
    assert (layer.P, layer.Q) == (14, 14)
    there, *_ = predict(layer, "fft", plain_speeds(transform=1e-6)).parts
    row, column = 5 * 16 * 4 / 2, 5 * 16 * 4
    operations = 2 * (3 * (13 * row + 9 * column) + 5 * (14 * row + 9 * column))
    assert there.beginning == pytest.approx(operations * 1e-6)


def test_more_threads_than_there_are_gain_nothing():
    for name in ("indirect", "winograd_4x4", "fft"):
        two, eight = (predict(LAYER, name, speeds(), threads) for threads in (2, 8))
        assert eight == two


def test_slower_roofs_mean_longer_predictions():
    for algorithm in ("indirect", "im2row", "winograd_4x4", "fft"):
        before = predict(LAYER, algorithm, speeds()).seconds
        for slower in ({"flops": 50e9}, {"call": 1.0}):
            assert predict(LAYER, algorithm, speeds(**slower)).seconds > before
    slow = {level: [size, speed / 1000] for level, (size, speed) in SPEEDS["roofs"]["copies"].items()}
    found = predict(LAYER, "im2row", speeds(copies=slow))
    assert {part.bound for part in found.parts} == {"moving"}


def test_threads_share_the_work_but_not_the_call():
    one, two = (predict(LAYER, "indirect", speeds(), threads) for threads in (1, 2))
    assert two.seconds - 4e-6 == pytest.approx((one.seconds - 4e-6) / 2, rel=0.1)
    fill = [predict(LAYER, "im2row", speeds(), threads).parts[0].seconds for threads in (1, 2)]
    assert fill[0] == fill[1]  # done by one of them


def test_a_machine_whose_caches_are_not_known():
    """Then everything comes from memory, as far as the model knows."""
    far = {"memory": SPEEDS["roofs"]["copies"]["memory"]}
    known, unknown = predict(LAYER, "im2row", speeds()), predict(LAYER, "im2row", speeds(copies=far))
    for one, other in zip(known.parts, unknown.parts, strict=True):
        assert other.moving > one.moving
        assert other.computing == one.computing


def test_what_is_done_once_is_predicted_too():
    """Plain panels and a table, worked out by hand; a transform puts each of its places into the panels."""
    problem = ConvProblem(2, 14, 14, 64, 64, 3, 3, padding=1)
    rows = tile_of(problem).rows
    pack, table, run = predict(problem, "indirect", speeds(), include_packing=True).parts
    weights, entries = 64 * 64 * 9, -(-196 // rows) * (rows * 9 + 1)  # of one image; with the runs
    assert pack.seconds == pytest.approx(weights * 0.5e-9 + 2 * weights * 4 / 100e9)  # in L2
    assert table.seconds == pytest.approx(entries * 5e-9)
    assert predict(problem, "indirect", speeds()).parts == (run,)
    pack, *_ = predict(problem, "winograd_4x4", speeds(), include_packing=True).parts
    assert pack.beginning == pytest.approx((weights + 64 * 64 * 36) * 0.5e-9)
    for name in ALGORITHMS:  # every one says what it does once, in overheads that are measured
        served = [p for p in CASES.values() if not ALGORITHMS[name].supports(p)]
        runs, whole = (
            [predict(p, name, speeds(), include_packing=packing).seconds for p in served]
            for packing in (False, True)
        )
        assert all(run < all_of_it < math.inf for run, all_of_it in zip(runs, whole, strict=True))


def test_what_cannot_be_predicted_is_refused():
    with pytest.raises(convlab.UnsupportedError, match="pointwise"):
        predict(LAYER, "pointwise", speeds())


# -- auto ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (LAYER, {"winograd_4x4"}),
        (RESNET["layer4.0.conv2"].problem, {"winograd_2x2", "winograd_4x4"}),
        (RESNET["layer2.0.conv1"].problem, {"indirect", "precomputed_gemm"}),
        (ConvProblem(1, 28, 28, 128, 128, 1, 1), {"pointwise"}),
        (ConvProblem(1, 28, 28, 128, 128, 3, 3, padding=1, groups=128), {"depthwise"}),
    ],
    ids=("3x3", "3x3, few pixels", "3x3, stride 2", "1x1", "depthwise"),
)
def test_auto_by_the_model(problem, expected):
    made = prepared(problem)
    assert made.algorithm.name in expected
    best, *_ = sorted(predicted(problem).values())
    assert predicted(problem)[made.algorithm.name] <= ALIKE * best
    assert "predicted to be" in made.why
    assert prepared(problem, algorithm="im2row").why == "it was asked for"


def chosen_by_conv2d(problem, monkeypatch, **options):
    """Return the algorithm that conv2d takes, and why; nothing is run."""
    made = []
    monkeypatch.setattr(plans.Plan, "run_checked", lambda self, x, out: made.append(self))
    x, w = (np.zeros(shape, problem.dtype) for shape in (problem.x_shape, problem.w_shape))
    convlab.conv2d(x, w, padding=problem.padding, backend="cpu", **options)
    return made[0].algorithm.name, made[0].why


def test_conv2d_counts_the_packing(monkeypatch):
    """Much to pack for few pixels: Winograd's runs are short, but not with its weights packed before each."""
    late = RESNET["layer4.0.conv2"].problem
    name, why = chosen_by_conv2d(late, monkeypatch)
    assert prepared(late).algorithm.name.startswith("winograd")
    assert not name.startswith("winograd")
    assert "packed and run" in why
    assert "packed" not in prepared(late).why
    assert chosen_by_conv2d(LAYER, monkeypatch)[0].startswith("winograd")  # few weights, many pixels


def test_conv2d_adds_the_predicted_packing_to_measured_runs(monkeypatch, folder):
    late = RESNET["layer4.0.conv2"].problem
    machine_file.keep_speeds(SPEEDS)
    machine_file.keep_tuned(late, 1, {"winograd_2x2": 1e-5})  # the others were not worth trying
    assert prepared(late).algorithm.name == "winograd_2x2"
    assert not chosen_by_conv2d(late, monkeypatch)[0].startswith("winograd")
    machine_file.keep_tuned(late, 1, {"winograd_2x2": 1e-5, "implicit_gemm": 1e-5})
    assert chosen_by_conv2d(late, monkeypatch)[0] == "implicit_gemm"


def test_where_predictions_are_alike_the_gentler_one_is_taken():
    seconds = {"winograd_6x6": 1.00, "indirect": 1.02, "im2row": 1.01, "winograd_2x2": 1.01, "direct": 1.5}
    assert order_of(seconds, SMALL) == ["indirect", "im2row", "winograd_2x2", "winograd_6x6", "direct"]
    assert order_of(seconds | {"indirect": 1.04, "im2row": 1.04}, SMALL)[0] == "winograd_2x2"


@pytest.mark.parametrize(("case", "expected"), [("plain", "im2row"), ("pointwise", "pointwise")])
def test_auto_by_rule(case, expected):
    _, w, _ = arrays(CASES[case])
    made = plan(CASES[case], w, backend="numpy")
    assert made.algorithm.name == expected
    assert "rule" in made.why


@sampled(0)
def test_auto_in_double_precision_and_on_more_threads():
    for problem, threads in ((replace(LAYER, dtype="float64"), 1), (LAYER, 2)):
        assert prepared(problem, threads=threads).algorithm.name.startswith("winograd")


# -- autotune ------------------------------------------------------------------------------------------------


@sampled(0)
def test_autotune_is_believed_from_then_on_and_kept(folder):
    machine_file.keep_speeds(SPEEDS)
    found = convlab.autotune([SMALL, SMALL])
    assert list(found) == [SMALL]
    assert list(found[SMALL].values()) == sorted(found[SMALL].values())
    assert set(found[SMALL]) <= set(predicted(SMALL))
    assert prepared(SMALL).algorithm.name == next(iter(found[SMALL]))
    slowest = list(found[SMALL])[-1]
    machine_file.keep_tuned(SMALL, 1, {slowest: 1e-9, "direct": 1.0})
    machine_file.forget()  # as another process would begin
    assert machine_file.tuned_seconds(SMALL, 1) == {slowest: 1e-9, "direct": 1.0}
    made = prepared(SMALL)
    assert made.algorithm.name == slowest
    assert re.search(
        rf"fastest of 2 that were measured here, .* \({slowest}\) before .* \(direct\)", made.why
    )
    assert "predicted" in prepared(SMALL, threads=2).why
    assert machine_file.tuned_seconds(LAYER, 1) is None


@pytest.mark.inside
def test_autotune_checks_what_it_times(folder, monkeypatch):
    machine_file.keep_speeds(SPEEDS)
    form = ALGORITHMS["indirect"].forms["cpu"]

    def wrong(problem, x, packed, workspace, out, threads):
        out.y[...] = 1

    monkeypatch.setitem(ALGORITHMS["indirect"].forms, "cpu", replace(form, run=wrong))
    with pytest.raises(convlab.ConvError, match=r"indirect on autotune .* is wrong"):
        autotune.autotune(SMALL)
    assert machine_file.tuned_seconds(SMALL, 1) is None


@pytest.mark.inside
def test_autotune_leaves_out_what_does_not_fit(folder, monkeypatch):
    machine_file.keep_speeds(SPEEDS)
    large = ConvProblem(1, 64, 64, 32, 8, 3, 3, padding=1)  # a matrix of 4.5 MiB
    assert "im2row" in autotune.promising(large)
    monkeypatch.setattr(facts, "memory_at_hand", lambda: 9 << 19)
    found = convlab.autotune(large)[large]
    assert set(found) < set(autotune.promising(large))
    assert "im2row" not in found
    assert prepared(large).algorithm.name == next(iter(found))
    monkeypatch.setattr(autotune, "promising", lambda problem, threads: ["im2row"])
    assert set(convlab.autotune(large)[large]) == {next(iter(found))}
    monkeypatch.setattr(facts, "memory_at_hand", lambda: 1 << 20)
    with pytest.raises(convlab.WorkspaceError, match="smaller"):
        convlab.autotune(replace(large, K=1024))


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ("resnet18", {}, "problems='resnet18'"),
        (replace(SMALL, dtype="float16"), {}, "problem has dtype='float16', which is for the cost model"),
        ([SMALL, 3], {}, r"problems\[1\] is a int, 3"),
        (SMALL, {"threads": 0}, "threads=0"),
    ],
)
def test_autotune_refuses_what_is_no_problem(given, options, words):
    with pytest.raises(ParameterError, match=words):
        convlab.autotune(given, **options)


# -- what is kept on disk ------------------------------------------------------------------------------------


@pytest.fixture
def measured(monkeypatch):
    """Stand in for a second of measuring; count how often it was done."""
    calls = []
    monkeypatch.setattr(measure, "measure", lambda on_step: calls.append(1) or SPEEDS)
    return calls


def test_what_is_measured_is_kept(folder, measured):
    before, now = measure.renew()
    assert before.model == shipped_speeds().model
    machine_file.forget()
    assert current_speeds() == now == Speeds.of(SPEEDS["roofs"], SPEEDS["overheads"])
    assert current_speeds().model is None
    assert len(measured) == 1
    assert [file.name for file in folder.iterdir() if file.suffix != ".lock"] == [machine_file.FILE]


def _changed(**changes):
    return lambda kept: json.dumps(kept | changes)


def _speeds(given):
    """Return a file whose speeds of this machine are others."""

    def changed(kept):
        (mine,) = kept["machines"].values()
        (threads,) = mine["speeds"]
        mine["speeds"][threads] = given
        return json.dumps(kept)

    return changed


def _roofs(**changes):
    return _speeds(SPEEDS | {"roofs": SPEEDS["roofs"] | changes})


DIGITS = 10**400
BAD = {
    "empty": lambda kept: "",
    "cut off": lambda kept: json.dumps(kept)[:-40],
    "binary": lambda kept: "\x00\xff",
    "a list": lambda kept: "[1, 2]",
    "nested without end": lambda kept: "[" * 200_000,
    "nested too deep": lambda kept: '{"a":' * 200_000 + "1" + "}" * 200_000,
    "a number of 5000 digits": lambda kept: json.dumps(kept)[:-1] + f', "n": {"9" * 5000}}}',
    "larger than any": lambda kept: json.dumps(kept) + " " * (17 << 20),
    "of another schema": _changed(schema=99),
    "of an older schema": lambda kept: json.dumps({"schema": 1, "machine": {}, "speeds": SPEEDS}),
    "of another machine": _changed(machines={"Z80": {"speeds": {"1": SPEEDS}}}),
    "machines are text": _changed(machines="Z80"),
    "a machine is text": lambda kept: json.dumps(kept | {"machines": dict.fromkeys(kept["machines"], "Z80")}),
    "speeds are text": _speeds("fast"),
    "no roofs": _speeds({"overheads": SPEEDS["overheads"]}),
    "roofs are a list": _speeds(SPEEDS | {"roofs": [1]}),
    "a roof of 0": _roofs(flops=0),
    "a roof that is no number": _roofs(flops=math.nan),
    "a roof of 400 digits": _roofs(flops=DIGITS),
    "a roof beyond all bounds": _roofs(flops=1e300),
    "threads are text": _roofs(threads="2"),
    "threads of 400 digits": _roofs(threads=DIGITS),
    "no copies": _roofs(copies={}),
    "a cache's size is text": _roofs(copies={"L1": ["big", 1e9], "memory": [1, 1e9]}),
    "a cache's size is a list": _roofs(copies={"L1": [[1], 1e9], "memory": [1, 1e9]}),
    "a cache of 0": _roofs(copies={"L1": [0, 1e9], "memory": [1, 1e9]}),
    "a copy is text": _roofs(copies={"memory": [1, "fast"]}),
    "a copy of 400 digits": _roofs(copies={"memory": [1, DIGITS]}),
    "an overhead is text": _speeds(SPEEDS | {"overheads": SPEEDS["overheads"] | {"call": "4"}}),
    "an overhead of 400 digits": _speeds(SPEEDS | {"overheads": SPEEDS["overheads"] | {"call": DIGITS}}),
    "an overhead is missing": _speeds(SPEEDS | {"overheads": {"call": 1.0}}),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_not_used_and_replaced_by_what_is_measured_next(folder, measured, what):
    machine_file.keep_speeds(SPEEDS)
    file = folder / machine_file.FILE
    file.write_text(BAD[what](json.loads(file.read_text())), encoding="utf-8")
    machine_file.forget()
    assert current_speeds().model
    assert not measured
    measure.renew()
    machine_file.forget()
    assert current_speeds() == Speeds.of(SPEEDS["roofs"], SPEEDS["overheads"])
    assert current_speeds().model is None


IN_THE_WAY = {
    "a pipe": os.mkfifo if hasattr(os, "mkfifo") else None,
    "a folder": Path.mkdir,
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to(path.with_name("nothing")),
    "an endless file": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such things in a folder")
@pytest.mark.parametrize("name", [machine_file.FILE, f".{machine_file.FILE}.lock", ".speeds.lock"])
@pytest.mark.parametrize("what", IN_THE_WAY)
def test_what_lies_in_the_way_neither_stops_nor_blocks(folder, measured, what, name):
    IN_THE_WAY[what](folder / name)
    machine_file.keep_tuned(SMALL, 1, {"direct": 1.0})
    _, now = measure.renew()
    assert now == Speeds.of(SPEEDS["roofs"], SPEEDS["overheads"])
    assert machine_file.measured_at() or machine_file.trouble()
    machine_file.forget()
    assert prepared(SMALL).algorithm.name


@pytest.mark.parametrize(
    "entry",
    [
        *("text", {}, {"no such": 1.0}, {"direct": -1.0}, {"direct": math.nan}, {"direct": "1"}, [1.0]),
        *({"direct": DIGITS}, {"direct": 1e300}, {"direct": [1.0]}),
    ],
    ids=lambda entry: str(entry)[:20],
)
def test_bad_measured_times_are_left_out(folder, entry):
    good = {machine_file.key(LAYER, 1): {"indirect": 1.0}}
    machine_file.keep_speeds(SPEEDS)
    machine_file._write(lambda mine: mine["tuned"].update(good | {machine_file.key(SMALL, 1): entry}))
    machine_file.forget()
    assert machine_file.tuned_seconds(SMALL, 1) is None
    assert machine_file.tuned_seconds(LAYER, 1) == {"indirect": 1.0}
    prepared(SMALL)


def test_a_measured_algorithm_that_does_not_serve_is_passed_over(folder):
    machine_file.keep_speeds(SPEEDS)
    machine_file.keep_tuned(SMALL, 1, {"pointwise": 1e-9})
    machine_file.forget()
    assert prepared(SMALL).algorithm.name != "pointwise"


@pytest.mark.inside
def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CONVLAB_CACHE_DIR", str(tmp_path / "file" / "below"))
    machine_file.forget()
    assert prepared(SMALL).algorithm.name
    convlab.autotune(SMALL)
    assert machine_file.tuned_seconds(SMALL, 1)  # in this process
    machine_file.forget()


@pytest.mark.skipif(os.name == "nt", reason="Windows finds a home elsewhere")
def test_without_a_home_nothing_is_kept_and_doctor_says_so(monkeypatch):
    for name in ("CONVLAB_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.raises(RuntimeError):
        Path.home()
    machine_file.forget()
    assert prepared(SMALL).algorithm.name
    assert "set CONVLAB_CACHE_DIR" in machine_file.trouble()
    machine_file.forget()


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_where_it_is_kept(monkeypatch, platform, tmp_path):
    for name in ("CONVLAB_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine_file.sys, "platform", platform)
    monkeypatch.setattr(machine_file.Path, "home", lambda: tmp_path)
    assert machine_file.folder().name == "convlab"
    assert tmp_path in machine_file.folder().parents


def test_overheads_are_of_one_of_what_they_count(monkeypatch):
    """Of a call that takes a second."""
    monkeypatch.setattr(overheads, "best", lambda run: 1.0)
    assert 1 / overheads._pack() == pytest.approx(64 * 64 * 9)
    assert 1 / overheads._transform() == pytest.approx(16 * 64 * 5 * 16 * 4)
    problem = ConvProblem(1, 42, 42, 8, 8, 3, 3, padding=1)
    table = indirection_buffer(problem, tile_for("float32").rows)
    assert 1 / overheads._place() == pytest.approx(table.size)


@in_turns
def test_measuring_finds_speeds_that_a_machine_can_have(folder):
    told = []
    found = measure.measure(on_step=told.append)
    assert len(told) == len(set(told)) == measure.steps()
    Speeds.of(found["roofs"], found["overheads"]).checked()
    assert set(found["overheads"]) == set(OVERHEADS)
    assert found["overheads"]["call"] > found["overheads"]["tile"] > 0
