"""Walk-through: a convolution that uses all of the bandwidth and 4 % of the arithmetic."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from convlab import ALGORITHMS, ConvProblem, figures, networks
from convlab.benchmark import datasheets
from convlab.benchmark.roofline_points import compulsory_bytes
from convlab.figures.picture import Picture
from convlab.gpu.simulator.requests import SECTOR
from convlab.inspect.tiling import untiled
from convlab.interview.walks.walk import FollowUp, Levels, Pitfall, Point, Walk
from convlab.support.units import bytes_text
from convlab.widgets import RooflineExplorer

ASKED = 4  # percent of the peak, in the question
GPU, CPU = "nvidia_h200", "amd_epyc_9654"
SHEET = datasheets.load(GPU)
L2 = datasheets.chip_of("nvidia_h100").l2  # the H200 is built from the same chip

_MOBILENET, _RESNET = networks.load("mobilenet_v1"), networks.load("resnet18")
THIN, NEXT = (_MOBILENET[name].problem for name in ("conv_dw_3", "conv_pw_3"))
WIDE, LATE = (_RESNET[name].problem for name in ("layer1.0.conv1", "layer4.0.conv2"))
NARROW = ConvProblem(1, 112, 112, 16, 16, 1, 1)
WIDE_AT, LATE_AT = (_RESNET.layers.index(_RESNET[name]) for name in ("layer1.0.conv1", "layer4.0.conv2"))


def intensity(problem: ConvProblem, moved: int = 0) -> float:
    """Return FLOPs a byte, with each number moved once, or with so many bytes."""
    return problem.flops / (moved or compulsory_bytes(problem))


def ridge(dtype: str, name: str = GPU) -> float:
    """Return the FLOPs a byte from which on a machine could be busy, by its datasheet."""
    sheet = datasheets.load(name)
    return sheet.flops[dtype] / sheet.memory


def half(problem: ConvProblem) -> ConvProblem:
    """Return the layer in float16."""
    return replace(problem, dtype="float16")


ASKS = {dtype: ASKED / 100 * ridge(dtype) for dtype in ("float32", "float16")}  # FLOPs a byte
OF_FLOAT32 = ASKED * SHEET.flops["float16"] / SHEET.flops["float32"]  # percent
FEW = replace(WIDE, K=16)
THROUGH_MATRIX, TRANSFORMED = (
    ALGORITHMS[name].cost(FEW, "gpu").bytes_moved for name in ("im2row", "winograd_4x4")
)
UNTILED = sum(untiled(FEW).values())
IN_VAIN = SECTOR // WIDE.itemsize
APART = compulsory_bytes(THIN) + compulsory_bytes(NEXT)
FUSED = APART - THIN.y_bytes - NEXT.x_bytes
BATCH, MANY = replace(LATE, N=32), replace(THIN, N=32)


@cache
def walk() -> Walk:
    """Return the walk-through."""
    return Walk(
        name="four_percent",
        question="Your convolution reaches 4 % of the peak FLOP/s, and memory runs at full bandwidth. "
        "What is it, and what do you do?",
        minutes=10,
        figures={
            "roofline": RooflineExplorer("mobilenet_v1", "conv_dw_3", algorithm="depthwise", machine=GPU),
            "intensities": _intensities(),
            "fused": _fused(),
        },
        points=_points(),
        answers=_answers(),
        pitfalls=(
            Pitfall(
                "“4 % is a bad kernel: I would unroll it and tune the tiles.”",
                "The memory is busy all the time, so the kernel is at its roof. Change the bytes, not the "
                "loop.",
            ),
            Pitfall(
                "“Use tensor cores, or Winograd.”",
                "Both serve the arithmetic, which is not what it waits for. Tensor cores move the ridge "
                f"from {ridge('float32'):.0f} FLOPs a byte to {ridge('float16'):.0f}: the share falls.",
            ),
            Pitfall(
                "“A larger batch raises the intensity.”",
                "Only where weights weigh: images share them. A depthwise layer has few weights, and each "
                "image brings its own pixels.",
            ),
            Pitfall(
                "“Full bandwidth, so no byte is wasted.”",
                "Full of what? Half-used sectors, a matrix written and read back, the same pixels fetched "
                "by every block: all of that is bandwidth. Hold the bytes against what the layer must move.",
            ),
        ),
        follow_ups=_follow_ups(),
        read=(
            ("15", "All of it in two lines"),
            ("15", "Two intensities"),
            ("15", "Little work for each byte"),
            ("10", "One breath of a warp"),
        ),
    )


def _intensities() -> Picture:
    """Draw what layers could do for each byte at best, and what the question's share comes to."""
    shown = {
        "depthwise 3 x 3": THIN,
        f"1 x 1, {NARROW.C} channels": NARROW,
        f"3 x 3, {LATE.C} channels, {LATE.H} x {LATE.W}": LATE,
        f"1 x 1, {NEXT.C} channels": NEXT,
        f"3 x 3, {WIDE.C} channels, {WIDE.H} x {WIDE.W}": WIDE,
    }
    values = {name: intensity(half(one)) for name, one in shown.items()}
    told = "; ".join(f"{name} {value:.1f}" for name, value in values.items())
    asked = f"{ASKED} % of the peak of an {SHEET.name}", ASKS["float16"]
    thin = sum(value < ASKS["float16"] for value in values.values())
    return figures.bars(
        values,
        title=f"{thin} of these {len(values)} layers cannot reach {ASKED} % of a float16 peak",
        axis="FLOPs a byte in float16",
        alt=f"Bars: {told} FLOPs a byte, every number moved once. A dashed line, {asked[0]}: {asked[1]:.1f}.",
        text="{:.1f}".format,
        roles="input",
        log=True,
        roof=asked,
    )


def _fused() -> Picture:
    """Draw the bytes of a depthwise layer and its pointwise one, apart and in one kernel."""
    values = {
        "depthwise, then pointwise": APART,
        "both in one kernel": FUSED,
        "both in one kernel, float16": FUSED // 2,
    }
    return figures.bars(
        {name: float(value) for name, value in values.items()},
        title=f"Fused, the pair moves {bytes_text(APART - FUSED)} less: what lies between stays on the chip",
        axis="bytes from and to memory, every number once",
        alt="Bars of bytes: " + ", ".join(f"{name} {bytes_text(value)}" for name, value in values.items()),
        text=bytes_text,
        roles="workspace",
    )


def _points() -> tuple[Point, ...]:
    return (
        Point(
            "It is held up by memory; both halves of the sentence say so.",
            "The roofline: speed is at most the peak, and at most bandwidth times FLOPs a byte. The "
            "bandwidth is used up and the arithmetic is not, so the point lies on the slope, left of the "
            "ridge.",
            "roofline",
            must=True,
        ),
        Point(
            "Turn the share into FLOPs a byte: share times ridge.",
            f"The ridge is peak over bandwidth. On an H200 it lies at {ridge('float32'):.1f} FLOPs a byte "
            f"for float32 and at {ridge('float16'):.0f} for float16 on tensor cores. So 4 % means "
            f"{ASKS['float32']:.2f}, or {ASKS['float16']:.1f}.",
            "intensities",
            must=True,
        ),
        Point(
            "Ask which peak: is it one that this kernel can reach?",
            f"4 % of the tensor cores' float16 peak is {OF_FLOAT32:.0f} % of the float32 peak. A kernel "
            "that never touches a tensor core must not be held against them.",
        ),
        Point(
            "Ask which memory: device memory or a cache, measured or promised.",
            "Bytes that threads ask for may come from L1 or L2, and then the counter shows more than DRAM "
            "could give. And a datasheet is a promise: measure a copy, and hold it against that.",
            "roofline",
        ),
        Point(
            "Count what the layer must move: x, w and y once.",
            f"That is a fact of the layer. In float16 a 3 x 3 layer with {WIDE.C} channels could do "
            f"{intensity(half(WIDE)):.0f} FLOPs a byte, a depthwise one {intensity(half(THIN)):.1f}; in "
            "float32 half of that. Compare with what you found: it says whether kernel or layer is to blame.",
            "intensities",
        ),
        Point(
            "Much below that: the kernel moves bytes that nobody needs.",
            f"With {FEW.K} filters, in float32, that layer could do {intensity(FEW):.0f} FLOPs a byte; with "
            f"an im2row matrix in memory it does {intensity(FEW, THROUGH_MATRIX):.1f}, and with no tile, "
            f"where each thread asks for all it needs, {intensity(FEW, UNTILED):.2f}. Tiles, implicit GEMM, "
            "reuse on the chip are the cure.",
            "roofline",
            {"network": "resnet18", "layer": WIDE_AT, "algorithm": "im2row", "K": FEW.K},
        ),
        Point(
            "Look at sectors: is what is fetched also used?",
            f"Memory comes in sectors of {SECTOR} bytes. If neighbouring lanes take neighbouring pixels in "
            f"NHWC, every lane asks for a sector for one float32, {IN_VAIN} times what it wants; L1 may keep "
            "the rest for the next channels, or may not. The index that lies innermost in memory belongs to "
            "the lanes.",
        ),
        Point(
            "At that bound already: the layer itself is thin.",
            "Depthwise layers, 1 x 1 with few channels, a fully connected layer with a small batch. No "
            f"kernel makes more of them: at {intensity(THIN):.2f} FLOPs a byte an H200 allows "
            f"{100 * intensity(THIN) / ridge('float32'):.0f} % of its float32 peak.",
            "roofline",
        ),
        Point(
            "First remedy: fuse, so that what lies between is never written.",
            "Bias, ReLU and batch norm go into the epilogue. Depthwise and pointwise in one kernel: "
            f"{bytes_text(FUSED)} instead of {bytes_text(APART)}, for the map between them stays in "
            "registers or shared memory.",
            "fused",
            must=True,
        ),
        Point(
            "Second: fewer bytes a number.",
            "float16 or bfloat16 halves them, int8 quarters them; sums stay in float32 or int32. On the "
            "slope, half the bytes is half the time. Say what it does to precision.",
            "fused",
        ),
        Point(
            "A batch helps where weights are what moves.",
            f"A late layer of ResNet-18: {intensity(LATE):.0f} FLOPs a byte with one image, "
            f"{intensity(BATCH):.0f} with {BATCH.N}. A depthwise layer: {intensity(THIN):.2f} and "
            f"{intensity(MANY):.2f}.",
            "roofline",
            {"network": "resnet18", "layer": LATE_AT, "algorithm": "implicit_gemm", "batch": BATCH.N},
        ),
        Point(
            "Keep it in a cache: then the roof is another one.",
            f"Input and output of that depthwise layer are {bytes_text(THIN.x_bytes + THIN.y_bytes)} an "
            f"image; the L2 of an H200, the H100's chip, has {bytes_text(L2)}. A few images can go through "
            f"several layers and never see memory; {MANY.N} images, layer by layer, are "
            f"{bytes_text(compulsory_bytes(MANY))}.",
            "roofline",
            {"batch": MANY.N},
        ),
        Point(
            "Say what does not help.",
            "Faster arithmetic, fewer multiplications, higher occupancy for its own sake: the memory is "
            f"full. Winograd with its transforms stored takes the layer of {FEW.K} filters to "
            f"{intensity(FEW, TRANSFORMED):.0f} of the definition's FLOPs a byte: fewer operations, more "
            "bytes.",
            "roofline",
            {"network": "resnet18", "layer": WIDE_AT, "algorithm": "winograd_4x4", "K": FEW.K},
        ),
        Point(
            "Measure, change one thing, and know when it is done.",
            "Bytes from DRAM by counter against the bytes it must move; the time against a copy of as many "
            "bytes. At a copy's speed the kernel is done: what is left is fusing, or another network.",
            "roofline",
        ),
    )


def _answers() -> Levels:
    return Levels(
        borderline=f"""That is a memory-bound kernel: the arithmetic units wait for data. In the roofline
model it lies on the left, where bandwidth sets the limit, and it does few operations for each byte.

A depthwise convolution is typical, since each number is used only {THIN.R * THIN.S} times. I would try to
reuse data more, with shared memory and tiling, use float16 to halve the traffic, and fuse it with the
operations around it. More FLOPs or tensor cores would not help.""",
        hire=f"""Memory-bound. On the roofline the speed is the bandwidth times FLOPs a byte, so I can say
how many: the share times the ridge. On an H200 in float32 the ridge is near {ridge("float32"):.0f}, so we
are at {ASKS["float32"]:.2f} FLOPs a byte.

Now I compare that with what the layer must move, x, w and y once. A depthwise 3 x 3 layer comes to
{intensity(THIN):.2f} in float32, a normal 3 x 3 layer with {WIDE.C} channels to {intensity(WIDE):.0f}. So
even for a depthwise layer we would move {intensity(THIN) / ASKS["float32"]:.0f} times too much, and I
would look for the reason: an im2col matrix, no tiling, or accesses that are not coalesced, so that each
sector of {SECTOR} bytes gives one number.

If the kernel is at the layer's own bound, the kernel is done. Then I fuse: bias and ReLU into it, depthwise
and pointwise together, so the map between them is never written. And I take narrower types. A batch helps
only if the weights are what moves.""",
        strong=f"""Memory-bound, if the two numbers are right; so first I ask what they refer to. 4 % of
which peak? Of an H200's float16 tensor cores it would be {OF_FLOAT32:.0f} % of the float32 peak, which is
no small thing for a kernel without tensor cores. And which bandwidth: bytes that were requested, or bytes
from DRAM, against a copy or the datasheet?

Then the arithmetic. Share times ridge: {ASKS["float32"]:.2f} FLOPs a byte for float32, {ASKS["float16"]:.1f}
for float16 with tensor cores. Against the layer with every number moved once. A depthwise 3 x 3 layer has
{intensity(THIN):.2f} in float32 and {intensity(half(THIN)):.1f} in float16, a 3 x 3 layer with {WIDE.C}
channels {intensity(WIDE):.0f} and {intensity(half(WIDE)):.0f}, a 1 x 1 layer with {NARROW.C} channels in
float16 {intensity(half(NARROW)):.0f}.

If I am far below the layer's bound, bytes are wasted, and I count which: a 3 x 3 layer with {FEW.K} filters
falls from {intensity(FEW):.0f} to {intensity(FEW, THROUGH_MATRIX):.1f} through an im2row matrix; with
lanes along pixels in NHWC each sector of {SECTOR} bytes gives one number, {IN_VAIN} times the bytes if L1
has lost it before the next channel; halos and tiles that are too small fetch pixels again. The cures are
implicit GEMM, channels along the lanes, larger tiles.

If I am at the bound, the kernel is done and the graph is not. Fusing depthwise with pointwise moves
{bytes_text(FUSED)} instead of {bytes_text(APART)} on a layer of MobileNet; bias, batch norm and ReLU go
into it and move nothing more. float16 halves what is left, int8 again, if the accuracy bears it. A batch
lifts a late ResNet layer from {intensity(LATE):.0f} to {intensity(BATCH):.0f} FLOPs a byte, a depthwise
one not at all; there a smaller batch may be better, as it stays in L2.

I would hold the result against a copy of as many bytes, in the same run. At that speed I stop.""",
    )


def _follow_ups() -> tuple[FollowUp, ...]:
    return (
        FollowUp(
            "And if it were 4 % of the peak with the memory idle as well?",
            "Then it is at neither roof: it waits. Too few blocks for the multiprocessors, sums that wait "
            "for themselves, barriers, launches of tiny kernels, or the host. More independent work on its "
            "way, larger launches, CUDA graphs; fewer bytes would not help.",
        ),
        FollowUp(
            "The profiler shows more bytes a second than the datasheet allows. How?",
            "They were served by a cache: requests are counted before L2. Compare the counters of DRAM and "
            "of L2. Or compression, or a clock other than you think.",
        ),
        FollowUp(
            "You fused depthwise and pointwise, and it became slower. Why?",
            "The pointwise product wants a wide tile of filters; each block must then have all channels of "
            "its pixels, or compute the depthwise part again for each tile of filters. Shared memory limits "
            "the tile, and fewer blocks run at once.",
        ),
        FollowUp(
            "Where does the ridge of a processor lie, and where that of a GPU?",
            f"By the datasheets an {datasheets.load(CPU).name}, has {ridge('float32', CPU):.0f} FLOPs a "
            f"byte with all cores, an A100 {ridge('float32', 'nvidia_a100'):.1f}, an H100 "
            f"{ridge('float32', 'nvidia_h100'):.0f}, all in float32; an H100 in float16 "
            f"{ridge('float16', 'nvidia_h100'):.0f}. The further right, the more layers wait.",
        ),
    )
