"""Winograd: how it saves multiplications, and when that is no gain."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from inspect import cleandoc
from math import ceil, log2

import numpy as np

from convlab import figures, networks
from convlab.algorithms import ALGORITHMS
from convlab.algorithms.winograd.error import amplification
from convlab.algorithms.winograd.tiles import tile_count, window_cells
from convlab.algorithms.winograd.transforms import POINTS, matrices
from convlab.algorithms.winograd_s2d.space_to_depth import M, folded
from convlab.benchmark import datasheets
from convlab.cost.layers import cost_of
from convlab.figures.picture import Picture
from convlab.interview.units import RATIO
from convlab.interview.walks.facts import by_name, digits, least_seconds, least_times, measured, whose
from convlab.interview.walks.walk import FollowUp, Levels, Pitfall, Point, Walk
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text, time_text
from convlab.widgets import Spectra, WinogradTile

TILES = {m: ALGORITHMS[f"winograd_{m}x{m}"] for m in POINTS}


def fewer(m: int, r: int = 3) -> str:
    """Return how many times fewer products a tile takes than the definition."""
    return RATIO.text((m * r) ** 2 / (m + r - 1) ** 2)


def saved(m: int, problem: ConvProblem) -> str:
    """Return how many times fewer operations tiles take, transforms of pixels and products included."""
    return RATIO.text(problem.flops / TILES[m].flops(problem))


def transforms_share(m: int, problem: ConvProblem) -> float:
    """Return the share of the transforms in all operations."""
    products = 2 * tile_count(m, problem) * window_cells(m, problem) * problem.C * problem.K
    return 1 - products / TILES[m].flops(problem)


def folding(problem: ConvProblem) -> str:
    """Return how many times fewer products a layer of stride 2 takes, folded and in tiles."""
    inner = folded(problem)
    return RATIO.text(M**2 * problem.gemm[2] / ((M + inner.R - 1) ** 2 * inner.C))


def _savings(layers: tuple[ConvProblem, ...]) -> Picture:
    bars = {
        f"{p.P} x {p.Q}, {p.C} channels: {m}x{m}": p.flops / TILES[m].flops(p) for p in layers for m in POINTS
    }
    return figures.bars(
        bars,
        title=f"{RATIO.text(min(bars.values()))} to {RATIO.text(max(bars.values()))} fewer operations: "
        "layer and tile decide",
        axis="operations of the definition / operations in tiles, transforms included",
        alt="Bars of the operations that tiles save: "
        + ", ".join(f"{name} {RATIO.text(value)}" for name, value in bars.items()),
        text=RATIO.text,
        roles="filter",
    )


@cache
def walk() -> Walk:
    """Return the walk-through."""
    network, gpu = networks.load("resnet18"), datasheets.load("nvidia_h100")
    early, late = (network[name].problem for name in ("layer1.0.conv1", "layer4.0.conv2"))
    thin, large = replace(early, C=8, K=8), replace(early, R=15, S=15, padding=((7, 7), (7, 7)))
    batch = replace(early, N=32)
    half = replace(batch, dtype="float16")

    few, many = window_cells(2, early), (2 * early.R) ** 2
    cancel = {m: f"{amplification(m):.2g}" for m in POINTS}
    bits = {m: ceil(2 * log2(np.abs(matrices(m)[2]).sum(axis=1).max())) for m in POINTS}
    kept = f"{late.P**2 / (6 * ceil(late.P / 6)) ** 2:.0%}"
    grown = bytes_text(TILES[4].cost(late, "numpy").packed_bytes)
    space = bytes_text(TILES[4].cost(batch, "gpu").workspace_bytes)
    fft = {p: RATIO.text(p.flops / ALGORITHMS["fft"].flops(p)) for p in (early, large)}

    clocks = {p: by_name(measured("layers", network.name), p) for p in (early, late)}
    speed = {
        (p, name): RATIO.text(rows["indirect"].seconds / rows[name].seconds)
        for p, rows in clocks.items()
        for name in ("winograd_4x4", "fft")
    }
    tiles_ran = f"tiles of 4x4 ran at {speed[early, 'winograd_4x4']} the speed of indirect"

    plain = {p.dtype: cost_of(p) for p in (batch, half)}
    least = {p.dtype: least_seconds(gpu, p.dtype, p.flops, plain[p.dtype].bytes) for p in (batch, half)}
    moving = {p.dtype: TILES[4].cost(p, "gpu").bytes_moved / gpu.memory for p in (batch, half)}
    roofs: dict[str, float] = {}
    for dtype in least:
        roofs |= {f"{dtype}, as it is": least[dtype], f"{dtype}, bytes of 4x4 tiles": moving[dtype]}
    plain32, tiles32, plain16, tiles16 = map(time_text, roofs.values())
    on_gpu = (
        f"In float32 an {gpu.name} needs at least {plain32} for {batch.N} pictures of {batch.P} x {batch.Q} "
        f"pixels and {batch.C} channels, and {tiles32} for the bytes of 4x4 tiles that leave V and M in "
        f"memory. In float16, on tensor cores, it is {plain16} and {tiles16}"
    )
    return Walk(
        name="winograd",
        question="A library picks Winograd for a 3x3 layer. How does it save, and when is it wrong?",
        minutes=10,
        figures={
            "tile": WinogradTile(2, 1, step=0),
            "saved": _savings((thin, early, late)),
            "spectra": Spectra("blur", taps=3, zeros=2),
            "gpu": least_times(
                roofs, f"{batch.N} pictures on an {gpu.name}: with tensor cores the bytes of tiles stay"
            ),
        },
        points=(
            Point(
                "It computes the same outputs with fewer multiplications.",
                "Neighbouring windows overlap, so their products have something in common. In exact numbers "
                "the result is the same; what differs is rounding. Begin with four pixels and three weights.",
                "tile",
            ),
            Point(
                f"In 1-D: F(2, 3) makes two outputs with {few**0.5:.0f} products, not {many**0.5:.0f}.",
                "`m0 = (d0 - d2) g0`, `m1 = (d1 + d2) (g0 + g1 + g2) / 2`, `m2 = (d2 - d1) (g0 - g1 + g2) / "
                "2`, `m3 = (d3 - d1) g2`. Then `y0 = m0 + m1 + m2` and `y1 = m1 - m2 + m3`. The sums of "
                "weights are made once, for all pixels.",
                "tile",
                {"step": 4},
            ),
            Point(
                "The pattern: evaluate at points, multiply, interpolate.",
                "It is a product of polynomials turned round. m + r - 1 points settle it, here 0, 1, -1 and "
                "infinity; no fewer products will do (Winograd). In matrices: `y = AT [(G g) × (BT d)]`, "
                "cell by cell.",
                "tile",
                {"step": 2},
            ),
            Point(
                f"In 2-D it is nested: F(2x2, 3x3) takes {few} products, not {many}.",
                f"Columns first, then rows: the savings multiply to {fewer(2)}. The outputs of tiles lie "
                "side by side, their windows overlap by two pixels.",
                "tile",
                {"dimensions": "2", "step": 4},
                must=True,
            ),
            Point(
                "Over channels it becomes (m + 2)² matrix products.",
                "For each place e of the tile `M[e] = V[e] U[e]`: tiles by channels times channels by "
                "filters, a batched GEMM. The sum over C comes before the way back, so that is paid once a "
                "filter.",
                "tile",
                {"dimensions": "2", "step": 3},
            ),
            Point(
                "The transforms are additions, and need channels to be spread over.",
                "The way in is paid for each channel, the way back for each filter, products for each pair "
                f"of them. In 4x4 tiles the transforms are {transforms_share(4, early):.0%} of the "
                f"operations at {early.C} channels, {transforms_share(4, thin):.0%} at {thin.C}. Weights "
                "are transformed when they are packed; in training that is in every step.",
                "saved",
            ),
            Point(
                "Larger tiles save more products.",
                f"F(4x4, 3x3) takes {fewer(4)} fewer, F(6x6, 3x3) {fewer(6)}. But the transforms grow, "
                f"and tiles hang over: with {early.P} x {early.Q} pixels and {early.C} channels "
                f"{saved(4, early)} and {saved(6, early)} fewer operations are left.",
                "tile",
                {"dimensions": "2", "m": "4", "step": 3},
            ),
            Point(
                "Larger tiles lose digits.",
                "More points, larger powers: numbers in M grow, with both signs, and cancel in y. Beside an "
                f"output they are {cancel[2]} times its size in 2x2 tiles, {cancel[4]} in 4x4, {cancel[6]} "
                "in 6x6. Points are chosen for that: small ones, their negatives and inverses.",
                "tile",
                {"m": "6", "step": 4},
                must=True,
            ),
            Point(
                "Types with few bits allow small tiles only.",
                f"float16 keeps {digits('float16')} digits: 2x2 tiles with sums in float32 are the usual "
                f"limit. In int8 the pixels' transform alone asks for {bits[2]} more bits in 2x2 tiles, "
                f"{bits[4]} in 4x4.",
                "tile",
                {"dimensions": "2", "step": 1},
            ),
            Point(
                "Small pictures waste tiles.",
                f"Of what 6x6 tiles compute for {late.P} x {late.Q} outputs, {kept} is kept. And few tiles "
                "mean few rows in each matrix product, so a weight is loaded for little work: a batch helps "
                "there.",
                "saved",
            ),
            Point(
                "It takes memory: larger weights, and V and M.",
                f"Nine weights become {', '.join(str(window_cells(m, early)) for m in POINTS)}. {late.K} x "
                f"{late.C} filters grow from {bytes_text(late.w_bytes)} to {grown} in 4x4 tiles. V and M "
                f"stay on the chip, block by block (fused), or go through memory: {space} for {batch.N} "
                f"pictures of {batch.P} x {batch.Q} pixels and {batch.C} channels.",
            ),
            Point(
                "It wants stride 1, no dilation, a real window, and channels to sum over.",
                f"Stride 2 must be folded (space to depth): {folding(network['conv1'].problem)} fewer "
                f"products for 7x7, {folding(replace(early, stride=(2, 2)))} for 3x3, in tiles of 4x4, with "
                f"a copy on top. F(2x2, 5x5) saves {fewer(2, 5)} with the points of F(4x4, 3x3): what "
                f"cancels is {amplification(2, None, 5):.2g} times the output. 1x1 has no overlap; a "
                "depthwise layer has no sum over channels to spread a transform over.",
                must=True,
            ),
            Point(
                "FFT is the same idea with better points.",
                "On the unit circle no power grows, so rounding is mild, and the work is that of the padded "
                f"picture: on {early.P} x {early.Q} pixels and {early.C} channels {fft[early]} fewer "
                f"operations at 3x3, {fft[large]} at {large.R}x{large.S}. The price is complex numbers, "
                "zeros around the picture, and passes over memory: at 3x3 it ran "
                f"at {speed[early, 'fft']} the speed of indirect ({whose()}).",
                "spectra",
            ),
            Point(
                "Tensor cores moved the balance.",
                "They made multiply-adds abundant, and these are what Winograd saves; transforms and bytes "
                f"stay. {on_gpu}.",
                "gpu",
            ),
            Point(
                "So a library measures, and you check.",
                f"On {whose()}, {tiles_ran} for {early.P} x {early.Q} pixels and {early.C} channels, at "
                f"{speed[late, 'winograd_4x4']} for {late.P} x {late.Q} and {late.C}. Hold it against "
                "float64, with a tolerance that knows the tile, and know the switch that turns it off.",
                "saved",
            ),
        ),
        answers=Levels(
            borderline=cleandoc(f"""
                Winograd transforms small tiles of the picture, and the filter, so that the convolution
                becomes an element-wise product. For a 3x3 filter and 2x2 outputs it needs {few}
                multiplications where the direct way needs {many}, so it should be {fewer(2)} better. Then the
                result is transformed back.

                It works for 3x3 filters with stride 1. For other filters the library uses a GEMM or an FFT.
                The disadvantage is that it is less exact, so one should take care with float16, and the
                transforms take some time, too.
            """),
            hire=cleandoc(f"""
                In one dimension F(2, 3) makes two outputs of three taps from four pixels with four products:
                it evaluates at 0, 1, -1 and infinity, multiplies, and interpolates. Nested in two dimensions
                that is {few} products for {many}. Over a layer, each place of the tile is a matrix product of
                its own, tiles by channels by filters: a batched GEMM. Weights are transformed once.

                The price: additions for each channel and each filter, so I want many channels; rounding, for
                larger tiles have larger points, and more cancels; memory for larger weights and for V and M;
                and tiles that hang over on small pictures. F(4x4, 3x3) takes {fewer(4)} fewer products, and
                float32 has the digits for it; in float16 I stay with 2x2.

                It is wrong for stride 2, for 1x1, for depthwise, for few channels, and where results must
                agree to the last digits. Then I take implicit GEMM.
            """),
            strong=cleandoc(f"""
                It trades multiplications for additions. F(2, 3) makes two outputs of three taps with four
                products, from the points 0, 1, -1 and infinity; m + r - 1 is the least possible. In 2-D the
                savings multiply: {fewer(2)} for 2x2 tiles, {fewer(4)} for 4x4, {fewer(6)} for 6x6. Summed
                over channels, each of the (m + 2)² places is a GEMM whose inner size is C.

                Those are products. With transforms, {early.P} x {early.Q} pixels and {early.C} channels keep
                {saved(4, early)} of 4x4's {fewer(4)}; with {thin.C} channels it is {saved(4, thin)}. On
                {late.P} x {late.Q}, 6x6 tiles keep {kept} of what they compute. On {whose()}, {tiles_ran}
                early in ResNet-18 and {speed[late, "winograd_4x4"]} late. So the shape decides, and I let it
                be measured.

                What cancels is {cancel[2]} times the output for 2x2 and {cancel[4]} for 4x4. float32 has
                {digits("float32")} digits to lose from, float16 {digits("float16")}. I would test against
                float64 with a bound that knows the tile, and look at the network's answers, too.

                On GPUs the question has moved. {on_gpu}. A fused kernel, or chunks that stay in L2, spare
                those bytes; but the plain layer's own bytes take
                {time_text(plain["float16"].bytes / gpu.memory)}, so there is nothing left to save. I expect
                Winograd in float32, on phones and CPUs, though oneDNN removed its x64 form. I would time both
                on the real shapes and batch, with packing counted if weights change.
            """),
        ),
        pitfalls=(
            Pitfall(
                f"“It takes {fewer(2)} fewer multiplications, so the layer takes as much less time.”",
                "Say what is counted. Products fall by that; transforms, bytes and overhanging tiles come "
                "on top, and time is measured.",
            ),
            Pitfall(
                "“Winograd is an approximation.”",
                "The formula is exact; in fractions it can be proven. Rounding is larger, since large "
                "numbers cancel. With 2x2 tiles in float32 it is no larger than a plain sum's.",
            ),
            Pitfall(
                "“The inner loop is an element-wise product.”",
                "For one channel only. With C channels and K filters each place of the tile is a matrix "
                "product, and that is why it runs well.",
            ),
        ),
        follow_ups=(
            FollowUp(
                "What changes when you train with it?",
                "Weights change in every step, so their transform is paid each time and shared by the batch "
                "alone. dgrad at stride 1 is a 3x3 convolution again, and served; wgrad needs tiles of its "
                "own, F(3x3, 2x2). Gradients meet the rounding as well.",
            ),
            FollowUp(
                "One pixel is NaN. Which outputs are NaN?",
                "At least those whose window holds it. Larger tiles mix the pixel into other outputs, too; "
                "and who multiplies by the zeros of the matrices loses whole tiles, as zero times NaN is "
                "NaN.",
            ),
            FollowUp(
                "Fused or not: what does that mean for a GPU kernel?",
                "Not fused, one kernel writes V, a batched GEMM writes M, one transforms back: simple, any "
                f"tile, but {space} are written and read here. Fused, a block holds V and M on the chip: "
                f"{few} sums for every four outputs, so registers and shared memory limit the tiles in "
                "flight.",
            ),
        ),
        read=(
            ("06", "Two outputs, four multiplications"),
            ("06", "A whole layer: matrix products again"),
            ("06", "When it pays less, or not at all"),
            ("06", "The error laboratory"),
            ("07", "The price"),
        ),
    )
