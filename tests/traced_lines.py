"""Which lines of some files have been run, in this process and in others that write it down too.

    trace(folder)                 from now on: the first run of every line is written to a file in the folder
    unreached(folder)             the lines that are in none of the files there

The body of a kernel is no business of Python's: the compiler reads it. What became of it the executor tells.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).parents[1]
FILES = {
    str(path): path.relative_to(ROOT).as_posix()
    for folder in ("tools/bench_gpu", "convlab/benchmark/gpu")
    for path in sorted((ROOT / folder).glob("*.py"))
}


def trace(folder: Path) -> None:
    """Write down, from now on and until this process ends, which lines of `FILES` it runs."""
    out = (folder / f"lines-{os.getpid()}").open("a", buffering=1)
    seen = set()

    def on_line(frame, event, argument):
        at = frame.f_code.co_filename, frame.f_lineno
        if at not in seen:
            seen.add(at)
            out.write(f"{at[1]} {at[0]}\n")  # at once: this process may end without notice
        return on_line

    def on_call(frame, event, argument):
        return on_line(frame, event, argument) if frame.f_code.co_filename in FILES else None

    threading.settrace(on_call)
    sys.settrace(on_call)


@contextmanager
def unwatched() -> Iterator[None]:
    """Do not look inside a ``with``: it is quicker by half, where much is called that is not of `FILES`."""
    before = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(before)


def unreached(folder: Path) -> list[str]:
    """Return the lines that nobody has run, each with its file and its text."""
    reached = {
        tuple(line.split(" ", 1)) for file in folder.glob("lines-*") for line in file.read_text().splitlines()
    }
    found = []
    for path, name in FILES.items():
        text = Path(path).read_text(encoding="utf-8")
        lines = text.splitlines()
        for number in sorted(executable(text)):
            if (str(number), path) not in reached:
                found.append(f"{name}:{number}: {lines[number - 1].strip()}")
    return found


def executable(text: str) -> set[int]:
    """Return the numbers of the lines of a file that can be run; those of kernels are left out."""
    numbers = {line for code in _codes(compile(text, "", "exec")) for *_, line in code.co_lines() if line}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and "kernel" in map(ast.unparse, node.decorator_list):
            numbers -= set(range(node.lineno + 1, node.end_lineno + 1))
    return numbers


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)
