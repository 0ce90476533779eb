"""From a kernel to its PTX, for two kinds of GPU at once.

Numba's front end takes most of the time, and knows nothing of the GPU but its number; NVVM, which comes after
it, is asked a second time. A test holds that against two whole compilations.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from convlab.gpu import numba_cuda
from convlab.gpu.launch_args import as_launched

ARCHS = {"sm_80": (8, 0), "sm_90": (9, 0)}
_made: dict[tuple, dict[str, str]] = {}
_functions: dict = {}  # what was made of the functions that kernels call


def ptx_for_all(kernel: Any, arguments: tuple) -> dict[str, str]:
    """Return the PTX of a kernel for arguments as of a launch, by the kind of GPU: "sm_80", "sm_90"."""
    types = tuple(numba_cuda.type_of(as_launched(argument)) for argument in arguments)
    key = kernel, types
    if key not in _made:
        _made[key] = _compile(kernel, types)
    return _made[key]


def _compile(kernel: Any, types: tuple) -> dict[str, str]:
    from numba.cuda.cudadrv import nvvm

    first, *others = ARCHS
    asked: list[tuple] = []
    compile_ir = nvvm.compile_ir

    def noted(ir, **options):
        asked.append((ir, options))
        return compile_ir(ir, **options)

    with patch.object(nvvm, "compile_ir", noted):
        found = {first: numba_cuda.ptx_of(kernel, list(types), ARCHS[first], _functions)}
    ir, options = asked[-1]
    for arch in others:
        made = compile_ir(ir, **options | {"arch": options["arch"].replace(first[3:], arch[3:])})
        found[arch] = made.decode().strip("\x00").strip()
    return found
