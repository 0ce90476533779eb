"""What each algorithm keeps, which one wins where, and what Winograd saves and loses."""

from __future__ import annotations

from functools import cache

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.winograd.error import amplification, measured_error
from convlab.algorithms.winograd.tiles import tile_count, window_cells
from convlab.benchmark.saved import CPU, Measurement, Row
from convlab.benchmark.saved_runs import newest, runs, undisturbed
from convlab.benchmark.summary import speedup, wins
from convlab.interview.kept import kept_by, kept_bytes
from convlab.interview.sheet.block import Block, Table
from convlab.interview.sheet.layers import first, shape_text, small, usual
from convlab.networks import load
from convlab.problem import ConvProblem
from convlab.support.files import data_path
from convlab.support.tables import NOTHING
from convlab.support.units import bytes_text, ratio_2, ratio_text

# Long pieces of these formulas, and what the sheet writes for them.
SHORT = {
    "N·(P+ceil(max(R, S)/2)-1)·(Q+ceil(max(R, S)/2)-1)·4·C·b": "x′",
    "(36 + 13·max(0, min(1, ceil(max(R, S)/2) - 3)))": "n²",
    **{f"N·ceil(P/{m})·ceil(Q/{m})": "T" for m in (2, 4, 6)},
    "rows·2·half": "f",
    "rows·(2·half+2)": "f′",
}
TILES = (2, 4, 6)  # outputs of a Winograd tile along an axis


def workspace() -> Block:
    """Return what each algorithm keeps beside x, w and y, those that keep alike in one row."""
    layers = (usual(), first())
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, algorithm in ALGORITHMS.items():
        if all(algorithm.supports(one.problem) for one in layers):  # it says why it serves neither
            continue
        sizes = [
            bytes_text(kept_bytes(name, one.problem)) if algorithm.supports(one.problem) is None else NOTHING
            for one in layers
        ]
        formula = str(kept_by(name))
        for long, short in SHORT.items():
            formula = formula.replace(long, short)
        rows.setdefault((formula, *sizes), []).append(name)
    return Block(
        "What each algorithm keeps beside x, w and y",
        Table(
            ("algorithm", "bytes", "A", "conv1"),
            [(", ".join(names), *row) for row, names in rows.items()],
            right=(2, 3),
        ),
        note=(
            f"conv1: {shape_text(layers[1].problem)}; {NOTHING}: not served. T: tiles of the batch. n²: "
            "pixels of a tile's window. x′: the picture, blocks of 2 × 2 pixels folded into 4·C channels. "
            "f, f′: numbers of a spectrum, of x and of y. ceil rounds up. NumPy's forms, and of the "
            "transforms those that keep all; on a CPU, Winograd keeps a block of tiles at a time."
        ),
    )


@cache
def _run() -> Measurement | None:
    """Return the latest saved run on a processor; None if there is none, or none is whole."""
    return newest(runs(data_path("measurements"), CPU).values())


def winners() -> Block:
    """Return which algorithm was the fastest, by kind of layer, where all were measured."""
    title, run = "Which one wins", _run()
    if run is None:
        return Block(
            title, lines=("No measurement is kept here. `convlab bench cpu` measures your machine.",)
        )
    rows = [row for part in ("layers", "depthwise") for row in run.part(part)]
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        kinds.setdefault(row.kind.partition(", K")[0], []).append(row)
    machine, date = run.header["machine"], run.header["date"][:10]
    titles = ", ".join(dict.fromkeys(load(row.network).title for row in rows))
    return Block(
        title,
        Table(
            ("layers", "first", "on", "im2row"),
            [_winner(kind, group) for kind, group in sorted(kinds.items())],
            right=(2, 3),
        ),
        note=(
            f"One core of {machine['processor']}, {machine['instruction_set']}, measured {date}, one "
            f"picture, kernels of convlab; {titles}, each layer as often as it is there. im2row: how many "
            f"times as long it takes, a geometric mean. {_of_the_fft()}"
        ),
    )


def _winner(kind: str, rows: list[Row]) -> tuple[str, ...]:
    counted = wins(rows)
    name, count = next(iter(counted.items()))
    gain = speedup(rows, (name,), ("im2row",))
    total = sum(counted.values())
    return kind, name, f"{count} of {total}", ratio_text(gain.mean) if gain else NOTHING


def _crossover() -> int:
    """Return the smallest filter for which the FFT takes fewer operations than the definition."""
    p = usual().problem
    for taps in range(1, p.H, 2):
        wider = ConvProblem(p.N, p.H, p.W, p.C, p.K, taps, taps, padding=taps // 2)
        if ALGORITHMS["fft"].flops(wider) < wider.flops:
            return taps
    raise AssertionError("the FFT never pays")


def _of_the_fft() -> str:
    """Return what the FFT saves in operations, and what that came to."""
    p, taps = usual().problem, _crossover()
    _, took = undisturbed(p, ("fft_tiled", "winograd_4x4"))
    saved = f"On pictures as A's the FFT takes fewer FLOPs than the definition from {taps} × {taps} taps on"
    if len(took) < 2:
        return f"{saved}."
    later = ratio_text(took["fft_tiled"] / took["winograd_4x4"])
    return f"{saved}; at {p.R} × {p.S} fft_tiled took {later} the time of winograd_4x4."


def products_saved(m: int, p: ConvProblem) -> float:
    """Return the multiplications of the definition over those of tiles of m x m outputs."""
    return p.macs / (tile_count(m, p) * window_cells(m, p) * p.C * p.K)


@cache
def error_text(m: int) -> str:
    """Return the largest error of such tiles in float32 beside a plain sum's; another draw has another."""
    return ratio_text(measured_error(m) / measured_error(1))


def winograd() -> Block:
    """Return what Winograd's tiles save, and what they lose in rounding."""
    p, late = usual().problem, small().problem
    taps = p.R * p.S
    return Block(
        "Winograd: products saved, digits lost",
        Table(
            ("tile", "per tile", "ideal", f"{p.P} × {p.Q}", f"{late.P} × {late.Q}", "cancel", "error"),
            [
                (
                    f"{m} × {m}",
                    f"{window_cells(m, p)} for {taps * m * m}",
                    ratio_2(taps * m * m / window_cells(m, p)),
                    ratio_2(products_saved(m, p)),
                    ratio_2(products_saved(m, late)),
                    ratio_text(amplification(m)),
                    f"≈ {error_text(m)}",
                )
                for m in TILES
            ],
            right=(1, 2, 3, 4, 5, 6),
        ),
        note=(
            f"{p.R} × {p.S} taps, stride 1: (m + R − 1)² products for m² outputs. Tiles come whole, so "
            "small outputs waste some. cancel: how large the numbers are that cancel in an output, beside "
            f"it. error: the largest in {p.dtype}, beside a plain sum's, on random "
            "numbers."
        ),
    )
