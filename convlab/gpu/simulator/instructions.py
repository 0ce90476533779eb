"""What stands for the instructions of `convlab.gpu.ptx` and `convlab.gpu.tensor_cores.mma` in the simulator.

`STAND_INS` has one function for each name; the first parameter is the `Simulation`, the rest the kernel's.
"""

from __future__ import annotations

import sys

import numpy as np

from convlab.gpu.simulator import errors
from convlab.gpu.simulator.async_copies import BYTES

ALL_LANES = 0xFFFFFFFF


def load4(simulation, array, index):
    """Return four elements, read at once."""
    return array.load(index, 4, sys._getframe(1).f_lasti)


def store4(simulation, array, index, a, b, c, d):
    """Write four elements at once."""
    array.store(index, (a, b, c, d), sys._getframe(1).f_lasti)


def store2(simulation, array, index, a, b):
    """Write two elements at once."""
    array.store(index, (a, b), sys._getframe(1).f_lasti)


# -- copies that take their time -----------------------------------------------------------------------------


def cp_async16_zfill(simulation, shared, to, array, index, wanted):
    """Begin to copy 16 bytes: read now, written when the thread has waited for it."""
    copy = simulation.copies.begin(shared, to, array, index, wanted, sys._getframe(1).f_lasti)
    simulation.lane.copies[-1].append(copy)


def cp_async_commit(simulation):
    """Close the group of copies."""
    simulation.lane.copies.append([])


def cp_async_wait(simulation, groups):
    """Let all copies arrive but those of the last groups."""
    copies = simulation.lane.copies
    while len(copies) - 1 > groups:  # the last one is open
        for copy in copies.pop(0):
            simulation.copies.arrive(copy)


# -- tensor cores: products are exact; how sums are rounded, the launch says (`tensor_sums`) -----------------


def held(simulation, shared):
    """Return the array: where it lies costs nothing here."""
    return shared


def ldmatrix_x4(simulation, shared, index):
    """Return a word of each of four matrices; lane 8*i + j read row j of matrix i."""
    instruction = sys._getframe(1).f_lasti
    row = shared.load(index, BYTES // shared.itemsize, instruction)
    rows = simulation.meet(ALL_LANES, np.array(row, shared.dtype).view(np.uint32).tolist(), instruction)
    line, word = divmod(simulation.lane.number, 4)
    return tuple(rows[8 * matrix + line][word] for matrix in range(4))


def mma_m16n8k16_f16(simulation, *words):
    """Return four numbers of A @ B + C: pairs of float16 in every word."""
    return _product(simulation, words, _halves, sys._getframe(1).f_lasti)


def mma_m16n8k8_tf32(simulation, *words):
    """Return four numbers of A @ B + C: the first 19 bits of a float32 in every word."""
    return _product(simulation, words, _singles, sys._getframe(1).f_lasti)


def half2(simulation, low, high):
    """Return a word of two float16."""
    return int(np.array([low, high], np.float16).view(np.uint32)[0])


def tf32(simulation, value):
    """Return a float32 rounded to tf32, as a word."""
    bits = int(np.float32(value).view(np.uint32))
    return (bits + (0x1000 if np.isfinite(value) else 0)) & 0xFFFFE000


def _product(simulation, words, numbers, instruction):
    lanes = simulation.meet(ALL_LANES, words, instruction)
    if len(lanes) < 32:
        simulation.note(
            errors.DIVERGENT_WARP, f"only {len(lanes)} lanes of the warp multiply; it takes all 32"
        )
    sums = lanes.once(lambda: _multiply(lanes, numbers, simulation.add_products))
    row, pair = divmod(simulation.lane.number, 4)
    return *sums[row, 2 * pair : 2 * pair + 2], *sums[row + 8, 2 * pair : 2 * pair + 2]


def _multiply(lanes, numbers, add_products):
    """Put what 32 lanes hold in its place (see `convlab.gpu.tensor_cores.fragments`), multiply and add."""
    a, b = np.zeros((16, 8), np.uint32), np.zeros((8, 8), np.uint32)  # words; b by columns
    c = np.zeros((16, 8), np.float32)
    for lane, (a0, a1, a2, a3, b0, b1, c0, c1, c2, c3) in lanes.items():
        g, t = divmod(lane, 4)
        a[g, t], a[g + 8, t], a[g, t + 4], a[g + 8, t + 4] = a0, a1, a2, a3
        b[g, t], b[g, t + 4] = b0, b1
        c[g, 2 * t], c[g, 2 * t + 1], c[g + 8, 2 * t], c[g + 8, 2 * t + 1] = c0, c1, c2, c3
    return add_products(numbers(a), numbers(b), c)


def _halves(words):
    return words.view(np.float16).astype(np.float32)


def _singles(words):
    return (words & np.uint32(0xFFFFE000)).view(np.float32)


STAND_INS = {
    function.__name__: function
    for function in (
        load4,
        store4,
        store2,
        cp_async16_zfill,
        cp_async_commit,
        cp_async_wait,
        held,
        ldmatrix_x4,
        mma_m16n8k16_f16,
        mma_m16n8k8_tf32,
        half2,
        tf32,
    )
}
STAND_INS["cp_async16_zfill_cached"] = cp_async16_zfill  # there is no cache to go by
