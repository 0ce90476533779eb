"""One launch: the arguments as the kernel's parameters, and one wave of blocks after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.ptx.kinds import DTYPES, number
from tools.ptx.lanes import Lanes
from tools.ptx.memory import EDGE, UNTOUCHED, WRITTEN, Space
from tools.ptx.program import Program
from tools.ptx.races import Races
from tools.ptx.text import Array, PtxError
from tools.ptx.wave import Wave

TOGETHER = 4096  # threads of a wave, as far as whole blocks allow


def flat(argument: Any) -> list[np.generic]:
    """Return an argument as the parameters that Numba makes of it; an array is seven or more of them."""
    if isinstance(argument, tuple):
        return [part for one in argument for part in flat(one)]
    if isinstance(argument, np.ndarray):
        words = [
            0,
            0,
            argument.size,
            argument.itemsize,
            argument.ctypes.data,
            *argument.shape,
            *argument.strides,
        ]
        return [np.int64(word) for word in words]
    return [np.asarray(argument)[()]]


def run(program: Program, memory: Space, grid, block, arguments: tuple, start: int) -> int:
    """Run a kernel on all blocks; return the time when it has ended.

    Parameters
    ----------
    program : Program
        The kernel.
    memory : Space
        Global memory; arrays among the arguments lie in it.
    grid, block : int or tuple of int
        Blocks, and threads of a block, along x, y and z.
    arguments : tuple
        Arrays, numbers and tuples of numbers.
    start : int
        The time now (see `races`).
    """
    grid, block = _three(grid), _three(block)
    parameters = _parameters(program, [part for one in arguments for part in flat(one)])
    blocks, threads = int(np.prod(grid)), int(np.prod(block))
    together = max(1, TOGETHER // threads)
    memory.races = _races(program, memory, "global")
    end = start
    with np.errstate(all="ignore"):
        for first in range(0, blocks, together):
            some = min(together, blocks - first)
            symbols, spaces = _spaces(program, memory, some, threads)
            lanes = Lanes(program.kernel, grid, block, first, some, symbols)
            wave = Wave(program, lanes, parameters, spaces, start)
            wave.run()
            end = max(end, wave.time)
    return end + blocks


def _three(sizes) -> tuple[int, int, int]:
    given = (*np.atleast_1d(sizes).tolist(), 1, 1)[:3]
    return int(given[0]), int(given[1]), int(given[2])


def _parameters(program: Program, given: list[np.generic]) -> dict[str, np.generic]:
    declared = program.kernel.parameters
    if len(given) != len(declared):
        raise PtxError(f"{len(given)} parameters given; the kernel takes {len(declared)}")
    for value, (name, kind) in zip(given, declared, strict=True):
        if value.itemsize != DTYPES[kind].itemsize:
            raise PtxError(f"parameter {name} is {kind}; given is {value!r}")
    return {name: value for (name, _), value in zip(declared, given, strict=True)}


def _spaces(program: Program, memory: Space, blocks: int, threads: int) -> tuple[dict, dict]:
    """Return the addresses of the kernel's arrays, and its spaces for so many blocks."""
    symbols: dict[str, int] = {}
    spaces = {"global": memory}
    for name, rows in (("shared", blocks), ("local", blocks * threads), ("const", 1)):
        arrays = [array for array in program.kernel.arrays if array.space == name]
        places, end = {}, EDGE
        for array in arrays:
            places[array.name] = end = -(-end // 16) * 16
            end += array.size + EDGE
        space = spaces[name] = Space(name, rows, -(-end // 16) * 16)
        for array in arrays:
            space.mark(places[array.name], array.size, UNTOUCHED)
            if array.values:
                _fill(space, places[array.name], array)
        if name == "shared":
            space.races = _races(program, space, name)
        symbols |= places
    return symbols, spaces


def _fill(space: Space, at: int, array: Array) -> None:
    """Write the numbers that the module gives an array."""
    values = np.array([number(text, array.kind) for text in array.values]).view(np.uint8)
    space.bytes[at : at + len(values)] = values
    space.mark(at, len(values), WRITTEN)


def _races(program: Program, space: Space, name: str) -> Races | None:
    """Return what watches a space; the same as in the launch before, if its grains have the same size."""
    width = program.grain.get(name)
    if width is None or (space.races and space.races.width == width):
        return space.races
    return Races(len(space.bytes) // width, width)
