"""How much of each test is run: all of it, or the short form that a learner's `python3 lab.py test` takes.

The short form tries what a learner will use: every algorithm, every notebook, exercises and commands. It
takes fewer random problems, and of a costly table of cases some. It leaves out what drives a browser, what
tests the set-up, the texts and the tools of the workshop, and what looks inside: every wrong value, types,
files that are not ours, memory to the byte, runs that are killed, kernels of a GPU request by request. It is
taken where all tests are asked for, without `--all`; the tests of a file that is named are always run whole.

tests/conftest.py registers this module as a plugin of pytest.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

SHORT = False  # set before any test is read
LEFT_OUT = {"browser", "inside", "workshop"}


def examples(count: int) -> int:
    """Return how many examples hypothesis is to draw: `count`, or a tenth of that in the short form."""
    return -(-count // 10) if SHORT else count


def sampled(most: int) -> pytest.MarkDecorator:
    """Mark a test of many cases: the short form takes at most so many of them, evenly spread."""
    return pytest.mark.sampled(most)


def spread(count: int, most: int) -> set[int]:
    """Return at most `most` of the numbers 0 to count - 1, evenly spread, the first and the last among them.

    >>> sorted(spread(10, 4))
    [0, 3, 6, 9]
    """
    if count <= most:
        return set(range(count))
    if most == 1:
        return {0}
    return {round(i * (count - 1) / (most - 1)) for i in range(most)}


def pytest_configure(config):
    """Settle, before a test is read, whether the short form is wanted."""
    global SHORT
    SHORT = config.args_source is config.ArgsSource.TESTPATHS and not config.getoption("all")


def pytest_ignore_collect(collection_path):
    """In the short form do not even read what is left out as a whole: its libraries may not be installed."""
    if SHORT and collection_path.is_dir():
        return collection_path.name in LEFT_OUT or None
    if SHORT and collection_path.suffix == ".py" and collection_path.name.startswith("test_"):
        marks = re.findall(r"^pytestmark = pytest\.mark\.(\w+)$", collection_path.read_text(), re.MULTILINE)
        return bool(LEFT_OUT & set(marks)) or None
    return None


def pytest_collection_modifyitems(config, items):
    """In the short form keep samples of the sampled, and nothing that is left out."""
    if not SHORT:
        return
    there = [item for item in items if not LEFT_OUT & {mark.name for mark in item.iter_markers()}]
    cases = Counter((item.path, item.originalname) for item in there)
    met: Counter = Counter()
    kept = []
    for item in there:
        test, mark = (item.path, item.originalname), item.get_closest_marker("sampled")
        if mark is None or met[test] in spread(cases[test], mark.args[0]):
            kept.append(item)
        met[test] += 1
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept
