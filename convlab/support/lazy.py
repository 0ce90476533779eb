"""A package's door: names from its modules that are imported no earlier than one of them is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


def door(package: str, offer: Callable[[], dict[str, Any]]) -> tuple[list[str], Callable[[str], Any]]:
    """Return the `__all__` and the `__getattr__` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Its ``__name__``.
    offer : callable
        Imports what the package offers, each as one of its variables, and returns its `locals`.
    """
    names, offered = sorted(offer.__code__.co_varnames), cache(offer)

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return offered()[name]

    return names, find
