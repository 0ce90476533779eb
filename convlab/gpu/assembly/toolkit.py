"""Which parts of the CUDA toolkit are here? Looked for beside this very Python, without importing Numba.

A toolkit of the system's is left alone: its ptxas may be older than the compiler that Numba brings, and would
refuse what that writes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

# A part of the toolkit, what it is needed for, and what its file is called.
PARTS = {
    "libnvvm": ("compiles kernels to PTX", ("libnvvm.so*", "nvvm64*.dll", "libnvvm*.dylib")),
    "ptxas": ("turns PTX into machine code; counts registers and spills", ("ptxas", "ptxas.exe")),
    "nvdisasm": ("shows the machine code", ("nvdisasm", "nvdisasm.exe")),
}
_WHEELS = {"libnvvm": ("nvidia-nvvm", "nvidia-cuda-nvcc-cu12")}  # of CUDA 13 and of 12


def find_part(name: str) -> Path | None:
    """Return where a part of the CUDA toolkit lies: in NVIDIA's wheels, else where conda puts it.

    Parameters
    ----------
    name : str
        One of `PARTS`.
    """
    for folder in _folders():
        for pattern in PARTS[name][1]:
            for path in sorted(folder.glob(pattern)):
                return path
    return None


@lru_cache
def tool_version(tool: Path) -> str | None:
    """Return the version that one of the toolkit's programs gives, e.g. "13.0.88"; None for a library."""
    if not os.access(tool, os.X_OK) or ".so" in tool.suffixes:
        return None
    try:
        answer = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"V(\d+(?:\.\d+)+)", answer.stdout)
    return found and found[1]


def full_version(name: str) -> str | None:
    """Return the version of a part, e.g. "13.4.92"; None if it is not here, or does not say."""
    place = find_part(name)
    return place and (tool_version(place) or _wheel_version(name))


def part_version(name: str) -> tuple[int, int] | None:
    """Return the CUDA that a part belongs to, e.g. (13, 4); None if it is not here, or does not say."""
    return _first_two(full_version(name))


@lru_cache
def wheel_version(wheel: str) -> tuple[int, int] | None:
    """Return the CUDA that one of NVIDIA's wheels belongs to; None if it is not installed."""
    with suppress(PackageNotFoundError):
        return _first_two(version(wheel))
    return None


def _first_two(text: str | None) -> tuple[int, int] | None:
    return tuple(map(int, text.split(".")[:2])) if text else None


def _wheel_version(name: str) -> str | None:
    """Return the version of the wheel that a library came in."""
    for wheel in _WHEELS.get(name, ()):
        with suppress(PackageNotFoundError):
            return version(wheel)
    return None


def _folders() -> list[Path]:
    """Return where programs and libraries of the toolkit may lie: wheels of CUDA 13 and 12, then conda's."""
    try:
        spec = find_spec("nvidia")
    except (ImportError, ValueError):
        spec = None
    roots = [Path(root) for root in (spec.submodule_search_locations or ())] if spec else []
    places = [root / name for root in roots for name in ("cu13", "cuda_nvcc", "cuda_nvdisasm", "nvdisasm")]
    places.append(Path(sys.prefix))
    inside = ("bin", "lib", "nvvm/lib64", "nvvm/bin", "bin/x86_64", "Library/bin", "Library/nvvm/bin")
    return [place / folder for place in places for folder in inside]
