"""Which parts of the CUDA toolkit are here? Looked for beside this very Python, without importing Numba.

A toolkit of the system's is left alone: its ptxas may be older than the compiler that Numba brings, and would
refuse what that writes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

# A part of the toolkit, what it is needed for, and what its file is called.
PARTS = {
    "libnvvm": ("compiles kernels to PTX", ("libnvvm.so*", "nvvm64*.dll", "libnvvm*.dylib")),
    "ptxas": ("turns PTX into machine code; counts registers and spills", ("ptxas", "ptxas.exe")),
    "nvdisasm": ("shows the machine code", ("nvdisasm", "nvdisasm.exe")),
}


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


def assembly_trouble() -> str | None:
    """Return why kernels cannot be compiled to machine code here, and the remedy; None if they can."""
    from convlab.doctor import install_extra

    missing = [name for name in PARTS if not find_part(name)]
    if not find_spec("numba_cuda"):
        missing.insert(0, "numba-cuda")
    if not missing:
        return None
    if sys.platform == "darwin":
        return f"{', '.join(missing)} cannot be had for macOS"
    return f"{', '.join(missing)} not found; this installs what is missing:  {install_extra('gpu')}"


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
