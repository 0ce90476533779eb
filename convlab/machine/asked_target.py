"""The processor that Numba was told to compile for, by $NUMBA_CPU_NAME and $NUMBA_CPU_FEATURES.

A name that LLVM does not know raises no error. LLVM writes a line and goes on, as if the processor could do
next to nothing; where that is too little for a program of 64 bits it ends the process. So LLVM is asked
beforehand, in a process of its own, and only where something was told.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache

from convlab.support import another_python
from convlab.support.checks import said

VARIABLES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"
# Sums of one number and of sixteen, in the machine code that Numba would get. It, too, adds the features of
# this processor to a name that comes without any.
_SUM = """
import os
from llvmlite import binding
binding.initialize_native_target()
binding.initialize_native_asmprinter()
name, features = map(os.environ.get, ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"))
if features is None:
    features = "" if str(name).lower() == "generic" else binding.get_host_cpu_features().flatten()
target = binding.Target.from_default_triple()
machine = target.create_target_machine(cpu=name or binding.get_host_cpu_name(), features=features)
for kind in ("double", "<16 x float>"):
    add = f"define {kind} @add({kind} %a, {kind} %b) {{ %s = fadd {kind} %a, %b ret {kind} %s }}"
    print(machine.emit_assembly(binding.parse_assembly(add)))
"""


def asked() -> dict[str, str]:
    """Return what was told, by the names of the variables; empty where Numba compiles for this processor."""
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def asked_wrongly() -> str | None:
    """Return why LLVM cannot compile for what was asked; None if it can, or if nothing was asked."""
    trouble, _ = _answer(tuple(asked().items()))
    return trouble


def vector_bytes_asked() -> int | None:
    """Return the bytes of a vector of what was asked for: 64, 32 or 16; None if nothing was asked.

    A processor that LLVM cannot compile for gets 16, so that costs can be worked out all the same.
    """
    _, listing = _answer(tuple(asked().items()))
    if listing is None:
        return None
    return 64 if "zmm" in listing else 32 if "ymm" in listing else 16


@lru_cache
def _answer(told: tuple[tuple[str, str], ...]) -> tuple[str | None, str | None]:
    """Return what LLVM complains of, in words, and the sums as it compiles them."""
    if not told:
        return None, None
    command = [sys.executable, *another_python.program(_SUM)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    complaint = done.stderr.strip().splitlines()
    if done.returncode == 0 and not complaint:
        return None, done.stdout
    words = ", ".join(f"{name}={said(value)}" for name, value in told)
    return f"{words}: {complaint[0] if complaint else 'LLVM ends the process'}", ""
