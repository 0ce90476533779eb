"""A still of one block of implicit GEMM: its place in A and y, and its cells' places in the picture."""

from __future__ import annotations

import numpy as np

from convlab.figures.cells import caption, draw_cells, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import figure_style
from convlab.index_map import IndexMap
from convlab.inspect.block_footprint import GemmBlock, count
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text


def draw(problem: ConvProblem, blocks: list[GemmBlock], step: int) -> Picture:
    """Return the picture of block number `step` of an order of blocks, for one image."""
    _, H, W, C = problem.x_shape
    M, K, taps = problem.gemm
    block, counts = blocks[step], count(problem, blocks[step])
    (top, bottom), (left, right) = problem.padding
    places = IndexMap(problem).x_at(np.arange(M)[:, None], np.arange(taps))  # (M, taps)
    here = places[block.m.start : block.m.stop, block.k.start : block.k.stop]
    reads = np.bincount(here[here >= 0], minlength=H * W * C)
    image_width, wide = (W + left + right) * (C + 0.25), taps * 1.02
    height = max((H + top + bottom) * 1.3, M) + 2.0

    with figure_style():
        title = f"{counts.cells} cells of a matrix that is nowhere: {counts.numbers} numbers of x"
        figure, ax = sheet(image_width + wide + K + 6.2, height, title, scale=0.27)

        def pixel(i, j):
            h, (w, c) = i - top, divmod(j, C)
            w -= left
            if not (0 <= h < H and 0 <= w < W):
                return "padding", ""
            place = (h * W + w) * C + c
            return ("input", place) if reads[place] else (None, "")

        draw_cells(
            ax, H + top + bottom, (W + left + right) * C, pixel, at=(0.6, 1.4), height=1.3, group=C, size=7
        )
        caption(ax, 0.7, 1.0, "input", "x", "numbers that this block reads")

        def cell(m, k):
            if m not in block.m or k not in block.k:
                return None, ""
            return ("workspace", places[m, k]) if places[m, k] >= 0 else ("padding", 0)

        start = image_width + 2.2
        corner = draw_cells(ax, M, taps, cell, at=(start, 1.4), size=6.5)
        frame(ax, corner(block.m.start, block.k.start), len(block.k), len(block.m))
        caption(ax, start + 0.1, 1.0, "workspace", "A", f"{M} × {taps}, never stored")

        def output(m, n):
            finished = any(m in b.m and n in b.n and b.k.stop == taps for b in blocks[: step + 1])
            return ("output" if finished or (m in block.m and n in block.n) else None), ""

        beside = start + wide + 2.0
        corner = draw_cells(ax, M, K, output, at=(beside, 1.4))
        frame(ax, corner(block.m.start, block.n.start), len(block.n), len(block.m))
        caption(ax, beside + 0.1, 1.0, "output", "y", f"{M} × {K}")

        alt = (
            f"Block {step + 1} of {len(blocks)}: rows {block.m.start} to {block.m.stop - 1}, columns "
            f"{block.k.start} to {block.k.stop - 1} of a matrix of {M} by {taps} cells that is never stored. "
            f"Its {counts.cells} cells are {counts.numbers} different numbers of the picture and "
            f"{counts.padding} zeros for padding; they are added to {len(block.m)} by {len(block.n)} sums. "
            f"A scratch for the block takes {bytes_text(counts.cells * problem.itemsize)}."
        )
        return show(figure, alt)
