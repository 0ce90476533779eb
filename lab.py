#!/usr/bin/env python3
"""convlab: how does a 2-D convolution actually run?

usage: python3 lab.py [command] [arguments]

  start     set up what is needed (once), then open the course in the browser; the default.
            `start 02` opens that notebook, `start 02 --fresh` a fresh copy of it beside yours
  test      run the tests of all that a learner uses; `test --all` runs the long form of each, the checks of
            style, the course in a browser, and the tools it is built and measured with (`--all --turn 2` of
            what is costly a tenth); with other arguments, only pytest with those
  site      build the course as a static site in site/
  doctor    say what this machine has, what could be added, and the command that adds it
  convlab   any other command of the course: `convlab run`, `convlab bench cpu`; `convlab --help` lists them
  setup     only set up; `setup --test` and `setup --workshop` add now what `test`, and what `test --all` and
            `site` need; `setup --gpu` adds, once and for good, what compiles kernels for NVIDIA GPUs (for
            reading their machine code no GPU is needed; not for macOS), `setup --cluster` Dask, which
            computes on several machines

A notebook's number or name is a command, too; and everything after a command is passed on:

  python3 lab.py 02                     the same as `start 02`; so is `python3 lab.py im2col`
  python3 lab.py --no-browser           start without a browser window, print the address
  python3 lab.py --port 9000            on another port; `python3 lab.py start --help` lists the rest
  python3 lab.py test tests/test_cli.py

Everything is written here, beside lab.py: .venv/ (the packages), work/ (your copies of the notebooks),
site/ (what `site` builds) and hidden caches of the tools that `test` runs. Outside this folder only pip,
uv, Jupyter and Matplotlib keep what they always keep: downloads, settings, a list of fonts. Nothing but
Python itself is needed; uv is used where it is installed, else venv and pip.
"""
# This file must be *read* even by a Python that is far too old, so that it can say so in one line:
# no f-strings, no annotations, no `[a, *b]`, no `nonlocal`, and no newer import before the check below.
# ruff: noqa: E402, UP010, UP031, RUF005

from __future__ import print_function

import sys

OLDEST, NEWEST = (3, 11), (3, 14)


def refusal(version):
    """Return why a Python of this (major, minor) cannot run the course, or None."""
    if OLDEST <= version <= NEWEST:
        return None
    return (
        "convlab needs Python %d.%d to %d.%d; this is %d.%d (%s). Try for example: python%d.%d lab.py, or, "
        "where uv is installed, which fetches that Python: uv run --no-project --python %d.%d lab.py"
        % (OLDEST + NEWEST + version + (sys.executable,) + NEWEST + NEWEST)
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
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# In a plain C locale Python has no letters for the umlauts of a path; the bytes of it are UTF-8 all the same.
PLAIN_C = sys.getfilesystemencoding() == "ascii"
ROOT_TEXT = os.fsencode(str(ROOT)).decode("utf-8", "replace") if PLAIN_C else str(ROOT)
VENV = ROOT / ".venv"
WINDOWS = os.name == "nt"
BIN = VENV / ("Scripts" if WINDOWS else "bin")
PYTHON = BIN / ("python.exe" if WINDOWS else "python")
PACKAGES = VENV / ("Lib" if WINDOWS else "lib/python%d.%d" % sys.version_info[:2]) / "site-packages"
STAMP = VENV / "convlab-setup.json"
# The Python under any virtual environment: `.venv/bin/python lab.py` must be able to replace .venv.
BASE_PYTHON = getattr(sys, "_base_executable", None) or sys.executable

# What can be installed, a lock each. `course` always is; the others add to it, when they are asked for.
LAYERS = {
    "course": ROOT / "requirements.txt",
    "test": ROOT / "requirements-test.txt",
    "workshop": ROOT / "requirements-workshop.txt",
    "gpu": ROOT / "requirements-gpu.txt",
    "cluster": ROOT / "requirements-cluster.txt",
}
MOST_PROCESSES, PROCESS_BYTES = 6, 2 << 30  # of the tests; most come to 1 to 1.5 GB, one to 5 for a moment
ADDED = {"gpu", "cluster"}  # stay once they were asked for, and are kept up to date, until .venv is deleted
BATCH, AT_ONCE = 12, 3  # packages that one call of the installer takes; calls that run side by side


class SetupError(Exception):
    """Setting up failed; the message is for the learner."""


# -- setting up: what there is to do -------------------------------------------------------------------------


def setup(layers=()):
    """Make .venv hold the course and these layers, as locked; instant when it already does."""
    if "gpu" in layers and sys.platform == "darwin":
        print("convlab: there is no CUDA for macOS; the course runs without it, lane by lane")
        layers = [layer for layer in layers if layer != "gpu"]
    if not missing(layers):
        return
    with alone():
        if missing(layers):  # there may be nothing to do by now: another lab.py did it
            bring_up_to_date(missing(layers))


def missing(asked=()):
    """Return the layers that .venv lacks, or holds of other files than these."""
    stamp = read_stamp()
    fits = PYTHON.exists() and stamp.get("made") and all(stamp.get(k) == v for k, v in identity().items())
    held = stamp.get("layers", {})
    wanted = {"course"} | set(asked) | (ADDED & set(held))
    return [name for name in LAYERS if name in wanted and not (fits and held.get(name) == digest(name))]


def identity():
    """Return what .venv is bound to: this folder, and a Python such as 3.11 (its patch releases may come)."""
    return {"root": ROOT_TEXT, "python": this_python()}


def this_python():
    """Return "3.11" and the like."""
    return "%d.%d" % sys.version_info[:2]


def digest(layer):
    """Return a digest of what a layer locks."""
    return hashlib.sha256(LAYERS[layer].read_bytes()).hexdigest()


def read_stamp():
    """Return what .venv is stamped with; empty if there is no stamp, as in a .venv that was made by hand."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) and isinstance(stamp.get("layers", {}), dict) else {}


def write_stamp(made, layers):
    """Write the stamp in one step, so that it is never half there.

    `made` says whether .venv itself is whole; `layers` holds the digest of each that is installed, None for
    one that is not wholly there.
    """
    STAMP.parent.mkdir(exist_ok=True)
    draft = STAMP.with_suffix(".part")
    draft.write_text(json.dumps(dict(identity(), made=made, layers=layers), indent=1), encoding="utf-8")
    os.replace(str(draft), str(STAMP))


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


# -- setting up: the virtual environment ---------------------------------------------------------------------


def bring_up_to_date(layers):
    """Make .venv if need be, and install what these layers lock; what is there already stays."""
    started, stamp = time.monotonic(), read_stamp()
    held = stamp.get("layers", {})
    reason = reason_to_rebuild(stamp) if VENV.exists() else None
    if reason:
        print("convlab: making .venv anew: " + reason)
        remove_venv()
        layers = missing(layers + sorted(ADDED & set(held)))
    print("convlab: setting up .venv; Ctrl-C stops it, and the next start goes on from there")
    announce(layers)
    failed = None
    for name, make, install in tools():
        if failed:
            print("  %s\n  now with %s instead" % (failed, name), file=sys.stderr)
        failed = make_venv(make) or install_layers(name, install, layers)
        if not failed:
            break
    else:
        raise SetupError(failed + "; the same command goes on where this one stopped")
    if reason or held.get("course") is None:  # what was measured lay in the .venv that is gone
        measure_speeds()
    print("  ready after %.1f s\n" % (time.monotonic() - started), flush=True)


def reason_to_rebuild(stamp):
    """Return why the .venv that is there cannot be brought up to date in place, or None."""
    if stamp.get("made") is False:
        return "it was left half made"
    if stamp.get("root", ROOT_TEXT) != ROOT_TEXT:
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
    """Delete .venv, so that nothing half made stays."""
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(str(VENV))


def tools():
    """Return the tools that can set up, best first: (name, how it makes .venv, how it installs a file)."""
    uv = shutil.which("uv")
    has_venv = all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))
    # Without their dependencies: the locks name all of them. Python compiles what it imports by itself.
    install = ["install", "--quiet", "--no-deps", "--require-hashes"]
    found = []
    if uv:
        make = [uv, "venv", "--quiet", "--seed", "--allow-existing", "--python", BASE_PYTHON, str(VENV)]
        found.append(("uv", make, [uv, "pip"] + install + ["--python", str(PYTHON), "-r"]))
    if has_venv:
        pip = [str(PYTHON), "-P", "-m", "pip", "--disable-pip-version-check"]
        make = [BASE_PYTHON, "-P", "-m", "venv", str(VENV)]
        found.append(("pip", make, pip + install + ["--no-compile", "-r"]))
    if not found:
        raise SetupError(
            "this Python (%s) comes without its venv module; on Debian or Ubuntu run"
            "  sudo apt install python3-venv  and start again" % BASE_PYTHON
        )
    return found


def make_venv(command):
    """Make .venv where there is none; return None, or what went wrong."""
    if VENV.exists() and read_stamp().get("made", PYTHON.exists()):
        return None
    with step("virtual environment, Python " + this_python()) as end:
        remove_venv()
        write_stamp(made=False, layers={})  # until it is whole: an interruption is noticed
        wrong = run(command)
        if wrong is None:
            write_stamp(made=True, layers={})
        return end(wrong)


# -- setting up: the packages --------------------------------------------------------------------------------


def announce(layers):
    """Say how many packages there are to install, and how much that is, before anything is done."""
    for layer in layers:
        packages = locked(layer)
        here = len(set(packages) & installed())
        much = re.match("# .*: (.*)", LAYERS[layer].read_text(encoding="utf-8"))
        if here:
            text = "%d of its %d packages are here" % (here, len(packages))
        else:
            text = "%d packages%s" % (len(packages), ", " + much.group(1) if much else "")
        print("  %s: %s" % (LAYERS[layer].name, text), flush=True)


def install_layers(tool, command, layers):
    """Install what of these layers is not there yet, and convlab itself; return None, or what went wrong."""
    sweep()
    held = dict(read_stamp().get("layers", {}), **dict.fromkeys(layers))
    write_stamp(made=True, layers=held)
    for layer in layers:
        title = "packages of %s, with %s" % (LAYERS[layer].name, tool)
        with step(title) as end:
            if end(install_packages(command, locked(layer), title)):
                return "could not install all packages of %s (the reason is above)" % LAYERS[layer].name
        held[layer] = digest(layer)
    install_convlab()
    write_stamp(made=True, layers=held)
    return None


def locked(layer):
    """Return the packages that a layer installs here: {(name, version): its lines in the lock}."""
    blocks = re.split("(?m)^(?=[A-Za-z0-9])", LAYERS[layer].read_text(encoding="utf-8"))[1:]
    found = {}
    for block in blocks:
        name, version, marker = re.match(r"([\w.-]+)==([^\s;]+)(?: ; ([^\\\n]*))?", block).groups()
        if marker is None or holds(marker):
            found[plain(name), version] = block
    return found


def holds(marker):
    """Return whether an environment marker of a lock is true here, as pip will find."""
    import platform

    def sortable(version):  # as text "3.9" would come after "3.11"
        return ".".join(part.zfill(4) for part in (re.findall("[0-9]+", version) + ["0", "0"])[:3])

    facts = {
        "implementation_name": sys.implementation.name,
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "python_full_version": sortable(platform.python_version()),
        "python_version": sortable(this_python()),
        "sys_platform": sys.platform,
    }
    marker = re.sub(r"python_full_version == '([0-9]+[.][0-9]+)[.][*]'", r"python_version == '\1'", marker)
    marker = re.sub("'([0-9][0-9.]*)'", lambda found: repr(sortable(found.group(1))), marker)
    return eval(marker, {"__builtins__": {}}, facts)  # the locks are this project's own


def plain(name):
    """Return a package's name as all its spellings have it in common."""
    return re.sub("[-_.]+", "-", name).lower()


def installed():
    """Return the packages that are wholly there, as (name, version).

    An installer writes INSTALLER after all files of a package; one that was stopped leaves none.
    """
    names = [path.parent.name[: -len(".dist-info")] for path in PACKAGES.glob("*.dist-info/INSTALLER")]
    return {(plain(name), version) for name, _, version in (each.partition("-") for each in names)}


def sweep():
    """Forget packages that were left half installed, so that they are installed again."""
    for folder in PACKAGES.glob("*.dist-info"):
        if not (folder / "INSTALLER").exists():
            shutil.rmtree(str(folder))


def install_packages(command, packages, title):
    """Install what is missing of these, a few calls side by side; return None, or what went wrong."""
    todo, wrong, shown, running = sorted(set(packages) - installed()), None, None, {}
    batches = [todo[at : at + BATCH] for at in range(0, len(todo), BATCH)]
    with tempfile.TemporaryDirectory(prefix="convlab-") as scratch:
        try:
            while running or (batches and wrong is None):
                while batches and wrong is None and len(running) < AT_ONCE:
                    batch = batches.pop(0)
                    lines, log = (Path(scratch, "%d.%s" % (len(batches), end)) for end in ("txt", "log"))
                    lines.write_text("".join(packages[each] for each in batch), encoding="utf-8")
                    with log.open("w") as out:
                        running[begin(command + [str(lines)], out)] = log
                for call in [call for call in running if call.poll() is not None]:
                    said = running.pop(call).read_text(encoding="utf-8", errors="replace")
                    if call.returncode:
                        wrong = said or "exit code %d" % call.returncode
                done = len(packages) - len(set(todo) - installed())
                often = 1 if sys.stdout.isatty() else len(packages) / 8.0
                if shown is None or done >= shown + often or shown < done == len(packages):
                    show(title, "%d of %d" % (done, len(packages)))
                    shown = done
                time.sleep(0.1)
        finally:  # Ctrl-C, too
            for call in running:
                call.kill()
                call.wait()
    return wrong


def install_convlab():
    """Put this checkout on .venv's import path, and the command `convlab` beside its Python."""
    # Python reads it in the encoding of the moment: an umlaut is an escape there, in a line that is run.
    line = ROOT_TEXT if ROOT_TEXT.isascii() else "import sys; sys.path.append(%a)" % ROOT_TEXT
    (PACKAGES / "convlab.pth").write_text(line + "\n")
    # By way of lab.py, so that kernels and speeds are kept in one place, however convlab is started.
    if WINDOWS:
        # cmd.exe reads it in a code page that nobody knows: what is no ASCII is found from where this lies.
        python = BASE_PYTHON if BASE_PYTHON.isascii() else "%~dp0" + PYTHON.name
        (BIN / "convlab.cmd").write_text('@"%s" -P "%%~dp0..\\..\\lab.py" convlab %%*\n' % python, "ascii")
    else:
        start = " ".join(map(shlex.quote, [BASE_PYTHON, "-P", str(ROOT / "lab.py"), "convlab"]))
        (BIN / "convlab").write_text('#!/bin/sh\nexec %s "$@"\n' % start, errors="surrogateescape")
        (BIN / "convlab").chmod(0o755)


def measure_speeds():
    """Let convlab measure this machine once, for `algorithm="auto"`; not needed, so nothing here is fatal."""
    with step("the speeds of this machine (Ctrl-C skips it)") as end:
        command = [str(PYTHON), "-P", "-m", "convlab", "bench", "speeds", "--if-unknown"]
        try:
            end(run(command), "skipped")
        except KeyboardInterrupt:
            end("interrupted", "skipped")


# -- setting up: a line for each step ------------------------------------------------------------------------


@contextlib.contextmanager
def step(title):
    """Print a line for a step, with the time it took; `end(wrong)` says how it ended, and returns that."""
    started = time.monotonic()
    show(title)

    def end(wrong, word="failed"):
        show(title, "%.1f s" % (time.monotonic() - started) if wrong is None else word, last=True)
        if wrong and word == "failed":
            print(wrong, file=sys.stderr)
        return wrong

    yield end


def show(title, state="", last=False):
    """Write a step's line, over itself on a terminal; elsewhere its title first, then what is new."""
    line = "  %s " % title.ljust(48, ".")
    if sys.stdout.isatty():
        line = "\r" + line + state.ljust(12)
    elif state:
        line = state + " "
    print(line, end="\n" if last else "", flush=True)


def run(command):
    """Run a command; return None, or what it said if it failed."""
    with tempfile.TemporaryFile() as out:
        call = begin(command, out)
        try:
            if call.wait() == 0:
                return None
        finally:
            call.kill()
            call.wait()
        out.seek(0)
        return out.read().decode("utf-8", "replace") or "exit code %d" % call.returncode


def begin(command, out):
    """Start a command that reads nothing and writes to a file."""
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment()
    )


def environment():
    """Return the environment that everything runs in: .venv first, nothing foreign on the import path."""
    # Packages are installed uncompiled: without __pycache__ every start would compile them anew.
    foreign = ("PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    clean = {name: value for name, value in os.environ.items() if name not in foreign}
    clean["VIRTUAL_ENV"] = str(VENV)
    clean["PATH"] = str(BIN) + os.pathsep + clean.get("PATH", os.defpath)
    clean["PIP_USER"] = "0"
    if PLAIN_C:  # pip and venv would fail at an umlaut in a path
        clean["PYTHONUTF8"] = "1"
    # Compiled kernels go where they are deleted together with the packages that compiled them.
    clean.setdefault("NUMBA_CACHE_DIR", str(VENV / "numba-cache"))
    clean.setdefault("CONVLAB_CACHE_DIR", str(VENV / "convlab-cache"))
    return clean


# -- the commands ------------------------------------------------------------------------------------------


def start(arguments):
    """Open the course in JupyterLab, or one notebook of it."""
    command = "start" if arguments and not arguments[0].startswith("-") else "lab"
    return become(["-m", "convlab", command] + arguments)


def doctor(arguments):
    """Say what this machine has."""
    return become(["-m", "convlab", "doctor"] + arguments)


def site(arguments):
    """Build the static site."""
    return become(["-m", "tools.site"] + arguments, cwd=ROOT)


def test(arguments):
    """Run the tests; with --all also the checks of style, and every check runs, also after one has failed."""
    if arguments and arguments[0] != "--all":
        return become(["-m", "pytest"] + arguments, cwd=ROOT)
    style = [("ruff check", ["-m", "ruff", "check"]), ("ruff format", ["-m", "ruff", "format", "--check"])]
    # More processes than cores: some wait for a kernel or a browser. Some tests stay together, see
    # tests/conftest.py; the longest come first.
    count = str(processes())
    # A learner need not read what was skipped and why.
    said = arguments or ["-r", "fE"]
    tests = [("pytest", ["-m", "pytest", "-n", count, "--no-loadscope-reorder"] + said)]
    failed = []
    for title, command in (style if arguments else []) + tests:
        print("== " + title, flush=True)
        if subprocess.call([str(PYTHON), "-P"] + command, cwd=str(ROOT), env=environment()):
            failed.append(title)
    print("== failed: " + ", ".join(failed) if failed else "== all passed", flush=True)
    return 1 if failed else 0


def processes():
    """Return in how many processes tests run: two more than cores, as far as there is memory for them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows, for one, does not say
        memory = 8 << 30
    return max(3, min(cores + 2, MOST_PROCESSES, memory // PROCESS_BYTES))


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


def convlab(arguments):
    """Run any command of convlab's own, and tell it how the next one is typed in this shell."""
    by_name = os.path.dirname(shutil.which("convlab") or "") == str(BIN)
    os.environ["CONVLAB_TYPED"] = "convlab" if by_name else "python3 %s convlab" % shlex.quote(sys.argv[0])
    return become(["-m", "convlab"] + arguments)


COMMANDS = {
    "start": start,
    "test": test,
    "site": site,
    "doctor": doctor,
    "convlab": convlab,
    "setup": lambda arguments: 0,
}


def layers_for(command, arguments):
    """Return what a command needs beside the course itself; None where setup is not asked rightly."""
    if command == "setup":
        options = {"--" + layer: layer for layer in LAYERS if layer != "course"}
        return [options[each] for each in arguments] if set(arguments) <= set(options) else None
    if command == "test":
        drives = any(each == "--all" or "browser" in each for each in arguments)  # a browser, or its like
        return ["test", "workshop"] if drives else ["test"]
    return ["workshop"] if command == "site" else []


def is_notebook(word):
    """Return whether a word is the number of a notebook, its name, or a part of that."""
    name = re.sub("[.]ipynb$", "", Path(word).name)
    stems = [path.stem for path in ROOT.glob("notebooks/[0-9][0-9]_*.ipynb")]
    return bool(name) and any(name.zfill(2) == stem[:2] or name in stem for stem in stems)


def main(arguments):
    """Run one command line and say what stopped it; return the exit code."""
    try:
        with contextlib.suppress(AttributeError, ValueError):  # no console, or one that cannot print a letter
            sys.stdout.reconfigure(errors="replace")
        try:
            return obey(list(arguments))
        finally:
            if sys.stdout:
                sys.stdout.flush()  # what cannot be written is said now, and not by Python when it ends
    except (SetupError, OSError) as error:
        if sys.stdout and getattr(error, "errno", None) in (errno.EPIPE, errno.ENOSPC):
            with open(os.devnull, "w") as nowhere:  # for the rest of what was to be printed
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # who reads along, as `head` does, may have enough
            print("lab.py: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlab.py: stopped; the same command goes on from there next time", file=sys.stderr)
        return 130


def obey(arguments):
    """Run one command line; return the exit code."""
    if arguments and arguments[0] in ("-h", "--help", "help"):
        print(__doc__.strip())
        return 0
    command = "start"
    if (
        arguments
        and not arguments[0].startswith("-")
        and (arguments[0] in COMMANDS or not is_notebook(arguments[0]))
    ):
        command = arguments.pop(0)
    if command not in COMMANDS:
        expected = "a notebook, such as 02 or im2col, or one of " + ", ".join(COMMANDS)
        print("lab.py: command=%r; expected %s" % (command, expected), file=sys.stderr)
        return 2
    layers = layers_for(command, arguments)
    if layers is None:
        given = " ".join(arguments)
        print("lab.py: setup takes --test, --workshop, --gpu and --cluster, got %s" % given, file=sys.stderr)
        return 2
    setup(layers)
    return COMMANDS[command](arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
