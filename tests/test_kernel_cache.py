"""Compiled kernels on disk: whatever happens to their files, the numbers are right and nothing is fatal."""

import ast
import errno
import os
import pickle
import random
import warnings
from importlib import import_module
from pathlib import Path

import numba
import pytest
from effort import in_turns
from numba.core.caching import CompileResultCacheImpl
from numba.core.dispatcher import Dispatcher

from convlab import doctor
from convlab.cpu import jit, kernel_cache
from convlab.errors import CacheWarning

pytestmark = pytest.mark.inside


def twice(a, b):
    return a * 2 + b


def thrice(a, b):
    return a * 3 + b


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for compiled kernels, in a process that has not warned yet."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(kernel_cache, "_told", [])
    return tmp_path / "kernels"


def called(function=twice, *numbers) -> bool:
    """Call a kernel as a new process would, check the number; return whether it was found on disk."""
    a, b = numbers or (5, 1)
    kernel = jit.njit(function)
    assert kernel(a, b) == function(a, b)
    return bool(kernel.stats.cache_hits)


def told(*numbers) -> list[str]:
    """Call a kernel as a new process would; return what it was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert not called(twice, *numbers)
    assert {warning.category for warning in caught} <= {CacheWarning}
    return [str(warning.message) for warning in caught]


def the_file(folder: Path, function=twice) -> Path:
    (file,) = folder.rglob(f"*{function.__name__}*.nbc")
    return file


def test_a_whole_file_is_used(folder):
    assert [called(), called(), called(twice, 2.5, 1.0), called(twice, 2.5, 1.0)] == [False, True] * 2
    jit.njit(twice)._cache.flush()
    assert not called()


def _cut(dice, whole):
    return whole[: dice.randrange(len(whole))]


def _one_bit(dice, whole):
    at = dice.randrange(len(whole))
    return whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1 :]


def _zeros(dice, whole):
    at = dice.randrange(len(whole))
    return whole[:at] + bytes(len(whole) - at)


def _noise(dice, whole):
    at, count = dice.randrange(len(whole)), dice.randrange(1, 5000)
    return whole[:at] + dice.randbytes(count) + whole[at + count :]


def _foreign(dice, whole):
    return dice.choice([b"", dice.randbytes(3000), pickle.dumps(["0.1", {}]), whole + b"\0", whole * 2])


@in_turns
@pytest.mark.parametrize("damage", [_cut, _one_bit, _zeros, _noise, _foreign])
def test_a_damaged_file_is_noticed_and_replaced(folder, damage):
    called()
    file, dice = the_file(folder), random.Random(damage.__name__)
    whole = file.read_bytes()
    for _ in range(12):
        kernel_cache._told.clear()
        file.write_bytes(damage(dice, whole))
        assert file.read_bytes() != whole
        (warning,) = told()
        assert str(file) in warning
        assert called()


def test_a_warning_is_given_once(folder):
    called()
    for expected in (1, 0):
        the_file(folder).write_bytes(b"")
        assert len(told()) == expected


def _is_a_folder(file):
    file.unlink()
    file.mkdir()


def _is_a_pipe(file):
    file.unlink()
    os.mkfifo(file)


def _points_at_itself(file):
    file.unlink()
    file.symlink_to(file)


def _may_not_be_read(file):
    file.chmod(0)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize(
    ("becomes", "replaced"),
    [(_is_a_folder, False), (_is_a_pipe, True), (_points_at_itself, True), (_may_not_be_read, True)],
)
def test_what_is_no_file_is_replaced_where_it_can_be(folder, becomes, replaced):
    called()
    file = the_file(folder)
    becomes(file)
    if becomes is not _may_not_be_read or os.geteuid():  # root may read all
        assert len(told()) == (becomes in (_is_a_folder, _may_not_be_read))
    assert called() == replaced


def test_a_file_that_is_far_too_large_is_not_read(folder, monkeypatch):
    called()
    file = the_file(folder)
    monkeypatch.setattr(kernel_cache, "_MOST", file.stat().st_size)
    assert called()
    file.write_bytes(file.read_bytes() + b"0")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: pytest.fail("was read"))
        (warning,) = told()
    assert "bytes" in warning
    assert called()


def test_drafts_of_the_dead_are_cleared_away(folder):
    """A process that is killed while it writes leaves one; the next that writes this file sweeps."""
    called()
    file = the_file(folder)
    drafts = []

    def stopped(source, target):
        drafts.append(Path(source))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", stopped)
        file.unlink()
        with pytest.raises(KeyboardInterrupt):
            called()
    drafts[0].write_bytes(b"half of it")
    os.utime(drafts[0], (1, 1))
    assert not called()
    assert not drafts[0].exists()


def test_files_that_changed_places_are_noticed(folder):
    called()
    called(thrice)
    files = the_file(folder), the_file(folder, thrice)
    first, second = (file.read_bytes() for file in files)
    files[0].write_bytes(second)
    files[1].write_bytes(first)
    assert not called()
    assert not called(thrice)
    assert called()


def test_two_that_write_at_once_lose_nothing(folder, monkeypatch):
    replace = os.replace

    def after_another(aside, path):
        monkeypatch.setattr(os, "replace", replace)
        assert not called(twice, 2.5, 1.0)
        replace(aside, path)

    monkeypatch.setattr(os, "replace", after_another)
    assert not called()
    assert called()
    assert called(twice, 2.5, 1.0)


def test_a_folder_that_goes_is_made_again(folder):
    kernel = jit.njit(twice)
    assert kernel(5, 1) == 11
    folder.rename(folder.with_name("gone"))
    assert kernel(2.5, 1.0) == 6.0
    assert called(twice, 2.5, 1.0)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_disk_that_takes_nothing_costs_a_warning(folder, monkeypatch, code):
    def refuse(self, content):
        self.touch()  # a file was begun
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    (warning,) = told()
    for words in (os.strerror(code), str(folder), "every process compiles anew", "convlab doctor"):
        assert words in warning
    assert told(2.5, 1.0) == []
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert f"cannot be kept in {folder}" in doctor.examine().kernels


def test_no_folder_at_all_costs_a_warning(folder, monkeypatch):
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    (warning,) = told()
    assert "can be kept nowhere (none of $NUMBA_CACHE_DIR" in warning
    assert told(2.5, 1.0) == []
    assert "can be kept nowhere" in doctor.examine().kernels


@pytest.mark.filterwarnings("ignore::convlab.errors.CacheWarning")  # where there is no other folder either
def test_a_file_for_a_folder_is_not_fatal(folder):
    folder.write_text("not a folder")
    called()
    assert folder.read_text() == "not a folder"


def test_doctor_says_where_kernels_are_kept_and_leaves_nothing(folder):
    assert f" kernels kept in {folder}" in " ".join(doctor.examine().describe().split())
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def _imported(file: Path) -> dict[str, str]:
    """Return the names that a module imports from the library, and the rooms they come from."""
    found = [
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]
    return {
        name.asname or name.name: node.module.split(".")[1]
        for node in found
        if node.module.startswith("convlab.")
        for name in node.names
    }


def _names_of(code) -> set[str]:
    """Return the names that a function reads, and those of the functions inside."""
    inner = (_names_of(const) for const in code.co_consts if hasattr(const, "co_names"))
    return {*code.co_names}.union(*inner)


def test_all_that_a_kernel_calls_is_in_the_digest():
    """A change of it must not be hidden by what lies on disk: see `kernel_cache.library`.

    A kernel of another room is told by its own file's date and size: Numba looks at that.
    """
    package, kernels = Path(kernel_cache.__file__).parents[1], 0
    for file in package.rglob("*.py"):
        rooms = _imported(file)
        if rooms.get("njit") != "cpu":
            continue
        module = import_module(".".join(("convlab", *file.relative_to(package).with_suffix("").parts)))
        for thing in vars(module).values():
            if isinstance(thing, Dispatcher) and thing.py_func.__module__ == module.__name__:
                kernels += 1
                used = {rooms[name] for name in _names_of(thing.py_func.__code__) & rooms.keys()}
                assert used <= {*kernel_cache.ROOMS}, thing
    assert kernels > 50


def test_what_only_kernels_call_says_so_to_python(folder):
    """Numba would jump to where nothing is."""
    found = []
    for _ in range(2):  # compiled, and found on disk
        inner = jit.njit(inner=True)(twice)
        calling = jit.njit(lambda a, b: inner(inner(a, 0), b), cache=False)  # noqa: B023
        assert calling(5, 1) == 21
        with pytest.raises(TypeError, match="twice has no entry for Python"):
            inner(5, 1)
        found.append(bool(inner.stats.cache_hits))
    assert found == [False, True]
