"""The house rules: imports run one way, and nothing hides one. CONTRIBUTING has the rooms."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import convlab

pytestmark = pytest.mark.workshop

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "convlab").rglob("*.py"))
BINDING = "convlab/algorithms/binding.py"
CUDA = "convlab/gpu/numba_cuda.py"
MOST_LOOSE = 16  # files that lie in convlab/ itself: more, and a listing says nothing


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield what is imported anywhere in a file, inside functions too, as dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def by_name_of_a_string(tree: ast.AST) -> list[int]:
    """Return the lines that import a module of ours whose name is a string: import-linter sees none of them.

    A string that has not begun with the name of another library may be a name of ours.
    """
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__", "run_module"):
                first = node.args[0] if node.args else None
                text = first.value if isinstance(first, ast.Constant) else "convlab"
                if text.partition(".")[0] == "convlab":
                    found.append(node.lineno)
    return found


@pytest.mark.workshop
def test_contracts():
    """import-linter: the layers, no circles in a room, engines that know no algorithm (pyproject.toml)."""
    lint = "import sys; from importlinter.cli import lint_imports_command as run; sys.argv[:] = ['']; run()"
    told = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr


def test_one_file_imports_by_the_name_of_a_string():
    assert [name(file) for file in FILES if by_name_of_a_string(parsed(file))] == [BINDING]


def test_strings_that_import_are_found():
    hidden = "import_module(f'convlab.{x}')\nimportlib.import_module('convlab.plans')\n__import__(x)"
    assert by_name_of_a_string(ast.parse(hidden)) == [1, 2, 3]
    assert by_name_of_a_string(ast.parse("import_module('torch')")) == []


def test_cuda_has_one_door():
    """It says what is missing where CUDA does not start; who needs more of it asks later."""
    asking = [name(file) for file in FILES for one in outside_functions(file) if one.startswith("numba.cuda")]
    assert set(asking) == {CUDA}


def outside_functions(file: Path) -> Iterator[str]:
    """Yield what a file imports as soon as it is imported itself."""
    waiting: list[ast.AST] = [parsed(file)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imports(node)
        elif not isinstance(node, ast.FunctionDef):
            waiting += ast.iter_child_nodes(node)


def test_no_module_takes_what_is_private_to_another():
    taken = [f"{name(file)}: {one}" for file in FILES for one in imports(parsed(file)) if "._" in one]
    assert [one for one in taken if ": convlab" in one] == []


def test_few_files_lie_loose():
    assert len(list((ROOT / "convlab").glob("*.py"))) <= MOST_LOOSE


def test_a_package_and_its_modules_do_not_share_a_name():
    """`from convlab.a import b` would give the module or the function, whichever was there first."""
    clashes = []
    for found in pkgutil.walk_packages(convlab.__path__, "convlab."):
        if found.name.endswith("__main__") or (".gpu" in found.name and not find_spec("numba")):
            continue
        try:
            importlib.import_module(found.name)
        except ImportError:  # needs what is not installed here
            continue
        package, _, last = found.name.rpartition(".")
        if not isinstance(getattr(sys.modules[package], last), ModuleType):
            clashes.append(found.name)
    assert clashes == []
