"""What can be wrong with the system, the GPU, its driver and CUDA's toolkit, each in one sentence.

Each function returns a `Fault`, or None where all is well. They are asked from the ground up: a GPU, its
driver, the parts of the toolkit, and whether those fit each other.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import NamedTuple

from convlab.gpu.diagnose import toolkit
from convlab.machine import cuda_driver
from convlab.support.install import install_extra

# The oldest driver for a CUDA: docs.nvidia.com/deploy/cuda-compatibility, minor version compatibility.
OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}
_INSTALL_DRIVER = f"install NVIDIA's driver, version {OLDEST_DRIVER[13]} or newer"


class Fault(NamedTuple):
    """What is wrong, in words that may end a longer sentence, and the command that helps, if one does."""

    what: str
    command: str | None = None

    def __str__(self) -> str:
        return f"{self.what}; this helps:  {self.command}" if self.command else self.what


def machine_fault() -> Fault | None:
    """Return what its system, its GPU or its driver lack."""
    return system_fault() or gpu_fault() or driver_fault()


def system_fault() -> Fault | None:
    """Return that there is no CUDA for this system at all."""
    return Fault("there is no CUDA for macOS") if sys.platform == "darwin" else None


def gpu_fault() -> Fault | None:
    """Return why no GPU can be reached: there is none, it has no driver, or that does not start."""
    found = cuda_driver.ask()
    if found is None and cuda_driver.on_the_bus():
        return Fault(f"this machine has an NVIDIA GPU but no driver for it: {_INSTALL_DRIVER}")
    if found is None:
        return Fault(
            "no NVIDIA GPU and driver were found: where there is a GPU, "
            f"{_INSTALL_DRIVER} (a container has to be started with --gpus all)"
        )
    if found.error == cuda_driver.NO_DEVICE:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = "nvidia-smi lists what it knows; a container has to be started with --gpus all"
        if hidden is not None:
            why = f"CUDA_VISIBLE_DEVICES={hidden!r} may hide it, unset it"
        return Fault(f"the NVIDIA driver shows no GPU: {why}")
    if found.error:
        return Fault(
            f"the NVIDIA driver does not start ({found.reason or 'no reason given'}, error {found.error}): "
            "start the machine anew; if that does not help, install the driver anew"
        )
    return None


def driver_fault() -> Fault | None:
    """Return that the driver is too old for what kernels are compiled with, if it is."""
    found, compiler = cuda_driver.ask(), toolkit.part_version("libnvvm")
    if found is None or compiler is None or found.cuda[0] >= compiler[0]:
        return None
    oldest = OLDEST_DRIVER.get(compiler[0], max(OLDEST_DRIVER.values()))
    return Fault(
        f"the NVIDIA driver is too old: it serves CUDA up to {_dotted(found.cuda)}, and kernels are compiled "
        f"with CUDA {_dotted(compiler)} here; update it to version {oldest} or newer"
    )


def import_fault(error: BaseException | None) -> Fault:
    """Return what it means that Numba's CUDA target could not be imported."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = lines[0].partition(": No such file")[0]
    if find_spec("numba_cuda"):
        what = f"numba-cuda does not start without the libraries of CUDA ({reason})"
        return Fault(what, install_extra("gpu"))
    return Fault(f"Numba does not start ({reason})")


def libraries_fault() -> Fault | None:
    """Return which libraries of the toolkit a launch would not find, or that its linker is too old."""
    missing = [name for name in toolkit.LIBRARIES if not toolkit.find_part(name)]
    if missing:
        return Fault(f"libraries of CUDA are missing: {', '.join(missing)}", install_extra("gpu"))
    return versions_fault("nvJitLink")


def versions_fault(*names: str) -> Fault | None:
    """Return which of these parts is older than the compiler: it would refuse what that writes."""
    compiler = toolkit.part_version("libnvvm")
    for name in names:
        version = toolkit.part_version(name)
        if compiler and version and version < compiler:
            return Fault(
                f"{name} is of CUDA {_dotted(version)} and would refuse what the compiler (libnvvm, of CUDA "
                f"{_dotted(compiler)}) writes: all parts must be of one version",
                install_extra("gpu"),
            )
    return None


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
