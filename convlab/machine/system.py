"""One question to the system each: processor, caches, cores, memory, the BLAS under NumPy.

What the system does not tell is None; nothing is guessed. Linux answers most, macOS and Windows less.
"""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

from convlab.machine import cores
from convlab.support.files import text_if_there

CACHES = Path("/sys/devices/system/cpu")
CPUINFO = Path("/proc/cpuinfo")
MEMINFO = Path("/proc/meminfo")

_LARGEST_CACHE = 2**30  # bytes; a file that tells of a larger one is wrong
_NO_ANSWER = (ImportError, OSError, RuntimeError, ValueError, LookupError)  # psutil, where a file is odd

# Widest first: the first set whose features are all there is the one kernels are written for.
INSTRUCTION_SETS = {
    "AVX-512": {"avx512f"},
    "AVX2 with FMA": {"avx2", "fma"},
    "AVX": {"avx"},
    "SSE2": {"sse2"},
    "NEON": {"neon"},
}


def instruction_set(features: set[str]) -> str | None:
    """Return the widest vector instructions among LLVM's feature names, or None."""
    # On macOS LLVM may name no feature of an Arm processor; every 64-bit one has NEON.
    least = "NEON" if platform.machine().lower() in ("arm64", "aarch64") else None
    return next((name for name, needs in INSTRUCTION_SETS.items() if needs <= features), least)


def compiler_target() -> str | None:
    """Return the processor that Numba compiles for: the one asked for by $NUMBA_CPU_NAME, else this one."""
    return os.environ.get("NUMBA_CPU_NAME") or host_target()


def host_target() -> str | None:
    """Return what LLVM calls this processor, e.g. "znver4"."""
    try:
        from llvmlite import binding
    except (ImportError, OSError):
        return None
    return binding.get_host_cpu_name()


def processor_features() -> set[str]:
    """Return what LLVM calls this processor's instructions, e.g. {"avx2", "fma"}; else what Linux does."""
    try:
        from llvmlite import binding

        return {name for name, there in binding.get_host_cpu_features().items() if there}
    except (ImportError, OSError, RuntimeError):
        words = text_if_there(CPUINFO).replace("asimd", "neon").split()
        return set(words) & set().union(*INSTRUCTION_SETS.values())


def processor() -> str | None:
    """Return the name its maker gave the processor."""
    for line in text_if_there(CPUINFO).splitlines():
        if line.startswith(("model name", "Model")) and ":" in line:
            return " ".join(line.partition(":")[2].split())
    if platform.system() == "Darwin":
        return _ask("sysctl", "-n", "machdep.cpu.brand_string")
    return platform.processor() or None


def caches() -> dict[int, int]:
    """Return the bytes of the data (or shared) cache on each level, as the core we run on sees it."""
    sizes: dict[int, int] = {}
    for folder in sorted(CACHES.glob(f"cpu{min(cores.now(), default=0)}/cache/index*")):
        kind, number, size = (text_if_there(folder / name).strip() for name in ("type", "level", "size"))
        level = whole(number)
        count = (whole(size[:-1]) or 0) * {"K": 2**10, "M": 2**20, "G": 2**30}.get(size[-1:], 1)
        if kind in ("Data", "Unified") and level and 0 < count <= _LARGEST_CACHE:
            sizes[level] = count
    if platform.system() == "Darwin":
        for level, key in enumerate(("hw.perflevel0.l1dcachesize", "hw.perflevel0.l2cachesize"), 1):
            answer = _ask("sysctl", "-n", key) or _ask("sysctl", "-n", key.replace("perflevel0.", ""))
            if answer and 0 < (whole(answer) or 0) <= _LARGEST_CACHE:
                sizes[level] = int(answer)
    return sizes


def memory() -> tuple[int | None, int | None]:
    """Return (fitted, free now) in bytes; what the system can hand back at once counts as free."""
    try:
        import psutil

        memory = psutil.virtual_memory()
        return memory.total, memory.available
    except _NO_ANSWER:
        lines = (line.split() for line in text_if_there(MEMINFO).splitlines())
        table = {words[0]: whole(words[1]) for words in lines if len(words) == 3}
        total, free = (table.get(name) for name in ("MemTotal:", "MemAvailable:"))
        return total and 1024 * total, None if free is None else 1024 * free


def threads() -> int | None:
    """Return how many hardware threads this process may run on."""
    return len(cores.allowed()) or os.cpu_count()


def physical_cores() -> int | None:
    """Return the machine's cores, two hardware threads of one core counted once."""
    try:
        import psutil

        return psutil.cpu_count(logical=False)
    except _NO_ANSWER:
        return None


def blas() -> str | None:
    """Return the BLAS that NumPy calls: library, version, the kernel it chose, its threads."""
    try:
        import numpy  # noqa: F401  (loads the library that is asked about)
        from threadpoolctl import threadpool_info
    except ImportError:
        return None
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    if not pools:
        return None
    pool = next((pool for pool in pools if "numpy" in pool["filepath"]), pools[0])
    kernel = f", {pool['architecture']} kernel" if pool.get("architecture") else ""
    name = " ".join(filter(None, (pool["internal_api"], pool["version"])))
    return f"{name}{kernel}, {pool['num_threads']} threads"


def whole(text: str) -> int | None:
    """Return a whole number that a system's file tells, or None; none of them has more than 20 digits."""
    return int(text) if text.isdecimal() and len(text) <= 20 else None


def _ask(*command: str) -> str | None:
    """Return a small program's answer, or None."""
    try:
        asked = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=2)
        return asked.stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None
