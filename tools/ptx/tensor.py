"""Tensor cores: ldmatrix and mma.sync. PTX ISA, "Warp Level Matrix Instructions".

Written from the ISA's figures alone, not from `convlab.gpu.tensor_cores.fragments`. With g = lane // 4 and
t = lane % 4, and words of 32 bits (two float16 along the sum, or one tf32):

    A (16 x 8 words)   a0: row g, word t     a1: row g + 8, word t     a2: row g, word t + 4     a3: both
    B (8 words x 8)    b0: word t, column g    b1: word t + 4, column g
    C, D (16 x 8)      c0, c1: row g, columns 2t and 2t + 1    c2, c3: the same of row g + 8

Products are exact; the ISA leaves open how sums are rounded: here once, from float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tools.ptx.lanes import WARP, Mask, Step
from tools.ptx.text import Instruction
from tools.ptx.transfers import address_of, parts_of
from tools.ptx.warps import whole_warps

if TYPE_CHECKING:
    from tools.ptx.wave import Wave

G, T = np.divmod(np.arange(WARP), 4)
A_PLACES = [(G, T), (G + 8, T), (G, T + 4), (G + 8, T + 4)]
B_PLACES = [(T, G), (T + 4, G)]
C_PLACES = [(G, 2 * T), (G, 2 * T + 1), (G + 8, 2 * T), (G + 8, 2 * T + 1)]


def ldmatrix(count: int):
    """Return what binds ``ldmatrix``: lane 8*i + j points at row j of matrix i, which has 16 bytes."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source = instruction.operands
        targets = [wave.lanes.write(part, "b32") for part in parts_of(target, count)]
        address = address_of(source, wave)

        def step(mask: Mask) -> None:
            warps = whole_warps(mask, wave, instruction)  # (warps, 32)
            pointing = warps[:, : 8 * count].ravel()
            rows = wave.load("shared", pointing, address()[pointing], np.dtype(np.uint32), 4)
            rows = rows.reshape(-1, count, 8, 4)
            for matrix, to in enumerate(targets):
                to[warps] = rows[:, matrix].reshape(-1, WARP)

        return step

    return bind


def mma(numbers):
    """Return what binds ``mma.sync``: `numbers` makes the numbers along the sum of words (..., 8)."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        d, a, b, c = instruction.operands
        targets = [wave.lanes.write(part, "f32") for part in parts_of(d, 4)]
        of_a = [wave.lanes.read(part, "b32") for part in parts_of(a, 4)]
        of_b = [wave.lanes.read(part, "b32") for part in parts_of(b, 2)]
        of_c = [wave.lanes.read(part, "f32") for part in parts_of(c, 4)]

        def step(mask: Mask) -> None:
            warps = whole_warps(mask, wave, instruction)
            left = np.empty((len(warps), 16, 8), np.uint32)
            right = np.empty((len(warps), 8, 8), np.uint32)  # [column, word]
            sums = np.empty((len(warps), 16, 8), np.float64)
            for (row, word), held in zip(A_PLACES, of_a, strict=True):
                left[:, row, word] = held[warps]
            for (word, column), held in zip(B_PLACES, of_b, strict=True):
                right[:, column, word] = held[warps]
            for (row, column), held in zip(C_PLACES, of_c, strict=True):
                sums[:, row, column] = np.broadcast_to(held, wave.lanes.count)[warps]
            sums += numbers(left) @ numbers(right).transpose(0, 2, 1)
            for (row, column), to in zip(C_PLACES, targets, strict=True):
                to[warps] = sums[:, row, column]

        return step

    return bind


def _halves(words: np.ndarray) -> np.ndarray:
    return words.view(np.float16).astype(np.float64)


def _singles(words: np.ndarray) -> np.ndarray:
    return (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)  # the rest is not looked at


TABLE = {
    **{f"ldmatrix.sync.aligned.m8n8.x{count}.shared.b16": ldmatrix(count) for count in (1, 2, 4)},
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": mma(_halves),
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32": mma(_singles),
}
