"""A package's door: names from its modules that are imported no earlier than one of them is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any


def door(
    package: str, names: Sequence[str], homes: Callable[[], Iterable[ModuleType]]
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Its ``__name__``.
    names : sequence of str
        What it offers, its ``__all__``.
    homes : callable
        Imports the modules that have these names, and returns them.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return next(getattr(home, name) for home in homes() if hasattr(home, name))

    return find
