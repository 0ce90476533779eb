"""What works here, what is missing, what could be added and what for, and the command that installs it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

from convlab.errors import ConvError
from convlab.machine.facts import Machine, version
from convlab.workspace.notebooks import ROOT, course_notebooks

# What the course shows with a library that it can do without.
ADDS = {
    "scipy": "a second, independent opinion on every result, in the tests",
    "torch": "PyTorch as a rival in the benchmarks, and as another opinion on every result",
}


@dataclass(frozen=True)
class Finding:
    """One thing looked for.

    Attributes
    ----------
    name : str
    required : bool
        Whether the course cannot run without it.
    found : str or None
        Its version or place; None if it is missing.
    adds : str
        What it is for.
    command : str or None
        Installs it; None where it is there, or where no command can.
    """

    name: str
    required: bool
    found: str | None
    adds: str = ""
    command: str | None = None


@dataclass(frozen=True)
class Diagnosis:
    """The machine, what was looked for on it, and what is kept there: its speeds, its kernels."""

    machine: Machine
    findings: tuple[Finding, ...]
    speeds_at: str | None
    kernels: str
    speeds_trouble: str | None = None

    @cached_property
    def can_run(self) -> bool:
        """Whether everything the course requires is there."""
        return all(finding.found for finding in self.findings if finding.required)

    @property
    def speeds(self) -> str:
        """What is known of the speeds by which "auto" chooses, in words."""
        if self.speeds_at is None:
            return "not measured yet; the first convolution does it"
        return f"measured {self.speeds_at}; convlab bench speeds measures them anew"

    def describe(self) -> str:
        """Return the diagnosis as text: the machine, what is here, what is missing, what could be added."""
        lines = [self.machine.describe(), ""]
        here = ", ".join(f"{finding.name} {finding.found}" for finding in self.findings if finding.found)
        lines += [f"here           {here}"]
        lines += [f"speeds         {self.speeds}"]
        lines += [f"               {self.speeds_trouble}"] if self.speeds_trouble else []
        lines += [f"kernels        {self.kernels}"]
        absent = [finding for finding in self.findings if not finding.found]
        for finding in sorted(absent, key=lambda finding: not finding.required):
            kind = "missing" if finding.required else "optional"
            lines += ["", f"{kind:<15}{finding.name}: {finding.adds}"]
            lines += [f"               {finding.command}"] if finding.command else []
        verdict = "The course can run here." if self.can_run else "It needs what is missing: see above."
        return "\n".join([*lines, "", verdict])

    def as_dict(self) -> dict:
        """Return everything as plain values, ready for JSON."""
        return {
            "can_run": self.can_run,
            "machine": self.machine.as_dict(),
            "findings": [asdict(finding) for finding in self.findings],
            "speeds_at": self.speeds_at,
            "speeds_trouble": self.speeds_trouble,
            "kernels": self.kernels,
        }


def examine() -> Diagnosis:
    """Look at everything the course uses; installs and changes nothing."""
    from convlab.auto import speeds
    from convlab.doctor.gpu import gpu_findings

    machine = Machine.here()
    findings = [*map(_requirement, required()), _numba_imports(), _notebooks()]
    findings += [_library(name) for name in ADDS]
    findings += gpu_findings(machine)
    return Diagnosis(machine, tuple(findings), speeds.measured_at(), _kernels(), speeds.trouble())


def required() -> list[str]:
    """Return convlab's own requirements as pip writes them, e.g. "numpy>=2.1"."""
    return _declared()[""]


def install_command(*what: str) -> str:
    """Return the exact command that installs `what` into the Python that runs this."""
    python = _short(Path(sys.executable))
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
    if locked and Path(sys.prefix) == ROOT / ".venv":  # lab.py's own
        return f"python3 {shlex.quote(_short(ROOT / 'lab.py'))} setup --{name}"
    if (ROOT / "pyproject.toml").exists():
        return install_command("-e", f"{_short(ROOT)}[{name}]")
    return install_command(*_declared()[name])


# -- one finding each --------------------------------------------------------------------------------------


def _requirement(line: str) -> Finding:
    requirement = Requirement(line)
    there = version(requirement.name)
    if there and requirement.specifier.contains(there, prereleases=True):
        return Finding(requirement.name, True, there)
    why = f"version {there} is here, {requirement.specifier} is needed" if there else "the course needs it"
    return Finding(requirement.name, True, None, why, install_command(line))


def _numba_imports() -> Finding:
    """Numba refuses NumPy versions it does not know, and only an import shows it."""
    try:
        import numba
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        return Finding("Numba's start", True, None, reason[0], install_command(*required()))
    return Finding("Numba's start", True, f"with {numba.get_num_threads()} threads")


def _kernels() -> str:
    """Return where compiled kernels are kept, and whether that works, in words."""
    try:
        from convlab.cpu import kernel_cache
    except Exception:  # `_numba_imports` says why
        return "none are compiled: Numba does not start"
    return kernel_cache.describe()


def _notebooks() -> Finding:
    try:
        return Finding("notebooks", True, str(len(course_notebooks())))
    except ConvError as error:
        return Finding("notebooks", True, None, str(error))


def _library(name: str) -> Finding:
    there = version(name)
    if there:
        return Finding(name, False, there, ADDS[name])
    extra = next(extra for extra, lines in _declared().items() if any(map(_names(name), lines)))
    return Finding(name, False, None, ADDS[name], install_extra(extra))


# -- what convlab declares ---------------------------------------------------------------------------------


def _declared() -> dict[str, list[str]]:
    """Return the requirements by extra, "" for what is always needed: of the checkout, else as installed."""
    if (ROOT / "pyproject.toml").exists():
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return {"": project["dependencies"], **project["optional-dependencies"]}
    from importlib.metadata import metadata

    installed = metadata("convlab")
    found: dict[str, list[str]] = {"": []} | {name: [] for name in installed.get_all("Provides-Extra") or ()}
    for line in installed.get_all("Requires-Dist") or ():
        marker = Requirement(line).marker
        asked = [extra for extra in found if marker is None or marker.evaluate({"extra": extra})]
        # What is always needed is asked for by every extra as well.
        for extra in [""] if "" in asked else asked:
            found[extra].append(line.partition(";")[0].strip())
    return found


def _names(package: str):
    """Return a test for requirement lines that name `package`."""
    return lambda line: Requirement(line).name == package


def _short(path: Path) -> str:
    """Return the path as one types it in the checkout, if that is the current folder; else in full."""
    if Path.cwd() == ROOT and path.is_relative_to(ROOT):
        return str(path.relative_to(ROOT))
    return str(path)
