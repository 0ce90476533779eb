"""The type hints of what a learner calls are right: a type checker says so. pyproject.toml lists files."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from effort import in_turns

pytestmark = pytest.mark.inside

ROOT = Path(__file__).resolve().parents[1]

pytest.importorskip("mypy")


def mypy(*arguments, cache):
    command = [sys.executable, "-m", "mypy", f"--cache-dir={cache}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@in_turns
def test_public_modules_pass_the_type_checker(tmp_path):
    done = mypy(cache=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@in_turns
def test_a_wrong_call_is_found(tmp_path):
    script = tmp_path / "wrong.py"
    code = "from convlab.problem import ConvProblem\nConvProblem(1, 2, 3, 4, 5, 6, 7, 'two')\n"
    script.write_text(code)
    done = mypy("--config-file=pyproject.toml", str(script), cache=tmp_path)
    assert 'Argument 8 to "ConvProblem"' in done.stdout, done.stdout + done.stderr


@in_turns
def test_what_is_listed_is_there():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    modules = [name for rule in settings["overrides"] for name in rule["module"] if "convlab." in name]
    for path in [*settings["files"], *(name.removesuffix(".*").replace(".", "/") for name in modules)]:
        assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists(), path
