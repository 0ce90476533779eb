"""How does convolution actually run on a GPU? As a matrix product, of a matrix that is never stored."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from convlab import ALGORITHMS, figures, networks
from convlab.benchmark import datasheets
from convlab.cost.layers import cost_of
from convlab.figures.picture import Picture
from convlab.gpu.occupancy import GPUS, MOST_REGISTERS, WARP
from convlab.gpu.simulator.bank_conflicts import WORD
from convlab.gpu.tensor_cores.fragments import holders
from convlab.inspect.tiling import Tiling, blocks, tile_traffic, untiled
from convlab.interview.walks.walk import FollowUp, Levels, Pitfall, Point, Walk
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text, count_text, ratio_text
from convlab.widgets import (
    ChannelMixing,
    Im2colFills,
    MemoryBlowup,
    RooflineExplorer,
    TileByTile,
    TilingExplorer,
)

LAYER, LATE, BATCH, GPU, SHEET = "layer1.0.conv1", "layer4.0.conv2", 32, "H100", "nvidia_h100"
NEAR = 0.1  # of the ridge: nearer, and the side is a matter of rounding
NO_TILE, TILE = Tiling(16, 16, 16, 1, 1, buffers=1), Tiling(128, 64, 8, 8, 8)


@cache
def walk() -> Walk:
    """Return the walk, with its numbers worked out."""
    resnet, im2row = networks.load("resnet18"), ALGORITHMS["im2row"]
    layer, late = resnet[LAYER].problem, resnet[LATE].problem
    M, N, K = layer.gemm
    many = replace(layer, N=BATCH)
    matrix, image = im2row.workspace_bytes(layer), layer.x_bytes
    ratio, matrices = ratio_text(matrix / image), im2row.workspace_bytes(many)
    asked = {one: untiled(many) if one is None else tile_traffic(many, one) for one in (None, NO_TILE, TILE)}
    moved = {one: bytes_text(sum(each.values())) for one, each in asked.items()}
    chip, (_, processors) = datasheets.load(SHEET), GPUS[GPU]
    few = blocks(late, TILE)
    ridge = {name: chip.flops[name] / chip.memory for name in ("float32", "float16")}
    could = {name: cost_of(replace(many, dtype=name)).intensity for name in ridge}
    limit = {name: _limit(could[name], ridge[name]) for name in ridge}
    faster = chip.flops["float16"] / chip.flops["float32"]
    eight = chip.narrow["int8"] / chip.flops["float16"]
    small = Im2colFills(step=0)
    windows, _, taps = small.problem.gemm
    (m, n), words = holders("C").shape, holders("A").shape[1]
    k = words * WORD // np.dtype("float16").itemsize  # a word holds two of them
    thin = ChannelMixing(256, groups=256)
    depthwise, full = cost_of(thin.problem), cost_of(replace(thin.problem, groups=1))

    points = (
        Point(
            "A convolution is a matrix product.",
            "Each output is the dot product of one window with one filter. All windows against all filters: "
            "that is a matrix times a matrix, and that is what a GPU does best. Strictly it is a "
            "cross-correlation: nobody turns the filter.",
            "matrix",
        ),
        Point(
            "The filters become a matrix of K × C·R·S.",
            "They are only flattened: no number moves. "
            f"For a layer of ResNet-18 that is {layer.K} × {K}, with {layer.C} channels and windows of "
            f"{layer.R} × {layer.S}.",
            "filters",
        ),
        Point(
            "im2col lays each window out flat.",
            "A window is a row of R·S·C numbers (im2row, for NHWC) or a column (im2col, for NCHW). "
            f"In the picture {windows} windows make a matrix of {windows} × {taps}; "
            f"in our layer it is {M:,} × {K}.",
            "matrix",
            {"step": windows - 1},
        ),
        Point(
            "Then one GEMM does all the arithmetic.",
            f"N·P·Q × R·S·C times R·S·C × K: {M:,} × {K} times {K} × {N}, {count_text(layer.flops)}FLOP for "
            "one image. A tuned library does it, which is why im2col has lasted so long.",
        ),
        Point(
            "The price: up to R·S copies of each pixel.",
            f"Windows overlap. In our layer {bytes_text(image)} of input become {bytes_text(matrix)}: "
            f"{ratio}, to be written and to be read again. A stride divides that by its square; a 1 × 1 "
            "filter copies nothing twice.",
            "matrix",
            {"step": windows - 1, "copies": True},
            must=True,
        ),
        Point(
            "With the batch that decides what fits.",
            f"{BATCH} images of this layer: {bytes_text(matrices)} for the matrix alone, beside "
            f"{bytes_text(many.x_bytes)} of input. It grows with the batch, so memory limits the batch.",
            "memory",
            {"layer": [one.name for one in resnet].index(LAYER), "batch": BATCH},
        ),
        Point(
            "Implicit GEMM: the same product, and the matrix is never stored.",
            "We keep the product and drop the matrix. Whoever needs a cell works out which pixel it is, and "
            "loads that from the image itself.",
            "tiles",
            {"step": 0},
            must=True,
        ),
        Point(
            "Index arithmetic says which pixel stands in cell (m, k).",
            "m is an output: n, p, q. k is a tap and a channel: r, s, c. The row is p·stride + r − padding, "
            "the column is alike, and outside of the picture it is a zero. The divisions stay out of the "
            "inner loop: r, s and c move on by carries.",
            "tiles",
            {"step": 1},
        ),
        Point(
            "A block of threads owns a tile of the output.",
            "It walks along the sum, C·R·S long, a piece at a time, and adds; nobody else writes there. "
            "So blocks need not talk to each other.",
            "tiles",
            {"step": 2, "block_m": 10},
            must=True,
        ),
        Point(
            "Each piece goes to shared memory, once for all threads of the block.",
            "A tile of m × n outputs fetches m + n numbers for m·n multiply-adds: one pays for the sides and "
            f"gets the area. The picture's layer asks for {moved[None]} without a tile, and for "
            f"{moved[NO_TILE]} with {NO_TILE.block_m} × {NO_TILE.block_n}.",
            "block",
        ),
        Point(
            "Each thread keeps its own tile of sums in registers.",
            f"The same rule once more, now for reads of shared memory: {TILE.thread_m} × {TILE.thread_n} "
            f"sums take {TILE.thread_m + TILE.thread_n} numbers for {TILE.thread_m * TILE.thread_n} "
            f"multiply-adds. So a block can be as large as {TILE.block_m} × {TILE.block_n}, which asks "
            f"memory for {moved[TILE]}, at about {TILE.registers} registers a thread.",
            "block",
            _traits(TILE),
        ),
        Point(
            "Loads run ahead, and every multiprocessor has a block.",
            "While one piece is multiplied the next is on its way: two buffers. And a late layer has few "
            f"tiles: {LATE} with one image has {few} blocks for the {processors} multiprocessors of an "
            f"{GPU}. Then tiles become smaller, or several blocks share a sum (split-K).",
            "block",
            _traits(TILE) | {"layer": LATE, "batch": "1"},
        ),
        Point(
            "Tensor cores multiply small matrices, a warp at a time.",
            f"One instruction does {m} × {n} × {k} multiply-adds in float16 (a cell of the picture is a "
            f"word, and holds two numbers), where an ordinary one does {WARP}; the sums stay in float32. By "
            f"its datasheet an {GPU} does {faster:.0f} times as many FLOP a second that way, at best, with "
            "four warps together (`wgmma`). It asks for channels that fill its tiles, hence NHWC and padded "
            "C.",
            "mma",
        ),
        Point(
            "Then count bytes: is it memory or arithmetic that holds it up?",
            f"In float32 this layer could do {could['float32']:.0f} FLOP for each byte, {BATCH} images, each "
            f"number moved once. The ridge of the {GPU} lies at {ridge['float32']:.0f}, so "
            f"{limit['float32']}, as in the picture. In float16 on tensor cores it is "
            f"{could['float16']:.0f} against {ridge['float16']:.0f}: there {limit['float16']}.",
            "roof",
        ),
        Point(
            "Not every layer is such a product: say where it breaks.",
            "1 × 1 with stride 1 needs no gathering at all. Depthwise has one filter for each channel, so "
            "no pixel serves a second filter, and the product is one column wide: "
            f"{depthwise.intensity:.1f} FLOP a byte in the picture, where the full layer has "
            f"{full.intensity:.0f}. Large 3 × 3 layers can go to Winograd.",
            "mixing",
            {"step": 5},
        ),
    )
    return Walk(
        name="gpu",
        question="How does convolution actually run on a GPU?",
        minutes=8,
        figures={
            "matrix": small,
            "filters": _filters(replace(small.problem, K=4)),
            "memory": MemoryBlowup(known=("im2row", "direct", "implicit_gemm")),
            "tiles": TileByTile(step=0),
            "block": TilingExplorer(LAYER, batch=BATCH, gpu=GPU, tiling=NO_TILE),
            "mma": figures.mma_layout(lane=9),
            "roof": RooflineExplorer(
                "resnet18", LAYER, algorithm="implicit_gemm", batch=BATCH, machine=SHEET
            ),
            "mixing": thin,
        },
        points=points,
        answers=Levels(
            borderline="A convolution slides a filter over a picture, and at each place it multiplies and "
            "adds. On a GPU that is done with im2col: each window is unrolled to a column, the filters are "
            "the rows of another matrix, and then it is one matrix multiplication.\n\n"
            "GPUs are good at that, because they have so many cores, and with tensor cores it is "
            "faster still. In practice one calls cuDNN, and it picks the right algorithm.",
            hire="A convolution is a matrix product. The filters are K × C·R·S, the windows are C·R·S × "
            "N·P·Q, and the result is the output. im2col builds the second matrix, and a GEMM library does "
            "the rest.\n\n"
            f"The trouble is memory. Windows overlap, so each pixel is copied up to R·S times. For a 3 × 3 "
            f"layer of ResNet-18 that is {bytes_text(matrix)} in place of {bytes_text(image)}, {ratio}, "
            "and it has to be written and read again.\n\n"
            "So libraries use implicit GEMM. The matrix is never stored. Each block of threads owns a tile "
            "of the output and walks along the sum. For each piece it works out which pixels it needs, loads "
            "them to shared memory, and multiplies from there, with the sums in registers. Padding is a test "
            "on the index.\n\n"
            "On recent GPUs tensor cores do the multiplication, in float16 with sums in float32. For that "
            "NHWC is the better layout, because channels lie side by side.",
            strong="I start with the shapes: K × C·R·S times C·R·S × N·P·Q. Take a 3 × 3 layer of "
            f"ResNet-18, {layer.C} channels, {layer.H} × {layer.W}: that is {N} × {K} times {K} × {M:,}, "
            f"{count_text(layer.flops)}FLOP an image. What we compute is a cross-correlation; nobody flips "
            "the filter.\n\n"
            f"With im2col I would write {bytes_text(matrix)} for {bytes_text(image)} of input and read it "
            f"again, and with a batch of {BATCH} it is {bytes_text(matrices)}. Implicit GEMM gathers a "
            "piece of that matrix into shared memory when it is needed: m splits into n, p, q and k into r, "
            "s, c, the divisions are done once before the loop, and the border is a mask.\n\n"
            "Then it is tiling. A tile of m × n pays m + n loads for m·n multiply-adds, twice: a block's "
            f"tile against global memory, a thread's tile against shared memory. For this layer and {BATCH} "
            f"images the requests fall from {moved[None]} to {moved[TILE]}. Two buffers hide the latency. "
            f"Registers limit the tile, and the number of tiles limits late layers: {LATE} with one image "
            f"has {few} blocks for {processors} multiprocessors, so there I would split the sum.\n\n"
            f"With tensor cores the roof moves: {faster:.0f} times plain float32 on an {GPU}, and the ridge "
            f"from {ridge['float32']:.0f} to {ridge['float16']:.0f} FLOP a byte. In float16 this layer has "
            f"{could['float16']:.0f}, so there a byte that is moved twice costs time: NHWC, wide loads, and "
            "the bias and the ReLU fused into the store.\n\n"
            f"Depthwise is another matter: {depthwise.intensity:.1f} FLOP a byte, a product one column "
            "wide, no GEMM. And I would measure before I believe any of it: check the output, look at "
            "sectors and at what the warps wait for, and compare with cuDNN on the same clock.",
        ),
        pitfalls=(
            Pitfall(
                "“im2col, then GEMM”, and not a word about memory.",
                f"Say the factor at once: up to R·S, {ratio} in our layer, written and read again. Then say "
                "how it is avoided.",
            ),
            Pitfall(
                "Calling it a convolution and drawing a flipped filter.",
                "Deep learning computes a cross-correlation: no flip. The weights are learned, so a network "
                "would learn them flipped as well. But say that you know.",
            ),
            Pitfall(
                "Mixing up depthwise and pointwise.",
                "Pointwise is 1 × 1: it mixes channels and *is* a GEMM, without im2col. Depthwise has a "
                "filter for each channel: it mixes none, and no pixel serves a second filter, which is what "
                "a GEMM lives on.",
            ),
            Pitfall(
                "“A GPU has so many cores” as the reason.",
                "The reason is reuse: a number that was fetched serves a row or a column of products. "
                "Without a tile the cores wait for memory.",
            ),
        ),
        follow_ups=(
            FollowUp(
                "Why not 16 × 16 outputs for each thread?",
                f"A sum is a register, and a thread has {MOST_REGISTERS} of them at most: it would spill. "
                "Long before that so many registers leave room for too few warps to hide what they wait for.",
            ),
            FollowUp(
                "Which layout do you want, and why?",
                "NHWC: the channels of a pixel lie side by side, so a piece of a window is a few wide, "
                "aligned loads. If the piece divides C, it never crosses from one tap into the next.",
            ),
            FollowUp(
                "When would a library not take implicit GEMM?",
                "Winograd for 3 × 3 with stride 1 and many channels, if the precision allows; FFT for large "
                "filters; a direct kernel for depthwise and for a first layer of few channels; a plain GEMM "
                "for 1 × 1.",
            ),
            FollowUp(
                "And in int8?",
                f"The same product, on tensor cores at {eight:.0f} times float16's rate; sums in int32. Each "
                "filter has a scale, the activations have one and often a zero point z. Then padding is z, "
                "not 0, and z · Σw, worked out beforehand, comes off each sum. Scaling back, rounding and "
                "clipping are the epilogue.",
            ),
            FollowUp(
                "How do you know that your kernel is good?",
                "Its output is held against float64 first. Then bytes and FLOP are held against both roofs "
                "of the machine, and the time against cuDNN on the same clock, many times over.",
            ),
        ),
        read=(
            ("02", "Every window becomes a row"),
            ("02", "The price"),
            ("05", "Block by block"),
            ("12", "A product, cut twice"),
            ("12", "The matrix that is not there"),
            ("14", "Thirty-two lanes, three matrices"),
            ("15", "A GPU"),
        ),
    )


def _limit(could: float, ridge: float) -> str:
    """Return what holds a layer up; near the ridge it is both."""
    if abs(could / ridge - 1) < NEAR:
        return "bytes and arithmetic take about as long"
    return "memory is the limit" if could < ridge else "arithmetic is the limit"


def _filters(p: ConvProblem) -> Picture:
    """Draw a few filters as they lie in memory, (K, C, R, S), and the same numbers as a matrix."""
    w = np.arange(p.K * p.C * p.R * p.S).reshape(p.K, p.C, p.R, p.S)
    matrix = w.reshape(p.K, -1)
    rows, columns = matrix.shape
    shown = {f"w[0, {c}]": w[0, c] for c in range(p.C)} | {f"K × C·R·S: {rows} × {columns}": matrix}
    return figures.grids(
        shown,
        title="Flattened, a filter is a row, and no number has moved",
        alt=f"The {p.C} channels of a filter, {p.R} by {p.S} numbers each, and a matrix of {rows} filters by "
        f"{columns} numbers: its first row holds those channels one after the other, in the order of memory.",
        roles=dict.fromkeys(shown, "filter"),
    )


def _traits(tiling: Tiling) -> dict[str, str]:
    """Return a tiling as the explorer has it."""
    names = ("block_m", "block_n", "block_k", "thread_m", "thread_n", "buffers")
    return {name: str(getattr(tiling, name)) for name in names}
