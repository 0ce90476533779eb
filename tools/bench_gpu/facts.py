"""What a GPU says about itself: what every measurement on it is stored with."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

from convlab.gpu.model.speeds import driver_facts
from convlab.machine.cuda_driver import find_gpus

_NOW = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "temperature.gpu", "power.draw")


def gpu_facts() -> dict:
    """Return the current GPU's name, compute capability, sizes and clocks; None for what is not told."""
    from convlab.gpu.numba_cuda import cuda

    device = cuda.get_current_device()
    found: dict = {"name": None, "driver": None, "memory": None, **driver_facts(device)}
    found["name"] = found["name"] or "a GPU"
    with suppress(Exception):  # whatever a driver of tomorrow says: no fact is worth a run
        found["driver"] = next((gpu.driver for gpu in find_gpus() if gpu.name == found["name"]), None)
    with suppress(Exception):
        found["memory"] = int(cuda.current_context().get_memory_info()[1])
    return found


def _identity() -> str:
    """Return what nvidia-smi knows the current GPU by: its number there is another one than CUDA's."""
    with suppress(Exception):
        from convlab.gpu.numba_cuda import cuda

        return str(cuda.get_current_device().uuid)  # "GPU-..."
    return "0"


def state() -> dict:
    """Return what nvidia-smi tells of clocks, temperature and power now; and which cuDNN has been loaded."""
    asked = f"--query-gpu={','.join(_NOW)}", "--format=csv,noheader", f"--id={_identity()}"
    command = ["nvidia-smi", *asked]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.SubprocessError):
        answer = ""
    values = [value.strip() for value in answer.strip().split(",")]
    found = dict(zip(_NOW, values, strict=True)) if len(values) == len(_NOW) else {}
    if "torch" in sys.modules:
        with suppress(Exception):
            found["cudnn"] = sys.modules["torch"].backends.cudnn.version()  # e.g. 90800
    return found
