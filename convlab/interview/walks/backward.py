"""The backward pass: what it computes, what it costs, and how it runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from inspect import cleandoc
from math import ceil

from convlab import figures, networks
from convlab.algorithms import ALGORITHMS
from convlab.figures.picture import Picture
from convlab.gpu.occupancy import GPUS
from convlab.gradients import DGRAD
from convlab.gradients.dgrad_subfilters import ZEROS_INSERTED
from convlab.interview.walks.walk import FollowUp, Levels, Pitfall, Point, Walk
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text, count_text
from convlab.widgets import TransposedWindow

BATCH, TILE = 32, 128  # pictures; rows and columns that a block of a GPU computes
PIECES = (2, 3, 4, 6, 8)  # nodes of the network between two cuts


def _sums(layers: dict[str, ConvProblem]) -> Picture:
    """Draw how long the sums of each pass are."""
    lengths: dict[str, int] = {}
    for name, p in layers.items():
        (M, K, taps), inputs = p.gemm, p.N * p.H * p.W * p.C
        lengths |= {
            f"{name}, fprop: {count_text(M * K)} sums": taps,
            f"{name}, dgrad: {count_text(inputs)} sums": p.R * p.S * K,
            f"{name}, wgrad: {count_text(K * taps)} sums": M,
        }
    return figures.bars(
        lengths,
        title="The same products in other sums: wgrad's are few and long early in a network",
        axis=f"products in a sum, {BATCH} pictures",
        alt="Bars of the length of a sum: " + ", ".join(f"{n} of {v:,}" for n, v in lengths.items()),
        text="{:,.0f}".format,
        roles={name: role for name, role in zip(lengths, 2 * ("output", "input", "filter"), strict=True)},
        log=True,
    )


@cache
def walk() -> Walk:
    """Return the walk-through."""
    network, model = networks.load("resnet18"), networks.load_model("resnet18", batch=BATCH)
    early, late, strided = (
        replace(network[name].problem, N=BATCH)
        for name in ("layer1.0.conv1", "layer4.0.conv2", "layer2.0.conv1")
    )
    problems = [node.convolution for node in model.nodes if node.op == "conv"]
    forward = sum(p.macs for p in problems)
    backward = (2 * forward - problems[0].macs) / forward
    way = {name: count_text(one.macs(strided)) for name, one in DGRAD.items()}
    zeros = count_text(ZEROS_INSERTED(strided))
    useless = f"{1 - strided.macs / ZEROS_INSERTED(strided):.0%}"

    (M, K, taps), many = early.gemm, GPUS["H100"][1]
    tiles = ceil(K / TILE) * ceil(taps / TILE)
    ahead = ceil(M / TILE) * ceil(K / TILE)

    whole = networks.checkpointing(model.nodes, every=len(model.nodes)).kept_bytes
    cut = {every: networks.checkpointing(model.nodes, every) for every in PIECES}
    best = min(cut, key=lambda every: cut[every].kept_bytes)
    matrices = sum(ALGORITHMS["im2row"].workspace_bytes(p, "numpy") for p in problems)
    kept = {"with im2row's matrices": whole + matrices, "what the way back reads": whole} | {
        f"cut every {n} nodes, {one.repeated_macs / forward:.0%} again": one.kept_bytes
        for n, one in cut.items()
    }
    again = f"{cut[best].repeated_macs / forward:.0%}"
    share = f"{cut[best].kept_bytes / whole:.0%}"
    weights = bytes_text(sum(p.w_bytes for p in problems))
    bias = f"{early.y_bytes / early.itemsize / early.y_bytes:g}"
    return Walk(
        name="backward",
        question="What does the backward pass of a convolution compute, what does it cost, "
        "and how does it run?",
        minutes=12,
        figures={
            "window": TransposedWindow(),
            "sums": _sums({"early": early, "late": late}),
            "kept": figures.bars(
                kept,
                title=f"A cut every {best} nodes keeps {share} of the bytes, for {again} of fprop once more",
                axis=f"bytes that wait: ResNet-18, {BATCH} photographs",
                alt="Bars of memory: " + ", ".join(f"{name} {bytes_text(v)}" for name, v in kept.items()),
                text=bytes_text,
            ),
        },
        points=(
            Point(
                "Three gradients: of the input, the weights and the bias.",
                "dy comes from the layer behind. *dgrad* makes dx of dy and w, *wgrad* makes dw of x and "
                "dy, *bgrad* sums dy. The figure runs dgrad: what it calls x is dy here, and its y is dx.",
                "window",
                {"step": 0},
            ),
            Point(
                "A convolution is linear in x and in w: each gradient is a transpose.",
                "y = A x gives dx = Aᵀ dy, so ⟨A x, dy⟩ = ⟨x, Aᵀ dy⟩. A window gathers pixels into a "
                "number; its transpose lays that number's gradient out on the same pixels, times the same "
                "weights.",
                "window",
                {"step": 5},
            ),
            Point(
                "Each pass sums the same products, so the way back is two more forward passes.",
                "One product for each (n, p, q, k, r, s, c), in other sums. ResNet-18's convolutions take "
                f"{backward:.2f} times the forward FLOPs on the way back: the first layer needs no dx.",
                "sums",
            ),
            Point(
                "dgrad as it stands: a product, then col2im.",
                "`w.T @ dy` makes columns, and each is added back where im2col took it. Overlapping windows "
                "add to one pixel: threads that scatter need atomics, or each thread gathers for its own "
                "pixels.",
                "window",
                {"step": 11},
            ),
            Point(
                "dgrad at stride 1 is a convolution of dy.",
                "The filter is turned by 180 degrees, C and K change places, and the padding is R - 1 less "
                "the padding there was. So every forward kernel serves it, implicit GEMM and Winograd "
                "included.",
                "window",
                {"view": "zeros", "stride": 1, "step": 14},
            ),
            Point(
                "A stride puts zeros between the gradients.",
                f"Then the same convolution is right, and wasteful: for layer2.0.conv1 of ResNet-18, at "
                f"stride 2, {zeros} multiply-adds with {BATCH} pictures where fprop has "
                f"{count_text(strided.macs)}; {useless} of them are for nothing.",
                "window",
                {"view": "zeros", "step": 31},
            ),
            Point(
                "Sub-filters leave the zeros out.",
                "Pixels of dx whose row and column have the same remainder by the stride meet the same "
                f"taps: stride × stride small dense convolutions, written side by side. {way['subfilters']} "
                "multiply-adds. CUTLASS calls it strided dgrad.",
                "window",
                {"view": "subfilters", "step": 25},
            ),
            Point(
                "Run forwards, dgrad is the transposed convolution.",
                "It makes large pictures of small ones. Several input sizes share one output size, so "
                "`output_padding` says which; and where the stride does not divide the filter, pixels lie "
                "under different numbers of windows: a checkerboard. It gives back the shape, not the "
                "numbers.",
                "window",
                {"output_padding": 1, "step": 11},
            ),
            Point(
                "wgrad is a product with few sums, and long ones.",
                f"`dw = dy.T @ rows`, K x R·S·C, summed over N·P·Q: early in ResNet-18 {K} x {taps} sums of "
                f"{M:,} products each, the matrix of rows never stored. Nothing is packed, as both operands "
                "are new each time.",
                "sums",
            ),
            Point(
                "So wgrad is parallel along the sum: split-K.",
                f"In tiles of {TILE} x {TILE} that dw has {tiles}, for {many} multiprocessors of an H100; "
                f"fprop has {ahead:,}. Cut N·P·Q into parts, and add up their results: from a workspace, or "
                "by atomics.",
            ),
            Point(
                "The order of adding decides the last bits.",
                "Atomic adds come in any order, so two runs differ. Parts that are added from first to last "
                "give the same bits each time, for a workspace and a second small kernel. Long sums want "
                "float32, whatever x and dy are stored in.",
            ),
            Point(
                "bgrad sums dy over N, P and Q.",
                f"An addition a number, {bias} FLOPs for each byte: it is held by memory, so it rides along "
                "where dy is read anyway. Before batch norm there is no bias at all.",
            ),
            Point(
                "wgrad wants x: what a layer read must wait.",
                f"dgrad wants w and dy, wgrad x and dy. For ResNet-18 and {BATCH} photographs "
                f"{bytes_text(whole)} wait (batch norm not counted), beside {weights} of weights. im2row's "
                f"matrices would make it {bytes_text(whole + matrices)}: make them again, or never.",
                "kept",
            ),
            Point(
                "Checkpoints trade that memory for work.",
                f"Keep what crosses a cut, run the piece forwards again on the way back. Every {best} "
                f"nodes: {bytes_text(cut[best].kept_bytes)}, for {again} of fprop once more. Of n equal "
                "layers about √n pieces keep least.",
                "kept",
            ),
            Point(
                "Check it without a formula.",
                "In float64 move one number each way and see what the loss does: the difference over the "
                "step is the gradient. For all of it at once compare ⟨A x, dy⟩ with ⟨x, dx⟩. Odd sizes, "
                "stride 2, padding, dilation and groups are where it breaks.",
                "window",
                {"padding": 1, "output_padding": 1, "step": 11},
            ),
        ),
        answers=Levels(
            borderline=cleandoc(f"""
                The backward pass computes the gradients of the loss with respect to the input and the
                weights. The gradient of the input is a transposed convolution of dy with the flipped kernel.
                The gradient of the weights is a correlation of the input with dy. The bias gradient is the
                sum of dy.

                Together that costs about {backward:.0f} forward passes, here {backward:.2f}. One has to store
                the activations from the forward pass. In a framework autograd calls cuDNN for both.
            """),
            hire=cleandoc(f"""
                A convolution is linear in its input and in its weights, so both gradients are transposes.
                dgrad lays each dy over its window, times w; at stride 1 that is a convolution of dy with the
                filter turned round, channels and filters exchanged. With a stride one could put zeros between
                the gradients, but at stride 2 {useless} of the multiplications are for nothing, so libraries
                cut the filter into a part for each phase.

                wgrad is dy transposed times the im2row matrix: K by R·S·C numbers, each a sum over all output
                pixels of the batch. Few, long sums: they are split into parts and added up, and with atomics
                two runs differ in the last bits. bgrad sums dy.

                Each of dgrad and wgrad has the FLOPs of the forward pass. x must be kept for wgrad, which is
                what fills memory in training; checkpoints keep less and compute again. I would check all
                three by finite differences in float64.
            """),
            strong=cleandoc(f"""
                All three passes sum the same products, one for each (n, p, q, k, r, s, c); they differ in
                what is summed over. So each has fprop's FLOPs: {backward:.2f} times on the way back for
                ResNet-18, as the first layer needs no dx.

                dgrad is the adjoint. As a scatter it is a product and col2im, with conflicts where windows
                overlap; as a gather, at stride 1, an ordinary convolution with w turned and C and K
                exchanged, so implicit GEMM and Winograd serve it. At stride 2 inserted zeros take {zeros}
                multiply-adds where {way["subfilters"]} do, by sub-filters, one for each phase.

                wgrad is K by R·S·C sums over N·P·Q. Early in the network, with {BATCH} pictures, that is
                {tiles} tiles of {TILE} x {TILE} with {M:,} products in each sum, where fprop has {ahead:,}
                tiles. So I split the sum: more parts fill the machine, and each costs workspace and a pass to
                add it up. Fixed order if runs must repeat, atomics if not; float32 sums in either case, and
                loss scaling if gradients are float16.

                Memory: wgrad reads x, {bytes_text(whole)} for {BATCH} photographs. ReLU can use its output's
                sign, so one array serves both. A cut every {best} nodes keeps {share} of it for {again} of
                fprop again.

                I would check finite differences on small odd shapes in float64, then <A x, dy> = <x, dx> on
                real ones, and time the passes apart: when wgrad takes many times dgrad's time at equal FLOPs,
                I look at which kernel ran, in which layout, before I look at anything else.
            """),
        ),
        pitfalls=(
            Pitfall(
                "“The backward pass is a deconvolution, it undoes the convolution.”",
                "It is the transpose, not the inverse. It brings back the shape of x, and gradients, not x.",
            ),
            Pitfall(
                "“Flip the filter and convolve dy”: and that is all.",
                "At stride 1. Say also that C and K change places, which padding it takes, what a stride "
                "does, and that wgrad is another sum.",
            ),
            Pitfall(
                "“wgrad is a convolution of x with dy as the filter.”",
                f"The formula is right, the shape is a trap: filters of {early.P} x {early.Q} are what "
                "forward kernels are not made for. Run it as a product with its sum in parts.",
            ),
            Pitfall(
                "“Keep the im2col matrix for the backward pass.”",
                f"That is {bytes_text(matrices)} more here. x is enough; rows are gathered again as they "
                "are multiplied.",
            ),
        ),
        follow_ups=(
            FollowUp(
                "wgrad takes many times as long as dgrad, at equal FLOPs. What do you look at?",
                "Which kernel ran, on what shape and layout. A filter as large as the picture may have left "
                "loops without tiles; too few parts leave processors idle; NCHW among NHWC kernels adds "
                "copies. Then bytes and FLOPs a second of that kernel.",
            ),
            FollowUp(
                "Two runs of a training differ in the last bits. Why, and can you stop it?",
                "Sums of N·P·Q terms are cut into parts and added by atomics in some of cuDNN's wgrad and "
                "dgrad algorithms. Ask for deterministic ones; fix the choice of algorithm and the number "
                "of parts too, as another split is another order.",
            ),
            FollowUp(
                "What do groups and a depthwise layer change?",
                "Groups: dgrad and wgrad for each group apart. Depthwise: wgrad has one row for each "
                "matrix, so it is no product but R·S sums for each channel over all pixels; vectors along "
                "channels, pixels shared out, parts added.",
            ),
            FollowUp(
                "How do finite differences go wrong?",
                "In float32, or with a step too small, rounding drowns the difference. ReLU and max pooling "
                "have corners. For the convolution alone take the loss ⟨y, dy⟩: it is linear in x, so a "
                "large step is exact.",
            ),
        ),
        read=(
            ("09", "The adjoint"),
            ("09", "Zeros, and how to leave them out"),
            ("09", "Back to the weights"),
            ("09", "The order of a long sum"),
            ("09", "What has to be kept"),
            ("09", "Is it right?"),
        ),
    )
