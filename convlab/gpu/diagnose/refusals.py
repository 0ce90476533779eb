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


def check_shared(size: int, what: str = "the kernel") -> None:
    """Refuse a tile that does not fit into a block's shared memory.

    Parameters
    ----------
    size : int
        Bytes of shared memory of one block.
    what : str
        Whose they are, in the words of the message.

    Raises
    ------
    ParameterError
        If they are more than `MOST_SHARED`.
    """
    if size > MOST_SHARED:
        raise _too_much_shared(size, what)


def of_linker(report: str) -> ConvError | None:
    """Return the refusal of a kernel that takes too much shared memory, if the linker reports that."""
    found = re.search(r"uses too much shared data \((0x\w+) bytes", report)
    return _too_much_shared(int(found[1], 16), "the kernel") if found else None


@contextmanager
def in_words(doing: str, size: int | None = None) -> Iterator[None]:
    """Turn what the libraries of a GPU raise into a `ConvError`; `size` are the bytes that were asked for."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ConvError) or not _of_a_driver(error):
            raise
        text = str(error)
        raise of_linker(text) or _of_memory(text, size) or _of_launch(text, doing) from None


def _too_much_shared(size: int, what: str) -> ConvError:
    return ParameterError(
        f"{what} needs {bytes_text(size)} of shared memory, a block has {bytes_text(MOST_SHARED)}: "
        "make its tile smaller"
    )


def _of_memory(text: str, size: int | None) -> ConvError | None:
    if not re.search("out.of.memory", text, re.IGNORECASE):
        return None
    wanted = "what the kernel needs" if size is None else f"another {bytes_text(size)}"
    return WorkspaceError(
        f"the GPU has no room for {wanted}; delete arrays that lie on it, or make the batch N smaller"
    )


def _of_launch(text: str, doing: str) -> ConvError:
    meaning = next((said for code, said in _MEANINGS.items() if re.search(code, text)), None)
    said = " ".join(text.partition(": No such file")[0].split())  # after that come folders and their files
    return UnsupportedError(f"{doing} failed: {meaning or said[:300]}")


# Who raises what must not reach a learner: Numba's driver, NVIDIA's libraries, and those that bring cuFFT.
_HOMES = ("numba.cuda.cudadrv", "cuda.bindings", "cuda.core", "cuda.pathfinder", "torch", "cupy")


def _of_a_driver(error: Exception) -> bool:
    """Say if an error is of a kind of theirs, or was raised in their code: some of it is a RuntimeError."""
    if any(kind.__module__.startswith(_HOMES) for kind in type(error).__mro__):
        return True
    raised_in = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return bool(raised_in) and raised_in[-1].startswith(_HOMES)
