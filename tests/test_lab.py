"""lab.py in a scratch checkout with a stand-in for uv: what it runs, when it sets up anew, what it says."""

import ast
import errno
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from effort import in_turns

LAB = Path(__file__).resolve().parents[1] / "lab.py"
pytestmark = [
    pytest.mark.workshop,  # who runs the tests has been set up
    pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts"),
]

# Both write down how they are called. `uv venv` leaves the stand-in for Python in the new environment, and
# `uv pip install` leaves of each package what an installer writes last; with CUT it is stopped at that one.
UV = """#!/bin/sh
echo "uv $*" >> "$LOG"
[ "$SLOW" = "$1" ] && sleep "${SECONDS_IT_TAKES:-2}"
[ "$BREAK" = "$1" ] && { echo "no such wheel: $1"; exit 1; }
for last; do :; done
[ "$1" = venv ] && mkdir -p "$last/bin" "$SITE" && cp "$STAND_IN" "$last/bin/python"
if [ "$1" = pip ]; then
    cat "$last" >> "$LOG.packages"
    for package in $(sed -n 's/^\\([a-zA-Z0-9._-]*\\)==\\([^ ;]*\\).*/\\1-\\2/p' "$last"); do
        folder="$SITE/$(echo "${package%-*}" | tr - _)-${package##*-}.dist-info"
        mkdir -p "$folder"
        [ "$CUT" = "${package%-*}" ] && { echo "cut off at $package"; exit 1; }
        touch "$folder/INSTALLER"
    done
fi
exit 0
"""
PYTHON = """#!/bin/sh
echo "python $* | $(pwd) | $NUMBA_CACHE_DIR | $PYTHONPATH |$PYTHONDONTWRITEBYTECODE" >> "$LOG"
case "$*" in *version_info*) echo "$VENV_VERSION"; echo "$VENV_BASE";; esac
[ -n "$FAIL" ] && case "$*" in *"$FAIL"*) exit 7;; esac
exit 0
"""
HERE = "{}.{}".format(*sys.version_info)
MANY = 40  # packages of the course: more than one call of an installer takes
LOCKS = {
    "requirements.txt": "".join(f"package-{i}==1.{i} \\\n    --hash=sha256:0\n" for i in range(MANY)),
    "requirements-test.txt": "# 2 packages on Linux x86-64: 7 MB to download, 9 MB on the disk\n"
    "pytest==9.2.0\nscipy==1.18.1 ; python_full_version >= '3.11'\nold==1 ; python_full_version < '3.11'\n",
    "requirements-workshop.txt": "playwright==1.65.2\n",
    "requirements-gpu.txt": "numba-cuda==0.30.4\n",
    "requirements-cluster.txt": "dask==2026.8.0\n",
}


class Checkout:
    """A folder with lab.py and what it reads, and a log of every command lab.py starts."""

    def __init__(self, root: Path):
        self.root, self.tools = root / "convlab", root / "tools"
        self.log, self.venv = root / "log", self.root / ".venv"
        self.site = self.venv / "lib" / f"python{HERE}" / "site-packages"
        (self.root / "notebooks").mkdir(parents=True)
        self.tools.mkdir()
        shutil.copy(LAB, self.root)
        for name, lock in LOCKS.items():
            (self.root / name).write_text(lock)
        (self.root / "notebooks" / "00_first.ipynb").write_text("{}")
        for name, script in (("uv", UV), ("python-stand-in", PYTHON)):
            (self.tools / name).write_text(script)
            (self.tools / name).chmod(0o755)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        """Run lab.py; return what it did. `calls` holds this run's commands, `packages` what they got."""
        self.log.write_text("")
        Path(f"{self.log}.packages").write_text("")
        begun = self.begin(*arguments, **variables)
        stdout, stderr = begun.communicate(timeout=60)
        return subprocess.CompletedProcess(begun.args, begun.returncode, stdout, stderr)

    def begin(self, *arguments: str, **variables: str) -> subprocess.Popen:
        """Start lab.py and do not wait for its end."""
        environment = {
            "PATH": f"{self.tools}:/usr/bin:/bin",
            "LOG": str(self.log),
            "STAND_IN": str(self.tools / "python-stand-in"),
            "SITE": f".venv/lib/python{HERE}/site-packages",
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
            # Who starts the tests in the background may have told them to ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()

    @property
    def packages(self) -> list[str]:
        """The packages that this run asked for, by name."""
        lines = Path(f"{self.log}.packages").read_text().splitlines()
        return sorted(line.partition("==")[0] for line in lines if "==" in line)

    def ran(self) -> list[str]:
        """The arguments of each call of the environment's Python, after -P: not from the current folder."""
        start = "python -P "
        return [c.split(" | ")[0].removeprefix(start) for c in self.calls if c.startswith(start)]

    def mark(self) -> Path:
        """Leave a file in .venv: it is gone when .venv was made anew."""
        mark = self.venv / "mark"
        mark.touch()
        return mark

    def change(self, lock: str, line: str = "another==2.0\n") -> None:
        """Add a line to a lock, as an update of the course does."""
        with (self.root / lock).open("a") as text:
            text.write(line)


COURSE = sorted(f"package-{i}" for i in range(MANY))


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.fixture
def ready(checkout):
    assert checkout.run("setup").returncode == 0
    return checkout


# -- setting up --------------------------------------------------------------------------------------------


def test_setup_makes_the_environment_and_installs_the_course_and_nothing_else(checkout):
    done = checkout.run("setup")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    make, *installs, speeds = checkout.calls
    assert make.startswith("uv venv")
    assert make.endswith(str(checkout.venv))
    assert all(call.startswith("uv pip install --quiet --no-deps --require-hashes") for call in installs)
    assert all(f"--python {checkout.venv / 'bin' / 'python'}" in call for call in installs)
    assert speeds.startswith("python -P -m convlab bench speeds")
    assert checkout.packages == COURSE
    assert (checkout.site / "convlab.pth").read_text() == f"{checkout.root}\n"


def test_setup_says_how_much_beforehand_how_far_it_is_and_the_time_of_each_step(checkout):
    size = "# 40 packages on Linux x86-64: 162 MB to download, 511 MB on the disk\n"
    (checkout.root / "requirements.txt").write_text(size + LOCKS["requirements.txt"])
    first, much, venv, packages, speeds, ready, _ = checkout.run("setup").stdout.splitlines()
    assert "Ctrl-C stops it, and the next start goes on from there" in first
    assert much == "  requirements.txt: 40 packages, 162 MB to download, 511 MB on the disk"
    assert [line.split(".")[0].strip() for line in (venv, packages, speeds)] == [
        f"virtual environment, Python {HERE[0]}",
        "packages of requirements",
        "the speeds of this machine (Ctrl-C skips it)",
    ]
    assert " 40 of 40 " in packages
    assert all(line.endswith(" s ") for line in (venv, packages, speeds))
    assert re.fullmatch(r"  ready after [\d.]+ s", ready)


def test_second_start_sets_nothing_up(ready):
    mark = ready.mark()
    done = ready.run("setup")
    assert (done.returncode, done.stdout, ready.calls) == (0, "", [])
    assert mark.exists()


def test_the_command_convlab_starts_from_anywhere(ready, tmp_path):
    """With the same folders for what is kept as with lab.py."""
    (ready.venv / "bin" / "python").write_text('#!/bin/sh\necho "$@, $CONVLAB_CACHE_DIR"\n')
    command, clean = [ready.venv / "bin" / "convlab", "a b"], {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd="/", env=clean, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"-P -m convlab a b, {ready.venv / 'convlab-cache'}\n", "")


@pytest.mark.parametrize("folder", ["/usr/bin", "bin"])
def test_a_command_says_what_is_typed_next_as_this_shell_finds_it(ready, folder):
    (ready.venv / "bin" / "python").write_text('#!/bin/sh\necho "$CONVLAB_TYPED"\n')
    path = os.pathsep.join([str(ready.venv / folder), "/usr/bin", "/bin"])
    command = [sys.executable, "lab.py", "convlab", "doctor"]
    done = subprocess.run(command, cwd=ready.root, env={"PATH": path}, capture_output=True, text=True)
    assert done.stdout == ("convlab\n" if folder == "bin" else "python3 lab.py convlab\n"), done.stderr


PLAIN_C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_plain_c_locale_finds_the_checkout_under_a_path_with_umlauts(tmp_path):
    """What was set up in one locale is found in another, and Python reads the path wherever it starts."""
    checkout = Checkout(tmp_path / "a b \u00fc")
    assert checkout.run("setup", **PLAIN_C).returncode == 0
    pth = (checkout.site / "convlab.pth").read_bytes()
    found = {"sys": SimpleNamespace(path=[])}
    exec(pth.decode("ascii").removeprefix("import sys; "), found)
    assert found["sys"].path == [str(checkout.root)]
    mark = checkout.mark()
    for locale in (PLAIN_C, {"LC_ALL": "C.UTF-8"}):
        done = checkout.run("setup", **locale)
        assert (done.returncode, done.stdout, checkout.calls) == (0, "", [])
    assert mark.exists()
    # What is started reads paths as UTF-8, whatever the locale says.
    (checkout.venv / "bin" / "python").write_text('#!/bin/sh\necho "UTF-8 mode: $PYTHONUTF8"\n')
    assert checkout.run("doctor", **PLAIN_C).stdout == "UTF-8 mode: 1\n"


def test_an_update_installs_only_what_is_new(ready):
    mark = ready.mark()
    ready.change("requirements.txt")
    assert ready.run("setup").returncode == 0
    assert ready.packages == ["another"]
    assert not any("speeds" in call for call in ready.calls)
    assert mark.exists()
    ready.run("setup")
    assert ready.calls == []


def test_another_version_of_a_package_is_installed(ready):
    lock = ready.root / "requirements.txt"
    lock.write_text(lock.read_text().replace("package-3==1.3 ", "package-3==1.30 "))
    assert ready.run("setup").returncode == 0
    assert ready.packages == ["package-3"]


@in_turns
@pytest.mark.parametrize(
    ("typed", "adds"),
    [
        (["test"], ["pytest", "scipy"]),
        (["test", "tests/test_cli.py"], ["pytest", "scipy"]),
        (["test", "--all"], ["playwright", "pytest", "scipy"]),
        (["test", "tests/browser/test_site.py"], ["playwright", "pytest", "scipy"]),
        (["site"], ["playwright"]),
        (["setup", "--workshop", "--test"], ["playwright", "pytest", "scipy"]),
        (["doctor"], []),
        (["00"], []),
    ],
)
def test_a_command_adds_what_it_needs_once_and_a_start_does_not(ready, typed, adds):
    done = ready.run(*typed)
    assert done.returncode == 0
    assert ready.packages == adds
    if "scipy" in adds:
        assert "requirements-test.txt: 2 packages, 7 MB to download, 9 MB on the disk" in done.stdout
    ready.run(*typed)
    assert ready.packages == []
    for lock in LOCKS:
        if lock != "requirements.txt":
            ready.change(lock)
    ready.run("setup")
    assert ready.calls == []


@pytest.mark.parametrize(("layer", "package"), [("gpu", "numba-cuda"), ("cluster", "dask")])
def test_packages_for_gpus_and_clusters_are_added_once_and_stay(ready, layer, package):
    mark = ready.mark()
    assert ready.run("setup", f"--{layer}").returncode == 0
    assert ready.packages == [package]
    for command in (["setup", f"--{layer}"], ["setup"], ["doctor"]):
        ready.run(*command)
        assert ready.packages == [], command
    ready.change(f"requirements-{layer}.txt")
    assert ready.run("setup").returncode == 0
    assert ready.packages == ["another"]
    assert mark.exists()


def test_interrupted_addition_of_packages_for_gpus_is_carried_on(ready):
    path = f"{ready.tools}:{without_venv(ready)}"
    assert ready.run("setup", "--gpu", BREAK="pip", PATH=path).returncode == 1
    assert ready.run("setup").returncode == 0
    assert ready.packages == ["numba-cuda"]


def test_what_was_added_stays_when_the_environment_is_made_anew(ready):
    ready.run("setup", "--gpu", "--cluster")
    (ready.venv / "bin" / "python").unlink()
    assert ready.run("setup").returncode == 0
    assert ready.packages == ["dask", "numba-cuda", *COURSE]


def test_macos_is_told_that_it_has_no_cuda(ready, load, monkeypatch, capsys):
    lab = load(ready.root / "lab.py")
    monkeypatch.setattr(lab.sys, "platform", "darwin")
    lab.setup("gpu")
    assert "no CUDA for macOS" in capsys.readouterr().out
    assert "gpu" not in lab.read_stamp()["layers"]


@pytest.mark.parametrize("cut", ["package-0", "package-17", "package-39"])
def test_interrupted_set_up_goes_on_where_it_stopped(checkout, cut):
    path = f"{checkout.tools}:{without_venv(checkout)}"
    broken = checkout.run("setup", CUT=cut, PATH=path)
    assert broken.returncode == 1
    assert "cut off at " + cut in broken.stderr
    assert "the same command goes on where this one stopped" in broken.stderr
    mark = checkout.mark()
    whole = [path.parent.name for path in checkout.site.glob("*/INSTALLER")]
    there = {name.partition("-")[0].replace("_", "-") for name in whole}
    assert cut not in there
    done = checkout.run("setup")
    assert done.returncode == 0
    assert mark.exists()
    assert checkout.packages == sorted(set(COURSE) - there)
    assert (f"{len(there)} of its {MANY} packages are here" if there else f"{MANY} packages") in done.stdout


def test_half_made_environment_is_made_anew(checkout):
    broken = checkout.run("setup", BREAK="venv", PATH=f"{checkout.tools}:{without_venv(checkout)}")
    assert broken.returncode == 1
    mark = checkout.mark()
    done = checkout.run("setup")
    assert done.returncode == 0
    assert "it was left half made" in done.stdout
    assert not mark.exists()


def test_ctrl_c_stops_the_installers_and_the_next_start_goes_on(checkout):
    begun = checkout.begin("setup", SLOW="pip", SECONDS_IT_TAKES="10")
    while not checkout.log.exists() or "uv pip" not in checkout.log.read_text():
        time.sleep(0.02)
    begun.send_signal(signal.SIGINT)
    _, said = begun.communicate(timeout=60)
    assert begun.returncode == 130
    assert said == "\nlab.py: stopped; the same command goes on from there next time\n"
    mark = checkout.mark()
    assert checkout.run("setup").returncode == 0
    assert mark.exists()
    assert checkout.packages == COURSE


def test_speeds_that_cannot_be_measured_stop_nobody(checkout):
    done = checkout.run("setup", FAIL="speeds")
    assert (done.returncode, done.stderr) == (0, "")
    assert "(Ctrl-C skips it).... skipped" in done.stdout
    assert checkout.run("setup").stdout == ""


def test_of_two_at_once_one_sets_up_and_the_other_waits(checkout):
    both = [checkout.begin("setup", SLOW="venv") for _ in range(2)]
    said = sorted((one.communicate(timeout=60) for one in both), key=lambda said: "waiting" in said[0])
    assert [one.returncode for one in both] == [0, 0], said
    assert checkout.packages == COURSE
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


def test_the_speeds_are_measured_again_where_what_was_known_is_gone(ready):
    (ready.venv / "bin" / "python").unlink()  # so .venv is made anew
    assert ready.run("setup").returncode == 0
    assert sum("bench speeds" in call for call in ready.calls) == 1


@pytest.mark.parametrize("base", ["C:\\Python\\python.exe", "C:\\Users\\Łukasz\\python.exe"])
def test_the_command_for_windows_is_read_in_any_code_page(checkout, load, monkeypatch, base):
    lab = load(checkout.root / "lab.py")
    bin = checkout.root / ".venv" / "bin"
    bin.mkdir(parents=True)
    monkeypatch.setattr(lab, "WINDOWS", True)
    monkeypatch.setattr(lab, "BASE_PYTHON", base)
    monkeypatch.setattr(lab, "PACKAGES", bin)
    lab.install_convlab()
    text = (bin / "convlab.cmd").read_bytes()
    python = base.encode() if base.isascii() else b"%~dp0python"
    assert text.split() == [b'@"' + python + b'"', b"-P", b'"%~dp0..\\..\\lab.py"', b"convlab", b"%*"]


def test_where_uv_fails_pip_goes_on(checkout, load, monkeypatch, capsys):
    lab = load(checkout.root / "lab.py")
    monkeypatch.setattr(lab, "tools", lambda: [("uv", ["true"], ["false"]), ("pip", ["true"], ["true"])])
    monkeypatch.setattr(lab, "install_convlab", lambda: None)
    monkeypatch.setattr(lab, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(lab, "measure_speeds", lambda: None)
    lab.setup()
    assert lab.missing() == []
    assert "now with pip instead" in capsys.readouterr().err


def test_without_uv_it_is_venv_and_pip_with_the_same_steps(checkout, load):
    lab = load(checkout.root / "lab.py")
    (checkout.tools / "uv").unlink()
    lab.shutil = type("shutil", (), {"which": staticmethod(lambda name: None)})
    ((name, make, install),) = lab.tools()
    assert name == "pip"
    assert make == [lab.BASE_PYTHON, "-P", "-m", "venv", str(lab.VENV)]
    assert install[:4] == [str(lab.PYTHON), "-P", "-m", "pip"]
    assert {"install", "--no-deps", "--require-hashes"} < set(install)
    assert install[-1] == "-r"


def test_moved_checkout_makes_the_environment_anew(ready):
    mark = ready.mark()
    ready.root = ready.root.rename(ready.root.with_name("elsewhere"))
    done = ready.run("setup")
    assert done.returncode == 0
    assert "the checkout has moved" in done.stdout
    assert not (ready.root / ".venv" / mark.name).exists()


@in_turns
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
    assert ready.packages == []  # all of them are there
    assert mark.exists()
    assert ready.run("setup").stdout == ""


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


@in_turns
@pytest.mark.parametrize(
    ("typed", "runs"),
    [
        ([], "-m convlab lab"),
        (["--no-browser"], "-m convlab lab --no-browser"),
        (["start", "--no-browser", "--port", "9000"], "-m convlab lab --no-browser --port 9000"),
        (["start", "02", "--fresh"], "-m convlab start 02 --fresh"),
        (["00"], "-m convlab start 00"),
        (["0", "--fresh"], "-m convlab start 0 --fresh"),
        (["first"], "-m convlab start first"),
        (["notebooks/00_first.ipynb"], "-m convlab start notebooks/00_first.ipynb"),
        (["doctor", "--json"], "-m convlab doctor --json"),
        (["convlab", "run", "02"], "-m convlab run 02"),
        (["site"], "-m tools.site"),
        (["test", "tests/test_cli.py", "-x"], "-m pytest tests/test_cli.py -x"),
    ],
)
def test_command_runs_in_the_environment_with_its_arguments(ready, typed, runs):
    ready.run("setup", "--test", "--workshop")
    done = ready.run(*typed, PYTHONPATH="/somewhere/else", PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0
    assert ready.ran() == [runs]
    _, _, cache, import_path, bytecode = (field.strip() for field in ready.calls[0].split(" |"))
    assert Path(cache).is_relative_to(ready.venv)
    assert import_path == ""
    assert bytecode == ""


def test_modules_of_the_learner_are_not_imported(ready):
    for name in ("json", "subprocess", "random", "numpy", "convlab"):
        (ready.root / f"{name}.py").write_text("raise SystemExit('a module of the learner')\n")
    done = ready.run("doctor")
    assert (done.returncode, done.stderr, ready.ran()) == (0, "", ["-m convlab doctor"])


def test_exit_code_is_the_commands(ready):
    assert ready.run("doctor", FAIL="doctor").returncode == 7


STYLE = ["-m ruff check", "-m ruff format --check"]


@pytest.mark.parametrize(
    ("typed", "runs"),
    [
        (["test"], ["-m pytest -n {} --no-loadscope-reorder -r fE"]),
        (["test", "--all"], [*STYLE, "-m pytest -n {} --no-loadscope-reorder --all"]),
    ],
)
def test_test_runs_every_check_in_order(ready, typed, runs):
    done = ready.run(*typed)
    assert done.returncode == 0
    *before, tests = ready.ran()
    count = re.search(r"-n (\d) ", tests)[1]
    assert 3 <= int(count) <= 6
    assert [*before, tests] == [one.format(count) for one in runs]
    assert all(call.split(" | ")[1] == str(ready.root) for call in ready.calls if "python" in call[:6])


@pytest.mark.parametrize(
    ("cores", "gib", "count"), [(1, 4, 3), (2, 16, 4), (4, 8, 4), (4, 16, 6), (64, 512, 6)]
)
def test_processes_fit_cores_and_memory(monkeypatch, cores, gib, count):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(cores), raising=False)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": gib << 18, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert runpy.run_path(str(LAB))["processes"]() == count


@pytest.mark.parametrize("check", ["ruff check", "ruff format", "pytest"])
def test_one_failed_check_fails_the_test_command_after_all_have_run(ready, check):
    done = ready.run("test", "--all", FAIL=check)
    assert done.returncode == 1
    assert len(ready.ran()) == 3
    assert done.stdout.splitlines()[-1] == "== failed: " + check


@pytest.mark.parametrize("typed", [["nonsense"], ["setup", "now"], ["Start"], ["01"], [""]])
def test_wrong_command_line_is_answered_before_anything_is_set_up(checkout, typed):
    done = checkout.run(*typed)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert typed[-1] in done.stderr
    assert not checkout.venv.exists()


@pytest.mark.parametrize("typed", ["--help", "-h", "help"])
def test_help_names_every_command_and_sets_nothing_up(checkout, load, typed):
    done = checkout.run(typed)
    assert done.returncode == 0
    for command in load(LAB).COMMANDS:
        assert f"\n  {command} " in done.stdout
    assert not checkout.venv.exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full")
@pytest.mark.parametrize("buffered", ["", "1"])
def test_what_cannot_be_printed_is_said_in_a_line(buffered):
    command, options = [sys.executable, str(LAB), "--help"], {"stderr": subprocess.PIPE, "text": True}
    options["env"] = os.environ | {"PYTHONUNBUFFERED": buffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, **options)
    assert (done.returncode, done.stderr) == (1, "lab.py: [Errno 28] No space left on device\n")
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as process:
        process.stdout.close()  # it has read enough
        assert process.stderr.read() == ""


def test_help_names_every_folder_that_is_written():
    said = ast.get_docstring(ast.parse(LAB.read_text()))
    ignored = (LAB.parent / ".gitignore").read_text().splitlines()
    for folder in (".venv/", "work/", "site/"):
        assert folder in said.partition("Everything is written")[2]
        assert {folder, f"/{folder}", folder.rstrip("/")} & set(ignored)


# -- a Python that is too old ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 15), (3, 10, 13), (3, 15, 0)])
def test_wrong_python_gets_one_clear_line(checkout, version):
    pretend = (
        f"import runpy, sys; sys.version_info = {version}; runpy.run_path('lab.py', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", pretend], cwd=checkout.root, capture_output=True, text=True)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "3.11 to 3.14" in done.stderr
    assert "this is {}.{} ".format(*version) in done.stderr
    assert "python3.14 lab.py, or" in done.stderr
    assert done.stderr.endswith("uv run --no-project --python 3.14 lab.py\n")
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
