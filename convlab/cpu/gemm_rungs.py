"""The rungs of the matrix product's ladder in order: what changes on each, its kernel, and its tile.

The kernels are in `gemm_ladder`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convlab.cpu.gemm_ladder import along_the_row, blocked, four_by_four, in_registers, one_by_one, pack
from convlab.cpu.product_tile import shapes
from convlab.cpu.register_tile import VectorTile, tile_for
from convlab.errors import ShapeError
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Computed, checked
from convlab.support.checks import check_axes, check_numbers


@checked
@dataclass(frozen=True)
class Rung:
    """One way to write the product.

    Attributes
    ----------
    name : str
    change : str
        What is new on this rung, in one sentence.
    kernel : callable
        The compiled function; its source is what a learner reads.
    tile : VectorTile or None
        The tile of sums it keeps in registers.
    """

    name: str
    change: str
    kernel: Callable
    tile: VectorTile | None = None

    @checked
    def prepare(self, a: np.ndarray, b: np.ndarray) -> Callable[[], np.ndarray]:
        """Return a call that computes a @ b into an array of its own; b is packed here, once."""
        _check_product(a, b)
        y = aligned_empty((len(a), b.shape[1]), a.dtype)
        arguments = self.arguments(a, b, y)

        def run() -> np.ndarray:
            self.kernel(*arguments)
            return y

        return run

    @checked
    def arguments(self, a: np.ndarray, b: np.ndarray, y: np.ndarray) -> tuple:
        """Return what the kernel takes."""
        _check_product(a, b)
        check_numbers("y", y, (len(a), b.shape[1]), "(M, N)")
        if self.tile is None:
            return a, b, y
        sizes = (len(a), b.shape[1], len(b))
        return a.reshape(-1), pack(b, self.tile.cols).reshape(-1), y.reshape(-1), sizes, self.tile


def _check_product(a: np.ndarray, b: np.ndarray) -> None:
    check_axes("a", a, "M, K")
    check_axes("b", b, "K, N")
    if a.shape[1] != len(b):
        raise ShapeError(f"a has shape {a.shape} and b {b.shape}; expected as many rows of b as columns of a")


@checked
def rungs(dtype: Computed = "float32") -> tuple[Rung, ...]:
    """Return the ladder for this processor, the lowest rung first."""
    best = tile_for(dtype)

    def of_tiles(rows: int, vectors: int, change: str) -> Rung:
        name = f"tile of {rows} × {vectors} vector{'s' * (vectors > 1)}"
        return Rung(name, change, in_registers, VectorTile(rows, vectors, best.lanes, dtype))

    low = (
        Rung(
            "one by one: i, j, k", "The definition. One chain of additions, one number at a time.", one_by_one
        ),
        Rung("along the row: i, k, j", "Neighbours: one instruction serves a whole vector.", along_the_row),
        Rung("the same, in blocks", "A block of b stays in the nearest cache for all rows of a.", blocked),
        Rung("four by four", "A sum is fetched and put back once for four products.", four_by_four),
        of_tiles(1, 1, "The sum stays in a register; but there is only one of it."),
        of_tiles(4, 1, "Four sums that do not wait for each other; each weight serves four rows."),
        of_tiles(best.rows, 1, "As many rows as the tile is to have."),
        of_tiles(best.rows, 2, "Two vectors wide: each number of a serves two vectors of weights."),
    )
    width, (height, *_) = max(shapes().items())
    if width == best.vectors:
        return low
    return *low, of_tiles(height, width, "Wider, if less tall: fewer loads for each multiply-add.")
