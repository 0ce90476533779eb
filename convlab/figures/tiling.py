"""A still of the tiling explorer: y in blocks, a block's threads, a thread's registers, and the cost."""

from __future__ import annotations

from convlab.figures.cells import caption, frame, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style, tint
from convlab.gpu.occupancy import GPUS
from convlab.inspect.tiling import OTHERS, Tiling, blocks, compulsory_bytes, traffic, untiled
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text, ratio_text

_SIDE = 10.0  # of the sheet's units: the longer side of a block


def title(problem: ConvProblem, tiling: Tiling, gpu: str) -> str:
    """Return the finding."""
    if tiling.trouble:
        return "This block does not start"
    arch, processors = GPUS[gpu]
    count, held = blocks(problem, tiling), tiling.held(arch)
    if count < processors:
        idle = processors - count
        return f"{_many(count)} for the {processors} multiprocessors of {gpu}: {idle} have nothing to do"
    saved = sum(untiled(problem).values()) / sum(traffic(problem, tiling).values())
    held_up = f"{_many(held.blocks)} at once, held up by {held.limited_by}"
    return f"{ratio_text(saved)} fewer bytes than with no tile; {held_up}"


def draw(name: str, problem: ConvProblem, tiling: Tiling, gpu: str) -> Picture:
    """Return the picture of a layer cut like this."""
    m, n, _ = problem.gemm
    finding = title(problem, tiling, gpu)
    held = tiling.held(GPUS[gpu][0])
    ways = {
        "no tile": untiled(problem),
        "this tiling": traffic(problem, tiling),
        "every number once": compulsory_bytes(problem),
    }
    with figure_style():
        figure, ax = sheet(42, 21, finding, scale=0.24)
        grid = f"{m:,} × {n} in {-(-m // tiling.block_m):,} × {-(-n // tiling.block_n)} blocks"
        caption(ax, 0.6, 1.1, "output", "y", grid)
        _grid(ax, m, n, tiling)
        words = f"{tiling.block_m} × {tiling.block_n}, {tiling.threads} threads, "
        words += bytes_text(tiling.shared_bytes)
        caption(ax, 14, 1.1, "workspace", "one block", words)
        _block(ax, tiling)
        caption(ax, 30, 1.1, "output", "one thread", f"{tiling.registers} registers")
        _thread(ax, tiling)
        head = ("asked of memory", "x", "w", "y", "together", "FLOPs per byte")
        for row, (way, given) in enumerate([("", head), *ways.items()]):
            total = given[0] if row == 0 else sum(given.values())
            texts = head if row == 0 else (
                way, *map(bytes_text, given.values()), bytes_text(total), f"{problem.flops / total:.1f}"
            )  # fmt: skip
            for column, text in enumerate(texts):
                x = 0.6 if column == 0 else 10 + 4.2 * column
                style = {"fontweight": "bold"} if way == "this tiling" else {}
                colour = LIGHT["muted"] if row == 0 else LIGHT["ink"]
                align = "left" if column == 0 else "right"
                ax.text(x, 15.6 + 1.15 * row, text, fontsize=9, color=colour, ha=align, **style)
        fill = (
            f"{_many(held.blocks)} at once on a multiprocessor of {gpu}: {held.warps} warps, {held.share:.0%}"
        )
        ax.text(0.6, 20.2, fill, fontsize=9)
        total = sum(ways["this tiling"].values())
        alt = (
            f"{name}, batch {problem.N}, in blocks of {tiling.block_m} pixels by {tiling.block_n} filters, "
            f"{tiling.block_k} terms at once, {tiling.thread_m} by {tiling.thread_n} outputs a thread: "
            f"{tiling.threads} threads, about {tiling.registers} registers each, "
            f"{bytes_text(tiling.shared_bytes)} of shared memory; {held.blocks} blocks at once on {gpu}. "
            f"The layer asks memory for {bytes_text(total)}, {problem.flops / total:.1f} FLOPs a byte. "
            f"{tiling.trouble or finding}."
        )
        return show(figure, alt)


def _many(count: int) -> str:
    return f"{count:,} block" + ("s" if count != 1 else "")


def _grid(ax, m: int, n: int, tiling: Tiling) -> None:
    rows, cols = min(-(-m // tiling.block_m), 8), min(-(-n // tiling.block_n), 8)
    scale = min(
        10 / (cols * tiling.block_n), 11 / (rows * tiling.block_m), 2.4 / max(tiling.block_m, tiling.block_n)
    )
    for i in range(rows):
        for j in range(cols):
            at = (0.6 + j * tiling.block_n * scale, 1.8 + i * tiling.block_m * scale)
            _box(ax, at, tiling.block_n * scale, tiling.block_m * scale, "output")
    frame(ax, (0.6, 1.8), tiling.block_n * scale, tiling.block_m * scale)


def _block(ax, tiling: Tiling) -> None:
    scale = _SIDE / max(tiling.block_m, tiling.block_n)
    wide, high = tiling.block_n * scale, tiling.block_m * scale
    deep = min(max(tiling.block_k * scale, 0.4), 3)
    left, top = 14.6 + deep, 2.2 + deep
    _box(ax, (14, top), deep, high, "input")
    _box(ax, (left, 1.8), wide, deep, "filter")
    _box(ax, (left, top), wide, high, "output")
    cell = min(tiling.thread_n, tiling.block_n) * scale, min(tiling.thread_m, tiling.block_m) * scale
    for i in range(1, round(wide / cell[0])):
        ax.plot([left + i * cell[0]] * 2, [top, top + high], color=LIGHT["paper"], linewidth=0.7, zorder=0.9)
    for i in range(1, round(high / cell[1])):
        ax.plot([left, left + wide], [top + i * cell[1]] * 2, color=LIGHT["paper"], linewidth=0.7, zorder=0.9)
    frame(ax, (left, top), *cell)
    frame(ax, (14, top), deep, cell[1])
    frame(ax, (left, 1.8), cell[0], deep)


def _thread(ax, tiling: Tiling) -> None:
    size = min(0.75, 9 / max(tiling.thread_m, tiling.thread_n))
    left, top = 30 + size + 0.4, 1.8 + size + 0.4
    for i in range(tiling.thread_m):
        _box(ax, (30, top + i * size), size, size, "input")
        for j in range(tiling.thread_n):
            _box(ax, (left + j * size, top + i * size), size, size, "output")
    for j in range(tiling.thread_n):
        _box(ax, (left + j * size, 1.8), size, size, "filter")
    below = top + tiling.thread_m * size + 0.9
    ax.text(30, below, f"+ {tiling.staged} on their way, + {OTHERS} addresses", fontsize=9, va="center")


def _box(ax, corner: tuple[float, float], width: float, height: float, role: str) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(
        Rectangle(
            corner, width, height, facecolor=tint(role), edgecolor=LIGHT["line"], linewidth=0.6, zorder=0.8
        )
    )
