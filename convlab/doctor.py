"""What works here, what is missing, what could be added and what for, and the command that installs it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

from packaging.requirements import Requirement

from convlab.errors import ConvError
from convlab.gpu.availability import PROGRAMS, numba_cuda_fault
from convlab.gpu.diagnose import faults, toolkit
from convlab.gpu.diagnose.faults import Fault
from convlab.machine import asked_target
from convlab.machine.facts import Machine, version
from convlab.support.install import declared, install_command, install_extra
from convlab.support.version import VERSION
from convlab.support.wrapping import PLAIN, columns, wrapped
from convlab.workspace import notebooks
from convlab.workspace.folders import usual_folder

# What the course shows with a library that it can do without.
ADDS = {
    "scipy": "a second, independent opinion on every result, in the tests",
    "torch": "PyTorch as a baseline in the benchmarks, and as another opinion on every result",
    "onnxruntime": "ONNX Runtime as a rival in convlab bench cpu, on layers and on whole networks",
    "openvino": "OpenVINO, likewise",
    "ai-edge-litert": "LiteRT, likewise: XNNPACK",
    "dask": "workers for notebook 18: two on this machine, or a cluster that is there",
    "zarr": "pictures and results as Zarr arrays, beside .npy files",
}
_COMPILED = "compiles the GPU kernels, and runs them where there is an NVIDIA GPU"
_INDENT = " " * 15  # before what is said of something
_ONE_VERSION = "one version of all parts of CUDA: each can read what the one before it writes"
_GPU = "runs and times the GPU kernels here; without one they run lane by lane, beside saved measurements"


@dataclass(frozen=True)
class Finding:
    """One thing looked for: whether it is here, what it is for, and what installs it.

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
    """The machine, what was looked for on it, and what is kept there: its speeds, its kernels.

    `course` says which course this is, where it lies, and where the learner's folder is.
    """

    course: str
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
            return f"not measured yet: {_model()}; convlab bench speeds measures this machine"
        return f"measured {self.speeds_at}; convlab bench speeds measures them anew"

    def describe(self) -> str:
        """Return the diagnosis as text: the machine, what is here, what is missing, what could be added."""
        here = ", ".join(f"{finding.name} {finding.found}" for finding in self.findings if finding.found)
        lines = [self.machine.describe(), "", _line("course", self.course), _line("here", here)]
        lines += [_line("speeds", self.speeds)]
        lines += [_line("", self.speeds_trouble)] if self.speeds_trouble else []
        lines += [_line("kernels", self.kernels)]
        absent = [finding for finding in self.findings if not finding.found]
        for finding in sorted(absent, key=lambda finding: not finding.required):
            kind = "missing" if finding.required else "optional"
            lines += ["", _line(kind, f"{finding.name}: {finding.adds}")]
            lines += [f"{_INDENT}{finding.command}"] if finding.command else []  # whole, to be copied
        verdict = "The course can run here." if self.can_run else "It needs what is missing: see above."
        return "\n".join([*lines, "", verdict])

    def as_dict(self) -> dict:
        """Return everything as plain values, ready for JSON."""
        return {
            "can_run": self.can_run,
            "course": self.course,
            "machine": self.machine.as_dict(),
            "findings": [asdict(finding) for finding in self.findings],
            "speeds_at": self.speeds_at,
            "speeds_trouble": self.speeds_trouble,
            "kernels": self.kernels,
        }


def examine() -> Diagnosis:
    """Look at everything the course uses; installs and changes nothing."""
    from convlab.auto import machine_file

    machine = Machine.here()
    findings = [*map(_requirement, required()), _numba_imports(), _notebooks()]
    findings += [_library(name) for name in ADDS]
    findings += _gpu(machine)
    speeds = machine_file.measured_at(), _kernels(), machine_file.trouble()
    return Diagnosis(_course(), machine, tuple(findings), *speeds)


def required() -> list[str]:
    """Return convlab's own requirements as pip writes them, e.g. "numpy>=2.1"."""
    return declared()[""]


def _line(what: str, text: str) -> str:
    """Return what is said of something; where it is long it goes on, indented, in the next line."""
    return wrapped(text, columns(PLAIN), f"{what:<{len(_INDENT)}}", _INDENT)


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
    if wrong := asked_target.asked_wrongly():
        return Finding(
            "Numba's start", True, None, f"{wrong}; without these variables it compiles for this one"
        )
    try:
        import numba
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        return Finding("Numba's start", True, None, reason[0], install_command(*required()))
    return Finding("Numba's start", True, f"with {numba.get_num_threads()} threads")


def _course() -> str:
    """Return which course this is, where it lies, and on which folder it would open."""
    kind = "installed in" if notebooks.from_wheel() else "a checkout,"
    try:
        folder = f"your folder is {usual_folder()}"
    except ConvError as error:
        folder = str(error)
    return f"convlab {VERSION}, {kind} {notebooks.ROOT}; {folder}"


def _model() -> str:
    """Return by whose speeds "auto" chooses while this machine's are not known, in words."""
    from convlab.auto.shipped import shipped_speeds

    try:
        return f'"auto" goes by {shipped_speeds().model}'
    except Exception as error:  # without Numba there is no class; `_numba_imports` says why
        return f'"auto" has no model here ({error})'


def _kernels() -> str:
    """Return where compiled kernels are kept, and whether that works, in words."""
    try:
        from convlab.cpu import kernel_cache
    except Exception:  # `_numba_imports` says why
        return "none are compiled: Numba does not start"
    return kernel_cache.describe()


def _notebooks() -> Finding:
    try:
        return Finding("notebooks", True, str(len(notebooks.course_notebooks())))
    except ConvError as error:
        return Finding("notebooks", True, None, str(error))


def _library(name: str) -> Finding:
    there = version(name)
    if there:
        return Finding(name, False, there, ADDS[name])
    holding = {
        extra: [line for line in lines if Requirement(line).name == name]
        for extra, lines in declared().items()
        if any(Requirement(line).name == name for line in lines)
    }
    smallest = min(holding, key=lambda extra: len(declared()[extra]))  # PyTorch is among the rivals, too
    # In a checkout an extra is installed whole, as it is locked; from a wheel one needs no more than asked.
    command = install_command(*holding[smallest]) if notebooks.from_wheel() else install_extra(smallest)
    return Finding(name, False, None, ADDS[name], command)


# -- what compiles kernels for NVIDIA GPUs, reads their code, and runs them --------------------------------


def _gpu(machine: Machine) -> list[Finding]:
    """Return what was found: numba-cuda, the parts of CUDA's toolkit and whether they fit, driver and GPU."""
    found = [_numba_cuda(), *map(_part, toolkit.PARTS)]
    if all(finding.found for finding in found):
        compiler = toolkit.part_version("libnvvm")
        fits = "of one version" if compiler else "not known"
        found.append(_judged("parts of CUDA", fits, _ONE_VERSION, faults.versions_fault(*PROGRAMS)))
    gpus = ", ".join(gpu.describe() for gpu in machine.gpus) or "without a name"
    found.append(_judged("NVIDIA GPU and driver", gpus, _GPU, faults.machine_fault()))
    return found


def _judged(name: str, found: str, adds: str, wrong: Fault | None) -> Finding:
    """Return a finding whose reason, if it is missing, is the very sentence that errors end with."""
    if wrong is None:
        return Finding(name, False, found, adds)
    return Finding(name, False, None, f"{adds}; {wrong.what}", wrong.command)


def _numba_cuda() -> Finding:
    there = version("numba-cuda")
    if there is None:
        return _absent("numba-cuda", _COMPILED)
    return _judged("numba-cuda", there, _COMPILED, numba_cuda_fault())


def _part(name: str) -> Finding:
    place, what = toolkit.find_part(name), toolkit.PARTS[name]
    if place is None:
        return _absent(name, what)
    return Finding(name, False, " ".join(filter(None, (toolkit.full_version(name), f"({place})"))), what)


def _absent(name: str, adds: str) -> Finding:
    system = faults.system_fault()
    if system:
        return Finding(name, False, None, f"{adds}; {system.what}")
    return Finding(name, False, None, adds, install_extra("gpu"))
