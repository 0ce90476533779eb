"""PTX of a few lines, run on the executor; and PTX with a fault in it."""

import re

import numpy as np
import pytest
from cases import CASES

from convlab import ConvProblem
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import using
from convlab.gpu.launch_args import as_launched
from convlab.gpu.numba_cuda import called_by, type_of
from tools.ptx.compiled import ARCHS, ptx_for
from tools.ptx.device import Executor
from tools.ptx.kinds import DTYPES

# Larger than what the lane simulator can do in a moment: whole tiles, many rounds of every loop.
LAYERS = {
    "layer": ConvProblem(2, 14, 12, 16, 40, 3, 3, padding=1),
    "picture": ConvProblem(2, 45, 70, 1, 1, 7, 7, padding=3),
}

TROUBLE = assembly_fault()
needs_compiler = pytest.mark.skipif(TROUBLE is not None, reason=f"no PTX: {TROUBLE}")


def module(body: str, parameters: str = "", arrays: str = "") -> str:
    """Return a module with one kernel; registers of every type are declared."""
    registers = "".join(
        f"  .reg .{kind} %{name}<64>;\n"
        for kind, name in (
            ("pred", "p"),
            ("b16", "h"),
            ("b32", "r"),
            ("b64", "d"),
            ("f32", "f"),
            ("f64", "e"),
        )
    )
    return (
        f".version 8.0\n.target sm_80\n.address_size 64\n{arrays}\n"
        f".visible .entry tried({parameters})\n{{\n{registers}{body}\n  ret;\n}}\n"
    )


_LETTER = {"16": "h", "32": "r", "64": "d"}


def register(kind: str, number: int) -> str:
    """Return the name of a register for a type."""
    if kind == "pred":
        return f"%p{number}"
    letter = {"f32": "f", "f64": "e"}.get(kind) or _LETTER.get(kind[1:], "h")
    return f"%{letter}{number}"


def evaluate(opcode: str, reads: tuple[str, ...], writes: str, *inputs) -> np.ndarray:
    """Return what an instruction makes of arrays: a thread a number; `reads` and `writes` are the types."""
    inputs = [np.asarray(values, DTYPES[kind]) for values, kind in zip(inputs, reads, strict=True)]
    lines, size = ["mov.u32 %r63, %tid.x;"], inputs[0].size
    for i, kind in enumerate(reads, 1):
        there = "u8" if kind == "pred" else kind.replace("f16", "b16")
        to = "%h60" if kind == "pred" else register(kind, i)
        lines += [
            f"ld.param.u64 %d60, [p{i}];",
            f"mul.wide.u32 %d61, %r63, {DTYPES[kind].itemsize};",
            "add.s64 %d62, %d60, %d61;",
            f"ld.global.{there} {to}, [%d62];",
        ]
        if kind == "pred":
            lines.append(f"setp.ne.u16 {register(kind, i)}, %h60, 0;")
    result = register(writes, 20)
    operands = ", ".join([result, *(register(kind, i) for i, kind in enumerate(reads, 1))])
    lines.append(f"{opcode} {operands};")
    if writes == "pred":
        lines.append(f"selp.u32 %r20, 1, 0, {result};")
        result, writes = "%r20", "u32"
    lines += [
        "ld.param.u64 %d60, [p0];",
        f"mul.wide.u32 %d61, %r63, {DTYPES[writes].itemsize};",
        "add.s64 %d62, %d60, %d61;",
        f"st.global.{writes.replace('f16', 'b16')} [%d62], {result};",
    ]
    parameters = ", ".join(f".param .u64 p{i}" for i in range(len(reads) + 1))
    device = Executor()
    out = device.empty(size, DTYPES[writes])
    arrays = [out, *map(device.put, inputs)]
    device.execute(
        module("\n".join(lines), parameters), 1, size, *(np.int64(one.ctypes.data) for one in arrays)
    )
    return device.get(out)


class Edited(Executor):
    """Runs kernels of which `edit` made others: PTX in, PTX out."""

    def __init__(self, edit, name: str = ""):
        super().__init__()
        self.edit, self.kernel_name, self.edits = edit, name, 0

    def ptx_of(self, kernel, arguments):
        ptx = super().ptx_of(kernel, arguments)
        if self.kernel_name not in kernel.__name__:
            return ptx
        changed = self.edit(ptx)
        self.edits += changed != ptx
        return changed


def small(algorithm, most: int = 2) -> list[str]:
    """Return cases that an algorithm serves, from the smallest to the middle: for the slow lane simulator."""
    served = [case for case, one in CASES.items() if not algorithm.supports(one) and one.dtype == "float32"]
    served.sort(key=lambda case: CASES[case].macs)
    half = max(1, len(served) // 2)
    return [served[i] for i in sorted({round(i * (half - 1) / max(1, most - 1)) for i in range(most)})]


def body(ptx: str) -> str:
    """Return PTX without the line that says what it was compiled for."""
    return re.sub(r"\.target sm_\d+", "", ptx)


def on_every_gpu(compute) -> list:
    """Return what kernels compute, compiled for sm_80 and for sm_90; once where the PTX is the same.

    That is found out once for every source, with the types it is compiled for. Tiles, strides and channels
    are constants in it, and have never made a difference: of the 124 kernels of the case tables all are the
    same, and the second half of the compiler takes as long as the first.
    """
    results = []
    for arch in ARCHS:
        device = Both(arch)
        with using(device):
            results.append(compute())
        if device.same:
            break
    return results


def source_of(kernel, arguments) -> tuple:
    """Return what a kernel has in common with those of other constants: code, modules it calls, types."""
    modules = frozenset(one.py_func.__module__ for one in called_by(kernel.py_func))
    return kernel.py_func.__code__, modules, tuple(type_of(as_launched(one)) for one in arguments)


_same: dict[tuple, bool] = {}  # of a source: is its PTX the same for all kinds of GPU?


class Both(Executor):
    """Notes if the PTX for all kinds of GPU is the same."""

    def __init__(self, arch):
        super().__init__(arch)
        self.same = True

    def ptx_of(self, kernel, arguments):
        source = source_of(kernel, arguments)
        if source not in _same:
            _same[source] = len({body(ptx_for(kernel, arguments, arch)) for arch in ARCHS}) == 1
        self.same &= _same[source]
        return ptx_for(kernel, arguments, self.arch)
