"""What machine is this? The facts every measurement is stored with, read from the system, never guessed.

Reading needs no network and no special rights; what cannot be read is None and shown as "not known".
"""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, field
from importlib import metadata

from convlab.machine import container, memory_limits, system
from convlab.machine.cuda_driver import GpuFacts, find_gpus
from convlab.support.units import bytes_text
from convlab.support.wrapping import PLAIN, columns, wrapped

UNKNOWN = "not known"

# The libraries a result may depend on.
LIBRARIES = (
    *("numpy", "numba", "llvmlite", "matplotlib", "jupyterlab", "ipywidgets", "anywidget", "scipy"),
    *("torch", "onnxruntime", "openvino", "ai-edge-litert", "numba-cuda"),
)


@dataclass(frozen=True)
class Machine:
    """One machine, as far as a measurement cares.

    Attributes
    ----------
    system, processor : str
        Operating system; name of the processor.
    target : str or None
        The processor that Numba compiles for, as LLVM calls it; $NUMBA_CPU_NAME may name another one.
    instruction_set : str or None
        The widest vector instructions of this processor, a key of `system.INSTRUCTION_SETS`.
    l1d, l2, l3 : int or None
        Bytes of the caches one core sees.
    cores, threads : int or None
        Physical cores, and the hardware threads this process may run on.
    cpu_quota : float or None
        Processors' worth of time the container allows; None where it sets no limit.
    memory, memory_available, memory_limit : int or None
        Bytes fitted, free now, and allowed by the container (None where it sets no limit).
    blas : str or None
        The matrix library NumPy calls, and the kernel it chose here.
    python : str
    libraries : dict of str to (str or None)
        Versions; None where one is not installed.
    gpus : tuple of GpuFacts
    """

    system: str
    processor: str | None
    target: str | None
    instruction_set: str | None
    l1d: int | None
    l2: int | None
    l3: int | None
    cores: int | None
    threads: int | None
    cpu_quota: float | None
    memory: int | None
    memory_available: int | None
    memory_limit: int | None
    blas: str | None
    python: str
    libraries: dict[str, str | None] = field(repr=False)
    gpus: tuple[GpuFacts, ...] = ()

    @classmethod
    def here(cls) -> Machine:
        """Read the facts of the machine this runs on."""
        caches = system.caches()
        memory, available = system.memory()
        return cls(
            system=f"{platform.system()} {platform.release()} ({platform.machine()})",
            processor=system.processor(),
            target=system.compiler_target(),
            instruction_set=system.instruction_set(system.processor_features()),
            l1d=caches.get(1),
            l2=caches.get(2),
            l3=caches.get(3),
            cores=system.physical_cores(),
            threads=system.threads(),
            cpu_quota=container.cpu_quota(),
            memory=memory,
            memory_available=available,
            memory_limit=container.memory_limit(),
            blas=system.blas(),
            python=platform.python_version(),
            libraries={name: version(name) for name in LIBRARIES},
            gpus=find_gpus(),
        )

    def facts(self) -> dict[str, str]:
        """Return every fact as (what, text) for people, in the order they are read."""

        def size(count: int | None) -> str:
            return UNKNOWN if count is None else bytes_text(count)

        quota = "" if self.cpu_quota is None else f"; the container allows {self.cpu_quota:g} at a time"
        limit = "" if self.memory_limit is None else f"; the container allows {size(self.memory_limit)}"
        return {
            "processor": self.processor or UNKNOWN,
            "instruction set": f"{self.instruction_set or UNKNOWN} (Numba compiles for: "
            f"{self.target or UNKNOWN})",
            "caches": f"L1d {size(self.l1d)}, L2 {size(self.l2)}, L3 {size(self.l3)}",
            "cores": f"{self.cores or UNKNOWN} physical, {self.threads or UNKNOWN} threads{quota}",
            "memory": f"{size(self.memory)}, {size(self.memory_available)} free{limit}",
            "system": self.system,
            "GPU": ", ".join(gpu.describe() for gpu in self.gpus) or "no NVIDIA GPU found",
            "NumPy's BLAS": self.blas or UNKNOWN,
            "Python": self.python,
        }

    def describe(self) -> str:
        """Return the facts and the versions as text; long ones go on, indented, in the next line."""
        versions = ", ".join(f"{name} {number}" for name, number in self.libraries.items() if number)
        lines = self.facts() | {"libraries": versions}
        width = max(map(len, lines))
        return "\n".join(
            wrapped(text, columns(PLAIN), f"{what:<{width}}  ", " " * (width + 2))
            for what, text in lines.items()
        )

    def as_dict(self) -> dict:
        """Return the facts as plain values, ready for JSON."""
        return asdict(self) | {"gpus": [asdict(gpu) for gpu in self.gpus]}


def cores_at_hand() -> int:
    """Return how many threads can run at once: where a container has a quota, fewer than the machine has."""
    threads, quota = system.threads() or 1, container.cpu_quota()
    return threads if quota is None else max(1, min(threads, int(quota)))


def memory_at_hand() -> int | None:
    """Return the bytes of memory a program can take right now; None if that cannot be known.

    The least of what the machine has free, what the container still allows, and what `ulimit` does.
    """
    amounts = system.memory()[1], container.memory_left(), memory_limits.memory_left()
    return min((amount for amount in amounts if amount is not None), default=None)


def version(package: str) -> str | None:
    """Return the version of an installed package without importing it; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
