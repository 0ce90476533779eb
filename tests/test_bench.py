"""`convlab bench cpu` on tiny layers: everyone checked, everything saved. No test asserts a time."""

import errno
import json
import os
import re
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from cases import CASES
from effort import in_turns, sampled
from typer.testing import CliRunner

from convlab import ALGORITHMS, ConvError, ConvProblem, networks, plan
from convlab.auto import disturbance, roofs
from convlab.auto.ranking import predicted
from convlab.auto.timing import WAKE, Timing, check_output, material, take_turns
from convlab.benchmark import baselines, bench, dukhan_2019, layers, network_comparison, report, saved, suite
from convlab.benchmark.baselines import BASELINES, Call, at_hand
from convlab.benchmark.comparison import Comparison, Effort
from convlab.benchmark.layers import Workload
from convlab.benchmark.pass_baselines import EVERY
from convlab.benchmark.passes import PASSES
from convlab.benchmark.suite import PEAK, PEAK_AFTER
from convlab.cli import app
from convlab.cost.phases import OVERHEADS
from convlab.machine import container, system
from convlab.support import files
from tools import bench_cpu, cold_start, second_blas
from tools.cold_start import first_call

SQUARE = Workload("tiny", "square", ConvProblem(1, 9, 7, 4, 20, 3, 3, padding=1), 2)
POINT = Workload("tiny", "point", ConvProblem(1, 5, 6, 8, 16, 1, 1))
STRIDED = Workload("tiny", "strided", ConvProblem(1, 9, 8, 5, 7, 1, 1, stride=2))
PICTURE = Workload("squeezenet1_0", "whole", ConvProblem(1, 32, 35, 3, 96, 7, 7, stride=2))
DEPTH = Workload("tiny", "depth", ConvProblem(1, 6, 7, 5, 5, 3, 3, padding=1, groups=5))
OTHER = Workload("other", "wide", ConvProblem(1, 6, 7, 3, 32, 3, 3))
OF_LAYERS = {one.name: one for one in EVERY if one.pass_ == "fprop"}
WHOLE = "a whole run of the benchmark"  # who asks for one compiles what all of it takes
BRIEF = Effort(rounds=2, budget=0.0, patience=5.0)


@pytest.fixture
def tiny(monkeypatch):
    """Make the networks tiny, the run brief, the roofs known, and a second process unnecessary."""
    for name, group in {
        "products": [
            Workload("product", "small", ConvProblem(1, 30, 1, 20, 40, 1, 1)),
            Workload("product", "smaller", ConvProblem(1, 20, 1, 30, 40, 1, 1)),
        ],
        "convolutions": [SQUARE, POINT],
        "depthwise": [DEPTH],
        "trained": [STRIDED],
        "other_networks": [OTHER],
        "five_by_five": [STRIDED],
        "whole_networks": [PICTURE],
    }.items():
        monkeypatch.setattr(layers, name, lambda group=group: group)
    monkeypatch.setattr(network_comparison, "OURS", ("auto",))
    for efforts in (suite.FULL, suite.QUICK):
        for part in efforts:
            monkeypatch.setitem(efforts, part, BRIEF)
    monkeypatch.setattr(system, "threads", lambda: 2)
    monkeypatch.setattr(system, "caches", lambda: {1: 1 << 12, 2: 1 << 15})
    known = roofs.Roofs(1e11, 2e11, 2, {"L1": (1 << 10, 1e11)})
    monkeypatch.setattr(roofs.Roofs, "here", lambda **_: known)
    monkeypatch.setattr(second_blas, "SecondBlas", no_other)
    row = saved.Row("first", "tiny", "square", 1, SQUARE.problem, "conv2d", True, 1, 1, Timing(1, 1, 1))
    monkeypatch.setattr(bench_cpu, "first_call", lambda workload: [row])


def no_other():
    raise ConvError("no other kernel: this is a test")


def convlab(*arguments):
    return CliRunner().invoke(app, ["bench", "cpu", *map(str, arguments)], prog_name="convlab")


# -- the command -------------------------------------------------------------------------------------------


@in_turns(WHOLE)
@sampled(0)  # every part, every candidate
def test_a_whole_run(tiny, tmp_path):
    path = tmp_path / "deep" / "run.csv"
    done = convlab("--save", path)
    assert done.exit_code == 0, done.output
    run = saved.read(path)
    assert run.header["complete"]
    assert run.header["command"] == "convlab bench cpu"
    every = "product layers depthwise networks passes threads stacks paper"
    assert {row.part for row in run.rows} == set(every.split())
    serving = [name for name, one in ALGORITHMS.items() if not one.supports(SQUARE.problem)]
    here = [name for name, one in OF_LAYERS.items() if not one.missing()]
    square = [row for row in run.part("layers") if row.layer == "square"]
    assert {row.candidate for row in square} == {*serving, *here}
    assert {row.candidate for row in square if row.ours} == set(serving)
    assert {row.count for row in square} == {2}
    for layer in ("small", "smaller"):
        candidates = {row.candidate for row in run.part("product") if row.layer == layer}
        assert candidates >= {"gemm", PEAK, PEAK_AFTER, "NumPy"}
    (clock,) = (line for line in report.notes(run) if line.startswith("Right after a product"))
    assert re.search(r"ran at [\d% to]+ of their peak.* gemm reaches [\d% to]+ of that", clock)
    assert {row.threads for row in run.part("threads")} == {2}
    assert set(run.header["overheads"]) == set(OVERHEADS)
    assert {row.layer for row in run.part("networks")} == {"wide"}
    for cache in ("warm", "cold"):
        three = {(row.layer, row.candidate) for row in run.part("paper", cache=cache)}
        assert {
            ("square", name) for name in (dukhan_2019.COPYING, dukhan_2019.INDIRECT, dukhan_2019.PRODUCT)
        } <= three
        assert {name for layer, name in three if layer == "point"} == {
            dukhan_2019.COPYING,
            dukhan_2019.INDIRECT,
        }
    for row in run.rows:
        assert row.rounds >= 1
        assert 0 < row.timing.low <= row.timing.median <= row.timing.high
    for word in ("indirect", "NumPy", "3x3 stride 1", str(path)):
        assert word in done.output


@in_turns
@pytest.mark.workshop
def test_what_the_authors_measure_beside(tiny, tmp_path, capsys):
    path = tmp_path / "run.csv"
    assert bench_cpu.main(["--quick", "--save", str(path)]) == 0
    run = saved.read(path)
    assert run.header["command"] == "convlab bench cpu --quick"
    assert run.header["blas"] == {"NumPy": second_blas.kernel(), "NumPy, other kernel": None}
    assert {row.part for row in run.rows} >= {"layers", "autotune", "first"}
    assert {row.layer for row in run.part("autotune")} == {"wide", "square", "point"}
    for row in run.part("autotune"):
        assert row.candidate in predicted(row.problem)
    said = capsys.readouterr().out
    assert "no other kernel: this is a test" in said
    assert "Time of the chosen over the best" in said
    assert "The first conv2d of a fresh process takes 1.00 s" in said


@pytest.mark.inside
def test_baselines_that_are_missing_are_skipped_by_name(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(baselines, "find_spec", lambda package: None if package == "torch" else package)
    done = convlab("--quick", "--layers", "point", "--save", tmp_path / "run.csv")
    assert done.exit_code == 0, done.output
    skipped = saved.read(tmp_path / "run.csv").header["skipped"]
    for name in ("torch", "torch channels_last", "oneDNN prepacked"):
        assert skipped[name] == "PyTorch is not installed"
        assert f"skipped: {name}: PyTorch is not installed" in done.output
    assert "NumPy" not in skipped


def test_baselines_that_do_not_load_are_skipped_with_the_reason(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("raise OSError('cannot open libgomp')")
    monkeypatch.syspath_prepend(tmp_path)

    def broken():
        import broken_library  # noqa: F401

    def incomplete():
        raise AttributeError("built without mkldnn")

    numpy = BASELINES["NumPy"]
    wanted = (
        replace(numpy, name="broken", library="Broken", package="broken_library", needs=broken),
        replace(numpy, name="incomplete", needs=incomplete),
        numpy,
    )
    here, skipped = at_hand(one for one in wanted)
    assert here == [numpy]
    assert skipped == {
        "broken": "Broken does not work here: OSError: cannot open libgomp",
        "incomplete": "NumPy does not work here: AttributeError: built without mkldnn",
    }


@sampled(0)
def test_without_baselines_and_by_name(tiny, tmp_path):
    done = convlab("--no-baselines", "--layers", "point", "--save", tmp_path / "run.csv")
    assert done.exit_code == 0, done.output
    run = saved.read(tmp_path / "run.csv")
    assert run.header["command"] == "convlab bench cpu --layers 'point' --no-baselines"
    assert {row.layer for row in run.rows} == {"point"}
    assert all(row.ours for row in run.rows)


@in_turns
@sampled(0)
def test_one_part_alone(tiny, tmp_path):
    done = convlab("--part", "passes", "--save", tmp_path / "run.csv")
    assert done.exit_code == 0, done.output
    run = saved.read(tmp_path / "run.csv")
    assert run.header["command"] == "convlab bench cpu --part passes"
    assert {(row.part, row.layer) for row in run.rows} == {("passes", "strided")}
    assert {row.pass_ for row in run.rows} == set(PASSES)
    assert {row.problem.N for row in run.rows} == {suite.IMAGES}
    assert {"zeros inserted", "whole picture"} <= {row.candidate for row in run.rows if not row.ours}
    assert "strided" in done.output


@in_turns(WHOLE)
@sampled(0)
def test_a_wrong_output_fails_loudly_and_what_came_before_is_saved(tiny, tmp_path, monkeypatch):
    form = ALGORITHMS["indirect"].forms["cpu"]

    def wrong(problem, x, packed, workspace, out, threads):
        form.run(problem, x, packed, workspace, out, threads)
        if problem == POINT.problem:
            out.y.reshape(problem.y_shape)[0, 2, 3, 1] += 0.01

    spoilt = replace(ALGORITHMS["indirect"], forms={"cpu": replace(form, run=wrong, bind=None)})
    monkeypatch.setitem(ALGORITHMS, "indirect", spoilt)
    done = convlab("--save", tmp_path / "run.csv")
    assert done.exit_code == 1
    assert "convlab: indirect on tiny point is wrong: its error is 1.00e-02" in done.stderr
    assert "cut short" in done.output
    run = saved.read(tmp_path / "run.csv")
    assert not run.header["complete"]
    assert {row.layer for row in run.part("layers")} == {"square"}


@in_turns(WHOLE)
@pytest.mark.inside
def test_an_interrupted_run_is_saved(tiny, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "compare_three", interrupt)
    done = convlab("--save", tmp_path / "run.csv")
    assert done.exit_code == 130
    assert "interrupted" in done.stderr
    run = saved.read(tmp_path / "run.csv")
    assert not run.header["complete"]
    before = {"product", "layers", "depthwise", "networks", "passes", "threads", "stacks"}
    assert {row.part for row in run.rows} == before
    assert "indirect" in done.output


# -- machines that tell or allow little, disks that are full -------------------------------------------------


@in_turns(WHOLE)
@sampled(0)
def test_one_core_is_measured_alone(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(system, "threads", lambda: 1)
    alone = roofs.Roofs(1e11, 1e11, 1, {"memory": (1 << 10, 1e11)})
    monkeypatch.setattr(roofs.Roofs, "here", lambda **_: alone)
    done = convlab("--quick", "--no-baselines", "--save", tmp_path / "run.csv")
    assert done.exit_code == 0, done.output
    run = saved.read(tmp_path / "run.csv")
    assert run.header["complete"]
    assert {row.threads for row in run.rows} == {1}
    assert "threads" not in {row.part for row in run.rows}
    assert "on one core\n" in done.output


@sampled(0)
@pytest.mark.parametrize(("quota", "says"), [(1.0, "all cores are 1."), (0.5, "even one thread is paused")])
def test_a_quota_is_kept_to_and_told(tiny, tmp_path, monkeypatch, quota, says):
    monkeypatch.setattr(container, "cpu_quota", lambda: quota)
    done = convlab("--layers", "point", "--no-baselines", "--save", tmp_path / "run.csv")
    assert done.exit_code == 0, done.output
    run = saved.read(tmp_path / "run.csv")
    assert {row.threads for row in run.rows} == {1}
    assert run.header["machine"]["cpu_quota"] == quota
    assert f"The container allows {quota:g} of 2 processors: {says}" in done.output


@pytest.mark.inside
def test_without_known_caches_nothing_is_called_cold(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(system, "caches", lambda: {})
    done = convlab("--layers", "point", "--no-baselines", "--save", tmp_path / "run.csv")
    assert done.exit_code == 0, done.output
    run = saved.read(tmp_path / "run.csv")
    assert run.part("paper", cache="warm")
    assert {row.cache for row in run.rows} == {"warm"}
    assert "The sizes of the caches are not known" in done.output
    x, w, _, _ = material(POINT.problem)
    with pytest.raises(ConvError, match="the size of no cache"):
        dukhan_2019.Rotation(plan(POINT.problem, w, algorithm="indirect", backend="cpu"), x, w)


@pytest.mark.parametrize(("first", "says"), [(1, "nothing could be saved"), (3, "timings could be saved in")])
def test_a_full_disk_ends_the_run_and_says_what_is_kept(tiny, tmp_path, monkeypatch, first, says):
    path, count = tmp_path / "run.csv", 0

    def no_room(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(where, measurement):
        nonlocal count
        count += 1
        if count >= first:
            monkeypatch.setattr(saved, "replacing", no_room)
        saved.write(where, measurement)

    monkeypatch.setattr(bench, "write", write)
    done = convlab("--no-baselines", "--save", path)
    assert done.exit_code == 1
    assert "No space left on device; make room there" in done.stderr
    assert says in done.output
    assert "saved in " not in done.output.replace(says, "")
    assert [file.name for file in tmp_path.iterdir()] == (["run.csv"] if first > 1 else [])
    if first > 1:
        assert saved.read(path).rows


def test_a_file_that_comes_in_between_is_kept(tiny, tmp_path, monkeypatch):
    path, write = tmp_path / "run.csv", saved.write

    def meanwhile(where, measurement):
        write(where, measurement)
        if measurement.rows:
            where.write_text("my thesis")

    monkeypatch.setattr(bench, "write", meanwhile)
    done = convlab("--no-baselines", "--save", path)
    assert done.exit_code == 1
    assert "run.csv' was written by another program while this one measured" in done.stderr
    assert "nothing could be saved in" in done.output
    assert path.read_text() == "my thesis"


@pytest.mark.parametrize("moment", ["the roofs", "the file"])
def test_an_interruption_at_any_moment_leaves_nothing_half_done(tiny, tmp_path, monkeypatch, moment):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    if moment == "the roofs":
        monkeypatch.setattr(roofs.Roofs, "here", interrupt)
    else:
        monkeypatch.setattr(files.os, "replace", interrupt)
    done = convlab("--no-baselines", "--save", tmp_path / "run.csv")
    assert done.exit_code not in (0, 2)
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("which", "replaced", "says"),
    [
        (1, False, "nothing could be saved in"),
        (1, True, "saved in"),  # before anything was measured
        (2, False, "timings could be saved in"),
        (2, True, "saved in"),
    ],
)
def test_an_interruption_while_it_saves_is_told_as_it_is(tiny, tmp_path, monkeypatch, which, replaced, says):
    """Just before or just after the file, the first or the second, takes its place."""
    path, replace_, count = tmp_path / "run.csv", os.replace, 0

    def interrupted(draft, where):
        nonlocal count
        count += where == path
        if count < which or replaced:
            replace_(draft, where)
        if count == which:
            raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    done = convlab("--layers", "point", "--no-baselines", "--save", path)
    assert done.exit_code == 130
    assert f"{says} {path}" in done.output.replace("\n", "")
    assert ("could be saved" in done.output) == (not replaced)
    assert [file.name for file in tmp_path.iterdir()] == ([] if says.startswith("nothing") else ["run.csv"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--layers", "alexnext"], "--layers='alexnext' chooses no layer"),
        (["--layers", "x" * 5000], "chooses no layer"),
        (["--part", "backwards"], "--part='backwards'; expected one of product, layers, depthwise"),
        (["--save", "{tmp}"], "is a folder; expected a file"),
        (["--save", "{tmp}/file/run.csv"], "expected a folder that can be written to"),
        (["fast"], "fast"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_measured(tmp_path, monkeypatch, arguments, says):
    monkeypatch.setattr(bench, "bench_cpu", lambda *args, **options: pytest.fail("it measured"))
    (tmp_path / "file").write_text("kept")
    done = convlab(*(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    assert "Traceback" not in done.output


# -- comparisons -------------------------------------------------------------------------------------------


def test_a_comparison_takes_nobody_in_whose_output_is_wrong():
    entrants = Comparison(SQUARE, BRIEF)
    with pytest.raises(ConvError, match="zeros on tiny square is wrong"):
        entrants.enter("zeros", Call(lambda: np.zeros(SQUARE.problem.y_shape, np.float32)))
    loose = Call(lambda: entrants.expected + 2 * entrants.limit)
    with pytest.raises(ConvError, match="loose"):
        entrants.enter("loose", loose)
    entrants.enter("loose", loose, rounding=3)
    assert [row.candidate for row in entrants.rows("layers")] == ["loose"]


def test_the_slow_have_fewer_turns_and_the_very_slow_none():
    entrants, calls = Comparison(SQUARE, Effort(rounds=2, most=5, budget=60.0, patience=1.0)), []
    for name, once in {"fast": 0.001, "slow": 0.1, "very slow": 0.2}.items():
        entrants.enter_timer(name, lambda name=name: calls.append(name) or 1.0, lambda once=once: once)
    rows = {row.candidate: row.rounds for row in entrants.rows("layers")}
    assert rows == {"fast": 5, "slow": 2}
    assert entrants.left_out == ["very slow"]
    assert sorted(calls) == 5 * ["fast"] + 2 * ["slow"]


def test_more_rounds_while_the_budget_lasts():
    times = take_turns({"a": lambda: 1.0}, 3, budget=0.0)
    assert times == {"a": [1.0] * 3}
    assert len(take_turns({"a": lambda: 1.0}, 3, budget=60.0, most=7)["a"]) == 7
    start = time.perf_counter()
    take_turns({"a": lambda: 1.0}, 3, rest=True)
    assert time.perf_counter() - start >= 3 * (2 * disturbance.NAP + WAKE)
    assert take_turns({}, 3) == {}


# -- the paper's comparison --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["indirect", "im2row"])
def test_copies_in_rotation_exceed_the_cache(name):
    problem = SQUARE.problem
    x, w, expected, limit = material(problem)
    first = plan(problem, w, algorithm=name, backend="cpu")
    table = first.workspace["offsets"].nbytes if name == "indirect" else 0
    each = first.packed.nbytes + problem.y_bytes + table
    rotation = dukhan_2019.Rotation(first, x, w, beyond=3 * each)
    assert rotation.count == 4
    check_output(name, rotation.run_all(), expected, limit)
    plans, outputs = zip(*rotation._copies, strict=True)
    assert len({id(p.packed) for p in plans}) == len({id(out) for out in outputs}) == 4
    workspaces = {id(array) for p in plans for array in p.workspace.values()}
    assert len(workspaces) == (1 if name == "im2row" else 4 * len(first.workspace))
    for out in outputs:
        out[...] = np.nan
    written = []
    for _ in range(4):
        assert rotation.seconds() > 0
        written.append([not np.isnan(out).any() for out in outputs].count(True))
    assert written == [1, 2, 3, 4]


def test_one_wrong_copy_in_the_rotation_is_seen():
    x, w, expected, limit = material(SQUARE.problem)
    rotation = dukhan_2019.Rotation(
        plan(SQUARE.problem, w, algorithm="indirect", backend="cpu"), x, w, beyond=50_000
    )
    rotation._copies[2][0].packed[...] = 0
    with pytest.raises(ConvError, match="is wrong"):
        check_output("it", rotation.run_all(), expected, limit)


def test_what_the_paper_compares():
    x, w, _, _ = material(STRIDED.problem)
    ways = dukhan_2019.three_ways(STRIDED.problem, x, w)
    assert [way[-1] for way in ways.values()] == ["im2row", "indirect", "pointwise"]
    product = ways[dukhan_2019.PRODUCT][0]
    assert product.gemm == STRIDED.problem.gemm
    assert product.macs == STRIDED.problem.macs


# -- baselines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_LAYERS)
def test_baselines_are_right(name):
    baseline = OF_LAYERS[name]
    if baseline.missing():
        pytest.skip(baseline.missing())
    served = [problem for problem in CASES.values() if not baseline.refuses(problem)]
    assert len(served) >= 15
    if name == "oneDNN prepacked":
        served = [problem for problem in served if problem.dtype == "float32"]
    for problem in served:
        x, w, expected, limit = material(problem)
        call = baseline.prepare(problem, x, w, 1)
        for _ in range(2):  # what the first has written does not lie in the way of the second
            check_output(f"{name} on {problem}", call.array(call.run()), expected, limit)


def test_litert_leaves_nothing_to_slower_code_than_xnnpack():
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    from convlab.benchmark.rivals.graph import one_layer
    from convlab.benchmark.rivals.litert_model import litert_model

    layers_ = [problem for problem in CASES.values() if problem.dtype == "float32"]
    graphs = [one_layer(problem, material(problem)[1]) for problem in layers_]
    for graph in [*graphs, *(networks.load_model(name, size=64) for name in networks.model_names())]:
        made = interpreter.Interpreter(model_content=litert_model(graph), num_threads=1)
        made.allocate_tensors()
        (taken,) = (one for one in made._get_ops_details() if one["op_name"] == "DELEGATE")
        ends = made.get_input_details() + made.get_output_details()
        assert {end["index"] for end in ends} <= {*taken["inputs"], *taken["outputs"]}


@pytest.mark.workshop
def test_which_other_kernel():
    avx2, avx512 = {"avx2", "fma"}, {"avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl"}
    assert second_blas.other_kernel("SkylakeX", avx512) == "Haswell"
    assert second_blas.other_kernel("Cooperlake", avx512) == "Haswell"
    assert second_blas.other_kernel("Haswell", avx512) == "SkylakeX"
    assert second_blas.other_kernel("Zen", avx512) == "SkylakeX"
    assert second_blas.other_kernel("Haswell", avx2) is None  # SkylakeX would stop the process
    assert second_blas.other_kernel("Zen", avx2) is None
    assert second_blas.other_kernel("neoversen1", {"neon"}) is None
    assert second_blas.other_kernel(None, avx512) is None


@pytest.mark.workshop
def test_the_other_kernel_computes_the_same():
    x, w, expected, limit = material(SQUARE.problem)
    try:
        other = second_blas.SecondBlas()
    except ConvError as reason:
        pytest.skip(str(reason))
    with other:
        assert other.kernel != second_blas.kernel()
        baseline = other.baseline()
        assert baseline.refuses(DEPTH.problem)
        comparison = Comparison(SQUARE, BRIEF)
        comparison.enter_baselines([baseline])
        (row,) = comparison.rows("layers")
        assert (row.candidate, row.ours) == ("NumPy, other kernel", False)
        assert row.seconds > 0
        call = baseline.prepare(SQUARE.problem, x, w)
        check_output("other", call.run(), expected, limit)
        os.kill(other._process.pid, signal.SIGKILL)
        with pytest.raises(ConvError, match="has ended"):
            call.timer()()
    assert other._process.poll() is not None


@pytest.mark.workshop
def test_no_second_process_where_the_blas_is_another(monkeypatch):
    monkeypatch.setattr(second_blas, "kernel", lambda: None)
    with pytest.raises(ConvError, match="no other kernel: NumPy's BLAS is not OpenBLAS"):
        second_blas.SecondBlas()


# -- roofs and the first call ------------------------------------------------------------------------------


def test_the_peak_loop_does_the_work_it_says():
    tile = roofs.tile_for("float32")
    y = np.empty(tile.rows * tile.cols, np.float32)
    roofs._multiply_add(tile, np.full(tile.rows + tile.cols, 2, np.float32), 1000, y)
    assert (y == 4000).all()
    assert abs(roofs.multiply_add(100_000) - 100_000) < 2 * y.size


def test_roofs_of_this_machine():
    sizes = roofs.copy_sizes()
    assert list(sizes)[-1] == "memory"
    assert sorted(sizes.values()) == list(sizes.values())
    source, target = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    roofs._copy(target, source, 2)
    assert (target == source).all()
    roofs._scale(target, source, 2)
    assert (target == 3 * source).all()
    known = roofs.Roofs(1e11, 2e11, 2, {"L1": (1 << 10, 1e11)})
    assert json.loads(json.dumps(known.as_dict()))["flops_all"] == 2e11


@pytest.mark.parametrize("threads", [1, 2])
def test_multiply_adds_are_counted_a_second(monkeypatch, threads):
    monkeypatch.setattr(disturbance, "_waits", lambda: None)
    ticks = iter(range(0, 1000, 2))  # every look at the clock comes two seconds after the one before
    monkeypatch.setattr(roofs.time, "perf_counter", lambda: next(ticks))
    asked = []
    monkeypatch.setattr(roofs, "multiply_add", lambda flops, tile=None: asked.append(flops) or flops)
    measured = roofs.multiply_adds(threads, rounds=3, seconds=0.5, tile=roofs.tile_for("float32"))
    rounds = [(1 << 26) // 4] * 3 * threads  # 2^26 operations took two seconds: a fourth of them takes 0.5
    assert asked == [1 << 20, 1 << 26, *rounds]
    assert measured == threads * (1 << 24) / 2


def test_multiply_adds_right_after_something(monkeypatch):
    """What came before is not timed, nor how their code comes back into the caches."""
    happened, clock = [], [0]

    def take(what, seconds):
        happened.append(what)
        clock[0] += seconds

    monkeypatch.setattr(roofs.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(roofs, "multiply_add", lambda flops: take(flops, 4) or 2 * flops)
    assert roofs.flops_after(lambda: take("before", 100), 3200) == 6400 / 4
    assert happened == ["before", 100, 3200]


@pytest.mark.parametrize(("more_rows", "best"), [(1, -1), (-1, 1)])
def test_the_fastest_of_three_tiles_is_the_roof(monkeypatch, more_rows, best):
    """With 16 registers a lower tile than the library's own may be faster, with four units a higher one."""
    monkeypatch.setattr(disturbance, "_waits", lambda: None)
    clock, usual = [0], roofs.tile_for("float32")

    def time_goes_with_rows(flops, tile):
        clock[0] += 20 + more_rows * tile.rows
        return flops

    monkeypatch.setattr(roofs.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(roofs, "multiply_add", time_goes_with_rows)
    other = roofs.VectorTile(usual.rows + best, usual.vectors, usual.lanes)
    by_usual, by_other = (roofs.multiply_adds(1, 2, seconds=1.0, tile=tile) for tile in (usual, other))
    assert by_other > by_usual
    assert roofs.multiply_adds(1, 2, seconds=1.0) == by_other


def test_copies_are_counted_read_and_written(monkeypatch):
    monkeypatch.setattr(disturbance, "_waits", lambda: None)
    ticks = iter(range(0, 1000, 2))
    monkeypatch.setattr(roofs.time, "perf_counter", lambda: next(ticks))
    copied = []
    for way in ("_copy", "_scale"):
        monkeypatch.setattr(roofs, way, lambda target, source, times: copied.append(source.nbytes * times))
    assert roofs.copy_speed(1 << 14, rounds=3) == 2 * (16 << 20) / 2  # 16 MiB a round, in two seconds
    assert copied == [1 << 14, *[16 << 20] * 3] * 2


def test_the_faster_way_to_copy_is_the_roof(monkeypatch):
    monkeypatch.setattr(disturbance, "_waits", lambda: None)
    now = [0.0]
    monkeypatch.setattr(roofs.time, "perf_counter", lambda: now[0])

    def way(seconds):
        def copy(target, source, times):
            now[0] += seconds

        return copy

    assert roofs.copy_speed(1 << 14, ways=(way(4.0), way(1.0), way(2.0))) == 2 * (16 << 20)


def test_caches_that_are_not_known_are_no_level_of_memory(monkeypatch):
    monkeypatch.setattr(system, "caches", lambda: {})
    assert roofs.copy_sizes() == {"memory": 128 << 20}
    monkeypatch.setattr(system, "caches", lambda: {2: 1 << 20})
    assert roofs.copy_sizes() == {"L2": 1 << 18, "memory": 64 << 20}


@in_turns
@pytest.mark.workshop
def test_first_call_runs_in_a_fresh_process():
    (row,) = first_call(STRIDED, rounds=1)
    assert (row.part, row.candidate, row.rounds) == ("first", "conv2d", 1)
    assert row.seconds > 0


@pytest.mark.workshop
def test_a_first_call_that_is_killed_is_told(monkeypatch):
    monkeypatch.setattr(cold_start, "_PROGRAM", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(ConvError, match="it ended with code -9, without a word"):
        first_call(STRIDED, rounds=1)


@pytest.mark.workshop
def test_a_wrong_first_call_is_not_timed(monkeypatch):
    wrong = cold_start._PROGRAM.replace("== {taps}", "== {taps} + 1")
    monkeypatch.setattr(cold_start, "_PROGRAM", wrong)
    with pytest.raises(ConvError, match="conv2d in a fresh process is wrong: AssertionError: an output is 5"):
        first_call(STRIDED, rounds=1)
