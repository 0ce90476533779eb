"""Who runs a convolution: "numpy" (reference forms), "cpu" (compiled by Numba) or "gpu" (Numba CUDA)."""

from __future__ import annotations

from functools import lru_cache

from convlab.checks import said
from convlab.errors import ParameterError, UnsupportedError

BACKENDS = ("numpy", "cpu", "gpu")


@lru_cache
def numba_trouble() -> str | None:
    """Return why Numba cannot be used here, or None if it can. It is imported to find out."""
    try:
        import numba  # noqa: F401
    except ImportError as error:  # missing, or at odds with the NumPy that is installed
        return str(error).partition("\n")[0]
    return None


def choose_backend(backend: str = "auto") -> str:
    """Return the backend by name; for "auto" the faster of "numpy" and "cpu" that works here.

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
    return "numpy" if trouble else "cpu"
