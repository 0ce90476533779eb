"""Whatever is in the table of algorithms is taken by everything; and CONTRIBUTING's recipe puts one there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases import arrays, assert_close
from effort import in_turns, sampled

from convlab import ALGORITHMS, ConvProblem, UnsupportedError, conv2d, plan
from convlab.auto.predict import predict
from convlab.auto.ranking import predicted, rank_on_cpu
from convlab.auto.speeds import speeds

HERE = Path(__file__).resolve().parents[1]
RECIPE = (HERE / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Add an algorithm\n")[2]
FILE = re.compile(r"`(convlab/algorithms/[\w/.]+)`[^\n]*\n\n```python\n(.*?)```\n", re.DOTALL)

LAYERS = [
    ConvProblem(1, 9, 8, 4, 6, 3, 3, padding=1),
    ConvProblem(1, 9, 8, 4, 6, 7, 7, stride=2, padding=3),
    ConvProblem(2, 9, 8, 4, 4, 3, 3, padding=1, groups=4),
    ConvProblem(1, 9, 8, 4, 6, 1, 1),
]
every = pytest.mark.parametrize("name", ALGORITHMS)


def a_layer(name: str) -> ConvProblem:
    """Return a layer that an algorithm serves."""
    return next(problem for problem in LAYERS if not ALGORITHMS[name].supports(problem))


@every
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_conv2d_takes_it(name, backend):
    problem = a_layer(name)
    x, w, bias = arrays(problem)
    steps = {word: getattr(problem, word) for word in ("stride", "padding", "groups")}
    y = conv2d(x, w, bias, algorithm=name, backend=backend, **steps)
    assert_close(y, x, w, problem, bias, name, ALGORITHMS[name].rounding)


@every
def test_what_it_costs_is_known(name):
    problem, algorithm = a_layer(name), ALGORITHMS[name]
    for backend in ("numpy", "cpu"):
        cost = algorithm.cost(problem, backend)
        assert cost.flops > 0
        assert cost.bytes_moved >= problem.y_bytes
        prepared = plan(problem, arrays(problem)[1], algorithm=name, backend=backend)
        assert cost.workspace_bytes == sum(array.nbytes for array in prepared.workspace.values())


@every
def test_auto_predicts_it(name):
    problem = a_layer(name)
    assert predict(problem, name, speeds()).seconds > 0
    assert predicted(problem)[name] > 0
    assert name in rank_on_cpu(problem, 1)[0]


@every
def test_a_backend_that_it_lacks_is_refused_in_words(name):
    problem, forms = a_layer(name), ALGORITHMS[name].forms
    for backend in {"numpy", "cpu", "gpu"} - {*forms}:
        with pytest.raises(UnsupportedError, match=f"no form for backend='{backend}'"):
            ALGORITHMS[name].cost(problem, backend)


def test_what_says_no_phases_is_left_out_of_the_prediction(monkeypatch):
    from dataclasses import replace

    from convlab.auto import ranking

    bare = replace(ALGORITHMS["direct"].forms["cpu"], phases=None)
    monkeypatch.setitem(ALGORITHMS, "bare", replace(ALGORITHMS["direct"], name="bare", forms={"cpu": bare}))
    assert "bare" not in ranking.predicted.__wrapped__(LAYERS[0])
    with pytest.raises(UnsupportedError, match="says what it does"):
        predict(LAYERS[0], "bare", speeds())


@sampled(1)
@every
def test_the_explorers_show_it(name):
    from convlab.widgets import MemoryBlowup, PredictedTimes, RooflineExplorer

    shown = MemoryBlowup(algorithm=name)
    assert f'name: "{name}"' in shown.module()
    assert f'"name": "{name}"' in PredictedTimes().module()
    for machine, backend in (("nvidia_t4", "gpu"), (None, "cpu")):
        shown = RooflineExplorer(algorithm=name, machine=machine)
        assert f'name: "{name}"' in shown.module()
        served = backend in ALGORITHMS[name].forms and not ALGORITHMS[name].supports(shown.problem)
        assert (shown.point is not None) == served
        assert name in shown.words()


@every
def test_figures_have_a_mark_and_a_colour_for_it(name):
    from convlab.figures.roofline_chart import mark
    from convlab.figures.style import ROLES

    shape, colour = mark(name)
    assert colour in ROLES.values()
    assert [other for other in ALGORITHMS if mark(other)[0] == shape] == [name]


@every
def test_the_readme_names_it(name):
    assert f"`{name}`" in (HERE / "README.md").read_text(encoding="utf-8")


@in_turns
@pytest.mark.workshop
def test_the_recipe_followed_to_the_letter(tmp_path):
    """Its files are written into a copy of the library; there the tests that go through the table pass."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for folder in ("convlab", "tests"):
        shutil.copytree(HERE / folder, tmp_path / folder, ignore=ignored)
    for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml"):
        shutil.copy(HERE / name, tmp_path)
    for name in ("data", "notebooks"):
        (tmp_path / name).symlink_to(HERE / name)

    written = dict(FILE.findall(RECIPE))
    assert [Path(name).name for name in written] == ["__init__.py", "reference.py", "cpu.py"]
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (algorithm,) = {Path(name).parent.name for name in written}
    imported, row = re.search(r"the import `(.*)` and the row `(.*)`", RECIPE).groups()
    table = tmp_path / "convlab" / "algorithms" / "__init__.py"
    text = table.read_text(encoding="utf-8")
    text = text.replace("import (\n", f"import (\n    {imported}\n", 1)
    table.write_text(text.replace("    )\n}", f"        {row}\n    )\n}}", 1), encoding="utf-8")

    def passed(*tests: str) -> int:
        """Return how many of the tests that name the algorithm pass there; only the README may fail."""
        options = ["-q", "-p", "no:cacheprovider", "-k", algorithm]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        failed = re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
        assert {*failed} <= {f"tests/test_recipe.py::test_the_readme_names_it[{algorithm}]"}, done.stdout
        return int(re.search(r"(\d+) passed", done.stdout)[1])

    before = passed("tests/test_recipe.py")
    readme = tmp_path / "README.md"
    readme.write_text(readme.read_text(encoding="utf-8") + f"\n`{algorithm}`\n", encoding="utf-8")
    assert passed("tests/test_recipe.py") == before + 1, "the word in the README was asked for"
    assert passed("tests/test_algorithms.py") > 50
