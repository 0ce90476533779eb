"""Who runs a convolution: "numpy" (reference forms), "cpu" (compiled by Numba) or "gpu" (Numba CUDA)."""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache

from convlab.errors import ParameterError, UnsupportedError
from convlab.machine import asked_target, memory_limits
from convlab.support.checks import said
from convlab.support.units import bytes_text

NUMBA_TAKES = 400 << 20  # bytes of addresses: 180 MiB to import it, 120 for the first kernels, and some more
ON_HOST = ("numpy", "cpu")
BACKENDS = (*ON_HOST, "gpu")


@lru_cache
def numba_trouble() -> str | None:
    """Return why Numba cannot be used here, or None if it can. It is imported to find out."""
    left = memory_limits.memory_left()
    # With less LLVM would not raise an error, but end the process.
    if left is not None and left < NUMBA_TAKES and "numba" not in sys.modules:
        return f"ulimit leaves {bytes_text(left)}; Numba takes {bytes_text(NUMBA_TAKES)}"
    if wrong := asked_target.asked_wrongly():  # LLVM would end the process
        return wrong
    try:
        import numba  # noqa: F401
    except ImportError as error:  # missing, or at odds with the NumPy that is installed
        return _first_line(error)
    except Exception as error:  # what is broken raises what it likes, and so does LLVM where memory is short
        return f"{type(error).__name__}: {_first_line(error)}"
    return None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def choose_host_backend(backend: str, what: str) -> str:
    """Return the backend by name, as `choose_backend`, for what runs on no GPU.

    Raises
    ------
    ParameterError, UnsupportedError
        As there, or if it is "gpu".
    """
    if isinstance(backend, str) and backend == "gpu":
        raise ParameterError(f"backend={said(backend)}; {what} on {' or '.join(ON_HOST)}")
    return choose_backend(backend)


def choose_backend(backend: str = "auto") -> str:
    """Return the backend by name; for "auto" the faster of "numpy" and "cpu" that works here.

    Where Numba is installed and cannot be used, "auto" warns of that once.

    Raises
    ------
    ParameterError, UnsupportedError
        If there is no such backend, or it cannot run here.
    """
    if not isinstance(backend, str) or backend not in ("auto", *BACKENDS):
        raise ParameterError(f"backend={said(backend)}; expected 'auto' or one of {', '.join(BACKENDS)}")
    if backend == "numpy":
        return backend
    trouble = numba_trouble()
    if trouble and backend != "auto":
        raise UnsupportedError(
            f"backend={said(backend)} needs Numba ({trouble}); backend='numpy' runs without"
        )
    if backend == "gpu":
        return backend
    if trouble and trouble != "No module named 'numba'":
        _warn_of(trouble)
    return "numpy" if trouble else "cpu"


@lru_cache
def _warn_of(trouble: str) -> None:
    warnings.warn(
        f"Numba cannot be used ({trouble}); backend='auto' takes 'numpy', which is slower",
        RuntimeWarning,
        stacklevel=2,
    )
