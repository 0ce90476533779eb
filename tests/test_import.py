"""`import convlab` needs NumPy alone, and is quick."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy

import convlab

_PROBE = """
import json, sys, time
import numpy
numpys = time.process_time()
import convlab
ours = time.process_time() - numpys
y = {call}
print(json.dumps([ours / numpys, sorted(sys.modules)]))
"""
_CALL = "convlab.conv2d(numpy.ones((1, 4, 4, 1)), numpy.ones((1, 3, 3, 1)), padding=1)"


def _probe(*options, call="None", env=None):
    command = [sys.executable, *options, "-c", _PROBE.format(call=call)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout)


def test_only_numpy_is_imported():
    _, modules = _probe()
    for heavy in ("numba", "llvmlite", "matplotlib", "ipywidgets", "anywidget", "psutil", "scipy"):
        assert heavy not in modules


def test_the_table_and_the_numpy_forms_need_no_numba():
    """Asked what they refuse and cost, planned and run, all algorithms, in an environment that has Numba."""
    script = """
import sys, numpy, convlab
layers = [(4, 6, 3, 1, 1), (4, 6, 7, 2, 1), (4, 4, 3, 1, 4), (4, 6, 1, 1, 1)]  # C, K, R, stride, groups
left = set(convlab.ALGORITHMS)
for C, K, R, stride, groups in layers:
    problem = convlab.ConvProblem(1, 9, 8, C, K, R, R, stride=stride, groups=groups)
    x, w = (numpy.ones(shape, "float32") for shape in (problem.x_shape, problem.w_shape))
    for name, algorithm in convlab.ALGORITHMS.items():
        if not algorithm.supports(problem):
            left.discard(name)
            algorithm.cost(problem, "numpy")
            convlab.plan(problem, w, algorithm=name, backend="numpy")(x)
print(left, [heavy for heavy in ("numba", "llvmlite") if heavy in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set() []\n"


def test_it_is_quick():
    """Not a benchmark, an alarm: on any machine it takes no longer than Python and NumPy twice over."""
    assert min(_probe()[0] for _ in range(3)) < 2


def test_it_works_with_nothing_but_numpy(tmp_path):
    """A Python whose only package is NumPy: no Numba, no matplotlib, no psutil."""
    site = Path(numpy.__file__).parents[1]
    for package in ("numpy", "numpy.libs"):
        if (site / package).exists():
            (tmp_path / package).symlink_to(site / package)
    (tmp_path / "convlab").symlink_to(Path(convlab.__file__).parent)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ratio, modules = _probe("-S", call=f"{_CALL}[0, 1, 1, 0] == 9 or exit(1)", env=environment)
    assert ratio < 4  # nothing is compiled to bytecode yet where the folder is read-only
    assert "numba" not in modules
