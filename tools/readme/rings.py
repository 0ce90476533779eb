"""The numbers of TESTING.md: how many of each kind of check there are, counted where they stand.

What is counted changes with every new test. So a count is told as "over 730": its first figures, and the page
need not be made anew for each.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from convlab.support import another_python
from convlab.workspace.notebooks import ROOT
from tools.errors import BuildError

TESTS = ROOT / "tests"


class Ring(NamedTuple):
    """A kind of check: its name, the files to read, and how much there is of it."""

    name: str
    read: tuple[str, ...]
    count: Callable[[], str]


def over(count: int) -> str:
    """Return a count by its first figures: "36" is "over 30", 14,096 is "over 14,000"."""
    unit = 10 ** max(len(str(count)) - (2 if count >= 100 else 1), 0)
    floor = max(count - 1, 0) // unit * unit
    return f"over {floor:,}" if floor else f"{count}"


@cache
def tests() -> dict[str, int]:
    """Return how many tests each file has, as pytest finds them, in their long form; nothing is run."""
    asked = "--all", "--collect-only", "-q", "-p", "no:cacheprovider"
    command = [sys.executable, *another_python.module("pytest"), *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"pytest cannot collect the tests: {done.stdout[-500:]}{done.stderr[-500:]}")
    found: dict[str, int] = {}
    for file in re.findall(r"^tests/([\w/]+\.py)::", done.stdout, re.MULTILINE):
        found[file] = found.get(file, 0) + 1
    return found


def of(*beginnings: str) -> str:
    """Return how many tests there are in the files whose names begin so."""
    return f"{over(sum(n for file, n in tests().items() if file.startswith(beginnings)))} tests"


@contextmanager
def tests_importable() -> Iterator[None]:
    """Let the tests' own tables be imported, inside a ``with``."""
    sys.path.insert(0, str(TESTS))
    try:
        yield
    finally:
        sys.path.remove(str(TESTS))


def table(module: str, name: str) -> Any:
    """Return a table of the tests, or what a function of theirs returns."""
    with tests_importable():
        found = getattr(import_module(module), name)
        return found() if callable(found) else found


def _cases() -> str:
    return f"{len(table('cases', 'CASES'))} cases for each of {len(table('cases', 'FORMS'))} forms"


def _random() -> str:
    texts = (file.read_text(encoding="utf-8") for file in TESTS.rglob("test_*.py"))
    drawn = sum(len(re.findall("^@given", text, re.MULTILINE)) for text in texts)
    return f"{over(drawn)} tests of random cases"


def _processors() -> str:
    return f"{len(table('test_machine_code', 'MACHINES'))} processors, {of('test_machine_code.py')}"


def _mistakes() -> str:
    from convlab.interview.coding.tasks import TASKS
    from convlab.lessons.exercises import EXERCISES

    asked = [*EXERCISES.values(), *(task.exercise for task in TASKS.values())]
    mistakes = sum(len(each.mistakes) for each in asked)
    return f"{over(mistakes)} mistakes in {len(asked)} exercises and tasks"


def _drills() -> str:
    from convlab.interview.kinds import KINDS

    return f"{len(KINDS)} kinds of question, a thousand of each"


def _claims() -> str:
    with tests_importable():
        from notebook_tools import NOTEBOOKS
        from prose_numbers import unaccounted
        from test_prose import text_of

    pages = ["README", *(path.name[:2] for path in NOTEBOOKS)]
    claims = sum(1 for page in pages for _ in unaccounted(text_of(page), "", ()))
    return f"{over(claims)} numbers in the prose"


def _wrong() -> str:
    values, names = len(table("wrong_values", "VALUES")), len(table("public_names", "public"))
    return f"{values} wrong values for each argument of {over(names)} names"


RINGS = (
    Ring("An oracle in float64", ("convlab/oracle.py", "tests/cases.py"), _cases),
    Ring("Random problems", ("tests/cases.py", "tests/test_algorithms.py"), _random),
    Ring("Forbidden memory", ("tests/test_guard_pages.py",), lambda: of("test_guard_pages.py")),
    Ring(
        "The lane simulator",
        ("convlab/gpu/simulator/__init__.py", "tests/test_simulator_errors.py"),
        lambda: of("test_simulator", "test_gpu_"),
    ),
    Ring("What the compiler made", ("tools/ptx/__init__.py", "tests/test_ptx.py"), lambda: of("test_ptx")),
    Ring("Machine code", ("tests/test_machine_code.py",), _processors),
    Ring("A GPU that is played", ("tests/pretend_gpu.py",), lambda: of("test_first_contact.py")),
    Ring("Banks of mistakes", ("convlab/lessons/exercises/flip.py", "tests/test_exercises.py"), _mistakes),
    Ring("A second solver", ("tests/drill_solver.py",), _drills),
    Ring("Numbers in the prose", ("tests/prose_numbers.py", "tests/prose_sources.py"), _claims),
    Ring("A browser", ("tests/browser/test_widgets_page.py",), lambda: of("browser/")),
    Ring("Wrong values", ("tests/wrong_values.py",), _wrong),
    Ring("Broken files", ("tests/test_files.py",), lambda: of("test_files.py", "test_strips_")),
    Ring("Planted faults", ("tests/test_ptx_faults.py",), lambda: of("test_ptx_faults.py")),
    Ring("The recipes", ("tests/test_recipe.py", "tests/test_recipe_notebook.py"), lambda: of("test_recipe")),
)


def markdown() -> str:
    """Return a row for each ring, and how many tests there are in all."""
    rows = (
        f"| [{ring.name}](#{anchor(ring.name)}) | {', '.join(f'[`{file}`]({file})' for file in ring.read)} "
        f"| {ring.count()} |"
        for ring in RINGS
    )
    whole = f"In all: {over(sum(tests().values()))} tests in {over(len(tests()))} files."
    return "\n".join(["| | read | how much |", "|---|---|---|", *rows, "", whole])


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading.

    >>> anchor("What the compiler made: `a.b`, twice!")
    'what-the-compiler-made-ab-twice'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
