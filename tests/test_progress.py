"""The learner's memory: real files, real processes, and all that can be wrong with a file."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from effort import in_turns, sampled

from convlab.interview.history import answers
from convlab.lessons import progress, progress_file
from convlab.lessons.course import Standing
from convlab.lessons.progress_file import ProgressFile
from convlab.support.learners_folder import RECORD

WRITER = """
import sys
from convlab.lessons import progress
for number in range(int(sys.argv[1])):
    progress.record("try", sys.argv[2], number=number)
    print(number, flush=True)
print(progress.trouble())
"""


def start(folder, *arguments, code=WRITER):
    """Begin another process that writes to the memory of a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {progress.NAMED: str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


def said(folder, *arguments, code=WRITER):
    """Run such a process to its end, and return the last line of what it said."""
    done = start(folder, *arguments, code=code)
    lines = done.communicate()[0].splitlines()
    assert done.returncode == 0
    return lines[-1]


@pytest.fixture
def path(tmp_path):
    return tmp_path / progress.NAME


@pytest.fixture
def few(path, monkeypatch):
    """A memory with one event in its file, that waits for no one."""
    monkeypatch.setattr(progress_file, "_PATIENCE", 0.1)
    memory = ProgressFile(path)
    memory.record("try", "first", {"passed": True})
    return memory


def names(memory):
    return [event.name for event in memory.events()]


# -- what is kept, and where -------------------------------------------------------------------------------


def test_what_was_recorded_is_there_for_the_next_kernel(path):
    before = time.time()
    one = ProgressFile(path)
    one.record("guess", "im2row over input", {"guess": 49, "sure": 70})
    one.record("try", "output_size", {"passed": False})
    events = ProgressFile(path).events()
    assert [event[1:] for event in events] == [
        ("guess", "im2row over input", {"guess": 49, "sure": 70}),
        ("try", "output_size", {"passed": False}),
    ]
    assert before <= events[0].time <= events[1].time <= time.time()
    assert one.trouble() == ""


def test_a_detail_may_be_anything(path):
    endless = []
    endless.append(endless)

    class Rude:
        def __str__(self):
            raise RuntimeError

    given = {
        "whole": np.int64(3),
        "real": np.float32(0.5),
        "array": np.arange(3),
        "text": "a \ud800 b",
        "rude": Rude(),
    }
    memory = ProgressFile(path)
    memory.record("try", "a \ud800 b", given)
    memory.record("try", "endless", {"it": endless, "keys": {(1, 2): 3}})
    memory.record("try", "huge", {"number": 10**5000})
    first, second, third = ProgressFile(path).events()
    assert (first.detail["whole"], first.detail["real"], first.detail["array"]) == (3, 0.5, "[0 1 2]")
    assert first.detail["rude"] == "<Rude>"
    assert first.name == "a ? b"
    assert second.detail["it"] == "[[...]]"
    assert third.name == "huge"
    assert memory.trouble() == ""


@in_turns
@sampled(0)
def test_it_lies_in_the_learners_folder(tmp_path):
    where = "from convlab.lessons import progress; print(progress.file())"
    inside = tmp_path / "work" / "earlier"
    inside.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name != progress.NAMED}

    def told(folder, **more):
        command = [sys.executable, "-c", where]
        run = subprocess.run(
            command, cwd=folder, env=environment | more, capture_output=True, text=True, check=True
        )
        return run.stdout.strip()

    assert told(inside) == "None"
    (tmp_path / "work" / RECORD).write_text("{}")
    assert told(inside) == str(tmp_path / "work" / progress.NAME)
    assert told(tmp_path) == "None"
    assert told(inside, **{progress.NAMED: ""}) == "None"
    assert told(inside, **{progress.NAMED: str(tmp_path)}) == str(tmp_path / progress.NAME)
    assert sorted(file.name for file in tmp_path.rglob("*")) == [RECORD, "earlier", "work"]


def test_a_folder_that_is_named_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.NAMED, str(tmp_path / "of" / "mine"))
    progress.here.cache_clear()
    try:
        progress.record("try", "a")
        assert progress.trouble() == ""
        assert names(ProgressFile(tmp_path / "of" / "mine" / progress.NAME)) == ["a"]
        (tmp_path / "file").write_text("")
        monkeypatch.setenv(progress.NAMED, str(tmp_path / "file" / "below"))
        progress.here.cache_clear()
        progress.record("try", "b")
        assert "cannot be written" in progress.trouble()
    finally:
        progress.here.cache_clear()


def test_outside_of_a_learners_folder_it_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory = progress.of(None)
    memory.record("hint", "buffer", {"number": 1})
    assert names(memory) == ["buffer"]
    assert list(tmp_path.iterdir()) == []


def test_the_door_filters_and_says_what_went_wrong_once(tmp_path, monkeypatch):
    (tmp_path / progress.NAME).mkdir()
    monkeypatch.setenv(progress.NAMED, str(tmp_path))
    progress.here.cache_clear()
    try:
        progress.record("try", "a")
        progress.record("hint", "a", number=1)
        progress.record("try", "b")
        assert [event.name for event in progress.events("try")] == ["a", "b"]
        assert [event.kind for event in progress.events(name="a")] == ["try", "hint"]
        assert "is no ordinary file" in progress.trouble()
        assert progress.trouble() == ""
    finally:
        progress.here.cache_clear()


# -- many kernels, and sudden ends -------------------------------------------------------------------------


@in_turns
@pytest.mark.inside
def test_kernels_write_to_one_file_at_once(tmp_path, path):
    writers = [start(tmp_path, 40, name) for name in "abc"]
    assert [writer.communicate()[0].splitlines()[-1] for writer in writers] == [""] * 3
    written = [(event.name, event.detail["number"]) for event in ProgressFile(path).events()]
    assert sorted(written) == [(name, number) for name in "abc" for number in range(40)]


@in_turns
@pytest.mark.inside
def test_what_was_recorded_outlives_a_kernel_that_is_killed(tmp_path, path):
    for life in range(4):
        writer = start(tmp_path, 10**6, life)
        for _ in range(5 + life):  # then somewhere in the middle of the next
            last = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        rest = writer.communicate()[0].split("\n")[:-1]
        last = int(rest[-1]) if rest else last
        kept = [event.detail["number"] for event in ProgressFile(path).events() if event.name == str(life)]
        assert kept[: last + 1] == list(range(last + 1))
        assert len(kept) <= last + 2  # one more may have been written, and not yet said
    assert list(path.parent.glob("*damaged*")) == []


IN_THE_MIDDLE = """
import os, signal, sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("PRAGMA cache_size = 1")  # so that pages go to the disk before they are final
file.execute("BEGIN IMMEDIATE")
insert = "INSERT INTO events (time, kind, name, detail) VALUES (0, 'try', 'half', ?)"
file.executemany(insert, [["x" * 999]] * 999)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_half_of_a_write_is_undone(path, few):
    killed = subprocess.run([sys.executable, "-c", IN_THE_MIDDLE, str(path)])
    assert killed.returncode == -signal.SIGKILL
    assert path.with_name(f"{path.name}-journal").stat().st_size > 0  # it really was in the middle
    again = ProgressFile(path)
    again.record("try", "second", {})
    assert names(again) == ["first", "second"]
    assert again.trouble() == ""


def test_a_file_that_another_holds_is_waited_for_and_then_not(path, few):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        begin = time.monotonic()
        few.record("try", "second", {})
        assert names(few) == ["second"]  # what this kernel knows
        assert time.monotonic() - begin < 5
        assert "database is locked" in few.trouble()
        other.execute("ROLLBACK")
    few.record("try", "third", {})
    assert names(ProgressFile(path)) == ["first", "second", "third"]
    assert few.trouble() == ""


# -- what can be wrong with a file -------------------------------------------------------------------------


def spoil_header(path):
    path.write_bytes(b"not a database" * 99)


def spoil_pages(path):
    memory = ProgressFile(path)
    memory._waiting = [progress.Event(0.0, "try", str(i), {"text": "x" * 99}) for i in range(999)]
    memory.record("try", "last", {})
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 9] = os.urandom(4096 * 8)
    path.write_bytes(content)


def cut_off(path):
    spoil_pages(path)
    path.write_bytes(path.read_bytes()[:6000])


def another_table(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE events (what TEXT)")


@pytest.mark.parametrize("spoil", [spoil_header, spoil_pages, cut_off, another_table])
@pytest.mark.parametrize("first", ["record", "events"])
def test_a_damaged_file_is_kept_under_another_name(path, few, spoil, first):
    spoil(path)
    content = path.read_bytes()
    memory = ProgressFile(path)
    if first == "record":
        memory.record("try", "second", {})
    assert names(memory) == (["second"] if first == "record" else [])
    trouble = memory.trouble()
    aside = list(path.parent.glob("*damaged*"))
    assert [file.read_bytes() for file in aside] == [content]
    assert f"was damaged. It is kept as {aside[0].name}" in trouble
    memory.record("try", "third", {})
    assert names(ProgressFile(path))[-1] == "third"
    assert memory.trouble() == ""


@in_turns
@pytest.mark.inside
def test_two_kernels_that_find_the_damage_leave_one_new_file(tmp_path, path):
    spoil_header(path)
    writers = [start(tmp_path, 5, name) for name in "abcd"]
    told = [writer.communicate()[0].splitlines()[-1] for writer in writers]
    assert sum("was damaged" in words for words in told) == 1
    assert len(ProgressFile(path).events()) == 20
    assert len(list(tmp_path.glob("*damaged*"))) == 1


def test_who_finds_the_damage_mended_leaves_the_new_file(path):
    """Another kernel did it, between our look and the lock."""
    spoil_header(path)
    ours, other = ProgressFile(path), ProgressFile(path)
    other.record("try", "theirs", {})
    ours._move_aside(path)
    assert len(list(path.parent.glob("*damaged*"))) == 1
    assert ours.trouble() == ""
    assert names(ours) == ["theirs"]


def test_a_second_damage_takes_no_name_that_is_taken(path):
    for _ in range(3):
        spoil_header(path)
        ProgressFile(path).record("try", "again", {})
    assert len(list(path.parent.glob("*damaged*"))) == 3


def test_a_newer_file_is_neither_read_nor_written(path, few):
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA user_version = {progress_file.VERSION + 1}")
    content = path.read_bytes()
    memory = ProgressFile(path)
    assert names(memory) == []
    memory.record("try", "second", {})
    few.record("try", "third", {})  # one that had it open before
    assert (names(memory), names(few)) == (["second"], ["third"])
    assert "comes from a newer version of this course" in memory.trouble()
    assert memory.trouble() == ""
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_an_empty_file_is_a_new_one(path):
    path.touch()
    memory = ProgressFile(path)
    assert names(memory) == []
    memory.record("try", "first", {})
    assert names(ProgressFile(path)) == ["first"]
    assert memory.trouble() == ""


def test_a_row_that_another_program_changed_is_passed_over(path, few):
    few.record("try", "second", {})
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE events SET detail = '[' WHERE name = 'first'")
    assert names(ProgressFile(path)) == ["second"]


@pytest.mark.parametrize("detail", ["guess", "actual", "sure", "number"])
def test_a_number_beyond_all_floats_is_passed_over(path, detail):
    told = {"guess": 1, "actual": 2, "sure": 50, "drill": "flops", "right": True, "number": 1}
    ProgressFile(path).record("guess", "one", told | {detail: 10**400})
    events = ProgressFile(path).events()
    assert [len(Standing(events).guesses), len(answers(events))] == [detail == "number", detail != "number"]


READ_ONLY = """
import os, sys
from convlab.lessons import progress
folder, file = sys.argv[1], progress.file()
if os.geteuid() == 0:
    os.setuid(65534)  # root may write everywhere
progress.record("try", "second")
print([event.name for event in progress.events()], os.access(folder, os.W_OK), progress.trouble())
"""


@in_turns
@pytest.mark.inside
@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
@pytest.mark.parametrize("rights", [0o555, 0o777], ids=["folder", "file"])
def test_where_nothing_can_be_written_it_goes_on(rights):
    with tempfile.TemporaryDirectory() as name:  # not pytest's folder, which is closed to other users
        folder, path = Path(name), Path(name, progress.NAME)
        ProgressFile(path).record("try", "first", {})
        path.chmod(0o444)
        folder.chmod(rights)
        try:
            told = said(folder, folder, code=READ_ONLY)
        finally:
            folder.chmod(0o755)
        assert names(ProgressFile(path)) == ["first"]
    assert told.startswith(f"['first', 'second'] {rights == 0o777} {path} cannot be written now")


FULL = """
import resource, signal, sys
from convlab.lessons import progress
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
for number in range(8):
    progress.record("try", str(number), text="x" * 5000)
told, known = progress.trouble(), len(progress.events())
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
progress.record("try", "8")
print(known, told)
"""


@pytest.mark.skipif(os.name != "posix", reason="the limit is one of POSIX")
def test_on_a_full_disk_it_waits_and_is_written_later(tmp_path, path):
    told = said(tmp_path, code=FULL)
    assert told.startswith(f"8 {path} cannot be written now")
    assert names(ProgressFile(path)) == [str(number) for number in range(9)]


def test_a_file_that_goes_away_is_begun_anew(path, few):
    path.unlink()
    few.record("try", "second", {})
    assert names(few) == ["second"]
    path.unlink()
    path.parent.rmdir()
    few.record("try", "third", {})
    assert names(few) == ["third"]
    assert "unable to open database file" in few.trouble()
