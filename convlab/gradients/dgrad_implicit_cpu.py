"""dgrad as implicit GEMM, the fast form: blocks of dy are gathered as forwards, phase by phase.

A phase is a convolution of dy of stride 1 with some of the taps (`phases.py`). Its outputs are pixels of dx
that lie a stride apart, and there the register tile puts them.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.implicit_gemm.cpu import blocks_of
from convlab.cpu.epilogue import output
from convlab.cpu.gathered_gemm import multiply
from convlab.cpu.gemm import pack_filters
from convlab.cpu.product_tile import tile_of
from convlab.gradients.phases import clear_unreached, parts, strided, turned


def pack(problem, w, threads, before=None, dy=None, tile=tile_of) -> list[np.ndarray]:
    """Return the turned filters of each part in panels, (groups, numbers) each, as wide as its tile."""
    taken = (w[:, strided(rows.taps), strided(cols.taps)] for _, rows, cols in parts(problem))
    pairs = zip(parts(problem), taken, strict=True)
    return [pack_filters(part.problem, turned(problem, taps), tile(part.problem)) for part, taps in pairs]


def run(problem, given, panels, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,), places = given, workspace["places"].reshape(-1).view(np.int64)
    (_, _, W, C), steps, out = dx.shape, problem.stride, output(dx)
    clear_unreached(problem, dx)
    for (small, rows, cols), panel in zip(parts(problem), panels, strict=True):
        lines, columns = len(rows.pixels), len(cols.pixels)
        outputs = lines, columns, len(cols.taps), problem.groups
        windows = *dy.shape[1:], *outputs, 1, 1, rows.corner, cols.corner, rows.dilation, cols.dilation
        first = (rows.pixels.start * W + cols.pixels.start) * C
        target = lines, columns, first, dx[0].size, steps[0] * W * C, steps[1] * C
        blocks = blocks_of((None, None, None), small)
        arrays = dy, panel, workspace["block"], out
        multiply(tile_of(small), *arrays, small.gemm, windows, (places, target), blocks, threads)
