"""The names a kernel uses, each bound to its stand-in: `cuda`, casts, device functions, instructions."""

from __future__ import annotations

import builtins
import math
import sys
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType

import numpy as np

from convlab.gpu.numba_cuda import cuda
from convlab.gpu.ptx import Instruction
from convlab.gpu.simulator.casts import Module, as_dtype, cast, is_number_type, keeps_type, literal
from convlab.gpu.simulator.cuda_names import Cuda
from convlab.gpu.simulator.errors import KernelError
from convlab.gpu.simulator.instructions import STAND_INS
from convlab.gpu.simulator.kernel_source import read
from convlab.gpu.simulator.number_types import outside
from convlab.gpu.simulator.wraparound_rewrite import SIMULATION


class Binder:
    """Makes functions whose names are bound for one launch; their code is kept from launch to launch."""

    def __init__(self, simulation):
        self._simulation, self._cuda = simulation, Cuda(simulation)
        self._functions = {}
        self._names = {
            SIMULATION: simulation,
            "float": np.float64,
            "complex": np.complex128,
            "__builtins__": builtins,
        }

    def bind(self, function, unsigned=frozenset()) -> FunctionType:
        """Return a function like the one given, for this launch; some of its arguments are unsigned."""
        if function not in self._functions:
            source = read(function, unsigned)
            if source.unfixed:
                raise KernelError(function.__name__, source.unfixed)
            for (line, column), name in source.arrays.items():
                self._simulation.array_names[source.code.co_filename, line, column] = name
            names = {**self._names, **source.constants}
            bound = FunctionType(source.code, names, function.__name__, function.__defaults__)
            bound.__kwdefaults__ = function.__kwdefaults__
            self._functions[function] = bound
            known = outside(function)
            names.update({name: self.swap(known[name]) for name in source.names() if name in known})
        return self._functions[function]

    def swap(self, value):
        """Return what stands for a value in a kernel: often the value itself."""
        if value is cuda:
            return self._cuda
        if isinstance(value, ModuleType):
            return Module(value, self.swap)
        if hasattr(value, "py_func"):
            return self._device_function(self.bind(value.py_func))
        if isinstance(value, Instruction):
            return partial(_stand_in(value.name), self._simulation)
        if isinstance(value, BuiltinFunctionType) and value.__module__ == math.__name__:
            return keeps_type(value)
        if is_number_type(value):
            return cast(as_dtype(value))
        return literal(value)

    def _device_function(self, function):
        simulation, code = self._simulation, function.__code__
        number, frame = id(code), sys._getframe

        def call(*arguments, **named):
            path = simulation.path
            instruction = frame(1).f_lasti
            # Most calls have been made before, by another thread.
            simulation.path = path.called.get((instruction, number)) or path.call(instruction, code)
            result = function(*arguments, **named)
            simulation.path = path
            return result

        return call


def _stand_in(name: str):
    if name not in STAND_INS:
        raise NotImplementedError(f"{name} has no stand-in in convlab.gpu.simulator.instructions")
    return STAND_INS[name]
