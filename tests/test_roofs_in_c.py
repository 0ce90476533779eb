"""The roofs beside C. No test asserts a time; a real compiler is used where there is one."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from convlab.auto import roofs
from convlab.cli import app
from convlab.machine import system
from tools import roofs_in_c
from tools.roofs_in_c.__main__ import main

pytestmark = pytest.mark.workshop
needs_scripts = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in compiler is a shell script")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a function that puts a stand-in compiler of these shell commands on the path, alone."""

    def fake(commands: str) -> str:
        tool = tmp_path / "cc"
        tool.write_text(f"#!/bin/sh\n{commands}\n")
        tool.chmod(0o755)
        monkeypatch.setattr(roofs_in_c, "COMPILERS", (str(tool),))
        return str(tool)

    return fake


@pytest.fixture
def compare(capsys):
    """Return a function that runs the command, and returns its exit code, what it says, and complains of."""
    return lambda: (main(), *capsys.readouterr())


def test_a_learner_is_told_ours(monkeypatch):
    known = roofs.Roofs(1e11, 2e11, 2, {"L1": (1 << 10, 1e11)})
    monkeypatch.setattr(roofs.Roofs, "here", lambda: known)
    done = CliRunner().invoke(app, ["bench", "roofs"], prog_name="convlab")
    assert done.exit_code == 0
    assert "100 GFLOP/s on one core" in done.output


def test_without_a_compiler_ours_are_told(monkeypatch, compare):
    known = roofs.Roofs(1e11, 2e11, 2, {"L1": (1 << 10, 1e11)})
    monkeypatch.setattr(roofs.Roofs, "here", lambda: known)
    monkeypatch.setattr(roofs_in_c, "COMPILERS", ("no-such-compiler",))
    code, said, _ = compare()
    assert code == 0
    assert "100 GFLOP/s on one core" in said
    assert "No C compiler is here (no-such-compiler)" in said


@needs_scripts
@pytest.mark.parametrize(
    ("commands", "says"),
    [
        ("echo 'roofs.c:1: no headers' >&2; exit 1", "cannot compile roofs.c: roofs.c:1: no headers"),
        ("exit 3", "it ended with code 3"),
        ("exit 0", "it ended with code 0"),  # and made nothing
        ('while [ "$1" != -o ]; do shift; done; echo nonsense > "$2"', "cannot be loaded"),
    ],
)
def test_a_compiler_that_fails_is_quoted(fake, compare, commands, says):
    tool = fake(commands)
    code, _, complaint = compare()
    assert code == 2, complaint
    assert says in complaint
    assert tool in complaint


@needs_scripts
def test_a_compiler_without_a_word_for_this_processor_compiles_all_the_same(fake, compare, tmp_path):
    log = tmp_path / "log"
    fake(f'echo "$*" >> {log}; case "$*" in *native*) echo unknown >&2; exit 1;; esac; echo late >&2; exit 1')
    assert "cannot compile roofs.c: unknown" in compare()[2]
    words = [line.split()[1] for line in log.read_text().splitlines()]
    assert words == ["-march=native", "-mcpu=native", "-shared"]


@pytest.fixture(scope="module")
def c():
    compiler = roofs_in_c.find_compiler()
    if compiler is None:
        pytest.skip("no C compiler is here")
    with roofs_in_c.compiled(compiler) as loops:  # which checks what every loop computes
        yield loops


def test_the_loops_in_c_do_what_they_say(c):
    assert abs(c.multiply_add(1_000_000) - 1_000_000) < 2 * 16 * 16
    sums = np.full(c._numbers, 7, np.float32)
    c.add_half(sums, 0)
    assert (sums == 7).all()
    with pytest.raises(Exception, match="float32"):
        c.copy(np.zeros(3), np.ones(3), 1)


def test_a_wrong_loop_is_not_timed(c, monkeypatch):
    monkeypatch.setattr(c, "triad", lambda target, b, c, times: None)
    with pytest.raises(roofs_in_c.CompilerError, match=r"`triad` of roofs\.c is wrong"):
        c.check()


def test_both_are_measured_on_every_level_and_the_best_turns_are_told(monkeypatch):
    class Loops:
        copy = scale = multiply_add = staticmethod(lambda *arguments: None)
        triad = staticmethod(lambda target, b, c, times: None)

    rates = iter(range(10, 1000))
    monkeypatch.setattr(system, "threads", lambda: 2)
    monkeypatch.setattr(system, "caches", lambda: {1: 1 << 12})
    monkeypatch.setattr(
        roofs_in_c, "multiply_adds", lambda threads, rounds, loop=None: 5e9 if loop else 1e10 * threads
    )
    monkeypatch.setattr(
        roofs_in_c, "copy_speed", lambda size, rounds, ways=None: 2.0**30 * (1 if ways else next(rates))
    )
    rows = roofs_in_c.compare(Loops())
    assert [row.what for row in rows] == [
        *("multiply-adds, one core", "multiply-adds, 2 cores", "copies, L1", "copies, memory"),
        "copies, memory",
    ]
    assert [row.ours / row.c for row in rows] == [
        2,
        4,
        15,
        21,
        21 / 1.5,
    ]  # six turns each: 10 to 15, 16 to 21
    lines = roofs_in_c.table(rows).rows
    assert lines[0] == ("multiply-adds, one core", "10.0 GFLOP/s", "5.00 GFLOP/s", "2.000", "sum * a + b")
    assert lines[-1] == ("copies, memory", "21.0 GiB/s", "1.50 GiB/s", "14.000", "triad")


def test_the_source_is_beside():
    text = roofs_in_c.SOURCE.read_text(encoding="utf-8")
    assert "immintrin" not in text
    assert max(map(len, text.splitlines())) <= 110
