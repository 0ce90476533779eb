"""Which NVIDIA GPUs are here? Asked without importing Numba."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from dataclasses import dataclass

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
    """Return the GPUs the driver shows; empty where there is no driver or no GPU."""
    return (_ask_tool() if shutil.which("nvidia-smi") else ()) or _ask_driver()


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


def _ask_driver() -> tuple[Gpu, ...]:
    """Ask libcuda itself, as in containers that carry the driver without its tools."""
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return ()
    count, device, text, total = (
        ctypes.c_int(),
        ctypes.c_int(),
        ctypes.create_string_buffer(256),
        ctypes.c_size_t(),
    )
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    found = []
    for index in range(count.value):
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetName(text, len(text), device)
        cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)
        major, minor = (_attribute(cuda, number, device) for number in (75, 76))
        capability = f"{major}.{minor}" if major else None
        found.append(Gpu(text.value.decode(errors="replace"), None, capability, total.value or None))
    return tuple(found)


def _attribute(cuda: ctypes.CDLL, number: int, device: ctypes.c_int) -> int:
    """Return a device attribute; 75 and 76 are CUdevice_attribute's compute capability, major and minor."""
    value = ctypes.c_int()
    return 0 if cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device) else value.value
