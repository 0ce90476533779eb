"""The cheat sheet: one page, with numbers that the library computes, as HTML and as a PDF."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from html import unescape
from itertools import pairwise

import pytest
from effort import in_turns
from typer.testing import CliRunner

from convlab import ALGORITHMS, ConvError
from convlab.benchmark import datasheets
from convlab.benchmark.summary import speedup
from convlab.cli import app
from convlab.cost.layers import cost_of
from convlab.gpu.occupancy import REGISTERS
from convlab.interview import cheat_sheet
from convlab.interview.sheet import choices, layers, machines
from convlab.interview.sheet.block import Block, Table
from convlab.interview.sheet.pdf import as_pdf
from convlab.interview.sheet.setting import COLUMN, HEIGHT, MARGIN, SMALLEST, WIDTH, Text, set_page
from convlab.interview.walks.memory import walk
from convlab.support.files import data_path
from convlab.support.units import bytes_text, count_text, number_text
from convlab.support.wrapping import glued


@pytest.fixture(scope="module")
def sheet():
    return cheat_sheet()


@pytest.fixture(scope="module")
def page(sheet):
    return set_page(sheet.title, sheet.subtitle, sheet.blocks)


@pytest.fixture(scope="module")
def pdf(sheet, page):
    return as_pdf(page, sheet.title, sheet.author)


# -- what it says ------------------------------------------------------------------------------------------


def test_numbers_of_the_layer_are_those_of_the_library(sheet):
    problem = layers.usual().problem
    rows = {row[0]: row for block in sheet.blocks if block.table for row in block.table.rows}
    assert rows["FLOPs"][2] == f"{count_text(problem.flops)}FLOP"
    assert rows["bytes"][2] == bytes_text(cost_of(problem).bytes)
    assert rows["intensity"][2] == f"{number_text(cost_of(problem).intensity, 3)} FLOP/B"
    assert rows["im2row, im2col"][2] == bytes_text(ALGORITHMS["im2col"].workspace_bytes(problem, "numpy"))
    assert (rows["winograd_6x6"][3], rows["winograd_s2d"][2]) == ("–", "–")
    assert f"{REGISTERS:,}" in rows["registers"][1]
    assert rows["memory"][1] == f"{count_text(datasheets.load('nvidia_h100').memory)}B/s"


def test_every_algorithm_that_serves_one_of_the_layers_is_there(sheet):
    told = {name for name, *_ in choices.workspace().table.rows}
    serving = {
        name
        for name, one in ALGORITHMS.items()
        if not all(map(one.supports, (layers.usual().problem, layers.first().problem)))
    }
    assert set(", ".join(told).split(", ")) == serving | ({"im2row"} & serving)


def test_the_walk_says_of_memory_what_the_sheet_says():
    answer = walk().answers.strong
    for name in ("indirect", "precomputed_gemm"):
        assert next(row[2] for row in choices.workspace().table.rows if row[0] == name) in answer


def test_the_multiprocessors_are_those_that_the_arithmetic_comes_from():
    """The T4's datasheet has them as a factor; what an occupancy is worked out for is not told anew."""
    factors = tomllib.loads(data_path("machines", "nvidia_t4.toml").read_text())["flops"]["float32"]
    rows = {row[0]: row for row in machines.gpus().table.rows}
    assert rows["multiprocessors"] == ("multiprocessors", "132", "108", f"{factors[0]}")
    assert rows["of each: threads, blocks"][3] == "1024, 16"
    assert rows["of each: shared memory"][3] == "64.0 KiB"


def test_no_shortened_piece_of_a_formula_is_gone():
    formulas = " ".join(
        str(one.forms[name].workspace_bytes) for one in ALGORITHMS.values() for name in ("gpu", "numpy")
    )
    for piece in choices.SHORT:
        assert piece in formulas


def test_a_winner_is_the_fastest_that_was_measured():
    run = choices._run()
    for kind, name, _, gain in choices.winners().table.rows:
        rows = [
            row
            for row in run.rows
            if row.kind.partition(", K")[0] == kind and row.part in ("layers", "depthwise")
        ]
        for other in {row.candidate for row in rows if row.ours}:
            assert speedup(rows, (name,), (other,)).mean > 0.97, other
        assert float(gain.rstrip("×")) == pytest.approx(speedup(rows, (name,), ("im2row",)).mean, rel=0.05)


def test_without_a_measurement_nobody_wins(monkeypatch):
    monkeypatch.setattr(choices, "_run", lambda: None)
    assert choices.winners().table is None
    monkeypatch.setattr(choices, "undisturbed", lambda problem, names: ("", {}))
    assert choices._of_the_fft().endswith("taps on.")


def test_a_machine_without_tensor_cores_or_multiprocessors_says_nothing_of_them():
    t4 = datasheets.load("nvidia_t4")
    bare = replace(t4, name="NVIDIA P4", flops={"float32": 1e12})
    assert [value(bare) for name, value in machines._ROWS if "float16" in name or "each" in name] == ["–"] * 4


def test_ten_sentences(sheet):
    assert len(sheet.blocks[-1].lines) == 10


# -- the page ----------------------------------------------------------------------------------------------


def test_nothing_overflows_and_all_is_there(sheet, page):
    assert page.size >= SMALLEST
    assert page.bottom <= HEIGHT - MARGIN
    columns = ((MARGIN, MARGIN + COLUMN), (WIDTH - MARGIN - COLUMN, WIDTH - MARGIN))
    for mark in page.marks:
        inside = [
            left - 0.01 <= mark.x and mark.end <= right + 0.5
            for left, right in (*columns, (MARGIN, WIDTH - MARGIN))
        ]
        assert any(inside[:2] if mark.y > 5 * MARGIN else inside), mark
        assert MARGIN < mark.y <= HEIGHT - MARGIN
    printed = "".join(mark.text for mark in page.marks if isinstance(mark, Text)).replace(" ", "")
    for block in sheet.blocks:
        for text in [block.title, *(line for line in (*block.lines, block.note))]:
            assert glued(text).replace(" ", "") in printed


def test_no_two_pieces_of_text_touch(page):
    texts = sorted(
        (mark for mark in page.marks if isinstance(mark, Text)),
        key=lambda one: (one.x > WIDTH / 2, one.y, one.x),
    )
    for before, after in pairwise(texts):
        if before.y == after.y and (before.x > WIDTH / 2) == (after.x > WIDTH / 2):
            assert before.end < after.x, (before, after)
        elif after.y > before.y:
            assert after.y - before.y >= 0.9 * after.size, (before, after)


def test_too_much_is_set_small_and_is_seen_to_overflow():
    many = [Block(f"Theme {i}", Table(("a", "b"), [("word " * 9, "1")] * 40, right=(1,))) for i in range(6)]
    page = set_page("T", "S", many)
    assert page.size == pytest.approx(SMALLEST)
    assert page.bottom > HEIGHT
    assert set_page("T", "S", many[:1]).bottom < HEIGHT


def test_the_pdf_is_one_page_of_text(pdf):
    assert pdf.count(b"/Type /Page ") == 1
    assert b"/FontFile2" in pdf  # TrueType: text stays text
    assert b"/Subtype /Type3" not in pdf
    assert b"(convlab: How does a 2-D convolution actually run?)" in pdf
    assert b"/CreationDate" not in pdf


@in_turns
@pytest.mark.workshop
def test_the_pdf_is_the_same_each_time(pdf, tmp_path):
    command = "from convlab.interview import cheat_sheet; cheat_sheet().save('sheet.pdf')"
    subprocess.run([sys.executable, "-c", command], check=True, cwd=tmp_path)
    assert (tmp_path / "sheet.pdf").read_bytes() == pdf


# -- the page for a browser, and files ---------------------------------------------------------------------


def test_html_says_the_same_with_real_tables(sheet):
    page = sheet._repr_html_()
    seen = unescape(re.sub(r"<[^>]*>", "", page)).replace("\N{NO-BREAK SPACE}", " ")
    for block in sheet.blocks:
        assert all(line in seen for line in (block.title, *block.lines, block.note))
        assert f'<table aria-label="{block.title}"' in page or not block.table
    assert page.count('scope="row"') == sum(len(one.table.rows) for one in sheet.blocks if one.table)
    assert 'scope="col"' in page


def test_html_is_escaped():
    from convlab.interview.sheet.page import whole

    bad = "<script>alert(1)</script>"
    page = whole(bad, bad, bad, [Block(bad, Table((bad,), [(bad,)]), (bad,), note=bad)])
    assert "<script>alert" not in page


def test_it_is_saved_as_its_ending_says(sheet, pdf, tmp_path, monkeypatch):
    monkeypatch.setattr(sheet, "_pdf", lambda: pdf)
    for name, begin in (("a.pdf", b"%PDF"), ("b.HTML", b"<!DOCTYPE html>")):
        file = sheet.save(tmp_path / name)
        assert file.read_bytes().startswith(begin)
        assert sheet.save(str(file)) == file  # one of ours is replaced


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sheet.txt", r"path='.*; expected a name that ends in .pdf or .html"),
        ("sheet", "expected a name that ends in .pdf or .html"),
        ("nowhere/sheet.html", "cannot be written: No such file or directory; save to another folder"),
        ("mine.pdf", "holds something else: it begins with 'my thesis'; save to another file"),
    ],
)
def test_where_it_cannot_be_saved(name, said, sheet, tmp_path):
    (tmp_path / "mine.pdf").write_text("my thesis")
    with pytest.raises(ConvError, match=said):
        sheet.save(str(tmp_path / name))
    assert (tmp_path / "mine.pdf").read_text() == "my thesis"


@pytest.mark.parametrize("path", [3, None, "a\0.pdf"])
def test_what_is_no_name_of_a_file(path, sheet):
    with pytest.raises(ConvError, match="expected the name of a file"):
        sheet.save(path)


def test_in_a_terminal(tmp_path):
    shown = CliRunner().invoke(app, ["interview", "sheet"])
    assert "10. “I check against float64" in shown.output
    file = tmp_path / "sheet.html"
    assert "is written" in CliRunner().invoke(app, ["interview", "sheet", "--save", str(file)]).output
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
