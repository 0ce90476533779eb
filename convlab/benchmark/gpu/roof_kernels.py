"""Kernels that do one thing as fast as a device can, and two that make a fair timing possible.

    copy            reads an array and writes it, four numbers a thread
    read_again      reads a small array again and again: it stays in the cache of the whole device, L2
    multiply_add    multiplies and adds in registers, and touches no memory until it is done
    fill            writes one number everywhere: in L2 nothing of before is left
    wait            one thread that counts, so that the device is busy while the host prepares what follows

Each is a factory, as all kernels are.
"""

from __future__ import annotations

from functools import cache

from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, float32
from convlab.gpu.ptx import load4, store4

THREADS = 256
CHAINS = 8  # multiply-adds of a thread that do not wait for each other: four cycles each, and room to spare
ROUNDS = 8  # of all chains before the loop counts once


@cache
def copy():
    """Return the kernel ``(source, target, quads)``: one quad of four numbers a thread."""

    @kernel
    def copy_quads(source, target, quads):
        i = cuda.grid(1)
        if i < quads:
            a, b, c, d = load4(source, i * 4)
            store4(target, i * 4, a, b, c, d)

    return copy_quads


@cache
def read_again():
    """Return the kernel ``(source, y, pieces, times)``; a piece is THREADS quads, all blocks read others."""

    @kernel
    def read_pieces(source, y, pieces, times):
        thread = cuda.threadIdx.x
        piece, step = cuda.blockIdx.x, cuda.gridDim.x + 37
        sum_a, sum_b, sum_c, sum_d = float32(0), float32(0), float32(0), float32(0)
        time = 0
        while time < times:
            piece = piece % pieces
            a, b, c, d = load4(source, (piece * THREADS + thread) * 4)
            sum_a += a
            sum_b += b
            sum_c += c
            sum_d += d
            piece += step
            time += 1
        y[cuda.grid(1)] = sum_a + sum_b + sum_c + sum_d

    return read_pieces


@cache
def multiply_add():
    """Return the kernel ``(y, factor, times)``: times * ROUNDS * CHAINS multiply-adds a thread."""

    @kernel
    def multiply_add_chains(y, factor, times):
        # Each begins elsewhere: chains that are alike would be made one.
        a = float32(cuda.threadIdx.x)
        b, c, d = a + factor, a - factor, a * factor
        e, f, g, h = b * factor, c * factor, d * factor, d + factor
        time = 0
        while time < times:
            for _ in range(ROUNDS):
                a = a * factor + factor
                b = b * factor + factor
                c = c * factor + factor
                d = d * factor + factor
                e = e * factor + factor
                f = f * factor + factor
                g = g * factor + factor
                h = h * factor + factor
            time += 1
        y[cuda.grid(1)] = a + b + c + d + e + f + g + h

    return multiply_add_chains


@cache
def fill():
    """Return the kernel ``(y, value, numbers)``."""

    @kernel
    def fill_with(y, value, numbers):
        i = cuda.grid(1)
        if i < numbers:
            y[i] = value

    return fill_with


@cache
def wait():
    """Return the kernel ``(y, factor, times)``, for one thread."""

    @kernel
    def wait_for(y, factor, times):
        value = y[0]
        time = 0
        while time < times:
            value = value * factor + factor
            time += 1
        y[0] = value

    return wait_for
