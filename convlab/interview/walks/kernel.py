"""Walk-through: a CUDA kernel for a convolution, from the first that is right to one that is fast."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from convlab import ConvProblem, figures, networks
from convlab.algorithms.direct import gpu as direct
from convlab.algorithms.direct.gpu_filter import BLOCK
from convlab.benchmark import datasheets
from convlab.figures.picture import Picture
from convlab.gpu.occupancy import (
    GPUS,
    MOST_REGISTERS,
    MOST_SHARED,
    MULTIPROCESSORS,
    SHARED_RESERVED,
    WARP,
)
from convlab.gpu.simulator import Trace
from convlab.gpu.simulator.bank_conflicts import BANKS
from convlab.gpu.simulator.requests import SECTOR
from convlab.inspect import ACCESS_PATTERNS, FirstBlock, Tiling
from convlab.inspect.tiling import blocks, compulsory_bytes, tile_traffic, untiled
from convlab.interview.walks.walk import FollowUp, Levels, Pitfall, Point, Walk
from convlab.notebook import trace
from convlab.support.units import bytes_text
from convlab.widgets import TilingExplorer, WarpMicroscope

SMALL = ConvProblem(N=1, H=2, W=32, C=8, K=32, R=3, S=3, padding=1)  # as wide as a warp, both ways
_RESNET = networks.load("resnet18")
LAYER = replace(_RESNET["layer1.0.conv1"].problem, N=32)
LATE = _RESNET["layer4.0.conv2"].problem
FILTER = ConvProblem(1, 4000, 4000, 1, 1, 7, 7, padding=3)  # one channel
NAIVE, COALESCED = direct.RUNGS[:2]
TILE, STEP = Tiling(128, 64, 8, 8, 8), Tiling(64, 64, 8, 4, 4)
GPU = "H100"
ARCH, PROCESSORS = GPUS[GPU]
SHEET = datasheets.load("nvidia_h100")
WARPS = MULTIPROCESSORS[ARCH].threads // WARP


@cache
def _traces() -> dict[str, Trace]:
    """Return what a block of the first two kernels asks for, and what three small ones do."""
    found = {rung.name: trace(rung.algorithm("direct"), SMALL, FirstBlock)[-1] for rung in (NAIVE, COALESCED)}
    small = {one.name: one for one in ACCESS_PATTERNS}
    names = "four at once", "turned in shared memory", "turned in shared memory, padded"
    return found | {name: small[name].trace() for name in names}


def per_request(kernel: str, array: str, kind: str = "ld") -> str:
    """Return the sectors, or passes over shared memory, of a request for this array."""
    (site,) = (one for one in _traces()[kernel].sites() if (one.array, one.kind) == (array, kind))
    cost = site.wavefronts_per_request if site.space == "shared" else site.sectors_per_request
    return f"{cost:.3g}"


def reads(tiling: Tiling) -> float:
    """Return the numbers that a thread reads from shared memory for each multiply-add."""
    return 1 / tiling.thread_m + 1 / tiling.thread_n


def intensity(tiling: Tiling | None = None) -> str:
    """Return the FLOPs for each byte that is asked of memory, with a tiling or with none."""
    return f"{LAYER.flops / sum((tile_traffic(LAYER, tiling) if tiling else untiled(LAYER)).values()):.2g}"


def _state(tiling: Tiling, **more: str) -> dict[str, str]:
    """Return a tiling as the explorer's controls have it."""
    return {name: str(getattr(tiling, name)) for name in vars(tiling)} | more


@cache
def walk() -> Walk:
    """Return the walk-through."""
    names = list(_traces())
    shown = {name: {"kernel": number} for number, name in enumerate(names)}
    return Walk(
        name="kernel",
        question="Write a CUDA kernel for a 2-D convolution with padding. Now make it fast.",
        minutes=12,
        figures={
            "lanes": WarpMicroscope(_traces()),
            "halo": _halo(),
            "tiles": TilingExplorer(),
            "buffers": figures.pipeline(),
            "fragments": figures.mma_layout(),
        },
        points=_points(shown),
        answers=_answers(),
        pitfalls=(
            Pitfall(
                "“`row, col = cuda.grid(2)`, or `threadIdx.x` for the row.”",
                "`threadIdx.x` counts the neighbours of a warp, so it belongs into the index that lies "
                "innermost in memory. The other way round every request is scattered.",
            ),
            Pitfall(
                "“Threads outside of the picture return at once.”",
                "Before a barrier they are missed: they could fetch the halo, and a warp that is half gone "
                "is hard to reason about. Guard the loads and the store, and let all reach the barrier.",
            ),
            Pitfall(
                "“Shared memory makes it fast.”",
                "It replaces hits in L1 by reads of shared memory and a barrier. With one output a thread "
                f"it is still {reads(Tiling(16, 16, 16, 1, 1)):.0f} reads for each multiply-add. The "
                "registers make it fast.",
            ),
            Pitfall(
                "“Occupancy is low, so I take fewer registers.”",
                "A large tile has many independent sums in each thread, and two buffers; it needs few "
                "warps. Look at what it waits for before you give up reuse.",
            ),
        ),
        follow_ups=_follow_ups(),
        read=(
            ("11", "A layer with channels"),
            ("11", "One channel, one filter"),
            ("12", "The ladder"),
            ("12", "Turned around in shared memory"),
            ("14", "One warp, in its shortest form"),
        ),
    )


def _overlap() -> np.ndarray:
    """Return how many outputs of a block want each pixel under them."""
    lines, columns = (np.convolve(np.ones(n, int), np.ones(FILTER.R, int)) for n in BLOCK[::-1])
    return np.outer(lines, columns)


def _halo() -> Picture:
    """Draw how many outputs of a block of one channel want each pixel, halo included."""
    wanted = _overlap()
    tall, wide = wanted.shape
    down, across = BLOCK[::-1]
    return figures.counts(
        {f"{tall} x {wide} pixels, each wanted": wanted},
        title=f"A block of {down} x {across} outputs fetches {tall} x {wide} pixels, once each",
        alt=f"A picture of {tall} x {wide} pixels: those in the middle are wanted by {wanted.max()} "
        f"outputs of the block, those at the corners by {wanted.min()}.",
    )


def _points(shown: dict[str, dict[str, int]]) -> tuple[Point, ...]:
    wanted, held, few = _overlap(), TILE.held(ARCH), blocks(LATE, TILE)
    outputs = BLOCK[0] * BLOCK[1]
    once = LAYER.flops / sum(compulsory_bytes(LAYER).values())
    tensor = {dtype: SHEET.flops[dtype] / SHEET.flops["float32"] for dtype in ("tf32", "float16")}
    return (
        Point(
            "Fix the contract: layout, type, padding, stride, which shapes matter.",
            "Say them: x is NHWC, w is KRSC, y is NPQK, float32, zeros around the picture, "
            "cross-correlation. And ask for the real shapes: one channel and many channels are two "
            "different kernels.",
        ),
        Point(
            "First one that is right: one thread computes one output.",
            "The outer four loops, over n, p, q and k, become threads, for their outputs are independent. "
            "The sums over r, s and c stay in the thread, in one register.",
            "lanes",
            shown[NAIVE.name],
        ),
        Point(
            "Index arithmetic, a tail guard, and a test for the border.",
            "Take the thread's number apart by divisions. `if (i < N*P*Q*K)`, as blocks come whole. Then `h "
            "= p*stride + r*dilation - top`, and skip the tap unless `0 <= h < H` and `0 <= w < W`: no "
            "padded copy. In the picture lane 0 has nothing to do: its tap lies on padding.",
            "lanes",
            shown[NAIVE.name],
            must=True,
        ),
        Point(
            "Ask which index is innermost: neighbouring lanes, neighbouring addresses.",
            f"Memory comes in sectors of {SECTOR} bytes. With lanes along pixels in NHWC, {SMALL.C} "
            f"channels apart, a request for x touches {per_request(NAIVE.name, 'x')} sectors on average, a "
            f"store of y {per_request(NAIVE.name, 'y', 'st')}.",
            "lanes",
            shown[NAIVE.name] | {"access": 2, "step": 0},
            must=True,
        ),
        Point(
            "Let lanes be filters: one pixel serves the warp, weights lie side by side.",
            f"Now a request for x takes {per_request(COALESCED.name, 'x')} sector, for w "
            f"{per_request(COALESCED.name, 'w')}, for y {per_request(COALESCED.name, 'y', 'st')}, and these "
            "are full. Pack w once with the filters innermost. In NCHW lanes would be pixels.",
            "lanes",
            shown[COALESCED.name] | {"access": 1},
        ),
        Point(
            "Count the reuse: what is asked for, against each number once.",
            f"A thread asks for two numbers for each multiply-add: {intensity()} FLOPs a byte. The layer "
            f"itself, each number once, has {once:.0f}. Between them lie the R·S windows and K filters that "
            "want the same pixel.",
            "tiles",
            _state(Tiling(16, 16, 16, 1, 1, 1)),
            must=True,
        ),
        Point(
            "One channel: stage a patch with its halo in shared memory.",
            f"A block of {BLOCK[1]} x {BLOCK[0]} outputs under a {FILTER.R} x {FILTER.S} filter fetches "
            f"{wanted.shape[0]} x {wanted.shape[1]} pixels, {wanted.size / outputs:.1f} for each output "
            f"instead of {FILTER.R * FILTER.S}. All threads help, the guard writes zeros, then a barrier.",
            "halo",
        ),
        Point(
            "Many channels: it is a matrix product; walk along the sum in pieces.",
            "Implicit GEMM: M = N·P·Q, N = K, sums of R·S·C. A block stages a piece of x, gathered by "
            "index, and of w, waits, multiplies, waits. A block of m x n fetches m + n numbers for m·n "
            f"multiply-adds: {intensity(STEP)} FLOPs a byte for {STEP.block_m} x {STEP.block_n}.",
            "tiles",
            _state(STEP),
        ),
        Point(
            "Cut again for the thread: a tile of sums in registers.",
            f"The same rule: {TILE.thread_m} x {TILE.thread_n} outputs a thread read {reads(TILE):g} "
            "numbers from shared memory for each multiply-add, one output reads "
            f"{reads(Tiling(16, 16, 16, 1, 1)):g}. All indices of these arrays must be known to the "
            "compiler, or they go to local memory.",
            "tiles",
            _state(TILE),
        ),
        Point(
            "Shared memory has banks: store one operand turned, with a gap.",
            f"{BANKS} banks of one word. A column of a tile {BANKS} wide lies in one bank: "
            f"{per_request('turned in shared memory', 'tile')} passes; with one word more in a row, "
            f"{per_request('turned in shared memory, padded', 'tile')}. With loads of four the gap is four.",
            "lanes",
            shown["turned in shared memory"] | {"access": 2},
        ),
        Point(
            "Load four numbers at once where they lie side by side.",
            "`float4`, or LDG.128: the same bytes with a quarter of the requests. It wants 16-byte "
            "alignment and C a multiple of four; in NHWC a run of channels gives that. Take the scalar "
            "kernel for what is left.",
            "lanes",
            shown["four at once"],
        ),
        Point(
            "Two buffers: fetch the next piece while this one is multiplied.",
            "First begin the loads, then multiply, then store to the other buffer, then one barrier. From "
            "Ampere on `cp.async` copies past the registers. Who touches what was loaded before the "
            "multiply-adds waits all the same.",
            "buffers",
        ),
        Point(
            "Registers against warps, and blocks against multiprocessors.",
            f"That tile takes about {TILE.registers} registers of {MOST_REGISTERS}: {held.warps} of {WARPS} "
            f"warps on an {GPU}, enough if each has independent work. On a {LATE.P} x {LATE.Q} layer with "
            f"one image it makes {few} blocks for {PROCESSORS} multiprocessors: smaller tiles, or split the "
            "sum.",
            "tiles",
            _state(TILE, layer="layer4.0.conv2", batch="1"),
        ),
        Point(
            "Then the inner product goes to tensor cores, if the type allows.",
            f"By its datasheet an {GPU} does {tensor['tf32']:.1f} times float32's FLOP/s in tf32, "
            f"{tensor['float16']:.1f} times in float16. `mma.sync` with `ldmatrix`; on Hopper `wgmma` fed "
            "by TMA. Sums stay in float32; say what the inputs lose.",
            "fragments",
        ),
        Point(
            "Check before you time, and time against the roof.",
            "Against float64, on pictures that are not square, odd channels, stride, padding as wide as the "
            "filter; memcheck and racecheck. Then events, warm clocks, L2 flushed; FLOP/s over the roof, "
            "and cuDNN in the same precision beside it.",
            "tiles",
        ),
    )


def _answers() -> Levels:
    held, few = TILE.held(ARCH), blocks(LATE, TILE)
    return Levels(
        borderline="""Each thread computes one output element. I compute its position from blockIdx and
threadIdx, loop over the input channels and the filter, and check that the input position is inside of the
picture; otherwise I add nothing, that is the zero padding.

To make it fast I would use shared memory: each block loads a tile of the input with its halo, synchronises,
and then computes from there. The filter can go into constant memory. Accesses should be coalesced, and I
would tune the block size for occupancy.""",
        hire=f"""I ask for the layout: say NHWC. One thread an output; n, p, q, k from its number, a guard
for the tail, `h = p*stride + r - pad` with a test for each tap, the sum in a register.

Now lanes. If neighbouring threads take neighbouring pixels, they are C numbers apart, and each lane fetches a
sector of its own. So I let the filter be the fastest index: one pixel for the whole warp, weights side by
side.

Next, reuse. Two reads for a multiply-add are {intensity()} FLOPs a byte. With many channels I write it as an
implicit GEMM: a block computes {TILE.block_m} x {TILE.block_n} outputs and walks along R·S·C in pieces of
{TILE.block_k}, which it gathers into shared memory, with a barrier before and after. Each thread keeps
{TILE.thread_m} x {TILE.thread_n} sums in registers. One operand is stored turned, with a gap against bank
conflicts; loads are four numbers wide; two buffers hide the latency.

I test odd shapes against a reference, run racecheck, and compare the time with cuDNN.""",
        strong=f"""First the contract: NHWC, float32, zeros as padding, and the shapes, since one channel
wants a stencil with a halo and many channels want a matrix product. Then a naive kernel, right on odd
sizes, as the yardstick for everything after: one thread an output, tail guard, a test for each tap.

Lanes along filters, not pixels: with pixels {SMALL.C} channels apart a request for x touches
{per_request(NAIVE.name, "x")} sectors, with filters {per_request(COALESCED.name, "x")}, and w and y lie
side by side.

Then intensity. Naive: {intensity()} FLOPs a byte. Implicit GEMM with {STEP.block_m} x {STEP.block_n} blocks
asks for {intensity(STEP)}, with {TILE.block_m} x {TILE.block_n} for {intensity(TILE)}. The same rule a
level down: {TILE.thread_m} x {TILE.thread_n} sums a thread read {reads(TILE):g} numbers from shared
memory for a multiply-add, not {reads(Tiling(16, 16, 16, 1, 1)):g}. Rows of the map are divided once; r,
s, c advance with carries. x is stored turned, the gap a multiple of four so that loads of four stay
aligned.

What it costs: about {TILE.registers} registers, so {held.warps} of {WARPS} warps on an {GPU}. That is fine,
as {TILE.thread_m * TILE.thread_n} independent sums and two buffers hide the latency; I would not trade
reuse for occupancy. But a late layer with one image makes {few} blocks for {PROCESSORS} multiprocessors,
so there smaller tiles, or split-K with a second kernel that adds the parts in order.

Beyond that the inner product goes to tensor cores, in tf32 or float16, with `cp.async` or TMA feeding it, and
I say what that does to the error.

I look at the machine code: share of FFMA in the loop, 128-bit loads, no spills. Then sectors for each
request, bank conflicts, time against the roof and against cuDNN in the same precision.""",
    )


def _follow_ups() -> tuple[FollowUp, ...]:
    whole = MULTIPROCESSORS[ARCH].shared_bytes
    return (
        FollowUp(
            "Now the input is NCHW. What changes?",
            "Pixels of a line lie side by side, so they become the lanes for x and y; a tile of pixels is "
            "loaded in runs along W, with ends that are not aligned. Weights are the same for all lanes "
            "then. Many libraries turn the layout once instead, as tensor cores want channels side by side.",
        ),
        FollowUp(
            "Stride 2. Does anything break?",
            "Not the naive kernel. In NCHW, lanes along pixels use half of each sector; lanes along "
            "channels do not care. A staged patch grows: the block's outputs times the stride, plus the "
            "halo. Implicit GEMM changes one factor in its index map.",
        ),
        FollowUp(
            f"Why not {2 * TILE.thread_m} x {2 * TILE.thread_n} sums in a thread?",
            f"These would be {4 * TILE.thread_m * TILE.thread_n} registers for sums alone, and a thread may "
            f"have {MOST_REGISTERS}: it spills. Long before that too few warps fit. The tensor cores of "
            "Blackwell's large GPUs keep their sums in a memory of their own.",
        ),
        FollowUp(
            "How large may the tile in shared memory be?",
            f"{bytes_text(MOST_SHARED)} a block; on an {GPU} up to {bytes_text(whole - SHARED_RESERVED)}, "
            "with an opt-in when it is launched. A multiprocessor has "
            f"{bytes_text(whole)} for all its blocks, and the system takes {bytes_text(SHARED_RESERVED)} for "
            f"each. The tile above takes {bytes_text(TILE.shared_bytes)} with both buffers.",
        ),
        FollowUp(
            "It is right in your test, and wrong once in a thousand runs. Where do you look?",
            "A race: the barrier after the multiply-adds is missing, so a fast warp overwrites the piece "
            "that a slow one still reads. `compute-sanitizer --tool racecheck`, or a simulator that knows "
            "who wrote what.",
        ),
    )
