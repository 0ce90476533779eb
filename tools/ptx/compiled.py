"""From a kernel to its PTX, for several kinds of GPU.

Numba's front end takes most of the time, and knows nothing of the GPU but its number; NVVM, which comes after
it, is asked once more for each kind. A test holds that against whole compilations.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from convlab.gpu import numba_cuda
from convlab.gpu.launch_args import as_launched

ARCHS = {"sm_80": (8, 0), "sm_90": (9, 0)}
FIRST = "sm_80"  # which the front end is told
_made: dict[tuple, dict[str, str]] = {}
_asked: dict[tuple, tuple] = {}  # what NVVM was given


def ptx_for(kernel: Any, arguments: tuple, arch: str) -> str:
    """Return the PTX of a kernel for arguments as of a launch, and a kind of GPU: "sm_80" or "sm_90"."""
    from numba.cuda.cudadrv import nvvm

    types = tuple(numba_cuda.type_of(as_launched(argument)) for argument in arguments)
    key = kernel, types
    if key not in _made:
        compile_ir = nvvm.compile_ir

        def noted(ir, **options):
            _asked[key] = ir, options
            return compile_ir(ir, **options)

        with patch.object(nvvm, "compile_ir", noted):
            _made[key] = {FIRST: numba_cuda.ptx_of(kernel, list(types), ARCHS[FIRST])}
    if arch not in _made[key]:
        ir, options = _asked[key]
        named = options["arch"].replace(FIRST.removeprefix("sm_"), arch.removeprefix("sm_"))
        _made[key][arch] = nvvm.compile_ir(ir, **options | {"arch": named}).decode().strip("\x00").strip()
    return _made[key][arch]
