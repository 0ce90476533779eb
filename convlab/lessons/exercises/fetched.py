"""Notebook 12: what all blocks of a product fetch."""

from __future__ import annotations

from convlab.lessons.exercise import Exercise, Mistake


def fetched(M, N, K, block_m, block_n):
    """Return how many numbers of both matrices, M x K and K x N, all blocks fetch."""
    # your code here: how many blocks lie side by side, and how many below each other?
    across = -(-N // block_n)
    down = -(-M // block_m)
    first = M * K * across  # all blocks of a line fetch the same rows
    second = K * N * down
    return first + second


def _answer(M, N, K, block_m, block_n) -> int:
    """Go from block to block and add up what each fetches."""
    total = 0
    for m in range(0, M, block_m):
        for n in range(0, N, block_n):
            rows, columns = min(block_m, M - m), min(block_n, N - n)
            total += rows * K + K * columns
    return total


EXERCISE = Exercise(
    notebook="12",
    statement="fetched(M, N, K, block_m, block_n) returns how many numbers of both matrices all blocks "
    "fetch; what the matrices do not have is not counted.",
    solution=fetched,
    why="A row of the first matrix is fetched by every block that stands beside the others in its line, so "
    "as often as blocks lie side by side. The last ones may hang over: they are blocks too, but what they "
    "fetch ends at the edge, so no number is counted that is not there.",
    hints=(
        "Take M = N = 4 and blocks of 2 x 2, so four blocks. How often is the first row of the first matrix "
        "fetched, and by which of them?",
        "Every number of the first matrix (M x K) is fetched once by each of the blocks that lie *side by "
        "side*; every number of the second (K x N) by each of those *below each other*.",
        "M * K * ceil(N / block_n) + K * N * ceil(M / block_m); -(-a // b) rounds up.",
    ),
    cases=lambda: (
        *((4, 4, 1, 2, 2), (8, 4, 3, 4, 2), (8, 8, 2, 1, 1), (5, 7, 3, 2, 4), (5, 4, 1, 4, 2)),
        *((3136, 64, 576, 128, 64), (3136, 64, 576, 64, 128), (49, 512, 4608, 64, 64)),
    ),
    answer=_answer,
    mistakes=(
        Mistake(
            "rounds down",
            {"-(-N // block_n)": "N // block_n", "-(-M // block_m)": "M // block_m"},
            "Rows and columns that are left over at the edges need blocks as well.",
        ),
        Mistake(
            "leaves out the blocks that hang over",
            {"first + second": "(M // block_m) * (N // block_n) * (block_m + block_n) * K"},
            "Rows and columns that are left over at the edges need blocks as well, which fetch what is "
            "there.",
        ),
        Mistake(
            "divides with a fraction",
            {"-(-N // block_n)": "N / block_n", "-(-M // block_m)": "M / block_m"},
            "A block that hangs over is a block, and fetches all rows or columns that it shares.",
        ),
        Mistake(
            "always counts one block more than fits",
            {"-(-N // block_n)": "N // block_n + 1", "-(-M // block_m)": "M // block_m + 1"},
            "If the blocks come out even, nothing is left over for one more.",
        ),
        Mistake(
            "fetches past the lower edge",
            {"M * K * across": "down * block_m * K * across"},
            "The last line of blocks hangs over, but below the last row there is nothing to fetch.",
        ),
        Mistake(
            "fetches past the right edge",
            {"K * N * down": "K * across * block_n * down"},
            "The last block of a line hangs over, but beyond the last column there is nothing to fetch.",
        ),
        Mistake(
            "forgets the second matrix",
            {"first + second": "first"},
            "A block multiplies rows by columns: it fetches both.",
        ),
        Mistake(
            "forgets the first matrix",
            {"first + second": "second"},
            "A block multiplies rows by columns: it fetches both.",
        ),
        Mistake(
            "fetches every number once",
            {" * across": "", " * down": ""},
            "Blocks share nothing: what two of them need, both fetch.",
        ),
        Mistake(
            "exchanges the sides of a block",
            {"N // block_n": "N // block_m", "M // block_m": "M // block_n"},
            "block_m cuts the M rows, block_n the N columns.",
        ),
        Mistake(
            "exchanges the blocks below each other with those side by side",
            {"M * K * across": "M * K * down", "K * N * down": "K * N * across"},
            "Blocks below each other have different rows. Those side by side have the same, and fetch them "
            "again.",
        ),
        Mistake(
            "lets every block fetch both matrices whole",
            {"first + second": "(M + N) * K * across * down"},
            "A block needs the rows and columns of its own outputs only.",
        ),
        Mistake(
            "counts one block",
            {"first + second": "(min(block_m, M) + min(block_n, N)) * K"},
            "That is what one of them fetches. How many are there?",
        ),
        Mistake(
            "forgets the length of the sums",
            {"M * K": "M", "K * N": "N"},
            "Each row of the one and each column of the other has K numbers.",
        ),
        Mistake(
            "counts the multiply-adds",
            {"first + second": "M * N * K"},
            "One pays for two *sides* of a tile, and receives its *area*: fetched are block_m rows and "
            "block_n columns.",
        ),
        Mistake(
            "fetches two numbers for every multiply-add",
            {"across": "N", "down": "M"},
            "That is the naive kernel. A block fetches a number once for all its threads.",
        ),
        Mistake(
            "multiplies what both matrices cost",
            {"first + second": "first * second"},
            "Every block fetches from the one matrix *and* from the other: that is a sum.",
        ),
        Mistake(
            "counts the outputs, too",
            {"first + second": "first + second + M * N"},
            "Those are written. Asked is what is fetched, of the two matrices.",
        ),
    ),
)
