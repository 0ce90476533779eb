"""NVIDIA's driver, asked through its own library: is it here, what does it serve, does it show a GPU?"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path

NO_DEVICE = 100  # CUresult's CUDA_ERROR_NO_DEVICE
PCI = Path("/sys/bus/pci/devices")
NVIDIA = "0x10de"  # the vendor, on the bus
DISPLAY = "0x03"  # how the class of a graphics device begins there
DEVICE_ORDINAL = 9  # CUpointer_attribute's CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


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
    served, count, text = ctypes.c_int(), ctypes.c_int(), ctypes.c_char_p()
    cuda.cuDriverGetVersion(ctypes.byref(served))
    error = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or (0 if count.value else NO_DEVICE)
    if error:
        cuda.cuGetErrorString(error, ctypes.byref(text))
    major, rest = divmod(served.value, 1000)
    return Driver((major, rest // 10), error, (text.value or b"").decode(errors="replace"))


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
    for device in PCI.glob("*"):
        try:
            vendor, kind = ((device / name).read_text().strip() for name in ("vendor", "class"))
        except OSError:
            continue
        if vendor == NVIDIA and kind.startswith(DISPLAY):
            return True
    return False
