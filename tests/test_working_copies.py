"""Working copies: what is copied, what is kept, and that nothing a learner wrote is ever lost."""

import json
import os
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from convlab.cli import app
from convlab.errors import ParameterError, WorkspaceError
from convlab.support import files
from convlab.support.learners_folder import RECORD
from convlab.workspace import copies, folders, home, notebooks


@pytest.fixture
def course(tmp_path, monkeypatch):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    write(folder / "00_start_here.ipynb", "first")
    write(folder / "01_loops.ipynb", "second")
    return folder


@pytest.fixture
def work(tmp_path):
    return folders.work_folder(tmp_path / "work")


def write(path, *cells, output=None):
    """Write a notebook of code cells; with `output`, as if it had been run."""
    notebook = nbformat.v4.new_notebook()
    for source in cells:
        outputs = [nbformat.v4.new_output("stream", text=output)] if output else []
        notebook.cells.append(nbformat.v4.new_code_cell(source, outputs=outputs))
    nbformat.write(notebook, path)


def states(course, work) -> dict[str, str]:
    made = copies.update(notebooks.numbered(course), work)
    return {copy.path.stem[:2]: copy.state for copy in made}


def text(path) -> str:
    return nbformat.read(path, 4).cells[0].source


def test_first_time_everything_is_copied_and_then_current(course, work):
    assert states(course, work) == {"00": "new", "01": "new"}
    assert (work / "01_loops.ipynb").read_bytes() == (course / "01_loops.ipynb").read_bytes()
    assert states(course, work) == {"00": "current", "01": "current"}


def test_untouched_copy_follows_the_course(course, work):
    states(course, work)
    write(course / "01_loops.ipynb", "second, better")
    assert states(course, work) == {"00": "current", "01": "updated"}
    assert text(work / "01_loops.ipynb") == "second, better"
    assert not (work / "earlier").exists()


def test_line_ends_of_windows_are_no_change(course, work):
    """Of the copy or of the course: an editor or Git wrote them, not the learner."""
    states(course, work)
    for path in (work / "00_start_here.ipynb", course / "01_loops.ipynb"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert states(course, work) == {"00": "current", "01": "current"}


def test_copy_that_was_only_run_follows_the_course_and_its_outputs_are_kept(course, work):
    states(course, work)
    write(work / "01_loops.ipynb", "second", output="42 ms")
    assert states(course, work)["01"] == "current"
    for number, version in enumerate(("better", "best"), 1):
        write(course / "01_loops.ipynb", version)
        assert states(course, work)["01"] == "updated"
        assert len(list((work / "earlier").iterdir())) == number
        write(work / "01_loops.ipynb", version, output="42 ms")
    assert "42 ms" in (work / "earlier" / "01_loops.ipynb").read_text()


def test_changed_copy_is_never_overwritten(course, work):
    states(course, work)
    write(work / "01_loops.ipynb", "my answer")
    mine = (work / "01_loops.ipynb").read_bytes()
    assert states(course, work)["01"] == "yours"
    write(course / "01_loops.ipynb", "second, better")
    for _ in range(2):
        assert states(course, work)["01"] == "behind"
    assert (work / "01_loops.ipynb").read_bytes() == mine


DEEP = "[" * 99_999
ODD = '{"cells": [{"cell_type": "code", "source": "", "attachments": []}]}'


@pytest.mark.parametrize("content", ["", "not JSON", "[]", '{"cells": [{}]}', ODD, f'{{"cells": {DEEP}'])
def test_unreadable_copy_counts_as_changed(course, work, content):
    states(course, work)
    (work / "01_loops.ipynb").write_text(content)
    write(course / "01_loops.ipynb", "second, better")
    assert states(course, work)["01"] == "behind"
    assert (work / "01_loops.ipynb").read_text() == content


def test_pasted_picture_counts_as_changed(course, work):
    states(course, work)
    notebook = json.loads((work / "01_loops.ipynb").read_text())
    notebook["cells"][0]["attachments"] = {"image.png": {"image/png": "aGk="}}
    (work / "01_loops.ipynb").write_text(json.dumps(notebook))
    assert states(course, work)["01"] == "yours"


@pytest.mark.parametrize("record", [None, "not JSON", "[1]", DEEP, '{"01_loops.ipynb": 1' + 400 * "0" + "}"])
def test_lost_record_never_costs_a_changed_copy(course, work, record):
    states(course, work)
    write(work / "01_loops.ipynb", "my answer")
    (work / copies.RECORD).unlink()
    if record:
        (work / copies.RECORD).write_text(record)
    assert states(course, work) == {"00": "current", "01": "behind"}
    assert text(work / "01_loops.ipynb") == "my answer"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.write_bytes(b"\xff\xfe")])
@pytest.mark.parametrize("name", [copies.RECORD, "01_loops.ipynb"])
def test_a_pipe_or_other_bytes_in_the_folder_are_no_trouble(course, work, name, make):
    states(course, work)
    (work / name).unlink()
    make(work / name)
    assert states(course, work)["01"] == ("current" if name == copies.RECORD else "yours")


@pytest.mark.parametrize("name", [copies.RECORD, "earlier"])
def test_what_stands_in_the_way_is_named(course, work, name):
    states(course, work)
    write(work / "01_loops.ipynb", "second", output="42 ms")
    write(course / "01_loops.ipynb", "better")
    if name == "earlier":
        (work / name).write_text("a file")
    else:
        (work / name).unlink()
        (work / name).mkdir()
    with pytest.raises(ParameterError, match=rf"{name}.*cannot be written: .*; make room there"):
        states(course, work)
    assert text(work / "01_loops.ipynb") == "second"


def test_deleted_copy_comes_back(course, work):
    states(course, work)
    (work / "00_start_here.ipynb").unlink()
    assert states(course, work)["00"] == "new"


def test_fresh_copy_lies_beside_the_changed_one(course, work):
    source = course / "01_loops.ipynb"
    states(course, work)
    assert copies.fresh(source, work).path == work / "01_loops.ipynb"  # nothing changed: nothing to keep
    write(work / "01_loops.ipynb", "my answer")
    write(source, "second, better")
    fresh = copies.fresh(source, work).path
    assert fresh == work / "01_loops_fresh.ipynb"
    assert text(fresh) == "second, better"
    assert copies.fresh(source, work).path == fresh  # still fresh: no need for another
    assert states(course, work)["01"] == "yours"  # seen: not spoken of again
    write(fresh, "my second answer")
    assert copies.fresh(source, work).path == work / "01_loops_fresh_2.ipynb"
    assert copies.fresh(source, work).path == work / "01_loops_fresh_2.ipynb"  # as long as that is fresh
    assert text(fresh) == "my second answer"
    assert text(work / "01_loops.ipynb") == "my answer"


def test_copy_of_a_read_only_course_can_be_written(course, work):
    (course / "00_start_here.ipynb").chmod(0o444)
    states(course, work)
    assert os.stat(work / "00_start_here.ipynb").st_mode & 0o200


@pytest.mark.parametrize(
    "name", ["01", "1", "01_loops", "01_loops.ipynb", "notebooks/01_loops.ipynb", "loops", "loo"]
)
def test_notebook_is_found_by_number_name_or_path(course, name):
    assert notebooks.find(name, notebooks.course_notebooks()).stem == "01_loops"


@pytest.mark.parametrize("name", ["7", "Loops", "", "-1", "01_loops.txt", "1_loops"])
def test_unknown_notebook_is_answered_with_those_that_exist(course, name):
    with pytest.raises(ParameterError, match=r"expected a number like 02 or one of: 00_start_here, 01_loops"):
        notebooks.find(name, notebooks.course_notebooks())


def test_a_part_of_two_names_is_answered_with_these(course):
    for name in ("02_gpu", "03_gpu_fft", "04_gpu_gemm"):
        write(course / f"{name}.ipynb")
    course = notebooks.course_notebooks()
    assert notebooks.find("gpu", course).stem == "02_gpu"  # a whole name
    with pytest.raises(ParameterError, match=r"one of: 03_gpu_fft, 04_gpu_gemm$"):
        notebooks.find("gpu_", course)


def test_course_without_notebooks_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    with pytest.raises(ParameterError, match="no notebooks in"):
        notebooks.course_notebooks()


def test_notebook_without_a_number_is_none_of_the_course(course):
    write(course / "Untitled.ipynb", "scratch")
    assert [path.stem for path in notebooks.course_notebooks()] == ["00_start_here", "01_loops"]


# -- two starts at once ------------------------------------------------------------------------------------


def meanwhile(monkeypatch, module, name, act):
    """Let `act()` happen once, in the middle of the next call of `module.name`."""
    call, acts = getattr(module, name), [act]

    def interrupted(*arguments):
        if acts:
            acts.pop()()
        return call(*arguments)

    monkeypatch.setattr(module, name, interrupted)


@pytest.mark.parametrize(("module", "name"), [(copies.shutil, "copyfile"), (files.os, "replace")])
def test_second_start_in_the_middle_of_a_copy(course, work, monkeypatch, module, name):
    meanwhile(monkeypatch, module, name, lambda: states(course, work))
    assert states(course, work) == {"00": "new", "01": "current"}
    assert (work / "01_loops.ipynb").read_bytes() == (course / "01_loops.ipynb").read_bytes()
    assert list(work.glob(".*.part")) == []
    assert states(course, work) == {"00": "current", "01": "current"}


def test_second_start_while_the_record_is_written(course, work, monkeypatch):
    states(course, work)
    write(course / "01_loops.ipynb", "second, better")
    write(work / "01_loops.ipynb", "second", output="42 ms")
    meanwhile(monkeypatch, copies, "_write_record", lambda: states(course, work))
    meanwhile(monkeypatch, files.os, "replace", lambda: states(course, work))
    assert states(course, work)["01"] == "updated"
    assert text(work / "01_loops.ipynb") == "second, better"
    assert "42 ms" in (work / "earlier" / "01_loops.ipynb").read_text()


def test_copy_that_fails_leaves_no_draft(course, work, monkeypatch):
    def full(source, target):
        target.write_text("half of it")
        raise OSError("no space left")

    monkeypatch.setattr(copies.shutil, "copyfile", full)
    with pytest.raises(ParameterError, match="no space left; make room there"):
        states(course, work)
    assert list(work.iterdir()) == []


# -- the learner's folder ----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["notebooks", "notebooks/mine", ".", "work/../notebooks", "a-link"])
def test_folder_among_the_courses_own_is_refused(course, tmp_path, place):
    (tmp_path / "a-link").symlink_to(course)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ParameterError, match=r"in the course's own .*; expected another folder"):
        folders.work_folder(tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("place", ["work", "notebooks-of-mine", "work/notebooks"])
def test_folder_beside_the_course_is_made(course, tmp_path, place):
    assert folders.work_folder(tmp_path / place).is_dir()


def test_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    def read_only(**where):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folders.tempfile, "TemporaryFile", read_only)
    with pytest.raises(ParameterError, match=r"--out='.*': Permission denied; expected a folder"):
        folders.writable(tmp_path, "--out")


@pytest.fixture
def installed(course, tmp_path, monkeypatch):
    """The course as it comes in a wheel; we are in an empty folder, which is returned."""
    monkeypatch.setattr(notebooks, "PACKAGE", tmp_path)
    here = tmp_path / "a folder"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def test_a_checkout_has_its_own_folder_wherever_we_are(course, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert folders.usual_folder() == tmp_path / "work"


def test_a_wheel_makes_a_folder_here_and_finds_it_again_from_inside(installed, course, monkeypatch):
    folder = folders.work_folder()
    assert folder == installed / folders.FROM_WHEEL
    states(course, folder)
    (folder / "measurements").mkdir()
    for place in (folder, folder / "measurements", installed):
        monkeypatch.chdir(place)
        assert folders.usual_folder() == folder


def test_a_current_folder_that_was_deleted_is_said(installed):
    installed.rmdir()
    with pytest.raises(ParameterError, match=r"the current folder: No such file.*named by --work"):
        folders.usual_folder()
    assert folders.mixed_up(installed) is None
    with pytest.raises(ParameterError, match=r"--work='mine': No such file"):
        folders.work_folder(Path("mine"))


def test_a_wheel_in_a_checkout_says_which_course_it_is(installed, tmp_path, monkeypatch):
    assert folders.mixed_up(folders.usual_folder()) is None
    for part in ("lab.py", "convlab/__init__.py", "notebooks/00_start_here.ipynb", "tests/a.py"):
        path = installed / "check out" / part
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for place in ("check out", "check out/tests"):
        monkeypatch.chdir(installed / place)
        said = folders.mixed_up(folders.usual_folder())
        assert f"installed in {tmp_path}, not the checkout {installed / 'check out'}; " in said
        assert f"python3 '{installed / 'check out' / 'lab.py'}'" in said


def test_a_checkout_in_another_folder_of_ours_says_which_it_opens(course, work, tmp_path, monkeypatch):
    other = tmp_path / "convlab-work"
    other.mkdir()
    monkeypatch.chdir(other)
    assert folders.mixed_up(work) is None
    (other / RECORD).touch()
    assert f"the checkout {tmp_path}, on your folder {work}; " in folders.mixed_up(work)
    assert f"--work {other} opens that" in folders.mixed_up(work)
    assert folders.mixed_up(other) is None


def test_a_copy_of_a_course_that_is_read_only_can_be_written_to(course, tmp_path):
    (course / "sub").mkdir()
    for path, mode in ((course / "00_start_here.ipynb", 0o444), (course / "sub", 0o555), (course, 0o555)):
        path.chmod(mode)
    try:
        notebooks.copy_notebooks(course, tmp_path / "copy")
    finally:
        course.chmod(0o755)
    for path in (tmp_path / "copy", *(tmp_path / "copy").iterdir()):
        assert os.stat(path).st_mode & 0o200, path


# -- a home folder of no use -------------------------------------------------------------------------------


@pytest.mark.parametrize("home_is", ["not there", "none", "a file"])
def test_the_learners_folder_plays_the_part_of_the_home_folder(tmp_path, monkeypatch, home_is):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    (tmp_path / "a-file").touch()
    places = {"not there": lambda: tmp_path / "gone", "none": no_home, "a file": lambda: tmp_path / "a-file"}
    monkeypatch.setattr(home.Path, "home", places[home_is])
    monkeypatch.setattr(os, "environ", {"IPYTHONDIR": "/named", "MPLCONFIGDIR": ""})
    home.settle(tmp_path)
    instead = tmp_path / home.INSTEAD
    assert os.environ.keys() == home.PLACES.keys()
    assert os.environ["IPYTHONDIR"] == "/named"
    assert all(os.path.isdir(os.environ[name]) for name in home.PLACES if name != "IPYTHONDIR")
    assert os.environ["JUPYTER_RUNTIME_DIR"] == str(instead / "jupyter" / "runtime")
    assert instead.stat().st_mode & 0o077 == 0  # secrets lie there


@pytest.mark.parametrize("save", [None, "mine.csv"])
def test_a_benchmark_keeps_its_things_where_it_saves(tmp_path, monkeypatch, save):
    """Without this it would measure, and what the compiler made were lost where there is no home."""
    settled = []

    def stop(*arguments, **options):
        raise WorkspaceError("enough")

    monkeypatch.setattr("convlab.benchmark.bench.bench_cpu", stop)
    monkeypatch.setattr(home, "settle", settled.append)
    monkeypatch.setattr(folders, "usual_folder", lambda: tmp_path / "work")
    options = ["--save", str(tmp_path / "other" / save)] if save else []
    done = CliRunner().invoke(app, ["bench", "cpu", *options], prog_name="convlab")
    assert (done.exit_code, done.stderr) == (2, "convlab: enough\n")
    assert settled == [tmp_path / ("other" if save else "work")]


def test_a_good_home_folder_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(home.Path, "home", lambda: tmp_path)
    monkeypatch.setattr(os, "environ", {})
    home.settle(tmp_path)
    assert os.environ == {}
    assert list(tmp_path.iterdir()) == []
