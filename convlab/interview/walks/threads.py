"""Walk-through: a convolution on all cores of a processor."""

from __future__ import annotations

from functools import cache
from math import ceil

from convlab import ConvProblem, figures, networks
from convlab.benchmark.all_cores import best_times
from convlab.cpu.tile_model import LATENCY, TileBounds
from convlab.interview.walks.facts import last_run
from convlab.interview.walks.walk import FollowUp, Levels, Pitfall, Point, Walk
from convlab.support.aligned import CACHE_LINE
from convlab.support.units import bytes_text, time_text
from convlab.widgets import RegisterTile

_RESNET = networks.load("resnet18")
EARLY, LATE = (_RESNET[name].problem for name in ("layer1.0.conv1", "layer4.0.conv2"))
BOUNDS, LANES = TileBounds(7, 2), 16  # the library's tile where vectors hold 16 numbers
ROWS, COLS = BOUNDS.rows, BOUNDS.vectors * LANES
ALONE, LARGE = TileBounds(1, 1), TileBounds(7, 4)
IN_TURN = f"{100 * ALONE.share:.3g} %"  # of a core's peak, where each product waits for the last
THREADS = 16


def busy(tiles: int, threads: int) -> float:
    """Return which share of the threads' time is work, if tiles take equally long and are not cut."""
    return tiles / (threads * ceil(tiles / threads))


def percent(share: float) -> str:
    """Return a share as it is said."""
    return f"{100 * share:.0f} %"


def tiles_of(problem: ConvProblem) -> tuple[int, int]:
    """Return how many tiles a layer has below each other, and side by side."""
    M, N, _ = problem.gemm
    return ceil(M / ROWS), ceil(N / COLS)


def _times() -> dict[str, tuple[float, float]]:
    """Return for each layer of ResNet-18 the saved run's best time on one thread, and on all of them."""
    return best_times(last_run(), "resnet18")


def _gains() -> dict[str, float]:
    """Return how many times as fast all threads were as one, layer by layer."""
    return {layer: alone / together for layer, (alone, together) in _times().items()}


@cache
def walk() -> Walk:
    """Return the walk-through."""
    return Walk(
        name="threads",
        question="Design a multithreaded convolution for a CPU.",
        minutes=12,
        figures={
            "tile": RegisterTile(),
            "shares": figures.thread_shares(LATE, THREADS, rows=ROWS, cols=COLS),
            "gains": figures.thread_gains(last_run()),
        },
        points=_points(),
        answers=_answers(),
        pitfalls=(
            Pitfall(
                "“Each thread takes some of the input channels.”",
                "Then all threads add to the same outputs: locks, atomics, or a copy of y for each and a "
                "reduction. Share out outputs; the sum over channels stays in one thread.",
            ),
            Pitfall(
                "“One thread for each filter, or for each image.”",
                "With one image, or with fewer filters than cores, the others have nothing to do. Take the "
                "side that has enough tiles, and count the tiles of the last round.",
            ),
            Pitfall(
                "“`#pragma omp parallel for` over the naive loops, done.”",
                f"Each core then reaches what one sum at a time reaches, at most {IN_TURN} of its peak on "
                "vectors, less without. Make one core fast first.",
            ),
            Pitfall(
                "“Twice the cores, half the time.”",
                "Only of what is cut, is balanced, and waits for arithmetic. Cores share the memory, the "
                "last cache, and the barrier at the end.",
            ),
        ),
        follow_ups=_follow_ups(),
        read=(
            ("03", "A tile that stays"),
            ("03", "Panels, and blocks of pixels"),
            ("02", "Why that helps"),
            ("15", "All of it in two lines"),
            ("15", "All cores"),
        ),
    )


def _whose() -> str:
    header = last_run().header
    return f"{header['machine']['processor']}, {header['date'][:10]}"


def _points() -> tuple[Point, ...]:
    (down, across), (low, wide) = tiles_of(EARLY), tiles_of(LATE)
    M, N, K = EARLY.gemm
    roofs, gains = last_run().header["roofs"], _gains().values()
    shortest = min(together for _, together in _times().values())
    return (
        Point(
            "Ask first: one image soon, or many a second? Which shapes, how many cores?",
            "For throughput, images or whole requests go to cores, and nothing has to be shared. For "
            "latency one layer of one image must keep all cores busy; that is the hard case, so design for "
            "it.",
        ),
        Point(
            "See the convolution as a matrix product.",
            f"M = N·P·Q output pixels, N = K filters, sums of R·S·C terms. A 3 x 3 layer of ResNet-18: {M} "
            f"x {N}, with sums of {K}. Every output is a sum of its own.",
            "tile",
        ),
        Point(
            "Share out outputs, never sums: no two threads write one number.",
            "Each thread owns a rectangle of y: pixels times filters. x and w are only read. So there are "
            "no locks, no atomics, no reduction; one barrier at the end.",
            "tile",
            {"step": 5},
            must=True,
        ),
        Point(
            "Make one core fast first: threads multiply what it does.",
            f"One sum at a time waits for its own last product, {LATENCY} cycles or so: at most "
            f"{IN_TURN} of the peak of a core that begins two multiply-adds a cycle, even on vectors.",
            "tile",
            {"rows": ALONE.rows, "vectors": ALONE.vectors},
            must=True,
        ),
        Point(
            "A tile of sums in registers, as large as the registers allow.",
            f"{ROWS} pixels by {BOUNDS.vectors} vectors: {BOUNDS.multiply_adds} multiply-adds for "
            f"{BOUNDS.fetched} loads, in {BOUNDS.used} of AVX-512's {BOUNDS.registers} registers. "
            f"{LARGE.rows} by {LARGE.vectors} would want {LARGE.used}: what finds no register travels to "
            "the stack and back at every step.",
            "tile",
            {"rows": LARGE.rows, "vectors": LARGE.vectors},
        ),
        Point(
            "Pack the weights once, in the order the kernel reads them; all threads share them.",
            "Panels as wide as the tile, stored k by k. Trained weights do not change, so that belongs to "
            "the plan, not to the run.",
            "tile",
        ),
        Point(
            "Blocks for the caches, and scratch for each thread.",
            "A block of pixels goes through all panels while it stays in the core's own L2. If windows are "
            "gathered, each thread gathers its own block: the workspace grows with the threads.",
        ),
        Point(
            "Cut along the side that has more tiles.",
            f"An early layer has {down} tiles of pixels and {across} of filters: cut the pixels. A late "
            f"one, {LATE.P} x {LATE.Q} with {LATE.K} filters, has {low} and {wide}: cut the filters.",
            "shares",
        ),
        Point(
            "All wait at the barrier: count the tiles of the busiest thread.",
            f"{low} tiles keep {percent(busy(low, THREADS))} of {THREADS} threads busy, {wide} tiles "
            f"{percent(busy(wide, THREADS))}, but of {THREADS - 4} threads only "
            f"{percent(busy(wide, THREADS - 4))}: some have two. Cut along both sides, or use smaller "
            "tiles.",
            "shares",
        ),
        Point(
            "What a cut costs: the other operand is read by everybody.",
            f"By pixels, each thread reads all weights ({bytes_text(LATE.w_bytes)} in the late layer); by "
            f"filters, each reads all of x ({bytes_text(LATE.x_bytes)}). Where both sides have tiles, let "
            "the smaller one be read by all.",
            "shares",
        ),
        Point(
            "Keep threads out of each other's cache lines, and data near its core.",
            f"A line is {CACHE_LINE} bytes, {CACHE_LINE // EARLY.itemsize} float32: parts that begin at "
            "whole tiles, aligned, share none. On two sockets the thread that uses a page touches it first; "
            "pin threads. Two threads of one core share its multiply-add units.",
        ),
        Point(
            "Small layers: starting threads and the barrier take time, too.",
            f"Saved by the course on {_whose()}: with {roofs['threads']} threads the layers of ResNet-18 "
            f"ran at {min(gains):.2f} to {max(gains):.2f} times the speed of one, the shortest in "
            f"{time_text(shortest)}. Below some size one thread, or two layers at once.",
            "gains",
        ),
        Point(
            "More threads bring their own arithmetic, and share one memory.",
            f"There, {roofs['threads']} cores together did {roofs['flops_all'] / roofs['flops']:.2f} times "
            "the multiply-adds of one. The memory and the last cache are shared: left of the ridge a few "
            "cores use them up, and the rest wait.",
        ),
        Point(
            "The same bits with any number of threads.",
            "Each sum is added in one thread in one order, however y is cut. Sharing a sum (split-K, as in "
            "the gradient of the weights) gives that up, unless the parts are added in a fixed order.",
        ),
        Point(
            "Check, then measure the curve, not one number.",
            "Against float64 on odd shapes: one thread, all, more threads than tiles. Time over 1, 2, 4 ... "
            "cores, pinned, weights packed before; speed over cores, beside the roof of each count.",
            "gains",
        ),
    )


def _answers() -> Levels:
    (down, across), (low, wide) = tiles_of(EARLY), tiles_of(LATE)
    roofs, gains = last_run().header["roofs"], _gains().values()
    return Levels(
        borderline="""I would parallelise the outer loops, over the batch and the output channels, with
OpenMP or a thread pool. Each thread computes its own output channels, so they do not write to the same
memory and no locks are needed.

Inside I would use SIMD, tile the loops so that the data stays in cache, and perhaps use im2col with a BLAS
that is multithreaded already. The number of threads should be the number of cores. Then I would measure
the speed-up.""",
        hire=f"""I see it as a matrix product: N·P·Q pixels times K filters, sums over R·S·C. All outputs are
independent, so I share out rectangles of the output. x and w are only read, nobody writes what another
writes, and there is one barrier per layer. I do not split the sum over channels, for that would need a
reduction.

First one core: a tile of sums in registers, {ROWS} pixels by {BOUNDS.vectors} vectors say, weights packed
once into panels, a block of pixels that stays in L2. Windows come through an indirection buffer or a
block of im2row for each thread.

Then the cut. An early layer has {down} tiles of pixels, so I cut those. A late one of {LATE.P} x {LATE.Q} has
{low} tiles of pixels, but {wide} of filters, so I cut the filters. I look at the busiest thread, since
all wait for it. Small layers get fewer threads. A depthwise layer is bound by memory, so cores beyond
those that fill the bandwidth bring nothing.""",
        strong=f"""I would ask whether it is latency or throughput. For throughput I give images to cores and
am done, apart from memory. For latency, one image, I share out the output matrix, N·P·Q by K, in whole
register tiles. Sums stay in one thread: no locks, no reduction, and the same bits with one thread or with
many.

One core first, since threads only multiply it. With one sum it reaches {IN_TURN} of its peak by latency
alone; {ROWS} by {BOUNDS.vectors} vectors need {BOUNDS.used} registers and {BOUNDS.fetched} loads
for {BOUNDS.multiply_adds} multiply-adds. Weights are packed in the plan. A block of pixels stays in the
core's L2 while all panels pass; the gathered block belongs to the thread, so workspace grows with
threads, and I say so.

Which side? The one with more tiles: {down} against {across} in an early layer of ResNet-18, {low} against
{wide} in a late one. Cut by pixels, {THREADS} threads would be {percent(busy(low, THREADS))} busy there,
by filters {percent(busy(wide, THREADS))}. By pixels every thread reads the weights,
{bytes_text(LATE.w_bytes)}; by filters every thread reads x, {bytes_text(LATE.x_bytes)}, so there it is
right twice over. With many cores I cut both sides. Parts begin at cache lines; on two sockets pages are
touched first by who uses them; one thread a core.

Limits. Starting threads and the barrier take time that a small layer does not have: on the course's saved
run, {_whose()}, {roofs["threads"]} threads gave {min(gains):.2f} to {max(gains):.2f} times the speed,
layer by layer. The memory does not grow with cores, so depthwise layers stop early; there I fuse instead.
If whole networks run, I keep the threads spinning between layers, or run branches side by side.

I would test one thread, all, and more threads than tiles, bit for bit, and plot speed over cores against the
roofs.""",
    )


def _follow_ups() -> tuple[FollowUp, ...]:
    return (
        FollowUp(
            "The gradient of the weights has few outputs and long sums. How do you share that out?",
            "K by R·S·C outputs, sums over N·P·Q. If those are enough tiles, cut them as in the forward "
            "pass. If not, cut the sum: each thread adds up its images into a buffer of its own, and the "
            "buffers are added in a fixed order, so that the bits do not depend on who was first.",
        ),
        FollowUp(
            "Your caller runs four models at once, each with your thread pool. What happens?",
            "More threads than cores: at every barrier somebody waits for a thread that does not run. One "
            "pool for the process, or a limit for each caller; and no pool that starts threads inside "
            "threads.",
        ),
        FollowUp(
            "Static parts, or work stealing?",
            "Tiles of a dense layer take equally long, so equal parts are right, with no queue, and each "
            "thread meets the same memory every time. Stealing pays where tiles differ, cores differ (big "
            "and little), or others use the machine; then parts of several tiles.",
        ),
        FollowUp(
            "Would you use hyperthreads?",
            "A good tile keeps the multiply-add units of a core busy from one thread. A second has registers "
            "of its own, but shares these units, L1 and L2 with it. It can help where a thread waits for "
            "memory. Measure; the default is one for each core.",
        ),
    )
