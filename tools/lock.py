"""Makes the locks: ``python -m tools.lock``, after a change of pyproject.toml's requirements.

One resolution serves all of them, so that they fit together: requirements.txt is what the course needs, and
each requirements-EXTRA.txt what one extra adds to it. Versions that are locked already stay where they can;
``python -m tools.lock --upgrade`` takes the newest. Needs uv, and the network.

The first line of a lock says how much it is on Linux x86-64 with Python 3.11: the wheels that are downloaded,
and what they hold, as installed in a scratch folder. ``lab.py`` tells it before it begins.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# By extra; each lock but the first adds to the first.
LOCKS = {None: "requirements.txt"} | {
    extra: f"requirements-{extra}.txt" for extra in ("test", "workshop", "gpu", "cluster")
}
PYTHON, WEIGHED = "3.11", "--python-platform=x86_64-manylinux_2_28"


def main(arguments: list[str]) -> None:
    """Write every lock anew."""
    if arguments not in ([], ["--upgrade"]):
        sys.exit("usage: python -m tools.lock [--upgrade]")
    with tempfile.TemporaryDirectory() as scratch:
        everything = Path(scratch, "everything.txt")
        if not arguments:  # uv keeps the versions of a file that is there
            there = (ROOT / name for name in LOCKS.values())
            everything.write_text("".join(path.read_text() for path in there if path.exists()))
        uv(*(f"--extra={extra}" for extra in LOCKS if extra), f"--output-file={everything}")
        course: list[str] = []
        for extra, name in LOCKS.items():
            asked = [f"--extra={extra}" if extra else "", f"--constraints={everything}"]
            asked += [f"--no-emit-package={package}" for package in course]
            text = uv("--generate-hashes", "--annotation-style=line", *asked)
            text = text.partition("\n\n")[0].rstrip() + "\n"  # uv lists what it left out below an empty line
            text = re.sub(r"(?:, )?-c \S*everything\.txt", "", text).replace("# via ,", "# via")
            (ROOT / name).write_text(text)
            first_line = size(uv("--format=pylock.toml", *asked, universal=False), name)
            (ROOT / name).write_text(first_line + text)
            if extra is None:
                course = sorted(set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE)))
            print(name, first_line, end="")


def uv(*arguments: str, universal: bool = True) -> str:
    """Return what `uv pip compile` makes of pyproject.toml: for every platform, or for the one we weigh."""
    where = ["--universal"] if universal else [WEIGHED]
    options = [f"--python-version={PYTHON}", "--no-header", "--quiet", *where, *filter(None, arguments)]
    command = ["uv", "pip", "compile", "pyproject.toml", *options]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def size(lock: str, name: str) -> str:
    """Return a lock's first line: how many packages, how much to download, how much on the disk."""
    wheels = [package["wheels"][0] for package in tomllib.loads(lock)["packages"]]
    download = sum(wheel["size"] for wheel in wheels)
    with tempfile.TemporaryDirectory() as scratch:
        options = [f"--target={scratch}", f"--python-version={PYTHON}", WEIGHED, "--no-deps", "--quiet"]
        subprocess.run(["uv", "pip", "install", *options, f"--requirements={name}"], cwd=ROOT, check=True)
        disk = sum(path.stat().st_size for path in Path(scratch).rglob("*") if path.is_file())
    return (
        f"# {len(wheels)} packages on Linux x86-64: "
        f"{download / 1e6:.0f} MB to download, {disk / 1e6:.0f} MB on the disk\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
