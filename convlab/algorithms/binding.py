"""A form by the name of its module: what it costs is known here, the code is imported when it first runs.

Every algorithm is a folder, and every form is a file in it: `reference` (NumPy), `cpu` (Numba), `gpu` (CUDA).
Numba and CUDA take a second to import, so the table of algorithms only knows where the forms are. This is the
one place in the library where a module is named by a string.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

from convlab.algorithms.form import Form

_FILES = {"numpy": "reference", "cpu": "cpu", "gpu": "gpu"}


def form(folder: str, file: str, *, functions: tuple[str, ...] = (), bound: tuple = (), **costs) -> Form:
    """Return a `Form` whose functions are those of a module, imported when the first of them is called.

    Parameters
    ----------
    folder : str
        The algorithm's package: it says ``__name__``.
    file : str
        The module in it: "reference", "cpu" or "gpu". It has
        ``run(problem, x, packed, workspace, y, threads)``, as `Form` describes it. The arrays of a GPU form
        are the device's, of the shape they have on the CPU.
    functions : tuple of str
        Which others the module has: "pack", "allocate", "resize" and the like, as `Form` describes them.
    bound : tuple
        What every function of the module takes before these arguments: one module serves several forms.
    **costs
        The cost model and what else is no function of the module, see `Form`.
    """
    return Form(**{name: late(f"{folder}.{file}", name, bound) for name in ("run", *functions)}, **costs)


def forms(folder: str, told: dict[str, dict], **common) -> dict[str, Form]:
    """Return a form for each backend that `told` names, with what is said of it, and of all: see `form`."""
    return {backend: form(folder, _FILES[backend], **(common | own)) for backend, own in told.items()}


def late(module: str, name: str, bound: tuple = ()) -> Callable:
    """Return a function of a module that is imported when it is first called."""

    @lru_cache  # a layer may take no longer than an import that finds its module loaded
    def found() -> Callable:
        return getattr(import_module(module), name)

    def call(*arguments):
        return found()(*bound, *arguments)

    return call
