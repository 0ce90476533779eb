"""Which NVIDIA GPUs are here? Asked without importing Numba."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

from convlab.machine import cuda_driver
from convlab.machine.system import whole
from convlab.support.units import bytes_text


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU: its name, the driver, the compute capability ("9.0") and bytes of memory."""

    name: str
    driver: str | None
    capability: str | None
    memory: int | None

    def describe(self) -> str:
        """Return one line for people."""
        details = [
            self.capability and f"compute capability {self.capability}",
            self.memory and bytes_text(self.memory),
            self.driver and f"driver {self.driver}",
        ]
        known = ", ".join(filter(None, details))
        return f"{self.name} ({known})" if known else self.name


def find_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs the driver shows; empty where there is no driver or no GPU.

    A container may carry the driver without its tools: then the driver's library is asked.
    """
    found = _ask_tool() if shutil.which("nvidia-smi") else ()
    return found or tuple(Gpu(one.name, None, one.capability, one.memory) for one in cuda_driver.devices())


def _ask_tool() -> tuple[Gpu, ...]:
    query = "name,driver_version,compute_cap,memory.total"
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ()
    return parse_table(answer.stdout) if answer.returncode == 0 else ()


def parse_table(table: str) -> tuple[Gpu, ...]:
    """Return the GPUs in nvidia-smi's answer: name, driver, capability and MiB, a line each."""
    found = []
    for line in table.splitlines():
        fields = [text.strip() for text in line.split(",")]
        if len(fields) == 4:
            name, driver, capability, mebibytes = (None if text.startswith("[") else text for text in fields)
            memory = whole(mebibytes or "")
            found.append(
                Gpu(name or "unnamed GPU", driver, capability, None if memory is None else memory * 2**20)
            )
    return tuple(found)
