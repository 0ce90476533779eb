"""Tile by tile: implicit GEMM walks over a matrix that is never stored, one block at a time."""

from __future__ import annotations

from collections.abc import Sequence

from convlab.algorithms.precomputed_gemm.offsets import deltas
from convlab.inspect.block_footprint import GemmBlock, count, implicit_gemm_blocks, precomputed_gemm_blocks
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div
from convlab.support.units import bytes_text, number_text, plural
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole

ALGORITHMS = ("implicit_gemm", "precomputed_gemm")
GATHERED = (
    Step("Step with the slider: how many blocks in a row does it take until a sum of y is finished?"),
    Step(
        "More rows in a block: its windows overlap, and share numbers of x. How large is the reuse now?",
        {"block_m": 20, "step": 0},
    ),
    Step("Longer pieces of the sums instead: does the reuse go up as well?", {"block_k": 18, "step": 0}),
)


class TileByTile(Live):
    """The blocks of an implicit matrix product: their place in A and y, and where their cells live in x.

    Parameters
    ----------
    H, W, C : int
        Height and width of the image, 2 to 6, and its channels, 1 to 4.
    K, R, S : int
        Number of filters, 1 to 6; height and width of a filter, 1 to 3.
    stride, padding : int
        Stride, 1 to 3; padding on every side, 0 to 2.
    block_m, block_n, block_k : int
        Rows, columns and length of a block: 1 to 64, 1 to 6, 1 to 36. With "precomputed_gemm" block_k is in
        channels.
    algorithm : "implicit_gemm" or "precomputed_gemm"
        Whether pieces of the sums are cut anywhere, or are steps of the walk by three deltas.
    step : int
        The block that is shown first.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges, or describe no convolution.

    Examples
    --------
    >>> len(TileByTile(H=4, W=5, C=2, K=4, block_m=6, block_n=2, block_k=6).blocks)
    24
    """

    H, W, C = Whole(2, 6, 4), Whole(2, 6, 5), Whole(1, 4, 2)
    K, R, S = Whole(1, 6, 4), Whole(1, 3, 3), Whole(1, 3, 3)
    stride, padding = Whole(1, 3, 1), Whole(0, 2, 1)
    block_m, block_n, block_k = Whole(1, 64, 6), Whole(1, 6, 2), Whole(1, 36, 6)
    algorithm = Choice(ALGORITHMS)
    step = Whole(0, 100 * 6 * 36 - 1, 1)

    def __init__(
        self,
        H=4,
        W=5,
        C=2,
        K=4,
        R=3,
        S=3,
        *,
        stride=1,
        padding=1,
        block_m=6,
        block_n=2,
        block_k=6,
        algorithm="implicit_gemm",
        step=1,
    ):
        sizes = {"H": H, "W": W, "C": C, "K": K, "R": R, "S": S, "stride": stride, "padding": padding}
        blocks = {"block_m": block_m, "block_n": block_n, "block_k": block_k}
        super().__init__(**sizes, **blocks, algorithm=algorithm, step=step)
        self.problem  # noqa: B018 - a filter that does not fit is refused here

    def lead(self) -> Sequence[Step]:
        """Return the steps: of blocks that are gathered, or of the walk by three deltas."""
        if self.algorithm == "implicit_gemm":
            return GATHERED
        channels = min(self.block_k, self.C)
        next_c = number_text(deltas(self.problem, channels)[2])
        # Of the second block of rows: in the first, taps often lie on padding.
        pieces = ceil_div(self.K, self.block_n) * ceil_div(self.C, channels) * self.R * self.S
        second = pieces if self.problem.gemm[0] > self.block_m else 0
        return (
            Step("Step on with the slider: both arrows move alike. Which three distances take turns?"),
            Step(
                "After the last tap the walk goes back to the first, for the next "
                f"{plural(channels, 'channel')}. Which moves add up to next_c\u00a0=\u00a0{next_c}?",
                {"step": second + self.R * self.S},
            ),
            Step(
                "A filter of 3 × 3 takes no further distance. Which of the three have changed, which not?",
                {"R": 3, "S": 3, "step": 3},
            ),
        )

    @property
    def problem(self) -> ConvProblem:
        """The convolution that is shown now, with one image."""
        sizes = {name: getattr(self, name) for name in ("H", "W", "C", "K", "R", "S", "stride", "padding")}
        return ConvProblem(N=1, **sizes)

    @property
    def blocks(self) -> list[GemmBlock]:
        """Its blocks, in the order in which they are visited."""
        order = implicit_gemm_blocks if self.algorithm == "implicit_gemm" else precomputed_gemm_blocks
        return order(self.problem, self.block_m, self.block_n, self.block_k)

    def describe(self) -> str:
        """Return the present state in words."""
        problem, blocks = self.problem, self.blocks
        step = min(self.step, len(blocks) - 1)
        m, n, k = blocks[step]
        found = count(problem, blocks[step])
        rows, _, columns = problem.gemm
        scratch = f"A scratch for the block takes {bytes_text(found.cells * problem.itemsize)}"
        if self.algorithm == "precomputed_gemm":
            scratch = "The block needs no scratch"
        return (
            f"Block {step + 1} of {len(blocks)}: rows {m.start} to {m.stop - 1}, columns {k.start} to "
            f"{k.stop - 1} of a matrix of {rows} by {columns} cells that is never stored. "
            f"In its {plural(found.cells, 'cell')} stand {plural(found.numbers, 'different number')} of "
            f"the picture and {plural(found.padding, 'zero')} for padding; they are added to {len(m)} by "
            f"{len(n)} sums. {scratch}."
        )
