"""What a GPU says about itself: what every measurement on it is stored with."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec

from convlab.machine.cuda_driver import find_gpus
from convlab.machine.facts import version

# Numba's names of what the driver tells, and ours.
_ATTRIBUTES = {
    "MULTIPROCESSOR_COUNT": "multiprocessors",
    "CLOCK_RATE": "clock_khz",
    "MEMORY_CLOCK_RATE": "memory_clock_khz",
    "GLOBAL_MEMORY_BUS_WIDTH": "memory_bus_bits",
    "L2_CACHE_SIZE": "l2_bytes",
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": "shared_bytes",
}
_NOW = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "temperature.gpu", "power.draw")


def gpu_facts() -> dict:
    """Return the current GPU's name, compute capability, sizes and clocks, and the versions that matter.

    What the driver does not tell is None.
    """
    from convlab.gpu.numba_cuda import cuda

    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    driver = next((gpu.driver for gpu in find_gpus() if gpu.name == name), None)
    return {
        "name": name,
        "capability": ".".join(map(str, device.compute_capability)),
        "driver": driver,
        "memory": int(cuda.current_context().get_memory_info()[1]),
        **{ours: getattr(device, theirs, None) for theirs, ours in _ATTRIBUTES.items()},
        "libraries": {
            package: version(package) for package in ("numba", "numba-cuda", "torch", "cupy-cuda13x")
        },
        "cudnn": _cudnn(),
        "now": clocks(),
    }


def clocks() -> dict[str, str]:
    """Return what nvidia-smi tells of clocks, temperature and power now; empty where it is not there."""
    command = ["nvidia-smi", f"--query-gpu={','.join(_NOW)}", "--format=csv,noheader", "--id=0"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return {}
    values = [value.strip() for value in answer.stdout.strip().split(",")]
    return dict(zip(_NOW, values, strict=True)) if len(values) == len(_NOW) else {}


def _cudnn() -> int | None:
    """Return the version of the cuDNN that PyTorch brings, e.g. 90800."""
    if not find_spec("torch"):
        return None
    try:
        import torch

        return torch.backends.cudnn.version()
    except Exception:  # a library built for another machine fails in ways of its own
        return None
