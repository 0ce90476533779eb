"""NVIDIA's driver, asked through its own library: is it here, what does it serve, which GPUs does it show?

This is the one place that opens libcuda. Nothing but the driver is needed: no toolkit, and no Numba.
"""

from __future__ import annotations

import ctypes
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from convlab.support.files import text_if_there
from convlab.support.units import bytes_text

NO_DEVICE = 100  # CUresult's CUDA_ERROR_NO_DEVICE
PCI = Path("/sys/bus/pci/devices")
VERSION = Path("/proc/driver/nvidia/version")
NVIDIA = "0x10de"  # the vendor, on the bus
DISPLAY = "0x03"  # how the class of a graphics device begins there
DEVICE_ORDINAL = 9  # CUpointer_attribute's CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
CAPABILITY = 75, 76  # CUdevice_attribute's CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


@dataclass(frozen=True)
class Driver:
    """What the driver answers.

    Attributes
    ----------
    cuda : tuple of int
        The newest CUDA it serves, e.g. (13, 0).
    error : int
        Its answer to being started (a CUresult); 0 if it starts and shows a GPU.
    reason : str
        That answer in its own words.
    """

    cuda: tuple[int, int]
    error: int = 0
    reason: str = ""


@dataclass(frozen=True)
class GpuFacts:
    """One NVIDIA GPU: its name, the driver, the compute capability ("9.0") and bytes of memory."""

    name: str
    driver: str | None
    capability: str | None
    memory: int | None

    def describe(self) -> str:
        """Return one line for people."""
        details = [
            f"compute capability {self.capability}" if self.capability else None,
            bytes_text(self.memory) if self.memory else None,
            f"driver {self.driver}" if self.driver else None,
        ]
        known = ", ".join(detail for detail in details if detail)
        return f"{self.name} ({known})" if known else self.name


def library() -> ctypes.CDLL | None:
    """Return the driver's library; None where there is no driver."""
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def ask() -> Driver | None:
    """Return what the driver answers, or None if there is none."""
    cuda = library()
    if cuda is None:
        return None
    served, text = ctypes.c_int(), ctypes.c_char_p()
    cuda.cuDriverGetVersion(ctypes.byref(served))
    error, _ = _start(cuda)
    if error:
        cuda.cuGetErrorString(error, ctypes.byref(text))
    major, rest = divmod(served.value, 1000)
    return Driver((major, rest // 10), error, (text.value or b"").decode(errors="replace"))


def find_gpus() -> tuple[GpuFacts, ...]:
    """Return the GPUs that the driver shows; none where there is no driver, or it does not start."""
    cuda = library()
    if cuda is None:
        return ()
    error, count = _start(cuda)
    return () if error else tuple(_facts(cuda, index) for index in range(count))


def version() -> str | None:
    """Return the driver's own version, e.g. "570.86.15", where Linux tells it."""
    found = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", text_if_there(VERSION))
    return found and found[1]


def home_of(pointer: int) -> int | None:
    """Return the number of the device whose memory an address lies in; None if the driver does not say."""
    cuda = library()
    if cuda is None:
        return None
    ordinal = ctypes.c_int()
    refused = cuda.cuPointerGetAttribute(ctypes.byref(ordinal), DEVICE_ORDINAL, ctypes.c_uint64(pointer))
    return None if refused else ordinal.value


def on_the_bus() -> bool:
    """Return whether the machine has an NVIDIA GPU, driver or not, as far as Linux shows its devices."""
    return any(
        text_if_there(device / "vendor").strip() == NVIDIA
        and text_if_there(device / "class").startswith(DISPLAY)
        for device in PCI.glob("*")
    )


def _start(cuda: ctypes.CDLL) -> tuple[int, int]:
    """Start the driver; return its error, 0 if there is none, and how many GPUs it shows."""
    count = ctypes.c_int()
    error = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or (0 if count.value else NO_DEVICE)
    return error, count.value


def _facts(cuda: ctypes.CDLL, index: int) -> GpuFacts:
    device, text, total = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t()
    cuda.cuDeviceGet(ctypes.byref(device), index)
    cuda.cuDeviceGetName(text, len(text), device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    major, minor = numbers = ctypes.c_int(), ctypes.c_int()
    for number, attribute in zip(numbers, CAPABILITY, strict=True):
        cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
    capability = f"{major.value}.{minor.value}" if major.value else None
    return GpuFacts(text.value.decode(errors="replace"), version(), capability, total.value or None)
