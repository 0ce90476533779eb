"""Tables of timings: stored and read back unchanged, and summed up correctly. Every table here is made up."""

import re
from dataclasses import replace
from math import sqrt

import pytest
from cases import CASES
from measurement_schema import complaints, described

from convlab import ConvError, ConvProblem
from convlab.auto.timing import Timing
from convlab.benchmark import layers, report, saved, summary
from convlab.benchmark.saved import COLUMNS, Measurement, Row
from convlab.support.files import data_path
from convlab.support.tables import TextTable, as_text, lines
from tools.bench_gpu import report as device_report

pytestmark = pytest.mark.workshop

SQUARE = ConvProblem(1, 8, 8, 4, 32, 3, 3, padding=1)
POINT = ConvProblem(1, 8, 8, 4, 16, 1, 1)


def row(candidate, seconds, layer="a", *, count=1, ours=None, problem=SQUARE, part="layers", cache="warm"):
    ours = candidate in ("indirect", "im2row", "winograd_2x2") if ours is None else ours
    timing = Timing(seconds, seconds * 0.99, seconds * 1.02)
    return Row(part, "net", layer, count, problem, candidate, ours, 1, 9, timing, cache)


# Layer a runs three times: indirect is twice as fast as torch there, half as fast on b, best of ours equal.
TABLE = [
    row("indirect", 1.0, "a", count=3),
    row("im2row", 3.0, "a", count=3),
    row("torch", 2.0, "a", count=3),
    row("indirect", 4.0, "b", problem=POINT),
    row("im2row", 2.0, "b", problem=POINT),
    row("torch", 2.0, "b", problem=POINT),
    row("NumPy", 8.0, "b", problem=POINT),
    row("NumPy, other kernel", 6.0, "b", problem=POINT),
]

HEADER = {
    "what": "convlab bench cpu",
    "complete": True,
    "machine": {"processor": "a processor", "instruction_set": "AVX2", "target": "haswell"},
    "roofs": {"flops": 1e11, "flops_all": 2e11, "threads": 2, "copies": {"L1": [8192, 1e11]}},
    "skipped": {"SciPy": "SciPy is not installed"},
    "left out": {"direct": ["net a", "net b"]},
}


# -- summaries ---------------------------------------------------------------------------------------------


def test_geomean_counts_every_layer_as_often_as_it_runs():
    assert summary.geomean([(2.0, 1), (0.5, 1)]) == pytest.approx(1)
    assert summary.geomean([(2.0, 3), (0.5, 1)]) == pytest.approx(4 ** (1 / 4))
    assert summary.geomean([(8.0, 1)]) == pytest.approx(8)


def test_speedup_of_one_algorithm():
    ratio = summary.speedup(TABLE, ("indirect",), ("torch",))
    assert ratio.mean == pytest.approx(4 ** (1 / 4))  # 2, 2, 2 and 1/2
    assert (ratio.worst, ratio.worst_layer, ratio.best) == (0.5, "net b", 2.0)
    assert ratio.layers == 2


def test_speedup_of_our_best():
    ratio = summary.speedup(TABLE, None, ("torch",))
    assert ratio.mean == pytest.approx(8 ** (1 / 4))  # 2, 2, 2 and 1
    assert ratio.worst == 1.0


def test_the_better_of_two_baselines_counts():
    assert summary.speedup(TABLE, None, summary.NUMPY).mean == pytest.approx(3)
    assert summary.speedup(TABLE, None, ("NumPy",)).mean == pytest.approx(4)


def test_layers_without_one_of_the_two_are_left_out():
    assert summary.speedup(TABLE, None, ("NumPy",)).layers == 1
    assert summary.speedup(TABLE, None, ("SciPy",)) is None
    assert summary.speedup([], None, ("torch",)) is None


def test_by_class():
    gains = summary.by_kind(TABLE, ("indirect",), ("im2row",))
    assert {kind: ratio.mean for kind, ratio in gains.items()} == pytest.approx(
        {"1x1 stride 1, K = 16": 0.5, "3x3 stride 1": 3.0}
    )


def test_how_often_each_wins():
    assert summary.wins(TABLE) == {"indirect": 3, "im2row": 1}
    assert list(summary.wins(TABLE)) == ["indirect", "im2row"]


def test_disturbed():
    calm, wild = row("torch", 1.0), replace(row("torch", 1.0), timing=Timing(1.0, 0.9, 1.5))
    assert summary.disturbed([calm, calm, calm, wild]) == 0.25
    assert summary.disturbed([]) == 0


# -- report ------------------------------------------------------------------------------------------------


def text_of(measurement):
    lines = [" | ".join(line) for table in report.tables(measurement) for line in table.rows]
    return "\n".join([*(table.title for table in report.tables(measurement)), *lines])


def test_report_tells_the_ratios():
    text = text_of(Measurement(HEADER, TABLE))
    assert "4 layers, one thread" in text
    assert "torch | 1.41× | 1.68× | 1.00× | b" in text
    assert "NumPy, better kernel, on 1 of 2 | 1.50× | 3.00× | 3.00× | b" in text
    assert "indirect | 3" in text
    assert "SciPy" not in text


def test_report_of_the_paper_and_of_the_product():
    rows = [
        row("im2row + GEMM", 1.1, part="paper", ours=True),
        row("indirect", 1.0, part="paper"),
        row("GEMM alone", 0.88, part="paper", ours=True),
        row("im2row + GEMM", 1.2, part="paper", cache="cold", ours=True),
        row("indirect", 1.0, part="paper", cache="cold"),
        row("gemm", 1.25, part="product", ours=True),
        row("FMA peak", 1.0, part="product"),
        row("gemm", 0.2, "b", part="product", ours=True, problem=POINT),
        row("FMA peak", 0.1, "b", part="product", problem=POINT),
    ]
    text = text_of(Measurement(HEADER, rows))
    assert "3x3 stride 1 | +10.0 % | +10.0 … +10.0 % | +25.0 % | +20.0 %" in text
    for seconds, share in ((r"1\.25 s", r"80\.0%"), (r"200 ms", r"50\.0%")):  # of its own product's peak
        assert re.search(rf"gemm \| {seconds} \| .* \| {share}", text)
    M, N, K = POINT.gemm
    assert f"The matrix product M{M} K{K} N{N}, its matrices " in text


def test_report_of_whole_networks():
    title = "Whole networks, one photo, one thread: how many times as fast auto is as ..."
    rows = [
        row(name, seconds, "whole", part="stacks") for name, seconds in (("torch", 3.0), ("indirect", 1.5))
    ]
    assert title not in text_of(Measurement(HEADER, rows)), "without auto there is no ratio"
    rows.append(row("auto", 1.2, "whole", part="stacks", ours=True))
    (table,) = (one for one in report.tables(Measurement(HEADER, rows)) if one.title == title)
    assert table.rows == [
        ("net", "auto", "1.20 s", "1.00×"),
        ("net", "indirect", "1.50 s", "1.25×"),
        ("net", "torch", "3.00 s", "2.50×"),
    ]
    rows += [replace(row(name, 0.6, "whole", part="stacks"), threads=2) for name in ("auto", "torch")]
    tables = {one.title: one for one in report.tables(Measurement(HEADER, rows))}
    assert tables[title].rows == table.rows
    two = tables[title.replace("one thread", "two threads")]
    assert [line[1:] for line in two.rows] == [("auto", "600 ms", "1.00×"), ("torch", "600 ms", "1.00×")]


def test_report_names_who_is_missing_and_why():
    notes = "\n".join(report.notes(Measurement(HEADER, TABLE)))
    assert "skipped: SciPy: SciPy is not installed" in notes
    assert "left out as too slow: direct, 2 times" in notes
    assert "100 GFLOP/s on one core" in notes
    assert "AVX2, compiled for haswell" in notes
    assert "cut short" not in notes
    assert "cut short" in report.notes(Measurement(HEADER | {"complete": False}))[-1]
    wild = replace(row("torch", 1.0), timing=Timing(1.0, 0.9, 1.5))
    assert "100% of the times scatter" in "\n".join(report.notes(Measurement(HEADER, [wild])))
    taken = "\n".join(report.notes(Measurement(HEADER | {"taken": 0.4})))
    assert "Other programs had the core for 40% of the time that was measured. Run it again" in taken
    assert "had the core" not in "\n".join(report.notes(Measurement(HEADER | {"taken": 0.02})))


def test_a_table_as_plain_text():
    assert as_text(TextTable("Title", ("", "b"), [("long", "1")])) == "Title\n      b\nlong  1\n"
    assert lines([("a", "b"), ("long", "1.5")], right={1}) == ["a       b", "long  1.5"]


# -- files -------------------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path):
    rows = [
        row('odd, "name"', 1.234e-5 * i, layer=name, problem=p)
        for i, (name, p) in enumerate(CASES.items(), 1)
    ]
    path = tmp_path / "run.csv"
    saved.write(path, Measurement(HEADER, rows))
    again = saved.read(path)
    assert again.header == HEADER
    assert [replace(r, timing=None) for r in again.rows] == [replace(r, timing=None) for r in rows]
    for got, put in zip(again.rows, rows, strict=True):
        assert got.seconds == pytest.approx(put.seconds, rel=1e-4)
        assert got.timing.high == pytest.approx(put.timing.high, rel=1e-4)
    assert list(tmp_path.iterdir()) == [path]
    saved.write(path, Measurement(HEADER, rows[:1]))
    assert len(saved.read(path).rows) == 1


def test_parts_of_a_measurement():
    run = Measurement(HEADER, [*TABLE, row("indirect", 1.0, part="paper", cache="cold")])
    assert len(run.part("layers")) == len(TABLE)
    assert len(run.part("paper", cache="cold")) == 1
    assert run.part("paper", cache="warm") == []


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda text: "", "no file of measurements"),
        (lambda text: "a,b\n1,2\n", "no file of measurements"),
        (lambda text: text.replace('"schema": 1', '"schema": 99'), "another schema"),
        (lambda text: text.replace("median", "mode"), "median"),
        (lambda text: text.replace("3.0000e+00", "fast"), "fast"),
        (lambda text: text.replace('"machine"', "machine"), "no file of measurements"),
    ],
)
def test_a_spoilt_file_is_refused_with_its_name(tmp_path, spoil, says):
    path = tmp_path / "run.csv"
    saved.write(path, Measurement(HEADER, TABLE))
    path.write_text(spoil(path.read_text()))
    with pytest.raises(ConvError, match=says) as refused:
        saved.read(path)
    assert "run.csv" in str(refused.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConvError, match="No such file"):
        saved.read(tmp_path / "nothing.csv")


def test_the_description_names_every_column_and_key():
    text = data_path("measurements", "README.md").read_text()
    keys, columns, _ = described()
    assert tuple(columns) == COLUMNS
    assert {"schema", "what", "command", "date", "convlab", "blas", *HEADER} <= keys["convlab bench cpu"]
    assert f"| `schema` | {saved.SCHEMA}:" in text


STORED = sorted(data_path("measurements").glob("*.csv"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
def test_stored_measurements_are_as_described(path):
    assert list(complaints(path)) == []
    run = saved.read(path)
    assert run.rows
    assert run.header["machine"]["processor"]
    assert not re.search(r"/(home|root|tmp|work)/", path.read_text())
    written = report if run.header["what"] == saved.CPU else device_report
    assert written.tables(run)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"schema": 1', '"schema": 2', "its schema is 2"),
        ('"what": "convlab bench cpu"', '"what": "convlab bench"', "nothing is said of 'convlab bench'"),
        ('"skipped": ', '"skept": ', "of the key 'skept'"),
        ('"skipped": ', '"skept": ', "lacks the key 'skipped'"),
        ('"complete": true', '"complete": false', "not complete"),
        (r"\+00:00", "", "no time zone"),
        ('"l1d": ', '"l1": ', "no Machine has 'l1'"),
        ('"flops_all": ', '"flops_both": ', "'flops_all' is missing"),
        ('"flops": ', '"flops": -', "a roof is not above 0"),
        (",median,", ",mean,", "its columns are"),
        ("layers,resnet18,conv1,", "layer,resnet18,conv1,", "of the part 'layer'"),
        (",warm,", ",tepid,", "of the cache 'tepid'"),
        ("7x7 stride 2,", "7x7 stride 1,", "by its sizes '7x7 stride 2'"),
        ("float32,direct,1,1,", "float32,direct,yes,0,", "ours is 0 or 1"),
        (r"(float32,direct,1,1,warm,\d+,)", r"\1-", "no times"),
        (r"(float32,direct,1,1,warm,)\d+,", r"\1", "not as many cells"),
    ],
)
def test_what_is_not_as_described_is_found(tmp_path, old, new, says):
    text = data_path("measurements", "zen4_cpu.csv").read_text(encoding="utf-8")
    changed, found = re.subn(old, new, text, count=1)
    assert found
    path = tmp_path / "run.csv"
    path.write_text(changed, encoding="utf-8")
    assert any(says in complaint for complaint in complaints(path))


# -- the layers --------------------------------------------------------------------------------------------


def test_layers_and_how_often_they_run():
    convolutions = layers.convolutions()
    assert (len(convolutions), sum(case.count for case in convolutions)) == (33, 46)
    assert len(layers.depthwise()) == 9
    assert all(case.problem.R == 5 for case in layers.five_by_five())
    kinds = {case.kind for case in convolutions}
    assert kinds == {
        *("1x1 stride 1", "1x1 stride 1, K = 16", "1x1 stride 2"),
        *("3x3 stride 1", "3x3 stride 2", "7x7 stride 2"),
    }
    assert {case.kind for case in layers.one_of_each_kind(convolutions)} == kinds
    assert len(layers.one_of_each_kind(convolutions)) == len(kinds)


def test_depthwise_layers_keep_the_size_of_their_output():
    for case in layers.depthwise():
        p = case.problem
        assert case.kind.endswith("depthwise")
        assert p.H // p.stride[0] == p.P
        assert p.W // p.stride[1] == p.Q
        assert sqrt(p.macs / p.P / p.Q / p.C) == 3


def test_layers_are_chosen_by_name_or_class():
    convolutions = layers.convolutions()
    assert len(layers.select(convolutions, "resnet18")) == 11
    assert [case.layer for case in layers.select(convolutions, "7x7")] == ["conv1", "features.0"]
    layers.check_words("Layer1.0.conv1")
    with pytest.raises(ConvError, match=r"--layers='alexnext' chooses no layer; expected .*3x3 stride 1"):
        layers.check_words("alexnext")
