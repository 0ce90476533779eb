"""One thing that `convlab doctor` looks for: whether it is here, what it is for, and what installs it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing looked for.

    Attributes
    ----------
    name : str
    required : bool
        Whether the course cannot run without it.
    found : str or None
        Its version or place; None if it is missing.
    adds : str
        What it is for.
    command : str or None
        Installs it; None where it is there, or where no command can.
    """

    name: str
    required: bool
    found: str | None
    adds: str = ""
    command: str | None = None
