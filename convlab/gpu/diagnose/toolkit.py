"""Which parts of CUDA's toolkit are here? NVIDIA's own pathfinder looks for them: wheels first, then conda.

It comes with numba-cuda, and so do the parts; where it is missing, nothing is found.
"""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# What each part is for: the compiler, and two programs.
PARTS = {
    "libnvvm": "compiles kernels to PTX",
    "ptxas": "turns PTX into machine code; counts registers and spills",
    "nvdisasm": "shows the machine code",
}
LIBRARIES = {"libnvvm": "nvvm", "nvJitLink": "nvJitLink", "nvrtc": "nvrtc"}  # as pathfinder names them
_WHEELS = {  # of CUDA 13 and of 12
    "libnvvm": ("nvidia-nvvm", "nvidia-cuda-nvcc-cu12"),
    "nvJitLink": ("nvidia-nvjitlink", "nvidia-nvjitlink-cu12"),
}


def find_part(name: str) -> Path | None:
    """Return where a part of the CUDA toolkit lies, or None.

    Parameters
    ----------
    name : str
        One of `PARTS` or of `LIBRARIES`.
    """
    try:
        from cuda import pathfinder
    except ImportError:
        return None
    try:
        if name in LIBRARIES:
            found = pathfinder.load_nvidia_dynamic_lib(LIBRARIES[name]).abs_path
        else:
            found = pathfinder.find_nvidia_binary_utility(name)
    except Exception:  # each way not to find one has an error of its own
        return None
    return Path(found) if found else None


def full_version(name: str) -> str | None:
    """Return the version of a part, e.g. "13.4.92"; None if it is not here, or does not say."""
    place = find_part(name)
    if place is None:
        return None
    return _wheel_version(name) if name in LIBRARIES else tool_version(place)


def part_version(name: str) -> tuple[int, int] | None:
    """Return the CUDA that a part belongs to, e.g. (13, 4); None if it is not here, or does not say."""
    text = full_version(name)
    if text is None:
        return None
    major, minor, *_ = map(int, text.split("."))
    return major, minor


@lru_cache
def tool_version(tool: Path) -> str | None:
    """Return the version that one of the toolkit's programs gives, e.g. "13.0.88"."""
    try:
        answer = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"V(\d+(?:\.\d+)+)", answer.stdout)
    return found and found[1]


def _wheel_version(name: str) -> str | None:
    """Return the version of the wheel that a library came in."""
    for wheel in _WHEELS.get(name, ()):
        with suppress(PackageNotFoundError):
            return version(wheel)
    return None
