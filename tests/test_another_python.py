"""Other Pythons that are started from here import nothing from the current folder."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from effort import in_turns

import convlab
from convlab.benchmark.layers import Workload
from convlab.problem import ConvProblem
from convlab.support import another_python
from tools.bench_gpu.run import STEP
from tools.cold_start import first_call

ROOT = Path(convlab.__file__).parents[1]


@pytest.fixture
def learners_folder(tmp_path, monkeypatch):
    """The current folder, full of modules that must not be imported."""
    for name in ("random", "numpy", "convlab", "json", "typing", "numba", "pytest"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('the learner\\'s {name}.py was imported')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_program_finds_this_library_and_no_module_of_the_learner(learners_folder):
    code = "import json, random, typing, numpy, convlab; print(convlab.__file__, *sys.argv[1:])"
    command = [sys.executable, *another_python.program(code), "-x", "a b"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{convlab.__file__} -x a b\n", "")


@in_turns
@pytest.mark.workshop
def test_a_first_call_is_timed_in_any_folder(learners_folder):
    (row,) = first_call(Workload("none", "tiny", ConvProblem(1, 6, 6, 4, 4, 3, 3, padding=1)), rounds=1)
    assert row.seconds > 0


@pytest.mark.workshop
def test_a_step_on_a_gpu_starts_in_any_folder(learners_folder):
    done = subprocess.run([sys.executable, *STEP], capture_output=True, text=True)
    assert "main() missing 2 required positional arguments" in done.stderr  # it ran up to those


def test_no_python_is_started_in_another_way():
    files = [path for room in ("convlab", "tools") for path in (ROOT / room).rglob("*.py")]
    sources = [path.read_text(encoding="utf-8") for path in files]
    started = [line for source in sources for line in re.findall(r"\[sys\.executable,.*", source)]
    assert len(started) > 3
    for line in started:
        assert re.match(r"\[sys\.executable, \*(another_python\.|STEP)", line), line
