"""From nothing: the README's commands and the Dockerfile's steps in a bare Debian, as the users they name.

    python -m tools.bare_root FOLDER
    python -m tools.bare_root FOLDER --suite forky --ci

As root, on Linux. FOLDER becomes the root of a Debian that debootstrap makes, or is one that it made. Steps
of the Dockerfile are read from it, and all run in a chroot that sees no process and no file of this machine;
only the network is shared. What is printed are the steps, with their seconds. It takes some minutes, most of
them for downloads, and FOLDER is yours to delete. Each Debian has a Python of its own, 3.13 in trixie and
3.14 in forky: with `--ci` all of convlab's tests run on it, in place of those steps.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
DOCKERFILE = CHECKOUT / ".devcontainer" / "Dockerfile"
SUITE = "trixie"  # as the Dockerfile's first line has it
PLAIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
CERTIFICATES = "/etc/pip-certificates.pem"  # where pip finds them, if this machine names some of its own
# What the README asks for besides a checkout, and who types its commands.
INSTALL = (
    "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
)
BEFORE = f"""{INSTALL} python3 python3-venv > /dev/null
useradd --uid 2000 --create-home learner"""
OPEN_AND_CLOSE = """python3 lab.py --no-browser > ~/lab.log 2>&1 & lab=$!
until grep -q 'token=' ~/lab.log; do kill -0 $lab || { cat ~/lab.log; exit 1; }; sleep 1; done
kill $lab; wait $lab || true"""
README = (OPEN_AND_CLOSE, "python3 lab.py convlab start 02 --no-open", "python3 lab.py doctor")


@dataclass
class Step:
    """A line for a shell, or files to copy, and what holds while it is done."""

    word: str
    line: str
    user: str = "root"
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)


def dockerfile_steps(text: str) -> Iterator[Step]:
    """Yield each RUN and COPY of a Dockerfile, stage after stage: each stage goes on from the one before."""
    text = re.sub(r"(?m)^\s*#.*\n", "", text)
    user, folder, environment = "root", "/", dict(PLAIN)
    for line in filter(None, map(str.strip, re.sub(r"\\\n\s*", "", text).splitlines())):
        word, _, rest = line.partition(" ")
        if word in ("ENV", "ARG"):
            for name, value in (each.split("=", 1) for each in shlex.split(rest)):
                environment[name] = re.sub(r"\$(\w+)", lambda found: environment.get(found[1], ""), value)
        elif word == "USER":
            user = rest
        elif word == "WORKDIR":
            folder = rest
        elif word in ("RUN", "COPY"):
            yield Step(word, rest, user, folder, dict(environment))
        elif word not in ("FROM", "EXPOSE", "CMD"):
            raise ValueError(f"{word}: expected an instruction that this tool knows")


def readme_steps() -> Iterator[Step]:
    """Yield what a learner types who has a checkout and nothing else."""
    home = "/home/learner"
    yield Step("RUN", BEFORE, environment=PLAIN)
    yield Step("COPY", f". {home}/convlab", "learner")
    for line in README:
        yield Step("RUN", line, "learner", f"{home}/convlab", PLAIN | {"HOME": home, "LANG": "C.UTF-8"})


def ci_steps() -> Iterator[Step]:
    """Yield what a machine for tests does with a checkout: git is there, and .ci/run finds nothing else."""
    root = PLAIN | {"HOME": "/root", "LANG": "C.UTF-8"}
    yield Step("RUN", f"{INSTALL} git python3 > /dev/null", environment=PLAIN)
    yield Step("COPY", ". /root/convlab")
    yield Step("RUN", "git init --quiet . && git add .", folder="/root/convlab", environment=root)
    yield Step("RUN", ".ci/run", folder="/root/convlab", environment=root)


def main(arguments: list[str] | None = None) -> int:
    """Make the root, if there is none, and go through all steps; the exit code of the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.bare_root", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--suite", default=SUITE, help=f"the Debian that is made; {SUITE} by default")
    parser.add_argument("--ci", action="store_true", help="run all tests in place of README and Dockerfile")
    given = parser.parse_args(arguments)
    root = given.folder.absolute()
    if sys.platform != "linux" or os.getuid() != 0 or not shutil.which("debootstrap"):
        parser.error("expected Linux, root, and debootstrap")
    if not (root / "etc" / "debian_version").exists():
        make = ["debootstrap", "--variant=minbase", given.suite, str(root)]
        if code := told("debootstrap", subprocess.call, make):
            return code
    shutil.copy("/etc/resolv.conf", root / "etc")
    if certificates := os.environ.get("PIP_CERT"):
        shutil.copy(certificates, root / CERTIFICATES.lstrip("/"))
    usual = (*readme_steps(), *dockerfile_steps(DOCKERFILE.read_text(encoding="utf-8")))
    for step in ci_steps() if given.ci else usual:
        if code := told(f"{step.user}: {step.word} {' '.join(step.line.split())}", done, step, root):
            return code
    return 0


def told(title: str, work: Callable[..., int], *arguments) -> int:
    """Say what is done and how long it took; return its exit code."""
    print(f"{title[:100]} ...", flush=True)
    started = time.monotonic()
    code = work(*arguments)
    print(f"    {time.monotonic() - started:.0f} s{f', exit code {code}' if code else ''}", flush=True)
    return code


def done(step: Step, root: Path) -> int:
    """Do one step; return its exit code."""
    if step.word == "COPY":
        copy(step, root)
        return 0
    environment = dict(step.environment)
    if (root / CERTIFICATES.lstrip("/")).exists():
        environment["PIP_CERT"] = CERTIFICATES
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root / 'proc'}"]
    inside = [
        "chroot",
        f"--userspec={step.user}",
        str(root),
        "/bin/sh",
        "-c",
        f"cd {step.folder} && {step.line}",
    ]
    return subprocess.call([*apart, *inside], env=environment, stdin=subprocess.DEVNULL)


def copy(step: Step, root: Path) -> None:
    """Copy what git keeps of the checkout, or some of it."""
    *sources, to = step.line.split()
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=CHECKOUT, text=True).split("\0")[:-1]
    for source in sources:
        here = CHECKOUT / source
        for file in (CHECKOUT / name for name in names):
            if file.is_file() and (file == here or here in file.parents):
                below = file.name if file == here else file.relative_to(here)
                target = root / to.lstrip("/") / below
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
    if step.user != "root":
        subprocess.check_call(["chroot", str(root), "chown", "--recursive", step.user, to])


if __name__ == "__main__":
    sys.exit(main())
