"""What Winograd's convolution costs, by the texts of a tile (`tile_texts`)."""

from __future__ import annotations

from dataclasses import replace

from convlab.algorithms.winograd.tiles import BLOCK, LANES, TileTexts
from convlab.cost.common import panel_bytes
from convlab.cost.formula import Formula
from convlab.cost.phases import ONLY_READ, USUAL, Phase, packing, product, stream

ONE_TILE = 9  # windows, the rows of the tallest register tile


def flops(per_tile: TileTexts) -> Formula:
    """Return the operations of a run."""
    tiles, _, cells, into, back = per_tile
    return Formula(f"{tiles} * (2*{cells}*K*C/G + {into}*C + {back}*K)")


def form_costs(m: int, per_tile: TileTexts) -> dict[str, dict]:
    """Return what the forms for tiles of m x m outputs cost, by the backend: what a `Form` is told."""
    tiles, n, cells, *_ = per_tile
    windows, products, weights = f"{tiles}*{cells}*C", f"{tiles}*{cells}*K", f"{cells}*K*C/G"
    padded = f"N*(ceil(P/{m})*{m} + {n} - {m})*(ceil(Q/{m})*{m} + {n} - {m})*C"
    return {
        "numpy": {
            "bytes_moved": Formula(f"(3*{windows} + {weights} + 2*{products} + N*P*Q*K) * b"),
            "workspace_bytes": Formula(f"({padded} + {windows} + {products} + {tiles}*{m * m}*K) * b"),
            "packed_bytes": Formula(f"{weights} * b"),
            "scratch": ("V", "M", "whole"),
        },
        "cpu": {
            "functions": ("pack", "allocate", "bind"),
            "epilogue": True,
            # V and M stay in the cache; the weights are read once for each block of tiles.
            "bytes_moved": Formula(f"({windows} + ceil({tiles}/{BLOCK})*{weights} + N*P*Q*K) * b"),
            # A row of M is as wide as a register tile: 2 vectors of VL numbers of 4 bytes or half as many
            # of 8.
            "workspace_bytes": Formula(f"threads*{cells}*min({tiles}, {BLOCK})*(C/G*b + 2*VL*4) + {LANES}*b"),
            "packed_bytes": panel_bytes(K=f"{cells}*C/G"),
            "scratch": ("V", "M"),
            "phases": lambda: _phases(m, per_tile),
            # R taps for each of n rows, S times; then S for each place. A number in double precision is two.
            "setup": lambda: (packing(weights, f"2*2*{n}*(R + {n})*S * K*C/G"),),
        },
        "gpu": {
            "functions": ("pack", "allocate", "works"),
            # V and M are written by one kernel and read by the next.
            "bytes_moved": Formula(f"(N*H*W*C + 2*{windows} + {weights} + 2*{products} + N*P*Q*K) * b"),
            "workspace_bytes": Formula(f"({windows} + {products}) * b"),
            "largest": Formula(f"max({windows}, {products})"),
            "packed_bytes": Formula(f"{cells}*C * ceil(K/G/4)*4 * b"),
        },
    }


def _phases(m: int, per_tile: TileTexts) -> tuple[Phase, ...]:
    cells, parts = per_tile.cells, {"tiles": per_tile.tiles}
    held = f"min(tiles, {BLOCK}) * {cells}"  # V and M of a block
    windows = stream(f"2 * tiles*{cells}*C*b", f"{held}*C/G*b", parts)
    products = stream(f"tiles * ({cells}+{m * m})*K*b", f"{held}*2*VL*4", parts)
    weights = f"{cells}*K*C/G*b"
    blocks = f"ceil(tiles/{BLOCK})"
    # Each panel of filters reads the windows again. Between two times lie M, the weights of the panel and its
    # part of y; if all that does not stay in a cache, the runs of C numbers are too short for processors to
    # foresee which comes next: they arrive one after the other, and multiply-adds wait.
    panels = "ceil(K/G/(2*VL))"
    width = "2*VL*4"  # bytes of a row of two vectors
    turn = f"{held}*(C/G*b + {width}) + ({cells}*C/G + min(tiles, {BLOCK})*{m * m}) * {width}"
    once_more = stream(f"{ONLY_READ} * ({panels} - 1) * tiles*{cells}*C*b", turn, parts)
    # The products of groups are small ones. To begin each, and each of its register tiles, takes as long as
    # to begin so many runs (a Zen 5).
    begun = f"min(1, G - 1) * {cells}*G * {panels} * (4*{blocks} + 3*ceil(tiles/MR))"
    multiply = product(
        "tiles",
        "K/G",
        "C/G",
        times=f"{cells}*G",
        rows="tiled(tiles)",
        tile=USUAL,
        calls="0",
        parts=parts,
        run=begun,
    )
    # Windows that fill one register tile are multiplied faster than weights can be asked for: those arrive at
    # half the speed (0.5 to 0.6 of it, on a Zen 4, a Zen 5 and a Xeon).
    waits = f"(1 + max(0, min(1, {ONE_TILE + 1} - tiles)))"
    again = stream(f"{ONLY_READ} * {waits} * {blocks} * {weights}", weights, parts)
    # Additions alone are half of what multiply-adds count as. To transform and to move does not overlap: the
    # sums of a window wait for its numbers, and what is written waits for the sums. Measured apart, on a
    # Zen 5, the two together are still a quarter too little; the longer one alone would be half of it.
    into = Formula(f"2*tiles*{per_tile.into}*ceil(C/G/VL)*VL*G", parts)
    back = Formula(f"2*tiles*{per_tile.back}*ceil(K/G/VL)*VL*G", parts)
    return (
        Phase("move windows", streams=(windows, once_more)),
        Phase("transform windows", into),
        replace(multiply, streams=(again,)),
        Phase("transform back", back),
        Phase("move tiles", streams=(products,)),
    )
