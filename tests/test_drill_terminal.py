"""`convlab interview`: driven by a pipe, to its end, by Ctrl-D and by Ctrl-C."""

import errno
import itertools
import os
import signal
import subprocess
import sys

import pytest
from effort import in_turns, sampled
from typer.testing import CliRunner

from convlab.cli import app
from convlab.interview import KINDS, drill, terminal
from convlab.interview.console import INTERRUPTED
from convlab.lessons import progress, progress_file
from convlab.lessons.progress_file import ProgressFile
from convlab.support.learners_folder import RECORD
from convlab.workspace import notebooks

NAMES = list(KINDS)


def interview(*arguments, typed=""):
    """Run the command in this process, with lines that are typed."""
    return CliRunner().invoke(app, ["interview", *map(str, arguments)], input=typed, prog_name="convlab")


def kept(folder):
    return ProgressFile(folder / progress.NAME).events()


def test_drills_one_after_the_other_to_the_summary(tmp_path):
    right, wrong, passed = (drill("flops", seed) for seed in (7, 8, 9))
    slip = wrong.slips[0]
    lines = [f"{right.value:.9g}", "90", f"{slip.value!r}", "70 %", ""]
    done = interview(
        "--kind", "flops", "--seed", 7, "--count", 3, "--work", tmp_path, typed="\n".join(lines) + "\n"
    )
    assert (done.exit_code, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    for one in (right, wrong, passed):
        assert " ".join(one.question.split()) in said
        assert all(" ".join(step.split()) in said for step in one.steps)
    assert "Right. You said" in said
    assert f"So it comes out for one who {slip.name}. {slip.hint}" in said
    assert "Passed over." in said
    assert "3 drills: 1 right, 1 wrong, 1 passed over." in said
    assert "How sure: 70 % sure: 0 of 1 right; 90 % sure: 1 of 1 right." in said
    assert 'notebook 01 (Seven loops), the cell of "operations for each byte"' in said
    assert "Comes again: FLOPs of a layer after 3 others." in said
    assert max(map(len, done.stdout.splitlines())) < 120
    details = [event.detail for event in kept(tmp_path)]
    assert [(one["seed"], one["right"], one["sure"]) for one in details] == [
        (7, True, 90),
        (8, False, 70),
        (9, False, None),
    ]
    assert details[1]["slip"] == slip.name
    assert all(one["seconds"] >= 0 for one in details)


def test_lines_that_end_as_on_windows_are_read_alike(tmp_path):
    one = drill("flops", 7)
    command = [sys.executable, "-m", "convlab", "interview", "--kind", "flops", "--seed", "7", "--count", "1"]
    typed = f"{one.value:.9g}\r\n90\r\n".encode()
    done = subprocess.run([*command, "--work", tmp_path], input=typed, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [(event.detail["right"], event.detail["sure"]) for event in kept(tmp_path)] == [(True, 90)]


def test_a_seed_goes_through_all_kinds_in_order(tmp_path):
    done = interview("--seed", 0, "--count", len(NAMES), "--work", tmp_path, typed="\n" * len(NAMES))
    assert done.exit_code == 0
    assert [event.detail["drill"] for event in kept(tmp_path)] == NAMES
    assert f"Drill 3 of {len(NAMES)}: {KINDS[NAMES[2]].title} ({NAMES[2]}, seed 2)" in done.stdout


def test_without_a_seed_what_was_missed_comes_again_with_new_numbers(tmp_path):
    assert interview("--count", 5, "--work", tmp_path, typed="\n" * 5).exit_code == 0
    asked = [(event.detail["drill"], event.detail["seed"]) for event in kept(tmp_path)]
    assert [kind for kind, _ in asked] == [*NAMES[:4], NAMES[0]]
    assert len({seed for _, seed in asked}) == 5


def test_what_is_not_understood_is_asked_again(tmp_path):
    one = drill("im2col_bytes", 1)
    lines = ["<b>many</b>", "12 ms", "9" * 5000, f"{one.value}", "sure", "42", "50"]
    done = interview(
        "--kind", one.kind, "--seed", 1, "--count", 1, "--work", tmp_path, typed="\n".join(lines) + "\n"
    )
    said = " ".join(done.stdout.split())
    assert done.exit_code == 0
    assert "does not begin with a number" in said
    assert "`ms` measures time; asked is memory." in said
    assert "a text of 5000 characters" in said
    assert said.count("That is none of them: 10, 30, 50, 70, 90.") == 2
    assert "1 drill: 1 right, 0 wrong." in said


def test_who_does_not_say_how_sure_is_left_out_by_calibration(tmp_path):
    one = drill("flops", 1)
    done = interview(
        "--kind", "flops", "--seed", 1, "--count", 1, "--work", tmp_path, typed=f"{one.value!r}\n%\n\n"
    )
    said = " ".join(done.stdout.split())
    assert said.count("That is none of them") == 1
    assert "1 drill: 1 right, 0 wrong." in said
    assert "How sure:" not in said
    assert [event.detail["sure"] for event in kept(tmp_path)] == [None]


def test_bytes_that_are_no_text_are_no_answer(tmp_path):
    typed = b"\xff\xfe\n\n"
    done = CliRunner().invoke(app, ["interview", "--count", "1", "--work", str(tmp_path)], input=typed)
    assert done.exit_code == 0
    assert "Passed over." in done.stdout


@pytest.mark.parametrize("typed", ["", "12", "12\n", "12\nnot sure\n"])
def test_the_end_of_the_input_ends_it_in_words_and_loses_nothing(tmp_path, typed):
    done = interview("--kind", "flops", "--work", tmp_path, typed=typed)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "The input ended." in done.stdout
    assert ("No drill was answered." in done.stdout) == (typed == "")
    answered = [event.detail for event in kept(tmp_path)]
    assert [(one["guess"], one["sure"]) for one in answered] == ([(12.0, None)] if typed else [])


class Typed:
    """A terminal in which some lines are typed, and then Ctrl-C."""

    def __init__(self, *typed):
        self.typed = list(typed)

    def isatty(self):
        return True

    def readline(self):
        if not self.typed:
            raise KeyboardInterrupt
        return self.typed.pop(0)


@pytest.mark.parametrize("typed", [(), ("12\n",), ("12\n", "50\n"), ("12\n", "50\n", "34\n")])
def test_ctrl_c_loses_nothing_wherever_it_comes(tmp_path, monkeypatch, capsys, typed):
    monkeypatch.setattr("sys.stdin", Typed(*typed))
    status = terminal.run(ProgressFile(tmp_path / progress.NAME), kind="flops")
    assert status == INTERRUPTED
    assert "Interrupted." in capsys.readouterr().out
    answered = [event.detail for event in kept(tmp_path)]
    assert [f"{one['guess']:g}\n" for one in answered] == list(typed[::2])
    assert [f"{one['sure']:g}\n" for one in answered if one["sure"]] == list(typed[1::2])


class Gone(Typed):
    """A terminal that was closed."""

    def readline(self):
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("typed", [None, Gone()], ids=["closed", "gone"])
def test_without_an_input_it_ends_in_words(tmp_path, monkeypatch, capsys, typed):
    monkeypatch.setattr("sys.stdin", typed)
    assert terminal.run(ProgressFile(tmp_path / progress.NAME), kind="flops") == 0
    assert "The input ended." in capsys.readouterr().out


def test_without_a_folder_nothing_is_promised(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Typed("12\n"))
    terminal.run(ProgressFile(None), kind="flops")
    said = " ".join(capsys.readouterr().out.split())
    assert "is kept" not in said
    assert said.count("There is no folder of yours here") == 2  # before it begins, and at the end


@in_turns
@sampled(0)  # a process of its own takes its time
def test_ctrl_c_ends_the_command_in_words(tmp_path):
    command = [sys.executable, "-m", "convlab", "interview", "--kind", "flops", "--work", str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    options = {"env": os.environ | {"PYTHONUNBUFFERED": "1"}}
    if sys.platform != "win32":  # what is started in the background ignores Ctrl-C, and so do its children
        options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, **pipes, **options) as process:
        process.stdin.write("12\n50\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith("Drill 2"):
                break
        process.send_signal(signal.SIGINT)
        told, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert errors == ""
    assert "Interrupted." in told
    assert "1 drill: 0 right, 1 wrong." in told
    assert len(kept(tmp_path)) == 1


def test_a_clock_that_is_set_back_meanwhile_changes_nothing(tmp_path, monkeypatch):
    clock = itertools.count(2e9, -1e6)  # eleven days earlier whenever it is read
    monkeypatch.setattr(progress_file.time, "time", lambda: next(clock))
    done = interview("--count", 5, "--work", tmp_path, typed="\n" * 5)
    assert done.exit_code == 0
    details = [event.detail for event in kept(tmp_path)]
    assert sorted(one["number"] for one in details) == [1, 2, 3, 4, 5]
    assert all(0 <= one["seconds"] < 60 for one in details)
    assert "5 drills: 0 right, 0 wrong, 5 passed over." in done.stdout


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("--kind", "lenet"), "--kind='lenet'; expected one of output_size, flops"),
        (("--kind", "<b>" * 99), "expected one of"),
        (("--seed", "-1"), "--seed='-1'; expected a whole number from 0"),
        (("--seed", "9" * 5000), "expected a whole number from 0"),
        (("--seed", "one"), "--seed='one'"),
        (("--count", "0"), "--count='0'; expected a whole number from 1 to 1000"),
        (("--count", "1e3"), "--count='1e3'"),
        (("now",), "now"),
    ],
)
def test_a_wrong_option_is_named(typed, says):
    done = interview(*typed)
    assert done.exit_code == 2
    assert says in done.stderr
    assert "Traceback" not in done.output


def test_it_is_kept_in_the_folder_that_the_course_opens(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.delenv(progress.NAMED, raising=False)
    monkeypatch.chdir(tmp_path)
    progress.here.cache_clear()
    try:
        done = interview("--count", 1, typed="\n")
        assert "There is no folder of yours here" in " ".join(done.stdout.split())
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "work").mkdir()
        (tmp_path / "work" / RECORD).write_text("{}")
        assert "There is no folder" not in interview("--count", 1, typed="\n").stdout
        assert len(kept(tmp_path / "work")) == 1
    finally:
        progress.here.cache_clear()


def test_what_is_wrong_with_the_file_is_said_at_the_end(tmp_path):
    (tmp_path / progress.NAME).write_bytes(b"no database" * 99)
    done = interview("--count", 1, "--work", tmp_path, typed="\n")
    assert done.exit_code == 0
    assert "The file of your progress was damaged." in " ".join(done.stdout.split())
    assert len(list(tmp_path.glob("*damaged*"))) == 1
