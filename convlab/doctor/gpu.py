"""What `convlab doctor` looks for to compile kernels for NVIDIA GPUs, to read their code, and to run them."""

from __future__ import annotations

from convlab.doctor.finding import Finding
from convlab.gpu.availability import PROGRAMS, numba_cuda_fault
from convlab.gpu.diagnose import faults, toolkit
from convlab.gpu.diagnose.faults import Fault
from convlab.machine.facts import Machine, version
from convlab.support.install import install_extra

_COMPILED = "compiles the GPU kernels, and runs them where there is an NVIDIA GPU"
_ONE_VERSION = "one version of all parts of CUDA: each can read what the one before it writes"
_GPU = "runs and times the GPU kernels here; without one they run lane by lane, beside saved measurements"


def gpu_findings(machine: Machine) -> list[Finding]:
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
