"""`convlab interview code`, `submit`, `bug` and the clock, driven by a pipe, with files of a learner."""

import sys
import time
from pathlib import Path

import pytest
from effort import sampled
from typer.testing import CliRunner

from convlab import interview
from convlab.cli import app
from convlab.interview.coding import bug_rounds, outside, terminal
from convlab.interview.coding.clock import Clock
from convlab.interview.coding.tasks import TASKS
from convlab.interview.console import INTERRUPTED
from convlab.lessons import EXERCISES, progress
from convlab.lessons.note import Note

SOLVED = f"import numpy as np\n\n\n{TASKS['conv2d_nchw'].exercise.solved}\n"


@pytest.fixture
def typed(tmp_path):
    """Return a function that runs a command on a learner's folder, and the lines that it says."""

    def run(*arguments, lines="", status=0):
        command = ["interview", *map(str, arguments), "--work", str(tmp_path)]
        done = CliRunner().invoke(app, command, input=lines, prog_name="convlab")
        assert done.exit_code == status, done.output
        assert "Traceback" not in done.output
        said, named = " ".join((done.stdout + done.stderr).split()), f" --work {tmp_path}"
        assert said.count("convlab interview") == said.count(named)  # what is to be typed next finds it again
        return said.replace(named, "")

    return run


@pytest.fixture
def in_process(monkeypatch):
    """Try answers in this process: another takes its time to start."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(outside, "tried", outside.judged)


def pressed(folder, name):
    with progress.kept_in(progress.of(folder)):
        return [event.detail["did"] for event in progress.events("clock", name)]


# -- the task and its clock --------------------------------------------------------------------------------


def test_a_task_from_the_table_to_the_end(typed, tmp_path, in_process):
    assert typed("code").count("not begun") == len(TASKS)
    said = typed("code", "conv2d_nchw")
    file = tmp_path / "conv2d_nchw.py"
    assert "conv2d_nchw: 30:00 of 30:00 minutes left" in said
    assert TASKS["conv2d_nchw"].exercise.statement in said
    assert "".join(f"{file} is made".split()) in "".join(said.split())  # a long path takes two lines
    assert "Not started" in typed("submit", "conv2d_nchw", status=1)
    file.write_text(SOLVED.replace("w[k, c, r, s]", "w[k, c, R - 1 - r, S - 1 - s]"))
    assert "Yours behaves like one that flips the filter." in typed("submit", file, status=1)
    assert "is there already, and left as it is" in typed("code", "conv2d_nchw")
    assert "Hint 1 of 3" in typed("hint")
    assert "`convlab interview resume` lets it run again" in typed("pause")
    assert "minutes left, paused" in typed("code")
    typed("resume")
    assert pressed(tmp_path, "conv2d_nchw") == ["begin", "pause", "resume"]
    file.write_text(SOLVED)
    said = typed("submit", "conv2d_nchw")
    assert "Right, in all 8 cases." in said
    assert "Next: `convlab interview code conv2d_vectorised`." in said
    assert "`convlab interview code conv2d_nchw --anew`" in said
    assert "solved after" in typed("code")
    with progress.kept_in(progress.of(tmp_path)):  # as a notebook sees it
        assert "solved after" in repr(interview.begin("conv2d_nchw"))
        assert [event.detail["good"] for event in progress.events("try")] == [False, True]
    typed("code", "conv2d_nchw", "--anew")
    assert file.read_text() == SOLVED
    assert pressed(tmp_path, "conv2d_nchw")[-2:] == ["solved", "begin"]


def test_what_a_file_begins_with_is_python_that_does_nothing_yet(tmp_path, in_process):
    for name in TASKS:
        file, new = terminal.write(name, tmp_path)
        assert new
        assert outside.judged(name, file).good is None, name
        assert terminal.write(name, tmp_path) == (file, False)


def test_commands_are_for_the_task_that_was_pressed_last(typed, tmp_path):
    assert "no task is running" in typed("pause", status=2)
    for name in "conv2d_lean", "kernel_padded":
        typed("code", name)
    assert typed("pause").startswith("kernel_padded:")
    assert typed("pause").startswith("conv2d_lean:")
    assert "no task is running" in typed("pause", status=2)
    assert typed("resume").startswith("conv2d_lean:")
    assert "One way to do it" in typed("give-up")
    assert "given up after" in typed("code")
    assert typed("give-up").startswith("kernel_padded:")
    assert "expected one: convlab interview code NAME begins it" in typed("hint", status=2)


def test_the_task_that_was_pressed_last_is_so_after_the_clock_was_set_back(typed, monkeypatch):
    typed("code", "conv2d_nchw")
    yesterday = time.time() - 86400
    monkeypatch.setattr(time, "time", lambda: yesterday)
    typed("code", "conv2d_grouped")
    assert typed("pause").startswith("conv2d_grouped:")


def test_events_of_another_version_are_passed_over(typed, tmp_path):
    with progress.kept_in(progress.of(tmp_path)):
        for name in "conv2d_sung", "find_the_bug -1", "find_the_bug " + "9" * 400, "<b>":
            Clock(name).press("begin")
    assert "no task is running" in typed("pause", status=2)
    assert "find_the_bug 0" in typed("bug")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("code", "conv2d"), "NAME='conv2d'; expected one of conv2d_nchw"),
        (("code", "9" * 5000), "expected one of conv2d_nchw"),
        (
            ("submit", "conv2d_lean"),
            "conv2d_lean was not begun; expected `convlab interview code conv2d_lean`",
        ),
        (
            ("submit", "nothing.py"),
            "'nothing.py' is no file that is there; expected a Python file, or one of",
        ),
        (("submit", "9" * 5000), "is no file that is there"),
        (("submit", "a\0b"), "is no file that is there"),
        (("submit", "."), "is no file that is there"),
        (("bug", "nine"), "SEED='nine'; expected a whole number from 0"),
        (("bug", "9" * 5000), "expected a whole number from 0"),
    ],
)
def test_what_is_wrong_is_named(typed, arguments, says):
    assert says in typed(*arguments, status=2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_a_file_that_finds_no_room_is_not_left_half_written(typed, tmp_path, monkeypatch):
    file = tmp_path / "conv2d_nchw.py"
    opened = Path.open

    def full(path, *how, **options):
        opened(path, *how, **options).close()
        return open("/dev/full", "w")

    monkeypatch.setattr(Path, "open", full)
    assert "conv2d_nchw.py': No space left on device" in typed("code", "conv2d_nchw", status=2)
    monkeypatch.undo()
    assert not file.exists()
    assert "is made: write there" in typed("code", "conv2d_nchw")
    assert "conv2d" in file.read_text()


def test_a_file_that_cannot_be_read_is_said_where_nothing_of_it_is_known(typed, tmp_path):
    (tmp_path / progress.NAME).mkdir()
    for command in ("pause",), ("submit", "conv2d_lean"):
        said = typed(*command, status=2)
        assert f"{progress.NAME} cannot be read now (it is no ordinary file)" in said


def test_options_before_a_command_hold_for_it(tmp_path):
    said = CliRunner().invoke(app, ["interview", "--work", str(tmp_path), "--seed", "7", "bug"]).stdout
    assert "find_the_bug 7" in said
    assert f"`convlab interview pause --work {tmp_path}`" in " ".join(said.split())
    refused = CliRunner().invoke(app, ["interview", "--work", str(tmp_path), "--count", "7", "pause"])
    assert (refused.exit_code, refused.output) == (
        2,
        "convlab: --count is no option of `pause`; expected it without\n",
    )


def test_what_is_typed_next_is_found_where_lab_py_started_this(typed, monkeypatch):
    monkeypatch.setenv("CONVLAB_TYPED", "python3 lab.py convlab")
    assert "`python3 lab.py convlab interview submit conv2d_nchw` tries it" in typed("code", "conv2d_nchw")


def test_without_a_folder_there_is_no_clock_to_keep(monkeypatch):
    with progress.kept_in(progress.of(None)):
        monkeypatch.setattr("convlab.commands.interview.memory_of", lambda work: progress.of(None))
        done = CliRunner().invoke(app, ["interview", "code", "conv2d_nchw"])
    assert done.exit_code == 2
    assert "there is no folder of yours here" in done.stderr


def test_the_clock_of_any_round_can_be_stopped(typed):
    seed = 2**31 - 1
    assert f"`convlab interview bug {seed}` goes on" in typed("bug", seed)
    assert typed("pause").startswith(f"find_the_bug {seed}:")
    assert f"find_the_bug {seed}" in typed("bug")
    typed("bug", seed + 1, status=2)


def test_a_round_without_a_folder_has_no_clock_that_runs_on(monkeypatch):
    monkeypatch.setattr("convlab.commands.interview.memory_of", lambda work: progress.of(None))
    said = " ".join(CliRunner().invoke(app, ["interview", "bug"], input="1\n").stdout.split())
    assert "The clock runs on" not in said
    assert "There is no folder of yours here, so this is forgotten now" in said


def test_ctrl_c_while_an_answer_is_tried_loses_nothing(typed, tmp_path, monkeypatch):
    typed("code", "conv2d_nchw")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(outside, "tried", interrupt)
    assert "Interrupted." in typed("submit", "conv2d_nchw", status=INTERRUPTED)
    assert pressed(tmp_path, "conv2d_nchw") == ["begin"]


# -- answers in files --------------------------------------------------------------------------------------

BAD = {
    "a bracket": (
        "def conv2d(x",
        "It is no Python: '(' was never closed.",
        "Line 1 of answer.py: def conv2d(x",
    ),
    "no text": (b"\xff\xfe", "It is no Python", ""),
    "another name": ("def other(x): pass", "There is no `conv2d` in answer.py.", "There is other."),
    "nothing": ("", "There is no `conv2d` in answer.py.", "It defines no function."),
    "an error": ("x = 1\n1 / 0", "it raised an error", "in line 2: 1 / 0"),
    "an end": ("import sys\nsys.exit(0)", "it raised an error", "SystemExit: 0"),
    "an error of its own": (
        "class Mine(BaseException): 0\nraise Mine(7)",
        "it raised an error",
        "Mine: 7",
    ),
    "a question": ("x = input()", "it raised an error", "in line 1: x = input()"),
    "no function": ("conv2d = 3", "Hand over the function itself", "Let answer.py define conv2d itself."),
    "an error within": (
        "def conv2d(x, w, padding):\n    return x[99]",
        "raised an error",
        "in line 2: return",
    ),
    "an error of a library": (
        "import random\n\nrandom.choice([])",
        "it raised an error",
        "in line 3: random.choice([])",
    ),
    "too deep": ("x = " + "(" * 9999, "", ""),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_with_a_file_is_said_in_words(tmp_path, monkeypatch, what):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "stdin", open("/dev/null"))  # noqa: SIM115
    text, title, body = BAD[what]
    file = tmp_path / "answer.py"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    note = outside.judged("conv2d_nchw", file)
    assert note.good is False
    assert title in note.title
    assert body in note.body


def test_what_never_ends_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(outside, "LOADING", 0.1)
    file = tmp_path / "answer.py"
    file.write_text("while True: pass")
    assert "too long to load" in outside.judged("conv2d_nchw", file).title


ENDS = {
    "right": (SOLVED, 60, "Right, in all 8 cases."),
    "prints": (f"print('hello')\n{SOLVED}\nprint('hello')", 60, "Right, in all 8 cases."),
    "ends Python": ("import os\nos._exit(3)", 60, "ended Python itself"),
    "crashes": ("import ctypes\nctypes.string_at(0)", 60, "ended Python itself"),
    "sleeps in C": (
        "import time\nwhile True:\n    try: time.sleep(99)\n    except BaseException: pass",
        3,
        "long",
    ),
    "imports what lies beside": (f"import helper\n{SOLVED}", 60, "Right, in all 8 cases."),
    "has a library's name beside": (
        f"import random\nrandom.random()\n{SOLVED}",
        60,
        "Right, in all 8 cases.",
    ),
}


@sampled(0)  # each is a process, which takes its time
@pytest.mark.parametrize("what", ENDS)
def test_an_answer_is_tried_in_a_process_of_its_own(tmp_path, what):
    text, longest, title = ENDS[what]
    for beside in "helper", "random", "json":
        (tmp_path / f"{beside}.py").write_text("")
    file = tmp_path / "my answer.py"
    file.write_text(text)
    assert title in outside.tried("conv2d_nchw", file, longest).title


@pytest.mark.parametrize("head", ["", "from __future__ import annotations\n"])
def test_an_answer_may_have_classes_of_its_own(tmp_path, monkeypatch, head):
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "answer.py"
    own = "from dataclasses import dataclass\n\n@dataclass\nclass Window:\n    size: int = 3\n\n"
    asked = "import typing\nassert typing.get_type_hints(Window) == {'size': int}\n"
    file.write_text(f"{head}{own}{asked}{SOLVED}")
    assert outside.judged("conv2d_nchw", file).good


@sampled(1)
@pytest.mark.parametrize("name", ["conv2d_lean", "kernel_padded"])
def test_right_answers_from_files_pass(tmp_path, monkeypatch, name):
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "answer.py"
    imports = "import numpy as np\nfrom convlab.gpu import cuda, float32\n"
    file.write_text(imports + TASKS[name].exercise.solved)
    assert outside.judged(name, file).good


def test_a_file_of_another_name_is_for_the_task_that_runs(typed, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(outside, "tried", lambda *them: asked.append(them) or Note(False, "Not yet."))
    mine = tmp_path / "mine.py"
    mine.write_text("")
    assert "no task is running or paused" in typed("submit", mine, status=2)
    typed("code", "conv2d_lean")
    typed("bug", 1)
    assert "mine.py, as an answer to conv2d_lean" in typed("submit", mine, status=1)
    assert asked == [("conv2d_lean", mine)]


# -- rounds of finding a bug -------------------------------------------------------------------------------


def test_a_round_until_it_is_mended(typed, tmp_path):
    name, mistake = bug_rounds.round_of(1)
    line, right = bug_rounds.wrong_line(EXERCISES[name], mistake), bug_rounds.plain(EXERCISES[name])
    lines = ["", "x", "99", "-1", str(line), "for (", str(line), right[line - 1].strip()]
    said = typed("bug", 1, lines="\n".join(lines) + "\n")
    assert "find_the_bug 1: 8:00 of 8:00 minutes left" in said
    assert said.count(f"A number from 1 to {len(right)}, please, or `give up`.") == 4
    assert said.count("it is no Python") == 1
    assert f"It was one that {mistake.name}." in said
    assert "Next: `convlab interview bug 2`." in said
    assert pressed(tmp_path, "find_the_bug 1") == ["begin", "solved"]
    assert "line>" not in typed("bug", 1)  # it is done
    assert "line>" in typed("bug", 1, "--anew")


def test_a_round_may_be_left_and_gone_on_with(typed, tmp_path):
    said = typed("bug", lines="1\n")
    assert "find_the_bug 0" in said
    assert "The input ended. The clock runs on." in said
    assert "`convlab interview bug 0` goes on" in said
    typed("pause")
    said = typed("bug", lines="give up\n")  # the same, and its clock runs again
    assert "find_the_bug 0" in said
    assert "It is line" in said
    assert "The clock runs on" not in said
    assert pressed(tmp_path, "find_the_bug 0") == ["begin", "pause", "resume", "given up"]
    assert "find_the_bug 1" in typed("bug")
    with progress.kept_in(progress.of(tmp_path)):
        assert "given up after" in repr(interview.find_the_bug(0))
