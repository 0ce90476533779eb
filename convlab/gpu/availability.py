"""Can kernels be launched here, can they be compiled to machine code? And what notebooks say where not."""

from __future__ import annotations

from importlib.util import find_spec

from convlab.errors import UnsupportedError
from convlab.gpu.diagnose import toolkit
from convlab.gpu.diagnose.faults import (
    Fault,
    import_fault,
    libraries_fault,
    machine_fault,
    system_fault,
    versions_fault,
)
from convlab.support.checked import checked
from convlab.support.install import install_extra, is_by_lab_py

PROGRAMS = "ptxas", "nvdisasm"


def launch_fault() -> Fault | None:
    """Return why no kernel can run on a GPU here, or None if one can."""
    return machine_fault() or numba_cuda_fault()


def assembly_fault() -> Fault | None:
    """Return why no kernel can be compiled to machine code here; that needs no GPU, and no driver."""
    if fault := system_fault():
        return fault
    missing = [] if find_spec("numba_cuda") else ["numba-cuda"]
    missing += [name for name in toolkit.PARTS if not toolkit.find_part(name)]
    if missing:
        return Fault(f"not installed here: {', '.join(missing)}", install_extra("gpu"))
    return numba_cuda_fault() or versions_fault(*PROGRAMS)


def numba_cuda_fault() -> Fault | None:
    """Return why numba-cuda does not start: it is not installed, or the toolkit's libraries are not."""
    if not find_spec("numba_cuda"):
        return Fault("numba-cuda is not installed", install_extra("gpu"))
    try:
        import convlab.gpu.numba_cuda  # noqa: F401  (does it start?)
    except UnsupportedError as error:
        return import_fault(error.__context__)
    return libraries_fault()


@checked
def compiler_is_here(what: str) -> bool:
    """Return whether kernels can be compiled to machine code; where not, print what that would show."""
    adds = "python3 lab.py setup --gpu" if is_by_lab_py() else install_extra("gpu")
    return _is_here(f"With the compiler's tools this cell shows {what}.", assembly_fault(), adds)


@checked
def gpu_is_here(what: str) -> bool:
    """Return whether there is a GPU to run on; where not, print what that would show."""
    return _is_here(f"On a machine with an NVIDIA GPU this cell shows {what}.", launch_fault())


def _is_here(what: str, fault: Fault | None, command: str | None = None) -> bool:
    if fault is None:
        return True
    print(what)
    reason = fault.what[:1].upper() + fault.what[1:]
    print(f"{reason}. `{command}` adds what is missing." if command else f"{reason}.")
    return False
