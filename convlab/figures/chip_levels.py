"""A GPU from the whole chip down to one lane, each part of it enlarged beside it."""

from __future__ import annotations

from convlab.benchmark.datasheets import Datasheet
from convlab.errors import ParameterError
from convlab.figures.cell_grid import sheet as bare_sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, figure_style, mix
from convlab.gpu.occupancy import GPUS, MOST_REGISTERS, MULTIPROCESSORS, QUARTERS, REGISTERS, WARP
from convlab.support.checked import checked
from convlab.support.integers import ceil_div
from convlab.support.units import bytes_text

ACROSS = 12  # multiprocessors in a row
REGISTER_FILE = mix(ROLES["workspace"], 0.55)
NEAR = mix(ROLES["workspace"], 0.22)  # shared memory and L1
FAR = mix(ROLES["input"], 0.16)  # what all multiprocessors share
BUSY = mix(ROLES["active"], 0.55)


@checked
def chip(machine: Datasheet) -> Picture:
    """Draw a GPU: its multiprocessors and caches to scale, one of them enlarged, a warp of it, a lane.

    Parameters
    ----------
    machine : Datasheet
        One that says how it is built, as that of the H100.
    """
    inside = machine.chip
    if inside is None:
        raise ParameterError(f"machine={machine.name!r}; its datasheet does not say how it is built")
    arch, processors = GPUS[inside.gpu]
    warps = MULTIPROCESSORS[arch].threads // WARP
    own = 4 * REGISTERS + inside.l1  # bytes of one multiprocessor: a cell, one high and one wide
    rows, cache = ceil_div(processors, ACROSS), inside.l2 / own / ACROSS
    with figure_style():
        title = f"An {inside.gpu}: {processors} processors, each with room for {warps} warps of {WARP} lanes"
        figure, ax = bare_sheet(53, rows + cache + 6.6, title, scale=0.16)
        _chip(ax, processors, rows, cache, inside)
        _multiprocessor(ax, warps, inside, 17, 34)
        _warp(ax, 38, 52.6)
        for start, end in (((ACROSS + 0.4, 1.2), (17, 1.2)), ((ACROSS + 0.4, 2.2), (17, 19.6))):
            _zoom(ax, start, end)
        for start, end in (((33.6, 10), (38, 1.3)), ((33.6, 10.42), (38, 9.05))):  # the last one chosen
            _zoom(ax, start, end)
        return show(
            figure,
            f"The {machine.name}, from the chip to a lane. The chip has {processors} multiprocessors, each "
            f"with {bytes_text(4 * REGISTERS)} of registers and {bytes_text(inside.l1)} of shared memory "
            f"and L1 cache, and below them, drawn to the same scale, an L2 cache of {bytes_text(inside.l2)}. "
            f"A multiprocessor has {QUARTERS} schedulers, each with room for {warps // QUARTERS} warps. A "
            f"warp has {WARP} lanes, and a lane at most {MOST_REGISTERS} registers of 4 bytes.",
        )


def _box(ax, x, y, wide, high, colour, edge=LIGHT["line"], line=0.6, **more):
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x, y), wide, high, facecolor=colour, edgecolor=edge, linewidth=line, **more))


def _zoom(ax, start, end):
    ax.plot(*zip(start, end, strict=True), color=LIGHT["muted"], linewidth=0.7)


def _name(ax, x, y, text, **more):
    ax.text(x, y, text, **({"fontsize": 8.5, "va": "top", "color": LIGHT["ink"], "linespacing": 1.3} | more))


def _chip(ax, processors, rows, cache, inside):
    """Draw the multiprocessors, upper half registers, and the L2 cache: areas are bytes."""
    share = 4 * REGISTERS / (4 * REGISTERS + inside.l1)
    for i in range(processors):
        y, x = divmod(i, ACROSS)
        x += 0.4
        _box(ax, x + 0.08, y + 1.28, 0.84, 0.84 * share, REGISTER_FILE, line=0)
        _box(ax, x + 0.08, y + 1.28 + 0.84 * share, 0.84, 0.84 * (1 - share), NEAR, line=0)
    _box(ax, ACROSS - 0.6, 1.2, 1, 1, "none", ROLES["active"], 1.6)
    _name(ax, 0.4, 1.0, f"the chip: {processors} SMs", va="bottom", fontweight="bold")
    _box(ax, 0.4, rows + 1.7, ACROSS, cache, FAR)
    at = 0.4 + ACROSS / 2, rows + 1.7 + cache / 2
    _name(ax, *at, f"L2 cache\n{inside.l2 >> 20} MiB", ha="center", va="center")
    side = (inside.capacity / (4 * REGISTERS + inside.l1)) ** 0.5 / ACROSS
    words = f"areas are bytes; the memory,\n{inside.capacity / 1e9:.0f} GB, would be a square\n"
    words += f"{side:.0f} times as wide as this"
    _name(ax, 0.4, rows + cache + 2.3, words, color=LIGHT["muted"])


def _multiprocessor(ax, warps, inside, left, right):
    """Draw one multiprocessor: its schedulers, the warps that each chooses from, and its memories."""
    each = (right - left) / QUARTERS
    _box(ax, left, 1.2, right - left, 18.4, LIGHT["panel"])
    _name(ax, left, 1.0, f"one SM: {QUARTERS} schedulers, {warps} warps", va="bottom", fontweight="bold")
    for quarter in range(QUARTERS):
        x, wide = left + each * quarter + 0.35, each - 0.7
        _name(ax, x + wide / 2, 1.6, "scheduler", ha="center", fontsize=8, color=LIGHT["muted"])
        for i in range(warps // QUARTERS):
            chosen = i == (1, 6, 3, 11)[quarter]
            _box(ax, x, 3.4 + 0.6 * i, wide, 0.42, BUSY if chosen else LIGHT["line"], line=0)
        _box(ax, x, 13.4, wide, 2.6, REGISTER_FILE)
        words = f"registers\n{4 * REGISTERS // QUARTERS >> 10} KiB"
        _name(ax, x + wide / 2, 14.7, words, ha="center", va="center", fontsize=8)
    _box(ax, left + 0.35, 16.4, right - left - 0.7, 2.8, NEAR)
    words = f"shared memory and L1 cache\n{bytes_text(inside.l1)}"
    _name(ax, (left + right) / 2, 17.8, words, ha="center", va="center")
    words = "In each cycle a scheduler picks a warp that\nwaits for nothing (orange), and begins one\n"
    _name(ax, left, 20.2, f"{words}instruction for its {WARP} lanes.", color=LIGHT["muted"])


def _warp(ax, left, right):
    """Draw a warp's lanes, and the registers of one lane."""
    each = (right - left) / 8
    _name(ax, left, 1.0, f"one warp: {WARP} lanes", va="bottom", fontweight="bold")
    for lane in range(WARP):
        y, x = divmod(lane, 8)
        _box(ax, left + each * x + 0.1, 1.3 + 2 * y, each - 0.2, 1.75, BUSY)
        middle = left + each * (x + 0.5), 1.3 + 2 * y + 0.9
        _name(ax, *middle, f"{lane}", ha="center", va="center", fontsize=8)
    _name(ax, left, 11.6, f"one lane: at most {MOST_REGISTERS} registers", va="bottom", fontweight="bold")
    size = (right - left) / 30
    for i in range(MOST_REGISTERS):
        y, x = divmod(i, 30)
        _box(ax, left + size * x, 11.9 + size * 1.4 * y, size * 0.8, size * 1.1, REGISTER_FILE, line=0)
    words = "4 bytes each. The more a lane takes,\nthe fewer warps fit on the SM."
    _name(ax, left, 20.2, words, color=LIGHT["muted"])
