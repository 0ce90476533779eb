"""What the driver and the linker refuse, in words: their own errors never reach a learner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb

from convlab.errors import ConvError, ParameterError, UnsupportedError, WorkspaceError
from convlab.gpu.occupancy import MOST_SHARED
from convlab.support.units import bytes_text

# What an error says -> what it means. All of these end a launch, and some the whole process's use of the GPU.
_MEANINGS = {
    "OUT_OF_RESOURCES": "a block of so many threads needs more registers than there are: give it fewer "
    "threads, or launch_bounds=THREADS to @cuda.jit",
    "ILLEGAL_ADDRESS|MISALIGNED_ADDRESS": "a thread went outside an array; `with simulated():` around the "
    "same call shows which one, and where. Start Python anew: the GPU does not serve this process any more",
    "INVALID_VALUE": "the grid or the block is larger than the GPU allows",
    "NO_BINARY_FOR_GPU|UNSUPPORTED_PTX": "the driver is too old for what the compiler writes: update it",
}


def too_much_shared(report: str) -> ConvError | None:
    """Return the refusal of a kernel that takes too much shared memory, if the linker reports that."""
    found = re.search(r"uses too much shared data \((0x\w+) bytes", report)
    if not found:
        return None
    return ParameterError(
        f"the kernel needs {bytes_text(int(found[1], 16))} of shared memory, a block has "
        f"{bytes_text(MOST_SHARED)}: make its tile smaller"
    )


@contextmanager
def translated(doing: str, size: int | None = None) -> Iterator[None]:
    """Turn what the libraries of a GPU raise into a `ConvError`; `size` are the bytes that were asked for."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ConvError) or not _comes_from_driver(error):
            raise
        text = str(error)
        raise too_much_shared(text) or _memory_error(text, size) or _launch_error(text, doing) from None


def _memory_error(text: str, size: int | None) -> ConvError | None:
    if not re.search("out.of.memory", text, re.IGNORECASE):
        return None
    wanted = "what the kernel needs" if size is None else f"another {bytes_text(size)}"
    return WorkspaceError(
        f"the GPU has no room for {wanted}; delete arrays that lie on it, "
        "or make the batch N, or the pictures, smaller"
    )


def _launch_error(text: str, doing: str) -> ConvError:
    meaning = next((said for code, said in _MEANINGS.items() if re.search(code, text)), None)
    said = " ".join(text.partition(": No such file")[0].split())  # after that come folders and their files
    return UnsupportedError(f"{doing} failed: {meaning or said[:300]}")


# Who raises what must not reach a learner: Numba's driver, NVIDIA's libraries, and those that bring cuFFT.
_HOMES = ("numba.cuda.cudadrv", "cuda.bindings", "cuda.core", "cuda.pathfinder", "torch", "cupy")


def _comes_from_driver(error: Exception) -> bool:
    """Say if an error is of a kind of theirs, or was raised in their code: some of it is a RuntimeError."""
    if any(kind.__module__.startswith(_HOMES) for kind in type(error).__mro__):
        return True
    raised_in = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return bool(raised_in) and raised_in[-1].startswith(_HOMES)
