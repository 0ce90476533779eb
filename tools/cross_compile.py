"""The machine code that a kernel would have on another processor, made on this one.

Numba compiles for the processor it runs on, in four steps. Here they are the same, with another machine
written where Numba would write this one::

    Python's bytecode   → types                    nothing in it depends on the machine
    types               → LLVM's instructions      sizes and alignments, from the machine's data layout
    LLVM's instructions → better ones              how wide vectors are, how many registers there are
    the better ones     → machine code             which instructions there are, and how long each takes

So LLVM is told the other machine before the first instruction is written, not after the last was improved.
All that a kernel calls is compiled anew too: what was compiled for this machine stays out of it. The one
thing that is not LLVM's is the size of the register tile. A kernel is given it as an argument, so give it
the tile of that machine: `Machine.tile`.

Nothing of it can run here. That it is what would run there is tested on the one machine where both are at
hand, this one: `HERE` yields the bytes that Numba runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType

import llvmlite.binding as llvm
import numba
from numba.core import codegen, fastmathpass, typing
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.runtime import nrtdynmod

from convlab.errors import UnsupportedError
from convlab.support.checks import said


@dataclass(frozen=True)
class Machine:
    """A processor, as LLVM knows it.

    Attributes
    ----------
    triple : str
        Its architecture and its operating system, e.g. "aarch64-unknown-linux-gnu".
    cpu : str
        Its name: LLVM knows by it which instructions it has, and how long each takes.
    features : str
        Instructions that it has or lacks beside those, e.g. "+avx2,-fma".
    """

    triple: str
    cpu: str
    features: str = ""


HERE = Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def listing(machine: Machine, kernel: Dispatcher, signature: tuple) -> str:
    """Return the assembly listing of a kernel for a machine.

    Parameters
    ----------
    machine : Machine
    kernel : callable
        A function decorated by `convlab.cpu.jit.njit`.
    signature : tuple of numba types
        The types of its arguments.

    Raises
    ------
    UnsupportedError
        If LLVM, as it is installed here, has no compiler for that machine.
    """
    with _in_place_of_this_one(_context(machine)):
        fresh = _anew(kernel)
        fresh.compile(signature)
        return fresh.inspect_asm(fresh.signatures[0])


def _anew(kernel: Dispatcher) -> Dispatcher:
    """Return the same kernel, not compiled yet, and made of functions that are not compiled yet."""
    function = kernel.py_func
    known = function.__globals__
    called = {name: known[name] for name in function.__code__.co_names if _is_kernel(known.get(name))}
    known = known | {name: _anew(other) for name, other in called.items()}
    rest = function.__name__, function.__defaults__, function.__closure__
    return numba.jit(**kernel.targetoptions)(FunctionType(function.__code__, known, *rest))


def _is_kernel(thing) -> bool:
    return isinstance(thing, Dispatcher)


# -- what Numba is told ------------------------------------------------------------------------------------


def _target(triple: str) -> llvm.Target:
    """Return LLVM's compiler for an architecture, if this build of LLVM has it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise UnsupportedError(f"triple={said(triple)}; expected one that this LLVM has ({error})") from None


class _Library(codegen.AOTCodeLibrary):
    """A compiled function and all that it calls."""

    def _finalize_specific(self):
        # Making machine code improves LLVM's instructions in place, once more. Numba does it to a function
        # as soon as that is compiled, and hands the result to the callers; so it is done here, and only once.
        self.machine_code = self._emit()

    def _emit(self):
        return self._codegen._tm.emit_assembly(self._final_module)

    def get_asm_str(self):
        return self.machine_code


class _Codegen(codegen.AOTCPUCodegen):
    """Numba's use of LLVM, with the options of code that runs at once, but for a machine of our choice."""

    _library_class = _Library

    def __init__(self, machine: Machine):
        self._machine = machine
        super().__init__("elsewhere")

    def _init(self, module):
        target = _target(self._machine.triple)
        self._tm_features = self._machine.features
        self._tm = target.create_target_machine(
            cpu=self._machine.cpu,
            features=self._tm_features,
            opt=numba.config.OPT,
            reloc="static" if target.name.startswith("x86") else "default",
            codemodel="jitdefault",
            jit=True,
        )
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)
        self._loopvect, self._opt_level = False, 0  # of a first, cheap round

    def _create_empty_module(self, name):
        module = super()._create_empty_module(name)
        module.triple = self._machine.triple
        return module


class _Context(CPUContext):
    """What Numba knows of a machine while it writes LLVM's instructions."""

    def __init__(self, machine: Machine):
        self._machine, self._counting = machine, None
        super().__init__(typing.Context())

    def init(self):
        self.is32bit = False
        self._internal_codegen = _Codegen(self._machine)

    def post_lowering(self, mod, library):
        if self.fastmath:
            fastmathpass.rewrite_module(mod, self.fastmath)
        self._counting = self._counting or nrtdynmod.compile_nrt_functions(self)  # references to arrays
        library.add_linking_library(self._counting)

    def get_executable(self, library, fndesc, env):
        library.finalize()
        return [].clear  # a function there must be; this one is not called


@lru_cache
def _context(machine: Machine) -> _Context:
    return _Context(machine)


@contextmanager
def _in_place_of_this_one(context: _Context) -> Iterator[None]:
    """Let all that is compiled inside a ``with`` be compiled for another machine."""
    names = "_toplevel_target_context", "_toplevel_typing_context"
    with global_compiler_lock:  # no other thread compiles meanwhile
        here = cpu_target.target_context, cpu_target.typing_context
        vars(cpu_target).update(zip(names, (context, context.typing_context), strict=True))
        try:
            yield
        finally:
            vars(cpu_target).update(zip(names, here, strict=True))
