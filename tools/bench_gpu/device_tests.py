"""The tests that need a GPU, run before it is measured; by several processes, for mostly they compile.

Each process takes its share of the tests (`tests/conftest.py` reads which). What they say is kept in one
file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from convlab.support import another_python
from convlab.support.files import write_atomically

ROOT = Path(__file__).parents[2]
TESTS = "tests/test_on_gpu.py"
FIRST_LINE = "# What the device tests of `convlab bench gpu` said."  # by it we know our own file
MOST = 12  # processes: each has a context on the device, of some hundred MiB


def run(log: Path, limit: float, processes: int | None = None) -> str:
    """Run the device tests, and return how many passed.

    Parameters
    ----------
    log : Path
        Where all they say is written.
    limit : float
        Seconds they may take.
    processes : int, optional
        By default three for four hardware threads, at most `MOST`.
    """
    if not (ROOT / TESTS).exists() or not find_spec("pytest"):
        return "not run: they need pytest"
    count, until = processes or max(1, min(MOST, (os.cpu_count() or 1) * 3 // 4)), time.monotonic() + limit
    asked = ["-m", "gpu", "-v", "-p", "no:cacheprovider", TESTS]
    running, late, died = [], 0, 0
    with ExitStack() as files:
        said = [files.enter_context(tempfile.TemporaryFile()) for _ in range(count)]
        try:
            for number, out in enumerate(said):
                environment = os.environ | {"CONVLAB_TEST_SHARE": f"{number}/{count}"}
                command = [sys.executable, *another_python.module("pytest"), *asked]
                running.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out))
            for process in running:
                try:
                    died += process.wait(max(0.0, until - time.monotonic())) not in (0, 1, 5)
                except subprocess.TimeoutExpired:
                    late += 1
        finally:  # whatever ends this, Ctrl-C too, the tests do not go on alone
            for process in running:
                process.kill()
                process.wait()
            for out in said:
                out.seek(0)
            text = "\n".join(out.read().decode(errors="replace") for out in said)
            write_atomically(log, f"{FIRST_LINE}\n{text}")
    counts = Counter(re.findall(r" (PASSED|FAILED|ERROR|SKIPPED)\b.*\[", text))
    told = ", ".join(f"{number} {word.lower()}" for word, number in sorted(counts.items())) or "none"
    return (
        told
        + f", {died} of {count} processes died" * bool(died)
        + f", stopped after {limit:g} s" * bool(late)
    )
