"""The command that installs what is missing, or opens the course, exactly as it is typed here."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # of the checkout, if this is one


def install_command(*what: str) -> str:
    """Return the exact command that installs `what` into the Python that runs this."""
    python = short_path(Path(sys.executable))
    if find_spec("pip") or not shutil.which("uv"):
        words = [python, "-m", "pip", "install", *what]
    else:
        words = ["uv", "pip", "install", "--python", python, *what]
    if os.name == "nt":
        return subprocess.list2cmdline(words)
    return " ".join(f'"{w}"' if set(w) & set("[]<> ") and "'" not in w else shlex.quote(w) for w in words)


def install_extra(name: str) -> str:
    """Return the command that installs one of convlab's own extras, e.g. "gpu"."""
    locked = (ROOT / f"requirements-{name}.txt").exists()
    if locked and is_by_lab_py():
        return f"python3 {shlex.quote(short_path(ROOT / 'lab.py'))} setup --{name}"
    if (ROOT / "pyproject.toml").exists():
        return install_command("-e", f"{short_path(ROOT)}[{name}]")
    return install_command(*declared()[name])


def course_command(words: str) -> str:
    """Return how a command of the course is typed here, e.g. "start 02": by lab.py, where it set this up."""
    return f"{'python3 lab.py' if is_by_lab_py() else 'convlab'} {words}".rstrip()


def convlab_command(words: str) -> str:
    """Return how a command of `convlab` is typed in this terminal: where lab.py started it, it said how."""
    return f"{os.environ.get('CONVLAB_TYPED', 'convlab')} {words}"


def is_by_lab_py() -> bool:
    """Return whether lab.py set up what this runs in; it did not where conda did, or where a wheel is."""
    return (ROOT / "lab.py").is_file() and Path(sys.prefix) == ROOT / ".venv"


def declared() -> dict[str, list[str]]:
    """Return the requirements by extra, "" for what is always needed: of the checkout, else as installed."""
    if (ROOT / "pyproject.toml").exists():
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return {"": project["dependencies"], **project["optional-dependencies"]}
    from importlib.metadata import metadata

    from packaging.requirements import Requirement

    installed = metadata("convlab")
    found: dict[str, list[str]] = {"": []} | {name: [] for name in installed.get_all("Provides-Extra") or ()}
    for line in installed.get_all("Requires-Dist") or ():
        marker = Requirement(line).marker
        asked = [extra for extra in found if marker is None or marker.evaluate({"extra": extra})]
        # What is always needed is asked for by every extra as well.
        for extra in [""] if "" in asked else asked:
            found[extra].append(line.partition(";")[0].strip())
    return found


def short_path(path: Path) -> str:
    """Return the path as one types it in the checkout, if that is the current folder; else in full."""
    if Path.cwd() == ROOT and path.is_relative_to(ROOT):
        return str(path.relative_to(ROOT))
    return str(path)
