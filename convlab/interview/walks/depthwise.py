"""Depthwise-separable convolutions: why the time does not fall as far as the FLOPs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from inspect import cleandoc

from convlab import figures, networks
from convlab.benchmark import datasheets
from convlab.benchmark.saved import Row
from convlab.benchmark.summary import by_layer, fastest
from convlab.cost.layers import cost_of
from convlab.figures.picture import Picture
from convlab.interview.units import RATIO
from convlab.interview.walks.facts import by_name, least_seconds, least_times, measured, whose
from convlab.interview.walks.walk import FollowUp, Levels, Pitfall, Point, Walk
from convlab.support.units import bytes_text, count_text, time_text
from convlab.widgets import ChannelMixing, RooflineExplorer


def share_of(rows: list[Row], worth: Callable[[Row], float]) -> str:
    """Return the share of the depthwise layers, each shape counted as often as the network has it."""
    deep = [row for row in rows if row.problem.groups > 1]
    part, every = (sum(row.count * worth(row) for row in some) for some in (deep, rows))
    return f"{part / every:.1%}"


def _times(rows: dict[str, Row], title: str) -> Picture:
    timings = {name: row.timing for name, row in rows.items()}
    return figures.times(
        timings,
        title=title,
        alt=f"Bars of time on {whose()}: "
        + ", ".join(f"{name} {time_text(timing.median)}" for name, timing in timings.items()),
        log=False,
    )


@cache
def walk() -> Walk:
    """Return the walk-through."""
    mobilenet, gpu = networks.load("mobilenet_v1"), datasheets.load("nvidia_h100")
    deep, point = (mobilenet[name].problem for name in ("conv_dw_8", "conv_pw_8"))
    full, taps = replace(deep, groups=1), deep.R * deep.S
    pair, halves = cost_of(deep, point), {p: cost_of(p) for p in (full, deep, point)}
    of_pair = f"{point.flops / pair.flops:.0%}"
    saving = full.flops / pair.flops
    intensity = {p: f"{cost.intensity:.1f}" for p, cost in halves.items()}
    layer = f"{full.H} x {full.W} pixels and {full.C} channels"

    ran = by_name(measured("networks", "vgg16"), full)
    ways = by_name(measured("networks", "mobilenet_v1"), deep)
    slide, in_lanes = ways["depthwise"], ways["indirect"]
    times = {name: RATIO.text(ways[name].seconds / slide.seconds) for name in ("indirect", "im2row")}
    mix = by_name(measured("networks", "mobilenet_v1"), point)["pointwise"]
    both = slide.seconds + mix.seconds
    gain = {name: RATIO.text(ran[name].seconds / both) for name in ("indirect", "winograd_4x4")}
    speed = {row: f"{count_text(row.problem.flops / row.seconds)}FLOP/s" for row in (slide, mix)}
    best = [row for rows in by_layer(measured("networks", "mobilenet_v1")).values() if (row := fastest(rows))]
    of_flops, of_time = share_of(best, lambda row: row.problem.flops), share_of(best, lambda row: row.seconds)

    roof = RooflineExplorer("mobilenet_v1", "conv_dw_8", algorithm="depthwise")
    here, places = roof.line, {entry.name: at for at, entry in enumerate(mobilenet)}
    allowed = {
        memory.name: f"{here.attainable(halves[deep].intensity, memory) / here.adds.rate:.0%}"
        for memory in here.memories
    }

    batch = {p: replace(p, N=256, dtype="float16") for p in (full, deep, point)}
    moved = {p: cost_of(one).bytes for p, one in batch.items()}
    rates = {full: "float16", deep: "float32", point: "float16"}  # no tensor core serves a depthwise layer
    least = {p: least_seconds(gpu, rates[p], batch[p].flops, moved[p]) for p in batch}
    on_gpu = RATIO.text(least[full] / (least[deep] + least[point]))
    more = (moved[deep] + moved[point]) / moved[full]
    between = 2 * batch[deep].y_bytes
    fused = moved[deep] + moved[point] - between
    one = max(fused / gpu.memory, batch[point].flops / gpu.flops["float16"])
    spared = f"{between / (moved[deep] + moved[point]):.0%}"
    share_of_peak = f"{batch[deep].flops / moved[deep] * gpu.memory / gpu.flops['float16']:.1%}"
    return Walk(
        name="depthwise",
        question=f"MobileNet's depthwise-separable convolution has some {saving:.0f} times fewer FLOPs. "
        f"Why is it not {saving:.0f} times faster?",
        minutes=10,
        figures={
            "mixing": ChannelMixing(512, groups=1, size=14),
            "roof": roof,
            "clock": _times(
                {
                    "full, indirect": ran["indirect"],
                    "full, winograd_4x4": ran["winograd_4x4"],
                    "depthwise": slide,
                    "pointwise": mix,
                    "depthwise by indirect": in_lanes,
                },
                f"{RATIO.text(saving)} fewer FLOPs; in time {gain['indirect']} against indirect, "
                f"{gain['winograd_4x4']} against 4x4 tiles",
            ),
            "gpu": least_times(
                {
                    "full": least[full],
                    "depthwise": least[deep],
                    "pointwise": least[point],
                    "both, fused": one,
                },
                f"{batch[full].N} pictures in float16 on an {gpu.name}: {on_gpu} at best",
            ),
        },
        points=(
            Point(
                "It is another layer, in two halves: depthwise looks around, pointwise mixes.",
                "A full filter reads every channel. The depthwise half has a filter for each channel, the "
                "pointwise half is 1x1 over all channels. It has fewer weights, and a network is trained "
                "with it: it does not compute the full layer.",
                "mixing",
            ),
            Point(
                f"The FLOPs fall by 1 / (1/K + 1/(R·S)), which stays below {taps}.",
                f"An output pixel takes R·S·C·K multiply-adds in full, R·S·C + C·K in halves. With {layer} "
                f"that is {RATIO.text(saving)} fewer.",
                "mixing",
                {"step": 5},
            ),
            Point(
                "FLOPs are half of the story: no layer runs below its bytes' time either.",
                "Time is at least FLOPs over peak, and bytes over bandwidth. FLOPs fall by "
                f"{RATIO.text(saving)}; x and y stay, and a picture between the halves is added: for one "
                f"picture {bytes_text(halves[full].bytes)} in full, {bytes_text(pair.bytes)} in halves, "
                f"with {bytes_text(full.w_bytes)} and {bytes_text(deep.w_bytes + point.w_bytes)} of weights.",
                must=True,
            ),
            Point(
                "Look at the halves apart: pointwise is a matrix product.",
                f"It has {of_pair} of the pair's FLOPs, {intensity[point]} FLOPs for each byte here, and "
                f"runs like any GEMM: {speed[mix]} on {whose()}.",
                "roof",
                {"layer": places["conv_pw_8"], "algorithm": "pointwise"},
            ),
            Point(
                "Depthwise has little work for each byte.",
                f"A number of x meets R·S weights, however many channels there are: {intensity[deep]} FLOPs "
                f"for each byte, where the full layer has {intensity[full]}. On {here.machine}, that lets a "
                "core reach, of its peak, "
                + ", ".join(f"{share} from {name}" for name, share in allowed.items())
                + ".",
                "roof",
                must=True,
            ),
            Point(
                "On a GPU the ridge is further right, so it is bytes that count.",
                f"{gpu.name} has {count_text(gpu.flops['float32'])}FLOP/s in float32 and "
                f"{count_text(gpu.flops['float16'])}FLOP/s in tensor cores, over "
                f"{count_text(gpu.memory)}B/s. In float16 a depthwise layer's bytes allow {share_of_peak} "
                "of the tensor cores' peak.",
                "roof",
                {"machine": "nvidia_h100"},
            ),
            Point(
                "As a matrix product it is degenerate.",
                f"Each group has one filter: a product one column wide, with sums of {taps}. One lane of a "
                "vector, one column of a tensor core's tile works; or one multiplies a diagonal in zeros, "
                f"{full.C} times the work.",
                "mixing",
                {"step": 5},
            ),
            Point(
                "So a kernel of its own: vectors along the channels.",
                "In NHWC channels are neighbours in memory, and so are their sums: a vector of x times a "
                "vector of weights adds to a vector of y, nothing is summed across lanes. On a GPU "
                "neighbouring lanes take neighbouring channels, so loads coalesce for any stride.",
            ),
            Point(
                "The window slides, so that x is loaded once for a line of taps.",
                "Tap by tap there is a load for each multiply-add. With a few neighbouring outputs in "
                "registers each pixel is loaded once and added to every sum that wants it; on a GPU the "
                "tile with its halo lies in shared memory or in registers.",
            ),
            Point(
                f"Sums are short: {taps} multiply-adds, then a store.",
                "What a tile costs at its ends (indices, borders, stores) is shared by R·S multiply-adds, "
                "not by R·S·C. Small pictures feel the start of a call, or the launch, as well.",
            ),
            Point(
                "Measure: share of FLOPs against share of time.",
                f"In MobileNetV1 depthwise layers have {of_flops} of the FLOPs, and with a kernel of their "
                f"own took {of_time} of the time on {whose()}: {speed[slide]} against {speed[mix]}. A "
                f"general kernel took {times['indirect']} the time of that with a channel in each lane "
                f"(indirect), and {times['im2row']} with a product for each group (im2row).",
                "clock",
            ),
            Point(
                "Say against what: the full layer has quick ways of its own.",
                f"On that core the two halves of {layer} took {time_text(both)}. The full layer took "
                f"{gain['indirect']} that as a product (indirect), and {gain['winograd_4x4']} with "
                "Winograd's 4x4 tiles, which serve the full layer only.",
                "clock",
            ),
            Point(
                "And where: tensor cores speed up just the work that was saved.",
                f"With {batch[full].N} pictures in float16 an {gpu.name} needs at least "
                f"{time_text(least[full])} for the full layer, {time_text(least[deep])} and "
                f"{time_text(least[point])} for the halves, by its datasheet: {on_gpu} at best, of "
                f"{RATIO.text(saving)} fewer FLOPs.",
                "gpu",
            ),
            Point(
                "Then move less: fuse the halves, and all that is between.",
                "Hand the depthwise output on, line by line or tile by tile, while it is in the cache or in "
                f"shared memory. That spares {spared} of the pair's bytes: {time_text(one)} at least, in "
                f"place of {time_text(least[deep] + least[point])}. Fold batch norm, add ReLU on the way, "
                "use smaller types.",
                must=True,
            ),
        ),
        answers=Levels(
            borderline=cleandoc(f"""
                A depthwise-separable convolution first applies one 3x3 filter to each channel and then mixes
                the channels with a 1x1 convolution. That needs about {saving:.0f} times fewer FLOPs than a
                full 3x3 layer.

                It is not that much better in time because the depthwise part is memory-bound: for each value
                that is loaded only {taps} multiply-adds are done. The GPU cannot use its arithmetic units.
                Also, libraries are optimised for normal convolutions, and depthwise kernels are less mature.
            """),
            hire=cleandoc(f"""
                I would take the two halves apart. The pointwise half is a matrix product with {of_pair} of
                the FLOPs, and runs like one. The depthwise half has R·S multiply-adds for each number it
                reads, {intensity[deep]} FLOPs for each byte in float32, whatever the channels; the full layer
                has {intensity[full]}. On a GPU that is far left of the ridge, so its time is bytes over
                bandwidth, and the picture between the halves is written and read once more.

                It is no matrix product either: with one filter in each group, im2col leaves products one
                column wide, and tensor cores have nothing to do. So one writes a kernel whose vectors run
                along the channels in NHWC, with a window that slides, so that pixels are reused from
                registers.

                To gain more I would fuse depthwise and pointwise with batch norm and ReLU, so that the
                picture between them never reaches memory. Then I would time the halves apart, against bytes
                over bandwidth.
            """),
            strong=cleandoc(f"""
                FLOPs fall by 1 / (1/K + 1/(R·S)), {RATIO.text(saving)} for {layer}. Time has two floors,
                FLOPs over peak and bytes over bandwidth, and the second does not fall with the first: with
                {batch[full].N} pictures the halves move {RATIO.text(more)} the full layer's bytes.

                Pointwise is a GEMM at {intensity[point]} FLOPs for each byte. Depthwise has
                {intensity[deep]}: a number of x meets R·S weights and no more. It is {of_flops} of
                MobileNet's FLOPs. With a good kernel, vectors along channels, a sliding window, sums in
                registers, it took {of_time} of the time on {whose()}; with a product for each group it takes
                {times["im2row"]} the time of that kernel, so I would look at which kernel ran first of all.

                Then, against what? On that core the full layer took {gain["indirect"]} the pair's time as a
                product, and {gain["winograd_4x4"]} with Winograd, which only the full layer can use. On an
                {gpu.name}, float16 and {batch[full].N} pictures, the roofs allow {time_text(least[full])} for
                the full layer on tensor cores and {time_text(least[deep])} plus {time_text(least[point])} for
                the halves: {on_gpu} at best, as both halves are held by bytes.

                So I move less: fuse the halves, which spares {spared} of their bytes; fold batch norm;
                smaller types. Or I change the network: as bytes are paid anyway, larger depthwise filters add
                little time, and early layers may do better with full ones, as in EfficientNetV2. I would
                measure each half's bytes a second against a copy of the same size, at the batch that is
                served, and the whole network, since launches and what lies between count as well.
            """),
        ),
        pitfalls=(
            Pitfall(
                "“It is the same convolution, factored.”",
                "It has fewer weights and cannot express most full filters. It is a layer of its own that "
                "is trained; what is compared is accuracy at equal time.",
            ),
            Pitfall(
                "“It is two matrix products.”",
                "One: the pointwise half. The depthwise half sums over no channels, and as a product it is "
                "a diagonal in zeros.",
            ),
            Pitfall(
                "“A depthwise layer is always memory-bound.”",
                f"Say which memory. {bytes_text(halves[deep].bytes)} may live in a cache, whose roof is "
                "higher; there short sums and the kernel decide. With a large batch, or on a GPU, it is the "
                "memory.",
            ),
        ),
        follow_ups=(
            FollowUp(
                "Would a 7x7 depthwise filter cost much more?",
                f"FLOPs and taps grow by {RATIO.text(7 * 7 / taps)}, bytes by the weights alone. While "
                "bytes set the pace it is nearly hidden, which is why some newer networks take it. In a "
                "cache, or in a kernel that does not slide, it shows.",
            ),
            FollowUp(
                "NHWC or NCHW for the depthwise half?",
                "In NHWC a vector holds channels, for any width and stride, and the pointwise half wants "
                "that order, too. In NCHW a vector holds pixels of one channel: strides and edges get in "
                "its way, but with large planes and few channels it can do well.",
            ),
            FollowUp(
                "How would you fuse the two halves on a GPU?",
                "A block takes a tile of pixels with all channels of a step: depthwise from shared memory "
                "into shared memory, then that tile is the A operand of the pointwise product. It needs all "
                "channels for each sum, so C is walked in pieces; halo pixels are computed or read again, "
                "and shared memory limits the tile.",
            ),
        ),
        read=(
            ("08", "Which filter reads which channel"),
            ("08", "What is saved"),
            ("08", "What holds it up?"),
            ("08", "Does an indirection buffer help?"),
            ("15", "Little work for each byte"),
        ),
    )
