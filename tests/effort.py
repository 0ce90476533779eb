"""How much of each test is run: all of it, a tenth in turn, or the short form of a learner's `lab.py test`.

The short form tries what a learner will use: every algorithm, every notebook, exercises and commands. It
takes fewer random problems, and of a costly table of cases some. It leaves out what drives a browser, what
tests the set-up, the texts and the tools of the workshop, and what looks inside: every wrong value, types,
files that are not ours, memory to the byte, runs that are killed, kernels of a GPU request by request. It is
taken where all tests are asked for, without `--all`; the tests of a file that is named are always run whole.

With `--all --turn 2` a tenth is run of what is costly: of a table of cases, of random problems, of tests
that take seconds. Where a table has two axes, an algorithm and a case, each algorithm meets every tenth
case, and each case every tenth algorithm. Turns 1 to 10 together are all. `--turn today` takes them day by
day: ten days are all.

tests/conftest.py registers this module as a plugin of pytest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import chain
from zlib import crc32

import pytest

SHORT = False  # set before any test is read
TURNS = 10
TURN: int | None = None  # the same; 1 to `TURNS`
EVENLY = 2533  # of some thousand numbers tried, one that makes no day much longer than the others
LEFT_OUT = {"browser", "inside", "workshop"}
in_turns = pytest.mark.in_turns  # of a costly test; the short form does not ask for turns


def examples(count: int) -> int:
    """Return how many examples hypothesis is to draw: all, a tenth in a turn or in the short form."""
    return -(-count // (TURNS if SHORT or TURN else 1))


def sampled(most: int) -> pytest.MarkDecorator:
    """Mark a test of many cases: the short form takes at most so many, evenly spread; a turn a tenth."""
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


def share(cases: Iterable, number: int = 0) -> list:
    """Return which cases a test takes that goes through a table by itself: all, or in a turn every tenth.

    The test of another `number` begins with another one.

    >>> share(range(4))
    [0, 1, 2, 3]
    """
    return list(cases)[(TURN - 1 - number) % TURNS :: TURNS] if TURN else list(cases)


def turn_of(word: str) -> int:
    """Return the turn that is meant by a number, or by "today".

    >>> turn_of("3")
    3
    """
    turn = date.today().toordinal() % TURNS + 1 if word == "today" else int(word) if word.isdecimal() else 0
    if not 1 <= turn <= TURNS:
        raise pytest.UsageError(f"--turn {word}: expected 1 to {TURNS}, or today")
    return turn


def add_options(parser):
    """Add --all: every test, in its long form; and --turn."""
    parser.addoption("--all", action="store_true", help="every test, in its long form")
    parser.addoption("--turn", help=f"with --all: a tenth of what is costly, 1 to {TURNS}, or today")


def pytest_configure(config):
    """Settle, before a test is read, how much is wanted."""
    global SHORT, TURN
    SHORT = config.args_source is config.ArgsSource.TESTPATHS and not config.getoption("all")
    if (word := config.getoption("turn")) is not None:
        TURN = turn_of(word)
        config.option.turn = str(TURN)  # what other processes are told: their day may be another


def pytest_report_header():
    """Say which turn this is."""
    return f"turn {TURN} of {TURNS}: of what is costly a tenth" if TURN else None


def pytest_ignore_collect(collection_path):
    """In the short form do not even read what is left out as a whole: its libraries may not be installed."""
    if SHORT and collection_path.is_dir():
        return collection_path.name in LEFT_OUT or None
    if SHORT and collection_path.suffix == ".py" and collection_path.name.startswith("test_"):
        marks = re.findall(r"^pytestmark = pytest\.mark\.(\w+)$", collection_path.read_text(), re.MULTILINE)
        return bool(LEFT_OUT & set(marks)) or None
    return None


def pytest_collection_modifyitems(config, items):
    """In the short form keep samples of the sampled, and nothing that is left out; in a turn a tenth."""
    if TURN:
        met: dict = {}
        _keep(config, items, [item for item in items if _has_its_turn(item, met)])
    if not SHORT:
        return
    there = [item for item in items if not LEFT_OUT & {mark.name for mark in item.iter_markers()}]
    cases = Counter((item.path, item.originalname) for item in there)
    so_far: Counter = Counter()
    kept = []
    for item in there:
        test, mark = (item.path, item.originalname), item.get_closest_marker("sampled")
        if mark is None or so_far[test] in spread(cases[test], mark.args[0]):
            kept.append(item)
        so_far[test] += 1
    _keep(config, items, kept)


def _has_its_turn(item, met: dict) -> bool:
    """Say if a test is in this turn: its name gives one, and a case of a table goes on from there."""
    table, in_turns = hasattr(item, "callspec"), item.get_closest_marker("in_turns")
    if not in_turns and not (table and item.get_closest_marker("sampled")):
        return True
    together = in_turns.args[0] if in_turns and in_turns.args else ""  # the name of some that need each other
    first = crc32((together or item.originalname).encode(), EVENLY)
    place = sum(_places(item, met)) if table and not together else 0
    return (first + place) % TURNS == TURN - 1


def _places(item, met: dict) -> Iterator[int]:
    """Yield where a case stands along each axis of its table; several names may be one axis.

    `met` has what stands where, by the test and the names: pytest tells of a case only its number among all.
    """
    values = dict(item.callspec.params)
    axes = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        axes.append(names.replace(",", " ").split() if isinstance(names, str) else names)
    of_fixtures = values.keys() - set(chain(*axes))
    for names in (*axes, *([name] for name in sorted(of_fixtures))):
        along = met.setdefault((item.parent, item.originalname, *names), {})
        yield along.setdefault(tuple(id(values[name]) for name in names), len(along))


def _keep(config, items: list, kept: list) -> None:
    """Tell pytest which tests are left out, and leave them out."""
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept
