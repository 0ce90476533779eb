"""Notebook 06: a whole picture, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from convlab.algorithms.winograd.transforms import matrices
from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake
from convlab.lessons.exercises.winograd_tile import outputs
from convlab.lessons.winograd import missing, missing_at_the_edge


def winograd_picture(x, g, m, AT, G, BT):
    """Return y (H-2, W-2) of a filter g (3, 3) on a picture x (H, W), by tiles."""
    # your code here
    P, Q = x.shape[0] - 2, x.shape[1] - 2
    padded = np.pad(x, ((0, m), (0, m)))  # for tiles that hang over
    y = np.zeros((P, Q))
    U = G @ g @ G.T
    for p in range(0, P, m):
        for q in range(0, Q, m):
            d = padded[p : p + m + 2, q : q + m + 2]
            tile = AT @ (U * (BT @ d @ BT.T)) @ AT.T
            y[p : p + m, q : q + m] = tile[: P - p, : Q - q]
    return y


def _cases() -> Iterator[tuple]:
    """(x, g, m, AT, G, BT)"""
    rng = np.random.default_rng(8)
    small = (4, 4, 2), (4, 6, 2), (8, 6, 2), (10, 6, 4), (7, 7, 2)
    sizes = *small, (12, 9, 4), (5, 7, 4), (9, 9, 6), (9, 12, 2)
    for number, (H, W, m) in enumerate(sizes, 1):
        x, g = (filled(rng, *s, whole=number < len(sizes), dtype=np.float64) for s in ((H, W), (3, 3)))
        yield x, g, m, *matrices(m)


def _its_way(function: Callable) -> str:
    def with_tiles(m: int) -> Callable:
        return lambda x, g, AT, G, BT: function(x, g, m, AT, G, BT)

    return (
        missing(with_tiles(2), 2, 4, 6, spare=1)
        or missing(with_tiles(4), 4, 2, 3, spare=1)
        or missing_at_the_edge(with_tiles(2), 2)
    )


def _pixels(index, x, g, m, AT, G, BT) -> tuple[str, list[tuple[int, ...]]]:
    """Return the pixels of the tile that an output belongs to."""
    p, q = (i // m * m for i in index)
    return "x", [(p + h, q + w) for h in range(m + 2) for w in range(m + 2)]


def _reshaped(x, g, m, AT, G, BT):
    """Put tiles together without moving a number."""
    P, Q = x.shape[0] - 2, x.shape[1] - 2
    padded = np.pad(x, ((0, m), (0, m)))
    d = np.lib.stride_tricks.sliding_window_view(padded, BT.shape)[:P:m, :Q:m]
    tiles = AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T
    return tiles.reshape(tiles.shape[0] * m, tiles.shape[1] * m)[:P, :Q]


EXERCISE = Exercise(
    notebook="06",
    statement="winograd_picture(x, g, m, AT, G, BT) returns y (H-2, W-2) of a filter g (3, 3) on a picture x "
    "(H, W), computed in tiles of m x m outputs.",
    solution=winograd_picture,
    why="Tiles of outputs lie side by side, so each begins m further on; their pixels overlap by two. Zeros "
    "beside the picture let the last tiles be whole, and what they compute too much is cut off. The filter "
    "is transformed once.",
    hints=(
        "Lay tiles of m x m side by side on the *outputs*. Which pixels does the tile with its corner at "
        "output (p, q) read?",
        "The tile at (p, q) reads x[p : p + m + 2, q : q + m + 2], and p and q go in steps of m. Where "
        "pixels are missing in the last one, zeros may stand: what they touch is cut off.",
        "Pad x below and on the right by m zeros, transform g once, and loop over p and q in steps of m with "
        "what you wrote for one tile. Write tile[: P - p, : Q - q] to y[p : p + m, q : q + m].",
    ),
    cases=_cases,
    answer=lambda x, g, m, AT, G, BT: outputs(x, g),
    shapes={"x": "HW", "g": "RS", "return": "PQ"},
    window=_pixels,
    unprinted=("AT", "G", "BT"),
    method=_its_way,
    mistakes=(
        Mistake(
            "lays the pixels of the tiles side by side",
            {
                "padded[p : p + m + 2, q : q + m + 2]": "np.pad(padded, ((0, P * 3), (0, Q * 3)))"
                "[p // m * (m + 2) :, q // m * (m + 2) :][: m + 2, : m + 2]"
            },
            "A tile *writes* m x m outputs, so the next one begins m pixels further: they overlap.",
        ),
        Mistake(
            "leaves gaps between the tiles",
            {"range(0, P, m)": "range(0, P, m + 2)", "range(0, Q, m)": "range(0, Q, m + 2)"},
            "A tile *writes* m x m outputs, so the next one begins m further, not m + 2.",
        ),
        Mistake(
            "takes too few pixels for the last tiles",
            {"np.pad(x, ((0, m), (0, m)))": "x"},
            "A slice that runs past the edge is shorter, and the matrices do not fit: fill it up with zeros.",
        ),
        Mistake(
            "drops the tiles that hang over",
            {"(0, P, m)": "(0, P - m + 1, m)", "(0, Q, m)": "(0, Q - m + 1, m)"},
            "The outputs at the edge are wanted, too: it takes a whole tile to compute them.",
        ),
        Mistake(
            "returns an output without its last rows and columns",
            {
                "y = np.zeros((P, Q))": "P, Q = P // m * m, Q // m * m\n    y = np.zeros((P, Q))",
            },
            "The outputs at the edge are wanted, too, even where they do not fill a tile.",
        ),
        Mistake(
            "returns what hangs over, too",
            {
                "np.zeros((P, Q))": "np.zeros((-(-P // m) * m, -(-Q // m) * m))",
                "tile[: P - p, : Q - q]": "tile",
            },
            "What the last tiles compute beyond the picture is nobody's output: cut it off.",
        ),
        Mistake(
            "computes one tile for all",
            {"padded[p : p + m + 2, q : q + m + 2]": "padded[: m + 2, : m + 2]"},
            "Each tile reads its own part of the picture.",
        ),
        Mistake(
            "exchanges the directions where it writes",
            {
                "y[p : p + m, q : q + m] = tile[: P - p, : Q - q]": "part = y[q : q + m, p : p + m]\n"
                "            part[...] = tile[: len(part), : part.shape[1]]"
            },
            "A tile is written where its pixels were read: rows with p, columns with q.",
        ),
        Mistake(
            "writes tiles turned around",
            {"AT @ (U * (BT @ d @ BT.T)) @ AT.T": "(AT @ (U * (BT @ d @ BT.T)) @ AT.T).T"},
            "Within a tile, too, rows are rows.",
        ),
        Mistake(
            "keeps the size of the picture",
            {"x.shape[0] - 2, x.shape[1] - 2": "x.shape", "((0, m), (0, m))": "((1, m + 1), (1, m + 1))"},
            "Asked are the outputs without padding, H - 2 by W - 2: the first window begins at pixel (0, 0).",
        ),
        Mistake(
            "puts the tiles together by a reshape alone",
            _reshaped,
            "Of all tiles you have (down, across, m, m). The rows of a tile belong to rows of the picture: "
            "bring the axes into the order (down, m, across, m) first.",
        ),
        Mistake(
            "multiplies U and V as matrices",
            {"U * (": "U @ ("},
            "A pixel's transform meets the weight's at the same place: cell by cell.",
        ),
        Mistake(
            "flips the filter",
            {"G @ g @ G.T": "G @ g[::-1, ::-1] @ G.T"},
            "The filter lies on the picture as it is.",
        ),
    ),
)
