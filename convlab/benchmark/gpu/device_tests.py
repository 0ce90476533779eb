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
from importlib.util import find_spec
from pathlib import Path

import convlab
from convlab.benchmark.saved import UnwritableError
from convlab.support import another_python
from convlab.support.files import write_atomically

TESTS = "tests/test_on_gpu.py"
SHARE = "CONVLAB_TEST_SHARE"  # "2/8": of every eight tests the third
PARENT = "CONVLAB_TEST_PARENT"  # they end when this process has ended
FIRST_LINE = "# What the device tests of `convlab bench gpu` said."  # by it we know our own file
MOST = 8  # processes: each has a context on the device, of some hundred MiB


def run(log: Path, limit: float, processes: int | None = None) -> str:
    """Run the device tests, and return how many passed; they are part of a checkout only.

    Parameters
    ----------
    log : Path
        Where all they say is written.
    limit : float
        Seconds they may take.
    processes : int, optional
        By default one for every two hardware threads, at most `MOST`.
    """
    root = Path(convlab.__file__).parents[1]
    if not (root / TESTS).exists() or not find_spec("pytest"):
        return "not run: they need a checkout and pytest"
    count = processes or max(1, min(MOST, (os.cpu_count() or 1) // 2))
    asked = ["-m", "gpu", "-v", "-p", "no:cacheprovider", TESTS]
    command = [sys.executable, *another_python.module("pytest"), *asked]
    running: list[subprocess.Popen] = []
    scratch = tempfile.TemporaryDirectory(prefix="convlab-")
    logs = [Path(scratch.name, str(number)) for number in range(count)]
    try:
        for number, path in enumerate(logs):
            environment = os.environ | {SHARE: f"{number}/{count}", PARENT: str(os.getpid())}
            with path.open("w", encoding="utf-8") as out:
                running.append(
                    subprocess.Popen(command, cwd=root, env=environment, stdout=out, stderr=subprocess.STDOUT)
                )
        late = _wait(running, time.monotonic() + limit)
    finally:  # whatever ends this, Ctrl-C too, the tests do not go on alone
        for process in running:
            process.kill()
            process.wait()
        said = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in logs if path.exists())
        scratch.cleanup()
        try:
            write_atomically(log, f"{FIRST_LINE}\n{said}")
        except OSError as error:
            raise UnwritableError(f"{str(log)!r} cannot be written: {error.strerror}") from None
    counts = Counter(re.findall(r" (PASSED|FAILED|ERROR|SKIPPED)\b.*\[", said))
    told = ", ".join(f"{number} {word.lower()}" for word, number in sorted(counts.items())) or "none"
    died = sum(process.returncode not in (0, 1, 5) for process in running) - late
    return "".join(
        [
            told,
            f", {died} of {count} processes died" * (died > 0),
            f", stopped after {limit:g} s" * (late > 0),
        ]
    )


def is_ours(text: str) -> bool:
    """Say if a file that begins with this text holds what device tests said."""
    return text.startswith(FIRST_LINE)


def _wait(running: list[subprocess.Popen], until: float) -> int:
    """Wait until all have ended or the time is up; return how many had to be stopped."""
    for process in running:
        try:
            process.wait(timeout=max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = [process for process in running if process.poll() is None]
            for process in late:
                process.kill()
            return len(late)
    return 0
