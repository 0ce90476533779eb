"""What the compiler makes of a kernel: PTX, machine code, registers and spills; no GPU or driver is needed.

    built = assemble(kernel, x, w, y, 7)        # arguments as for a launch; only their types matter
    built.registers, built.spill_bytes, built.shared_bytes
    built.main_loop.share("FFMA")               # how much of the main loop multiplies
    built.count("LDG.E.128")                    # loads of four numbers at once
    built.occupancy(256)                        # blocks of 256 threads on one multiprocessor

Numba writes PTX; ptxas turns that into machine code for one kind of GPU, and nvdisasm shows it. At a launch
numba-cuda lets nvJitLink do what ptxas does here; a test holds the two against each other.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from convlab.errors import ConvError, UnsupportedError
from convlab.gpu.assembly.control_flow import loops, main_loop
from convlab.gpu.assembly.sass import Code, parse
from convlab.gpu.availability import assembly_fault
from convlab.gpu.diagnose.driver_errors import too_much_shared
from convlab.gpu.diagnose.toolkit import find_part
from convlab.gpu.occupancy import Occupancy, occupancy
from convlab.support.checked import checked


@dataclass(frozen=True)
class Assembly(Code):
    """A compiled kernel: its instructions, and what it takes of the GPU.

    Attributes
    ----------
    arch : str
        What it was compiled for, e.g. "sm_90".
    registers : int
        Registers of a thread.
    stack_bytes : int
        Local memory of a thread.
    spill_stores, spill_loads : int
        Bytes moved between registers and local memory for want of registers.
    shared_bytes : int
        Static shared memory of a block.
    ptx, sass : str
        What Numba wrote, and nvdisasm's listing.
    """

    arch: str
    registers: int
    stack_bytes: int
    spill_stores: int
    spill_loads: int
    shared_bytes: int
    ptx: str
    sass: str

    @property
    def spill_bytes(self) -> int:
        """All bytes moved for want of registers."""
        return self.spill_stores + self.spill_loads

    @cached_property
    def loops(self) -> tuple[Code, ...]:
        """The loops, in the order they begin."""
        return loops(self)

    @cached_property
    def main_loop(self) -> Code:
        """The loop in which the most multiply-adds are done, with the loops inside it.

        Raises
        ------
        ConvError
            If the kernel has no loop.
        """
        if not self.loops:
            raise ConvError("the kernel has no loop; the compiler may have unrolled those of its source")
        return main_loop(self.loops)

    def occupancy(self, threads: int, dynamic_shared_bytes: int = 0) -> Occupancy:
        """Return how many blocks of `threads` threads one multiprocessor holds at once, and why no more."""
        return occupancy(self.arch, threads, self.registers, self.shared_bytes + dynamic_shared_bytes)


@checked
def assemble(kernel: Any, *arguments: Any, arch: str = "sm_90") -> Assembly:
    """Compile a kernel for one kind of GPU and read the machine code.

    Parameters
    ----------
    kernel : callable
        What ``@cuda.jit`` made, whose options count, or the plain function.
    *arguments
        As for a launch; only their types matter: whole numbers become uint32, arrays are contiguous. A type
        of Numba's may stand for an argument.
    arch : str
        "sm_80", "sm_86", "sm_90", ...

    Raises
    ------
    UnsupportedError
        If numba-cuda, ptxas or nvdisasm is missing; the message has the command that installs them.
    ConvError
        If ptxas refuses the kernel, for example because its tile does not fit into shared memory.
    """
    if fault := assembly_fault():
        raise UnsupportedError(f"kernels cannot be compiled to machine code here: {fault}")
    from convlab.gpu import numba_cuda
    from convlab.gpu.launch_args import as_launched
    from convlab.gpu.simulator.launch_checks import kernel_function, named

    named(kernel_function(kernel), arguments)
    types = [numba_cuda.type_of(as_launched(argument)) for argument in arguments]
    ptx = numba_cuda.ptx_of(kernel, types, _capability(arch))
    most = getattr(kernel, "targetoptions", {}).get("max_registers")
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        limit = [f"-maxrregcount={most}"] if most else []
        report = _run("ptxas", "-v", f"-arch={arch}", *limit, source, "-o", binary)[1]
        sass = _run("nvdisasm", "-c", binary)[0]
    return Assembly(
        operations=parse(sass).operations,
        arch=arch,
        registers=_number(report, r"Used (\d+) registers"),
        stack_bytes=_number(report, r"(\d+) bytes stack frame"),
        spill_stores=_number(report, r"(\d+) bytes spill stores"),
        spill_loads=_number(report, r"(\d+) bytes spill loads"),
        shared_bytes=_number(report, r"(\d+) bytes smem"),
        ptx=ptx,
        sass=sass,
    )


def _capability(arch: str) -> tuple:
    """Return the compute capability: (9, 0) for "sm_90", (9, 0, "a") for "sm_90a"."""
    match = re.fullmatch(r"sm_(\d+)(\d)([af]?)", arch)
    if not match:
        raise ConvError(f"arch={arch!r}; expected the name of a kind of GPU, such as 'sm_80' or 'sm_90'")
    return (int(match[1]), int(match[2]), *match[3])


def _run(tool: str, *arguments: Any) -> tuple[str, str]:
    """Run one of the toolkit's programs; return what it wrote to its output and to its error output."""
    done = subprocess.run([str(find_part(tool)), *arguments], capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line or "fatal" in line]
        if refused := too_much_shared(done.stderr):
            raise refused
        raise ConvError(f"{tool} refuses the kernel: {' '.join(said[:2]) or done.stderr.strip()}")
    return done.stdout, done.stderr


def _number(report: str, pattern: str) -> int:
    match = re.search(pattern, report)
    return int(match[1]) if match else 0
