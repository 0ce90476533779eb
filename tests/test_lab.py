"""lab.py in a scratch checkout with a stand-in for uv: what it runs, when it sets up anew, what it says."""

import ast
import errno
import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from convlab.workspace.notebooks import NUMBERED

LAB = Path(__file__).resolve().parents[1] / "lab.py"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")

# Both write down how they are called. `uv venv` leaves the stand-in for Python in the new environment.
UV = """#!/bin/sh
echo "uv $*" >> "$LOG"
[ "$SLOW" = "$1" ] && sleep 2
[ "$BREAK" = "$1" ] && { echo "no such wheel: $1"; exit 1; }
for last; do :; done
[ "$1" = venv ] && mkdir -p "$last/bin" && cp "$STAND_IN" "$last/bin/python"
exit 0
"""
PYTHON = """#!/bin/sh
echo "python $* | $(pwd) | $NUMBA_CACHE_DIR | $PYTHONPATH" >> "$LOG"
case "$*" in *version_info*) echo "$VENV_VERSION"; echo "$VENV_BASE";; esac
[ -n "$FAIL" ] && case "$*" in *"$FAIL"*) exit 7;; esac
exit 0
"""
HERE = "{}.{}".format(*sys.version_info)


class Checkout:
    """A folder with lab.py and what it reads, and a log of every command lab.py starts."""

    def __init__(self, root: Path):
        self.root, self.tools = root / "convlab", root / "tools"
        self.log, self.venv = root / "log", self.root / ".venv"
        (self.root / "notebooks").mkdir(parents=True)
        self.tools.mkdir()
        shutil.copy(LAB, self.root)
        (self.root / "requirements.txt").write_text("numpy==2.4.6\n")
        (self.root / "requirements-gpu.txt").write_text("numba-cuda==0.30.4\n")
        (self.root / "pyproject.toml").write_text("[project]\n")
        (self.root / "notebooks" / "00_first.ipynb").write_text("{}")
        for name, script in (("uv", UV), ("python-stand-in", PYTHON)):
            (self.tools / name).write_text(script)
            (self.tools / name).chmod(0o755)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        """Run lab.py; return what it did. `calls` holds the commands of this run."""
        self.log.write_text("")
        begun = self.begin(*arguments, **variables)
        stdout, stderr = begun.communicate(timeout=60)
        return subprocess.CompletedProcess(begun.args, begun.returncode, stdout, stderr)

    def begin(self, *arguments: str, **variables: str) -> subprocess.Popen:
        """Start lab.py and do not wait for its end."""
        environment = {
            "PATH": f"{self.tools}:/usr/bin:/bin",
            "LOG": str(self.log),
            "STAND_IN": str(self.tools / "python-stand-in"),
            "VENV_VERSION": HERE,
            "VENV_BASE": sys.base_prefix,
        }
        return subprocess.Popen(
            [sys.executable, "lab.py", *arguments],
            cwd=self.root,
            env=environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()

    def ran(self) -> list[str]:
        """The arguments of each call of the environment's Python, after -P: not from the current folder."""
        return [c.split(" | ")[0].removeprefix("python -P ") for c in self.calls if c.startswith("python")]

    def mark(self) -> Path:
        """Leave a file in .venv: it is gone when .venv was made anew."""
        mark = self.venv / "mark"
        mark.touch()
        return mark


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.fixture
def ready(checkout):
    assert checkout.run("setup").returncode == 0
    return checkout


# -- setting up --------------------------------------------------------------------------------------------


def test_setup_takes_three_steps_each_with_its_time(checkout):
    done = checkout.run("setup")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    python = str(checkout.venv / "bin" / "python")
    make, packages, itself = (call.split() for call in checkout.calls)
    assert make[:2] == ["uv", "venv"]
    assert make[-1] == str(checkout.venv)
    assert packages[-3:] == ["--require-hashes", "-r", str(checkout.root / "requirements.txt")]
    assert itself[-4:] == ["--no-deps", "--no-build-isolation", "--editable", str(checkout.root)]
    assert packages[packages.index("--python") + 1] == python
    steps = [line for line in done.stdout.splitlines() if line.startswith("  [")]
    assert [line[3:6] for line in steps] == ["1/3", "2/3", "3/3"]
    assert all(line.endswith(" s") for line in steps)


def test_second_start_sets_nothing_up(ready):
    mark = ready.mark()
    done = ready.run("setup")
    assert (done.returncode, done.stdout, ready.calls) == (0, "", [])
    assert mark.exists()


@pytest.mark.parametrize("file", ["requirements.txt", "pyproject.toml"])
def test_changed_requirements_are_installed_into_the_same_environment(ready, file):
    mark = ready.mark()
    with (ready.root / file).open("a") as text:
        text.write("# changed\n")
    assert ready.run("setup").returncode == 0
    assert sum("--require-hashes" in call for call in ready.calls) == 1
    assert mark.exists()
    ready.run("setup")
    assert ready.calls == []


def packages(call: str) -> list[str]:
    """The names of the requirement files that a call installs."""
    words = call.split()
    return [Path(file).name for word, file in pairwise(words) if word == "-r"]


def test_packages_for_gpus_are_added_once_and_stay(ready):
    mark = ready.mark()
    assert ready.run("setup", "--gpu").returncode == 0
    assert [packages(call) for call in ready.calls if "--require-hashes" in call] == [
        ["requirements.txt", "requirements-gpu.txt"]
    ]
    for command in (["setup", "--gpu"], ["setup"], ["doctor"]):
        ready.run(*command)
        assert not any("install" in call for call in ready.calls), command
    with (ready.root / "requirements-gpu.txt").open("a") as text:
        text.write("# changed\n")
    assert ready.run("setup").returncode == 0
    assert [packages(call)[-1] for call in ready.calls if "--require-hashes" in call] == [
        "requirements-gpu.txt"
    ]
    assert mark.exists()


def test_interrupted_addition_of_packages_for_gpus_is_carried_on(ready):
    path = f"{ready.tools}:{without_venv(ready)}"
    assert ready.run("setup", "--gpu", BREAK="pip", PATH=path).returncode == 1
    assert ready.run("setup").returncode == 0
    assert [packages(call)[-1] for call in ready.calls if "--require-hashes" in call] == [
        "requirements-gpu.txt"
    ]


def test_without_the_flag_nobody_gets_packages_for_gpus(ready):
    with (ready.root / "requirements-gpu.txt").open("a") as text:
        text.write("# changed\n")
    ready.run("setup")
    assert ready.calls == []


def test_macos_is_told_that_it_has_no_cuda(checkout, load, monkeypatch, capsys):
    lab = load(checkout.root / "lab.py")
    lab.recipes = lambda gpu: [[("gpu" if gpu else "plain", ["true"])]]
    monkeypatch.setattr(lab.sys, "platform", "darwin")
    monkeypatch.setattr(lab, "is_ready", lambda gpu: False)
    lab.setup(gpu=True)
    told = capsys.readouterr().out
    assert "no CUDA for macOS" in told
    assert "plain" in told
    assert "gpu" not in lab.read_stamp()


def test_interrupted_setup_is_repaired(checkout):
    broken = checkout.run("setup", BREAK="pip", PATH=f"{checkout.tools}:{without_venv(checkout)}")
    assert broken.returncode == 1
    assert "no such wheel: pip" in broken.stderr
    assert json.loads((checkout.venv / "convlab-setup.json").read_text())["finished"] is False
    mark = checkout.mark()
    done = checkout.run("setup")
    assert done.returncode == 0
    assert "an earlier setup did not finish" in done.stdout
    assert not mark.exists()


def test_of_two_at_once_one_sets_up_and_the_other_waits(checkout):
    both = [checkout.begin("setup", SLOW="venv") for _ in range(2)]
    said = sorted((one.communicate(timeout=60) for one in both), key=lambda said: "waiting" in said[0])
    assert [one.returncode for one in both] == [0, 0], said
    assert len(checkout.calls) == 3
    assert "ready after" in said[0][0]
    assert said[1] == ("convlab: another lab.py is setting up .venv; waiting for it\n", "")


def test_set_up_that_was_killed_keeps_nobody_waiting(checkout):
    killed = checkout.begin("setup", SLOW="venv")
    killed.stdout.readline()
    killed.kill()
    killed.communicate(timeout=60)
    done = checkout.run("setup")
    assert done.returncode == 0
    assert "waiting" not in done.stdout
    assert "ready after" in done.stdout


def test_disk_without_locks_is_no_hindrance(checkout, load, monkeypatch):
    import fcntl

    def no_locks(*arguments):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert load(checkout.root / "lab.py").try_lock(None)


def without_venv(checkout) -> str:
    """Make the second way to set up (venv and pip) fail fast; return a folder for the PATH."""
    lab = checkout.root / "lab.py"
    lab.write_text(LAB.read_text().replace('("venv", "ensurepip")', '("no_such_module",)'))
    return "/usr/bin:/bin"


def test_where_uv_fails_pip_is_next(checkout, load):
    lab = load(checkout.root / "lab.py")
    lab.recipes = lambda gpu: [[("with uv", ["false"])], [("with pip", ["true"])]]
    lab.setup()
    assert lab.read_stamp() == lab.fingerprint()


def test_without_uv_it_is_venv_and_pip_with_the_same_steps(checkout, load):
    lab = load(checkout.root / "lab.py")
    (checkout.tools / "uv").unlink()
    lab.shutil = type("shutil", (), {"which": staticmethod(lambda name: None)})
    ((make, packages, itself),) = lab.recipes()
    pip = [str(lab.PYTHON), "-P", "-m", "pip", "install"]
    assert make[1] == [lab.BASE_PYTHON, "-P", "-m", "venv", str(lab.VENV)]
    assert packages[1][:5] == itself[1][:5] == pip
    assert packages[1][-3:] == ["--require-hashes", "-r", str(lab.REQUIREMENTS)]
    assert itself[1][-4:] == ["--no-deps", "--no-build-isolation", "--editable", str(lab.ROOT)]


def test_moved_checkout_makes_the_environment_anew(ready):
    mark = ready.mark()
    ready.root = ready.root.rename(ready.root.with_name("elsewhere"))
    done = ready.run("setup")
    assert done.returncode == 0
    assert "the checkout has moved" in done.stdout
    assert not (ready.root / ".venv" / mark.name).exists()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("other version", "it holds Python 3.1"),
        ("other place", "it was made with the Python in /elsewhere"),
        ("no python", "the Python it was made with is gone"),
        ("python fails", "its Python does not start"),
    ],
)
def test_environment_that_does_not_fit_is_made_anew(ready, damage, says):
    mark = ready.mark()
    (ready.venv / "convlab-setup.json").unlink()  # as in one that was made by hand
    variables = {}
    if damage == "other version":
        variables["VENV_VERSION"] = "3.1"
    elif damage == "other place":
        variables["VENV_BASE"] = "/elsewhere"
    elif damage == "no python":
        (ready.venv / "bin" / "python").unlink()
    else:
        variables["FAIL"] = "version_info"
    done = ready.run("setup", **variables)
    assert done.returncode == 0
    assert says in done.stdout
    assert not mark.exists()


def test_fitting_environment_made_by_hand_is_kept(ready):
    mark = ready.mark()
    (ready.venv / "convlab-setup.json").unlink()
    assert ready.run("setup").returncode == 0
    assert any("--require-hashes" in call for call in ready.calls)
    assert mark.exists()


def test_missing_venv_module_names_the_package(checkout):
    (checkout.tools / "uv").unlink()
    without_venv(checkout)
    done = checkout.run("--no-browser")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "sudo apt install python3-venv" in done.stderr
    assert not checkout.venv.exists()


@pytest.fixture
def load():
    """Return a function that imports a lab.py as a module."""
    from importlib.util import module_from_spec, spec_from_file_location

    def load(path):
        spec = spec_from_file_location("lab_under_test", path)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


# -- commands ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "runs"),
    [
        ([], "-m convlab.cli lab"),
        (["--no-browser"], "-m convlab.cli lab --no-browser"),
        (["start", "--no-browser", "--port", "9000"], "-m convlab.cli lab --no-browser --port 9000"),
        (["start", "02", "--fresh"], "-m convlab.cli start 02 --fresh"),
        (["doctor", "--json"], "-m convlab.cli doctor --json"),
        (["site"], "-m tools.site"),
        (["test", "tests/test_cli.py", "-x"], "-m pytest tests/test_cli.py -x"),
    ],
)
def test_command_runs_in_the_environment_with_its_arguments(ready, typed, runs):
    done = ready.run(*typed, PYTHONPATH="/somewhere/else")
    assert done.returncode == 0
    assert ready.ran() == [runs]
    _, _, cache, import_path = (field.strip() for field in ready.calls[0].split(" |"))
    assert Path(cache).is_relative_to(ready.venv)
    assert import_path == ""


def test_modules_of_the_learner_are_not_imported(ready):
    for name in ("json", "subprocess", "random", "numpy", "convlab"):
        (ready.root / f"{name}.py").write_text("raise SystemExit('a module of the learner')\n")
    done = ready.run("doctor")
    assert (done.returncode, done.stderr, ready.ran()) == (0, "", ["-m convlab.cli doctor"])


def test_exit_code_is_the_commands(ready):
    assert ready.run("doctor", FAIL="doctor").returncode == 7


@pytest.mark.parametrize(
    ("typed", "less"), [(["test"], " -m not browser and not workshop"), (["test", "--all"], "")]
)
def test_test_runs_every_check_in_order(ready, typed, less):
    done = ready.run(*typed)
    assert done.returncode == 0
    assert ready.ran() == [
        "-m ruff check",
        "-m ruff format --check",
        "-m nbstripout --verify --keep-id notebooks/00_first.ipynb",
        "-m pytest -n 3 --no-loadscope-reorder" + less,
    ]
    assert all(call.split(" | ")[1] == str(ready.root) for call in ready.calls)


@pytest.mark.parametrize("check", ["ruff check", "ruff format", "nbstripout", "pytest"])
def test_one_failed_check_fails_the_test_command_after_all_have_run(ready, check):
    done = ready.run("test", FAIL=check)
    assert done.returncode == 1
    assert len(ready.ran()) == 4
    assert done.stdout.splitlines()[-1].startswith("== failed: " + check)


def test_notebook_of_ones_own_is_none_of_the_course(ready):
    (ready.root / "notebooks" / "Untitled.ipynb").write_text("mine")
    ready.run("test")
    assert not any("Untitled" in call for call in ready.ran())
    assert NUMBERED in LAB.read_text()


def test_without_notebooks_nbstripout_is_not_left_waiting(ready):
    (ready.root / "notebooks" / "00_first.ipynb").unlink()
    assert ready.run("test").returncode == 0
    assert not any("nbstripout" in call for call in ready.ran())


@pytest.mark.parametrize("typed", [["nonsense"], ["setup", "now"], ["Start"]])
def test_wrong_command_line_is_answered_before_anything_is_set_up(checkout, typed):
    done = checkout.run(*typed)
    assert done.returncode == 2
    assert typed[-1] in done.stderr
    assert not checkout.venv.exists()


@pytest.mark.parametrize("typed", ["--help", "-h", "help"])
def test_help_names_every_command_and_sets_nothing_up(checkout, load, typed):
    done = checkout.run(typed)
    assert done.returncode == 0
    for command in load(LAB).COMMANDS:
        assert f"\n  {command} " in done.stdout
    assert not checkout.venv.exists()


def test_help_names_every_folder_that_is_written():
    said = ast.get_docstring(ast.parse(LAB.read_text()))
    ignored = (LAB.parent / ".gitignore").read_text().splitlines()
    for folder in (".venv/", "work/", "site/"):
        assert folder in said.partition("Everything is written")[2]
        assert {folder, f"/{folder}", folder.rstrip("/")} & set(ignored)


# -- a Python that is too old ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 15), (3, 10, 13), (3, 14, 0)])
def test_wrong_python_gets_one_clear_line(checkout, version):
    pretend = (
        f"import runpy, sys; sys.version_info = {version}; runpy.run_path('lab.py', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", pretend], cwd=checkout.root, capture_output=True, text=True)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "3.11 to 3.13" in done.stderr
    assert "this is {}.{} ".format(*version) in done.stderr
    assert not checkout.venv.exists()


def test_even_python_2_can_read_the_file():
    source = LAB.read_text()
    assert source.isascii()
    newer = (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.Starred, ast.Match, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        assert not isinstance(node, newer), f"line {node.lineno}: {type(node).__name__}"
        if isinstance(node, ast.FunctionDef):
            annotated = [a.arg for a in node.args.args if a.annotation]
            assert [node.returns, node.args.kwonlyargs, annotated] == [None, [], []]
        if isinstance(node, ast.Raise) and node.cause is not None:
            pytest.fail(f"line {node.lineno}: Python 2 has no `raise ... from`")
