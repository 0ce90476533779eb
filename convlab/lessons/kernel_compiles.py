"""Does Numba compile a learner's kernel? In the simulator Python runs it, and that takes much more.

Where the compiler's libraries are missing, or stumble over themselves, nothing is held against a kernel.
"""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from textwrap import dedent
from typing import Any

from numba.core.errors import NumbaError

from convlab.gpu import numba_cuda
from convlab.gpu.launch_args import as_launched
from convlab.lessons.kernel_exercise import Launch

CAPABILITY = (9, 0)
FOREIGN = {
    ast.Try: "try",
    ast.With: "with",
    ast.Match: "match",
    ast.Lambda: "lambda",
    ast.ListComp: "[... for ... in ...]",
    ast.GeneratorExp: "(... for ... in ...)",
    ast.SetComp: "{... for ... in ...}",
    ast.DictComp: "{...: ... for ... in ...}",
    ast.Dict: "{...: ...}",
    ast.Set: "{...}",
    ast.JoinedStr: 'f"..."',
}


# What Numba says, and what that means.
WORDS = {
    "NRT required": "A list, or a new array made of a slice, needs memory to be set aside, and a kernel has "
    "none of that: take the numbers one by one.",
    "Type of variable '$": "It cannot tell of what kind one of the values is.",
}
COLON = "It does not understand `:=`: give the variable its value in a line of its own."


def foreign(function: Any) -> str:
    """Return what no kernel can be compiled with, if it is in one."""
    try:
        statements = ast.parse(_text(function)).body
    except SyntaxError:
        return ""
    inside = [
        node for kernel in statements for line in getattr(kernel, "body", []) for node in ast.walk(line)
    ]
    return next((FOREIGN[type(node)] for node in inside if type(node) in FOREIGN), "")


def _text(kernel: Any) -> str:
    try:
        return dedent(inspect.getsource(getattr(kernel, "py_func", kernel)))
    except OSError:
        return ""


def refused(kernel: Any, launch: Launch) -> str:
    """Return what the compiler has against a kernel, or nothing if it takes it or cannot be asked."""
    given = {**launch.arguments, "y": launch.expected}.values()
    try:
        with warnings.catch_warnings(action="ignore"):
            numba_cuda.ptx_of(kernel, [numba_cuda.type_of(as_launched(value)) for value in given], CAPABILITY)
    except NumbaError as error:
        return COLON if ":=" in _text(kernel) else _said(str(error))
    except Exception:  # the libraries are not there, or are at odds with each other: no fault of a kernel's
        return ""
    return ""


def _said(message: str) -> str:
    """Return the line of a long message that says what is wrong, and where that is."""
    lines = [line.strip(" -") for line in message.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("Failed in", "During", "File"))]
    first = next((ours for theirs, ours in WORDS.items() if theirs in message), *telling[:1])
    place = re.search(r", line ([1-9]\d*)|\.py \(([1-9]\d*)\)", message)
    return f"{first}\nin line {place[1] or place[2]}" if place else first
