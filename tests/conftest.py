"""What every test shares."""

from __future__ import annotations

import gc
import os
import shutil
import time
from functools import cache
from pathlib import Path

# One thread everywhere: several pytest workers on two cores must not each start two more threads.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

os.environ.pop("COLUMNS", None)  # xdist tells how wide the terminal is that it was started in

# Thousands of tests, and all that Numba keeps, are looked through again and again: an eighth of the time.
gc.set_threshold(50_000, 10, 20)

import effort  # noqa: E402
import pytest  # noqa: E402

import convlab.workspace  # noqa: E402, F401  # before Jupyter, of which it makes the import quicker

BY_NOTEBOOK = {"test_notebooks.py", "test_prose.py"}  # their tests go notebook by notebook
KERNELS = "test_ptx"  # files that run the same kernels: they are compiled once, in one process
BOOK = ("test_site.py", "test_front_page.py", "test_printed.py")  # they read the same book: it is built once
LONGEST = (*BOOK, KERNELS, "test_algorithms.py")  # begun first: none is left over at the end


def pytest_addoption(parser):
    """Add what tests/effort.py is asked by."""
    effort.add_options(parser)


def pytest_configure(config):
    """Let tests/effort.py choose what is run."""
    config.pluginmanager.register(effort)


def pytest_ignore_collect(collection_path, config):
    """With ``-m gpu`` read only the device tests: the others need libraries that a GPU machine may lack."""
    if config.option.markexpr == "gpu" and collection_path.parent.name == "tests":
        return collection_path.name != "test_on_gpu.py" or None
    return None


@pytest.hookimpl(optionalhook=True)  # pytest-xdist's
def pytest_xdist_make_scheduler(config, log):
    """Let a file's tests run in one process: it starts one browser. Notebooks are shared out one by one.

    What runs compiled kernels runs in one process, too: the compiler takes most of the time there.
    """
    from xdist.scheduler import LoadScopeScheduling

    class FileByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = Path(nodeid.split("::")[0]).name
            for together in (KERNELS, BOOK):
                if file.startswith(together):
                    return str(together)
            return nodeid.partition("[")[2] or file if file in BY_NOTEBOOK else file

    return FileByFile(config, log)


def pytest_collection_modifyitems(config, items):
    """Keep one share of the tests, "2/8", where `convlab bench gpu` runs them in several processes.

    Those of one algorithm are neighbours then: its kernels are compiled by one process, or by two.
    """
    number, _, count = os.environ.get("CONVLAB_TEST_SHARE", "").partition("/")
    if count:
        every = sorted(items, key=_kernels)
        first, last = (len(every) * (int(number) + more) // int(count) for more in (0, 1))
        kept = every[first:last]
        chosen = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = kept
    if hasattr(config, "workerinput"):  # of several processes
        items.sort(key=lambda item: not item.path.name.startswith(LONGEST))


def _kernels(item) -> str:
    """Return whose kernels a test compiles."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return next((str(given[name]) for name in ("algorithm", "rung", "inputs") if name in given), "")


@pytest.fixture(scope="session")
def executed(tmp_path_factory, request):
    """Return executed(path): a notebook as it is after it was run, guarded, and the seconds it took.

    It is run once, by the process that asks first; the others wait for it, and read what it wrote.
    """
    import nbformat
    from notebook_tools import run_guarded

    from convlab.support.locks import locked

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base  # of all processes of this run
    folder = shared / "executed"
    folder.mkdir(exist_ok=True)

    @cache
    def run(path: Path):
        kept, took = folder / path.name, folder / f"{path.stem}.seconds"
        with locked(folder / f"{path.stem}.lock", patience=600):
            if not took.exists():
                home = tmp_path_factory.mktemp(path.stem)
                shutil.copytree(path.parent, home / "work", ignore=shutil.ignore_patterns("*.ipynb", ".*"))
                notebook = nbformat.read(path, as_version=4)
                start = time.monotonic()
                run_guarded(notebook, home, path.name, hasty=True)
                nbformat.write(notebook, kept)
                took.write_text(str(time.monotonic() - start))
        return nbformat.read(kept, as_version=4), float(took.read_text())

    return run


@pytest.fixture(scope="session", autouse=True)
def kept(tmp_path_factory):
    """Keep what is known of this machine in a folder of the tests' own, and let it be `SPEEDS`."""
    from known_machine import SPEEDS

    from convlab.auto import machine_file

    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONVLAB_CACHE_DIR", str(folder))
        machine_file.forget()
        machine_file.keep_speeds(SPEEDS)
        yield folder


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """The memory of a learner's folder, empty."""
    from convlab.lessons import progress

    monkeypatch.setenv(progress.NAMED, str(tmp_path))
    progress.here.cache_clear()
    yield progress.here()
    progress.here.cache_clear()


@pytest.fixture
def hands(memory, tmp_path, monkeypatch):
    """A folder of a learner's, and a clock to set: returns what moves both hands on, and says the folder."""
    from convlab.interview.coding import clock

    moment = {"wall": 1e9, "steady": 500.0, "start": "one"}

    def move(seconds=0.0, wall=0.0, start=None):
        moment["wall"] += seconds + wall
        moment["steady"] += seconds
        moment["start"] = start or moment["start"]
        return tmp_path

    monkeypatch.setattr(clock, "now", lambda: clock.Moment(**moment))
    return move
