#!/usr/bin/env python3
"""convlab: how does a 2-D convolution actually run?

usage: python3 lab.py [command] [arguments]

  start     set up what is needed (once), then open the course in the browser; the default.
            `start 02` opens that notebook, `start 02 --fresh` a fresh copy of it beside yours
  test      run the checks and the tests of all that a learner uses; `test --all` also drives the course in
            a browser and tries the tools it is built and measured with; with other arguments, only pytest
            with those
  site      build the course as a static site in site/
  doctor    say what this machine has, what is missing, and the command that adds it
  setup     only set up; `setup --gpu` adds, once and for good, what compiles kernels for NVIDIA GPUs
            (for reading their machine code no GPU is needed; not for macOS)

Everything after the command is passed on, and `start` may be left out:

  python3 lab.py --no-browser           start without a browser window, print the address
  python3 lab.py --port 9000            on another port; `python3 lab.py start --help` lists the rest
  python3 lab.py test tests/test_cli.py

Everything is written here, beside lab.py: .venv/ (the packages), work/ (your copies of the notebooks),
site/ (what `site` builds) and hidden caches of the tools that `test` runs. Outside this folder only pip,
uv, Jupyter and Matplotlib keep what they always keep: downloads, settings, a list of fonts. Nothing but
Python itself is needed; uv is used where it is installed, else venv and pip.
"""
# This file must be *read* even by a Python that is far too old, so that it can say so in one line:
# no f-strings, no annotations, no `[a, *b]`, and no newer import before the check below.
# ruff: noqa: E402, UP010, UP031, RUF005

from __future__ import print_function

import sys

OLDEST, NEWEST = (3, 11), (3, 13)


def refusal(version):
    """Return why a Python of this (major, minor) cannot run the course, or None."""
    if OLDEST <= version <= NEWEST:
        return None
    return "convlab needs Python %d.%d to %d.%d; this is %d.%d (%s). Try for example: python%d.%d lab.py" % (
        OLDEST + NEWEST + version + (sys.executable,) + NEWEST
    )


if refusal(sys.version_info[:2]):
    sys.exit(refusal(sys.version_info[:2]))

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the folder of this file: a json.py in it is the learner's own

import contextlib
import errno
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
WINDOWS = os.name == "nt"
BIN = VENV / ("Scripts" if WINDOWS else "bin")
PYTHON = BIN / ("python.exe" if WINDOWS else "python")
STAMP = VENV / "convlab-setup.json"
REQUIREMENTS = ROOT / "requirements.txt"
GPU_REQUIREMENTS = ROOT / "requirements-gpu.txt"
# The Python under any virtual environment: `.venv/bin/python lab.py` must be able to replace .venv.
BASE_PYTHON = getattr(sys, "_base_executable", None) or sys.executable


class SetupError(Exception):
    """Setting up failed; the message is for the learner."""


# -- setting up --------------------------------------------------------------------------------------------


def setup(gpu=False):
    """Make .venv what the requirements and pyproject.toml say; instant when it already is."""
    if gpu and sys.platform == "darwin":
        print("convlab: there is no CUDA for macOS; the course runs without it, lane by lane")
        gpu = False
    if is_ready(gpu):
        return
    with alone():
        if not is_ready(gpu):  # it may be by now: another lab.py did it
            follow_recipes(gpu or has_gpu_packages())


def is_ready(gpu=False):
    """Return whether .venv was set up from these very files."""
    return read_stamp() == fingerprint(gpu or has_gpu_packages()) and PYTHON.exists()


def has_gpu_packages():
    """Return whether the packages for GPUs were once asked for; they stay until .venv is deleted."""
    return bool(read_stamp().get("gpu"))


@contextlib.contextmanager
def alone():
    """Wait until no other lab.py here sets up, and keep the others waiting meanwhile.

    The lock lies on this very file, and the system lifts it when the process ends, however it ends: there
    is no lock file that could be left behind. Where a disk knows no locks, we do without.
    """
    with open(__file__, "rb") as this:
        if not try_lock(this):
            print("convlab: another lab.py is setting up .venv; waiting for it", flush=True)
            while not try_lock(this):
                time.sleep(0.2)
        yield


def try_lock(file):
    """Lock a file; return False if another process has locked it."""
    try:
        if WINDOWS:
            import msvcrt

            file.seek(2**30)  # far behind its end, because there nobody may read what is locked
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


def follow_recipes(gpu):
    """Set up by the first recipe that works."""
    stamp, want = read_stamp(), fingerprint(gpu)
    print("convlab: setting up .venv; this happens once", flush=True)
    started = time.monotonic()
    reason = reason_to_rebuild(stamp) if VENV.exists() else None
    if reason:
        print("  making .venv anew: " + reason)
    failed = None
    for recipe in recipes(gpu):
        if failed:
            print("  %s\n  now with venv and pip instead" % failed, file=sys.stderr)
        if reason or failed:
            remove_venv()
        failed = follow(recipe, want)
        if not failed:
            write_stamp(want)
            print("  ready after %.1f s\n" % (time.monotonic() - started), flush=True)
            return
    raise SetupError(failed)


def fingerprint(gpu=False):
    """Return what a finished .venv is stamped with; any difference means there is something to do."""
    files = [REQUIREMENTS, ROOT / "pyproject.toml"] + [GPU_REQUIREMENTS] * gpu
    packages = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    stamp = {"finished": True, "root": str(ROOT), "python": this_python(), "packages": packages}
    return dict(stamp, gpu=True) if gpu else stamp


def this_python():
    """Return "3.11" and the like: a patch release of Python does not invalidate .venv."""
    return "%d.%d" % sys.version_info[:2]


def read_stamp():
    """Return the stamp in .venv; empty if there is none, as in a .venv that was made by hand."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(stamp):
    """Write the stamp in one step, so that it is never half there."""
    STAMP.parent.mkdir(exist_ok=True)
    draft = STAMP.with_suffix(".part")
    draft.write_text(json.dumps(stamp, indent=1), encoding="utf-8")
    os.replace(draft, STAMP)


def reason_to_rebuild(stamp):
    """Return why the .venv that is there cannot be brought up to date in place, or None."""
    if stamp.get("finished") is False:
        return "an earlier setup did not finish"
    if stamp.get("root", str(ROOT)) != str(ROOT):
        return "the checkout has moved here from " + str(stamp["root"])
    ask = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.base_prefix)"
    try:
        answer = subprocess.run([str(PYTHON), "-c", ask], capture_output=True, text=True, env=environment())
    except OSError:
        return "the Python it was made with is gone"
    found = answer.stdout.splitlines()
    if answer.returncode or len(found) != 2:
        return "its Python does not start"
    if found[0] != this_python():
        return "it holds Python %s, this is %s" % (found[0], this_python())
    if os.path.realpath(found[1]) != os.path.realpath(sys.base_prefix):
        return "it was made with the Python in %s, this one is in %s" % (found[1], sys.base_prefix)
    return None


def remove_venv():
    """Delete .venv, so that nothing half installed stays."""
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(str(VENV))


def recipes(gpu=False):
    """Return the ways to set up, best first; a recipe is a list of (what it does, command)."""
    uv = shutil.which("uv")
    has_venv = all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))
    found = []
    if uv:
        install = [uv, "pip", "install", "--quiet", "--python", str(PYTHON)]
        make = [uv, "venv", "--quiet", "--seed", "--allow-existing", "--python", BASE_PYTHON, str(VENV)]
        found.append(recipe("uv", make, install, gpu))
    if has_venv:
        install = [str(PYTHON), "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        found.append(recipe("pip", [BASE_PYTHON, "-P", "-m", "venv", str(VENV)], install, gpu))
    if not found:
        raise SetupError(
            "this Python (%s) comes without its venv module; on Debian or Ubuntu run"
            "  sudo apt install python3-venv  and start again" % BASE_PYTHON
        )
    return found


def recipe(tool, make, install, gpu):
    """Return the three steps, the same for both tools."""
    packages = ["--require-hashes", "-r", str(REQUIREMENTS)] + ["-r", str(GPU_REQUIREMENTS)] * gpu
    itself = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    return [
        ("virtual environment, Python %s" % this_python(), make),
        (
            "packages of %s, with %s" % ("both requirements" if gpu else REQUIREMENTS.name, tool),
            install + packages,
        ),
        ("convlab itself", install + itself),
    ]


def follow(steps, want):
    """Run the steps, a line and a time for each; return None, or what went wrong."""
    # From here to the final stamp .venv counts as unfinished, so that an interruption is repaired.
    write_stamp(dict(want, finished=False))
    for number, (title, command) in enumerate(steps, 1):
        print("  [%d/%d] %s " % (number, len(steps), title.ljust(44, ".")), end="", flush=True)
        started = time.monotonic()
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=environment(),
        )
        print(("%.1f s" % (time.monotonic() - started)) if done.returncode == 0 else "failed", flush=True)
        if done.returncode:
            print(done.stdout, file=sys.stderr)
            return "could not set up: %s (the reason is above)" % title
    return None


def environment():
    """Return the environment that everything runs in: .venv first, nothing foreign on the import path."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    clean["VIRTUAL_ENV"] = str(VENV)
    clean["PATH"] = str(BIN) + os.pathsep + clean.get("PATH", os.defpath)
    clean["PIP_USER"] = "0"
    # Compiled kernels go where they are deleted together with the packages that compiled them.
    clean.setdefault("NUMBA_CACHE_DIR", str(VENV / "numba-cache"))
    clean.setdefault("CONVLAB_CACHE_DIR", str(VENV / "convlab-cache"))
    return clean


# -- the commands ------------------------------------------------------------------------------------------


def start(arguments):
    """Open the course in JupyterLab, or one notebook of it."""
    command = "start" if arguments and not arguments[0].startswith("-") else "lab"
    return become(["-m", "convlab.cli", command] + arguments)


def doctor(arguments):
    """Say what this machine has."""
    return become(["-m", "convlab.cli", "doctor"] + arguments)


def site(arguments):
    """Build the static site."""
    return become(["-m", "tools.site"] + arguments, cwd=ROOT)


def test(arguments):
    """Run the checks and the tests; every check runs, also after one has failed."""
    everything = arguments == ["--all"]
    if arguments and not everything:
        return become(["-m", "pytest"] + arguments, cwd=ROOT)
    less = [] if everything else ["-m", "not browser and not workshop"]
    notebooks = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("notebooks/[0-9][0-9]_*.ipynb"))
    checks = [
        ("ruff check", ["-m", "ruff", "check"]),
        ("ruff format --check", ["-m", "ruff", "format", "--check"]),
        ("nbstripout --verify", ["-m", "nbstripout", "--verify", "--keep-id"] + notebooks),
        # Three processes for two cores: some wait for a kernel or a browser. Some tests stay together, see
        # tests/conftest.py; the longest come first.
        ("pytest -n 3", ["-m", "pytest", "-n", "3", "--no-loadscope-reorder"] + less),
    ]
    failed = []
    for title, command in checks:
        if "nbstripout" in command and not notebooks:
            continue  # without a file it would wait for one on its standard input
        print("== " + title, flush=True)
        if subprocess.call([str(PYTHON), "-P"] + command, cwd=str(ROOT), env=environment()):
            failed.append(title)
    print("== failed: " + ", ".join(failed) if failed else "== all passed", flush=True)
    return 1 if failed else 0


def become(command, cwd=None):
    """Run .venv's Python with this command in place of this process; return its exit code.

    Nothing is imported from the current folder (-P): a learner's own random.py is not ours.
    """
    command = [str(PYTHON), "-P"] + command
    if WINDOWS:  # os.exec* there returns to the shell at once, while the command still runs
        return subprocess.call(command, cwd=cwd and str(cwd), env=environment())
    if cwd:
        os.chdir(str(cwd))
    os.execve(command[0], command, environment())


COMMANDS = {"start": start, "test": test, "site": site, "doctor": doctor, "setup": None}


def main(arguments):
    """Run one command line; return the exit code."""
    arguments = list(arguments)
    if arguments and arguments[0] in ("-h", "--help", "help"):
        print(__doc__.strip())
        return 0
    command = "start"
    if arguments and not arguments[0].startswith("-"):
        command = arguments.pop(0)
    if command not in COMMANDS:
        print("lab.py: command=%r; expected one of %s" % (command, ", ".join(COMMANDS)), file=sys.stderr)
        return 2
    gpu = command == "setup" and arguments == ["--gpu"]
    if command == "setup" and arguments and not gpu:
        print("lab.py: setup takes only --gpu, got %s" % " ".join(arguments), file=sys.stderr)
        return 2
    try:
        with contextlib.suppress(ValueError):  # a console that cannot print a letter must not stop us
            sys.stdout.reconfigure(errors="replace")
        setup(gpu)
        return COMMANDS[command](arguments) if COMMANDS[command] else 0
    except (SetupError, OSError) as error:
        print("lab.py: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlab.py: stopped; the same command carries on next time", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
