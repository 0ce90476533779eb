"""$NUMBA_CPU_NAME and its like: older processors played by this one, and names that LLVM does not know.

Each process here is a new one, for Numba settles at its start what it compiles for. Few kernels are compiled:
what all tests say on such processors the workflow `tests` asks on a machine of its own.
"""

import json
import os
import platform
import subprocess
import sys

import pytest
from effort import in_turns

from convlab.machine import asked_target

pytestmark = [
    pytest.mark.inside,
    pytest.mark.skipif(
        platform.machine().lower() not in ("x86_64", "amd64"), reason="the names are those of x86 processors"
    ),
]
# What it adds to a name unless it is told none.
NO_OTHERS = {"NUMBA_CPU_FEATURES": ""}
CONVOLVE = """
import json, sys
import numpy as np
import convlab
from convlab.cpu import tile_size

rng = np.random.default_rng(0)
x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, 6, 7, 5), (9, 3, 3, 5)))
y = convlab.conv2d(x, w, padding=1, algorithm=sys.argv[1])
expected = convlab.conv2d(x, w, padding=1, algorithm=sys.argv[1], backend="numpy")
print(json.dumps([tile_size.vector_bytes(), float(abs(y - expected).max())]))
"""


def run(told, *arguments):
    clean = {name: value for name, value in os.environ.items() if name not in asked_target.VARIABLES}
    command = [sys.executable, "-W", "always", *arguments]
    return subprocess.run(command, env=clean | told, capture_output=True, text=True)


@in_turns
@pytest.mark.parametrize(("name", "vector"), [("haswell", 32), ("x86-64-v2", 16)])
def test_a_processor_with_narrower_vectors(name, vector):
    """The tile has its vectors, and what is computed with it is right."""
    done = run({"NUMBA_CPU_NAME": name} | NO_OTHERS, "-c", CONVOLVE, "direct")
    assert done.stderr == ""
    width, error = json.loads(done.stdout)
    assert width == vector
    assert error < 1e-5


@in_turns
@pytest.mark.parametrize(
    "told", [{"NUMBA_CPU_NAME": "no-such"}, {"NUMBA_CPU_NAME": "no-such"} | NO_OTHERS], ids=str
)
def test_a_name_that_llvm_does_not_know_is_said_and_numpy_runs(told):
    done = run(told, "-c", CONVOLVE, "direct")
    assert "NUMBA_CPU_NAME='no-such'" in done.stderr
    assert "'no-such' is not a recognized processor" in done.stderr
    assert json.loads(done.stdout) == [16, 0.0]
    examined = run(told, "-m", "convlab", "doctor")
    assert (examined.returncode, examined.stderr) == (1, "")
    assert "Numba's start: NUMBA_CPU_NAME='no-such'" in examined.stdout


def test_what_ends_the_compiler_is_said(monkeypatch):
    """Without the registers that every program of 64 bits has, LLVM gives up, and not with an error."""
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "-sse2")
    assert "NUMBA_CPU_FEATURES='-sse2': " in asked_target.asked_wrongly()
    assert asked_target.vector_bytes_asked() == 16


def test_where_nothing_is_asked_nothing_is_wrong(monkeypatch):
    for name in asked_target.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert asked_target.asked_wrongly() is asked_target.vector_bytes_asked() is None
