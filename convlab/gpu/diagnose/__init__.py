"""Why kernels cannot be compiled or run here, and what helps: `convlab doctor` and errors say the same.

Each function returns a `Trouble`, or None where all is well. They are asked from the ground up: a GPU, its
driver, numba-cuda, the parts of CUDA's toolkit, and whether those fit each other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from convlab.errors import UnsupportedError
from convlab.gpu.assembly import toolkit
from convlab.machine import cuda_driver

# The oldest driver for a CUDA: docs.nvidia.com/deploy/cuda-compatibility, minor version compatibility.
OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}
_INSTALL_DRIVER = f"install NVIDIA's driver, version {OLDEST_DRIVER[13]} or newer"


class Trouble(NamedTuple):
    """What is wrong, in words that may end a longer sentence, and the command that helps, if one does."""

    what: str
    command: str | None = None

    def __str__(self) -> str:
        return f"{self.what}; this helps:  {self.command}" if self.command else self.what


def of_running() -> Trouble | None:
    """Return why no kernel can run on a GPU here."""
    return of_machine() or of_numba_cuda()


def of_assembly() -> Trouble | None:
    """Return why no kernel can be compiled to machine code here; that needs no GPU, and no driver."""
    missing = [name for name in ("libnvvm", "ptxas", "nvdisasm") if not toolkit.find_part(name)]
    absent = [] if find_spec("numba_cuda") else ["numba-cuda"]
    if trouble := of_system():
        return trouble
    if absent or missing:
        return Trouble(f"not installed here: {', '.join([*absent, *missing])}", _install_gpu())
    return of_numba_cuda() or of_versions()


def of_machine() -> Trouble | None:
    """Return what its system, its GPU or its driver lack."""
    return of_system() or of_gpu() or of_old_driver()


def of_system() -> Trouble | None:
    """Return that there is no CUDA for this system at all."""
    return Trouble("there is no CUDA for macOS") if sys.platform == "darwin" else None


def of_gpu() -> Trouble | None:
    """Return why no GPU can be reached: there is none, it has no driver, or that does not start."""
    found = cuda_driver.ask()
    if found is None and cuda_driver.on_the_bus():
        return Trouble(f"this machine has an NVIDIA GPU but no driver for it: {_INSTALL_DRIVER}")
    if found is None:
        return Trouble(
            "no NVIDIA GPU and driver were found: where there is a GPU, "
            f"{_INSTALL_DRIVER} (a container has to be started with --gpus all)"
        )
    if found.error == cuda_driver.NO_DEVICE:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = "nvidia-smi lists what it knows; a container has to be started with --gpus all"
        if hidden is not None:
            why = f"CUDA_VISIBLE_DEVICES={hidden!r} may hide it, unset it"
        return Trouble(f"the NVIDIA driver shows no GPU: {why}")
    if found.error:
        return Trouble(
            f"the NVIDIA driver does not start ({found.reason or 'no reason given'}, error {found.error}): "
            "start the machine anew; if that does not help, install the driver anew"
        )
    return None


def of_old_driver() -> Trouble | None:
    """Return that the driver is too old for what kernels are compiled with, if it is."""
    found, compiler = cuda_driver.ask(), toolkit.part_version("libnvvm")
    if found is None or compiler is None or found.cuda[0] >= compiler[0]:
        return None
    oldest = OLDEST_DRIVER.get(compiler[0], max(OLDEST_DRIVER.values()))
    return Trouble(
        f"the NVIDIA driver is too old: it serves CUDA up to {_dotted(found.cuda)}, and kernels are compiled "
        f"with CUDA {_dotted(compiler)} here; update it to version {oldest} or newer"
    )


def of_numba_cuda() -> Trouble | None:
    """Return why numba-cuda does not start: it is not installed, or the toolkit's libraries are not."""
    if not find_spec("numba_cuda"):
        return Trouble("numba-cuda is not installed", _install_gpu())
    try:
        import_module("convlab.gpu.numba_cuda")
    except UnsupportedError as error:
        return of_import(error.__context__)
    return of_libraries()


def of_libraries() -> Trouble | None:
    """Return which libraries of CUDA's toolkit numba-cuda would not find when it compiles and links."""
    missing = [name for name, ask in LIBRARIES.items() if not _loads(ask, name)]
    if missing:
        return Trouble(f"libraries of CUDA are missing: {', '.join(missing)}", _install_gpu())
    compiler, linker = (toolkit.wheel_version(name) for name in ("nvidia-nvvm", "nvidia-nvjitlink"))
    if compiler and linker and linker < compiler:
        return Trouble(
            f"nvJitLink is of CUDA {_dotted(linker)} and would refuse what the compiler (libnvvm, of CUDA "
            f"{_dotted(compiler)}) writes: all parts must be of one version",
            _install_gpu(),
        )
    return None


def _ask_numba(name: str) -> None:
    from numba.cuda.cudadrv.nvvm import NVVM

    NVVM()


def _ask_pathfinder(name: str) -> None:
    from cuda.pathfinder import load_nvidia_dynamic_lib

    load_nvidia_dynamic_lib(name)


# The compiler, looked for as numba-cuda does; the linker and what else is needed, as NVIDIA's bindings do.
LIBRARIES = {"libnvvm": _ask_numba, "nvJitLink": _ask_pathfinder, "nvrtc": _ask_pathfinder}


def _loads(ask: Callable[[str], None], name: str) -> bool:
    try:
        ask(name)
    except ImportError:  # a numba-cuda of another age, which looks for its libraries elsewhere
        return True
    except Exception:  # each way not to find one has an error of its own
        return False
    return True


def of_import(error: BaseException | None) -> Trouble:
    """Return what it means that Numba's CUDA target could not be imported."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = lines[0].partition(": No such file")[0]
    if find_spec("numba_cuda"):
        return Trouble(f"numba-cuda does not start without the libraries of CUDA ({reason})", _install_gpu())
    return Trouble(f"Numba does not start ({reason})")


def of_versions() -> Trouble | None:
    """Return which part of the toolkit is older than the compiler: it would refuse what that writes."""
    compiler = toolkit.part_version("libnvvm")
    for name in ("ptxas", "nvdisasm"):
        version = toolkit.part_version(name)
        if compiler and version and version < compiler:
            return Trouble(
                f"{name} is of CUDA {_dotted(version)} and would refuse what the compiler (libnvvm, of CUDA "
                f"{_dotted(compiler)}) writes: all parts must be of one version",
                _install_gpu(),
            )
    return None


def _install_gpu() -> str:
    from convlab.doctor import install_extra

    return install_extra("gpu")


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
