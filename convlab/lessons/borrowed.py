"""Whether an answer has the library do the work: any function of convlab that is entered while it runs.

NumPy and SciPy are tools, and free to use. What is a helper in convlab's own house does not count either:
only what computes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

_LIBRARY = Path(__file__).parents[1]
_HOUSE = ("support", "lessons")  # helpers, and the check itself
_SOLVED = _LIBRARY / "lessons" / "exercises"  # worked solutions and oracles are no helpers


def borrowed(answer: Callable[..., Any], arguments: tuple, *, own: Any, tools: Sequence[str]) -> str:
    """Call an answer, and return the name of the first function or class of convlab that it enters, or "".

    Parameters
    ----------
    answer : callable
        What is called.
    arguments : tuple
        What it is called with.
    own : callable
        The learner's function: what stands in the same file is theirs.
    tools : sequence of str
        Files of convlab that may be used.
    """
    file = getattr(getattr(own, "__code__", None), "co_filename", "")
    entered: list[str] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and not entered and code.co_filename != file and _counts(code.co_filename, tools):
            entered.append(code.co_qualname.partition(".")[0])

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        answer(*arguments)
    finally:
        sys.setprofile(before)
    return entered[0] if entered else ""


def _counts(file: str, tools: Sequence[str]) -> bool:
    path = Path(file)
    if _LIBRARY not in path.parents:
        return False
    return _SOLVED in path.parents or path.relative_to(_LIBRARY).parts[0] not in (*_HOUSE, *tools)
