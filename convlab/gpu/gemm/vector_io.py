"""From memory to registers and back, one number at a time or four.

Registers are a thread's local array whose every index is known when the kernel is compiled. An index into
memory is a number, or a tuple of them.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.kernels import device_function
from convlab.gpu.numba_cuda import number_type
from convlab.gpu.ptx import load4, store4


@lru_cache
def mover(width: int, dtype: str):
    """Return (take, put, clear) for `width` numbers of type `dtype`.

    ``take(memory, i, registers, j)`` loads memory[i:i+width] to registers[j:j+width]; ``put(memory, i,
    registers, j)`` is the way back; ``clear(registers, j)`` sets registers[j:j+width] to zero.
    """
    number = number_type(dtype)

    @device_function
    def take1(memory, i, registers, j):
        registers[j] = memory[i]

    @device_function
    def put1(memory, i, registers, j):
        memory[i] = registers[j]

    @device_function
    def take4(memory, i, registers, j):
        a, b, c, d = load4(memory, i)
        registers[j], registers[j + 1], registers[j + 2], registers[j + 3] = a, b, c, d

    @device_function
    def put4(memory, i, registers, j):
        a, b = registers[j], registers[j + 1]
        c, d = registers[j + 2], registers[j + 3]
        store4(memory, i, a, b, c, d)

    @device_function
    def clear(registers, j):
        for lane in range(width):
            registers[j + lane] = number(0)

    return (take1, put1, clear) if width == 1 else (take4, put4, clear)
