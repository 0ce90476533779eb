"""Indirect convolution on a GPU: the tiled product, led by a table of places.

    offsets[i, t, j] = where pixel j of tile i finds tap t in its image, or -1 on padding
    A[m, (t, c)]     = x[image of m + offsets[m, t] + c], or 0

The table is the one of the CPU (`buffer.py`), on the device: int32, in tiles of 32 pixels, made once and good
for every batch and every new x of this size. A warp's rows are neighbouring pixels, so their places lie side
by side. No row of zeros is needed: a lane whose place is -1 does not load.

A load of x has to wait for the place it goes to: two waits, which other warps must fill. Places are loaded
only when the tap changes.
"""

from __future__ import annotations

from convlab.algorithms.indirect import buffer
from convlab.gpu.device import current
from convlab.gpu.gemm import launch
from convlab.gpu.gemm.heuristics import choose_tile
from convlab.gpu.gemm.kernel import Loader
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.gemm.work import convolution_works
from convlab.gpu.kernels import device_function
from convlab.gpu.model.work import Work
from convlab.gpu.occupancy import WARP
from convlab.problem import ConvProblem
from convlab.support.checked import Computed, Count, kept
from convlab.support.integers import round_up

START, LIST, PLACE = 0, 1, 2  # of a row: its image in x, its first entry in the table, where the tap lies
C, TAP = 0, 1  # where the thread is along K
NOWHERE = (1 << 32) - 1  # -1, as uint32

pack, packed_bytes = launch.pack, launch.packed_bytes


def allocate(problem: ConvProblem, threads: int) -> dict:
    """Return the table, (ceil(P*Q/32), R*S, 32), and parts of sums where K is cut."""
    offsets = current().put(buffer.indirection_buffer(problem, WARP))
    return {"offsets": offsets} | launch.partials(problem, choose_tile(problem).parts)


def workspace_bytes(problem: ConvProblem, threads: int) -> int:
    """Bytes of what `allocate` returns."""
    rows = round_up(problem.P * problem.Q, WARP)
    return rows * problem.R * problem.S * 4 + launch.partial_bytes(problem, choose_tile(problem).parts)


def resize(old: ConvProblem, new: ConvProblem, workspace: dict) -> tuple[dict, str]:
    """Return the workspace for a picture of another size, and how much of the table was made anew."""
    if old.W != new.W:  # every distance: the old ones need not come back to the processor
        return allocate(new, threads=1), "all"
    if old.H == new.H:
        table, rebuilt = {"offsets": workspace["offsets"]}, "nothing"
    else:
        kept = {"offsets": current().get(workspace["offsets"])}
        table, rebuilt = buffer.resize(old, new, kept)
        table = {name: current().put(array) for name, array in table.items()}
    return table | launch.partials(new, choose_tile(new).parts), rebuilt


def works(problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU."""
    tile, parts, *_ = choose_tile(problem)
    table = workspace_bytes(problem, 1) - launch.partial_bytes(problem, parts)
    return convolution_works(problem, tile, parts, table)


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    tile, parts, *_ = choose_tile(problem)
    table, partials = workspace["offsets"].reshape(-1), workspace.get("partials")
    launch.multiply(problem, tile, parts, indirect_loader, shape(problem, tile), x, table, w, partials, y)


def shape(problem: ConvProblem, tile: Tile) -> tuple[int, ...]:
    """Return the numbers of the problem that `indirect_loader` takes."""
    channels = problem.C // problem.groups
    image = problem.H * problem.W * problem.C
    taps = problem.R * problem.S
    return channels, taps, problem.P * problem.Q, image, *divmod(tile.block_k, channels)


@kept
def indirect_loader(tile: Tile, width: Count, dtype: Computed) -> Loader:
    """Return the `Loader` that looks places up in the table."""
    take, _, clear = mover(width, dtype)
    loads, lanes, threads = tile.loads_a(width), tile.lanes(width), tile.threads

    @device_function
    def look_up(rows, table, tap, taps):
        for load in range(loads):
            if tap < taps:
                rows[load, PLACE] = table[rows[load, LIST] + tap * WARP]
            else:
                rows[load, PLACE] = NOWHERE

    @device_function
    def begin(rows, at, table, thread, m, M, first, k, shape):
        channels, taps, pixels, image = shape[:4]
        for load in range(loads):
            # Rows past the last one repeat it: their sums are not stored.
            row = min(m + thread // lanes + load * (threads // lanes), M - 1)
            n = row // pixels
            pixel = row - n * pixels
            rows[load, START] = n * image + first
            rows[load, LIST] = pixel // WARP * taps * WARP + pixel % WARP
        column = k + thread % lanes * width
        at[TAP] = column // channels
        at[C] = column - at[TAP] * channels
        look_up(rows, table, at[TAP], taps)

    @device_function
    def fetch(x, rows, at, registers, shape):
        for load in range(loads):
            place = rows[load, PLACE]
            if place != NOWHERE:
                take(x, rows[load, START] + place + at[C], registers, load * width)
            else:
                clear(registers, load * width)

    @device_function
    def advance(rows, at, table, M, shape):
        channels, taps, _, _, next_tap, next_c = shape
        c, tap = at[C] + next_c, at[TAP] + next_tap
        if c >= channels:
            c, tap = c - channels, tap + 1
        if tap != at[TAP]:
            look_up(rows, table, tap, taps)
        at[C], at[TAP] = c, tap

    return Loader(begin, fetch, advance)
