"""What notebooks say where a part is missing: what a cell would show, and what adds it."""

from __future__ import annotations

from convlab.gpu import diagnose
from convlab.support.checked import checked


@checked
def compiler_is_here(what: str) -> bool:
    """Return whether kernels can be compiled to machine code; where not, print what that would show."""
    found = diagnose.of_assembly()
    return _said(f"With the compiler's tools this cell shows {what}.", found, "python3 lab.py setup --gpu")


@checked
def gpu_is_here(what: str) -> bool:
    """Return whether there is a GPU to run on; where not, print what that would show."""
    return _said(f"On a machine with an NVIDIA GPU this cell shows {what}.", diagnose.of_running(), None)


def _said(what: str, found: diagnose.Trouble | None, command: str | None) -> bool:
    if found is None:
        return True
    print(what)
    reason = found.what[:1].upper() + found.what[1:]
    print(f"{reason}. `{command}` adds what is missing." if command else f"{reason}.")
    return False
