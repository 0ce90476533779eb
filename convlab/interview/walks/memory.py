"""Walk-through: where im2col's memory comes from, and how to do without it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from convlab import ALGORITHMS, networks
from convlab.benchmark import datasheets
from convlab.benchmark.roofline_points import compulsory_bytes
from convlab.benchmark.saved_runs import undisturbed
from convlab.inspect.tiling import Tiling
from convlab.interview.kept import kept_bytes, matrix_bytes, table_bytes
from convlab.interview.walks.walk import FollowUp, Levels, Pitfall, Point, Walk
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text, time_text
from convlab.widgets import Im2colFills, MemoryBlowup, TileByTile
from convlab.widgets.memory_data import workspace_of

_RESNET = networks.load("resnet18")
LAYER = _RESNET["layer1.0.conv1"].problem  # 3 x 3, stride 1
FIRST = _RESNET["conv1"].problem  # 7 x 7, stride 2
TAPS = LAYER.R * LAYER.S
BATCH = replace(LAYER, N=32)
KNOWN = ("direct", "im2row", "im2col", "implicit_gemm", "precomputed_gemm", "indirect", "winograd_4x4")


def _times_input(problem: ConvProblem) -> str:
    return f"{matrix_bytes(problem) / problem.x_bytes:.4g}"


INPUT, MATRIX = bytes_text(LAYER.x_bytes), bytes_text(matrix_bytes(LAYER))
TABLE = table_bytes(LAYER)
SMALLER = matrix_bytes(LAYER) / TABLE
FAST = bytes_text(workspace_of(ALGORITHMS["indirect"], LAYER))
STARTS = bytes_text(kept_bytes("precomputed_gemm", LAYER))
_H100 = datasheets.load("nvidia_h100")
RIDGE = _H100.flops["float32"] / _H100.memory
TILE = Tiling(128, 64, 8, 8, 8)
MOVED, LEAST = ALGORITHMS["im2row"].cost(LAYER, "numpy").bytes_moved, compulsory_bytes(LAYER)
LARGER = f"{((4 + LAYER.R - 1) / 4) ** 2:.4g}"  # Winograd's tiles of 4 x 4 outputs overlap, too


@cache
def walk() -> Walk:
    """Return the walk-through."""
    return Walk(
        name="memory",
        question=f"im2col needs {TAPS} times the memory of the input. Where does the {TAPS} come from, and "
        "how do you avoid it?",
        minutes=10,
        figures={
            "windows": Im2colFills(),
            "network": MemoryBlowup("resnet18", "layer1.0.conv1", known=KNOWN),
            "blocks": TileByTile(),
        },
        points=_points(),
        answers=_answers(),
        pitfalls=(
            Pitfall(
                "“The factor is R·S·C, for that is the length of a row.”",
                f"The input has C numbers for each pixel, too. The channels cancel: it is R·S, here {TAPS}, "
                "times outputs over pixels.",
            ),
            Pitfall(
                "“Stride 2 halves it.”",
                "The stride leaves windows out down and across: it divides by its square. 7 x 7 with stride "
                f"2 makes {_times_input(FIRST)} times the input, not "
                f"{FIRST.R * FIRST.S / FIRST.stride[0]:g}.",
            ),
            Pitfall(
                "“Implicit GEMM computes less.”",
                "It does the same multiply-adds in the same product. What it leaves out is a matrix in "
                "memory.",
            ),
            Pitfall(
                "“The indirection buffer is large, too: it has an entry for each cell.”",
                f"It has one for each pixel and tap. All {LAYER.C} channels share it, and so do all images.",
            ),
        ),
        follow_ups=_follow_ups(),
        read=(
            ("02", "The price"),
            ("04", "What does it weigh?"),
            ("05", "What each of them keeps"),
            ("12", "The matrix that is not there"),
        ),
    )


def _points() -> tuple[Point, ...]:
    whose, seconds = undisturbed(LAYER, ("direct", "im2row"))
    took = {name: time_text(one) for name, one in seconds.items()}
    return (
        Point(
            "im2col writes every window out, and windows overlap.",
            "Each output pixel needs the R·S·C numbers under its window. im2col lays every window flat, as "
            "a row or a column of one matrix; then the convolution is a single matrix product.",
            "windows",
        ),
        Point(
            f"The {TAPS} is R·S: with stride 1 a pixel lies under R·S windows.",
            f"A 3 x 3 filter has {TAPS} taps, and each of them meets an inner pixel in another window: so "
            f"it is copied {TAPS} times. At the border it is fewer, and zeros of the padding are stored "
            "instead.",
            "windows",
            {"copies": True, "step": 19},
            must=True,
        ),
        Point(
            "Exactly: R·S·P·Q over H·W. The channels cancel, the layout does not matter.",
            "The matrix has N·P·Q times R·S·C cells, the input N·H·W·C numbers. Where the output is as "
            "large as the input that is R·S. As columns (im2col, for NCHW) or as rows (im2row, for NHWC): "
            "the same cells.",
            "windows",
            {"layout_of": "im2col", "order": "CRS", "step": 19},
        ),
        Point(
            "The stride divides by its square; dilation changes nothing.",
            f"ResNet-18's first layer, 7 x 7 with stride 2: {_times_input(FIRST)} times its input. Dilation "
            "moves the taps apart, and their number stays.",
            "windows",
            {"stride": 2, "step": 5},
        ),
        Point(
            "1 x 1 with stride 1 has no blow-up at all.",
            "The matrix would be the input, cell by cell. So there it is multiplied in place; with stride 2 "
            "only a quarter of the pixels are copied.",
            "windows",
            {"R": 1, "S": 1, "padding": 0, "step": 19},
        ),
        Point(
            "In bytes, for a real layer and a real batch.",
            f"A 3 x 3 layer of ResNet-18 reads {INPUT} for one image; its matrix has {MATRIX}. The matrix "
            f"grows with the batch: {bytes_text(matrix_bytes(BATCH))} for {BATCH.N} images.",
            "network",
            {"batch": BATCH.N},
        ),
        Point(
            "It is traffic, too: the matrix is written and read again.",
            f"For one image x, w and y are {bytes_text(LEAST)}; with the matrix {bytes_text(MOVED)} move, "
            f"{MOVED / LEAST:.1f} times as many. Where memory sets the pace, that is time.",
            "network",
        ),
        Point(
            "Why people do it all the same: one tuned product does all the work.",
            "A good GEMM keeps a tile of sums in registers, so it can win although it moves more. On this "
            f"layer, one thread, im2row took {took['im2row']} with its copy, the plain direct loops "
            f"{took['direct']} ({whose}).",
        ),
        Point(
            "First remedy: never have the whole matrix at once.",
            "Make the rows of one image, or of one block, multiply them, and use the buffer again. The peak "
            "falls to the block; the copying stays, but it stays in a cache.",
            "blocks",
            {"block_m": 5, "block_k": 18, "step": 2},
        ),
        Point(
            "Implicit GEMM: gather a block just where it is multiplied.",
            "Row m is taken apart into n, p, q and column k into r, s, c: that is where the cell lives in "
            f"the input. On a GPU a block of {TILE.block_m} x {TILE.block_n} outputs keeps "
            f"{bytes_text(TILE.shared_bytes)} in shared memory, whatever the picture.",
            "blocks",
            must=True,
        ),
        Point(
            "The map's divisions can be done beforehand: row starts, steps, masks.",
            "From one tap to the next all rows move by the same distance. cuDNN's IMPLICIT_PRECOMP_GEMM "
            f"keeps such indices: for each row a start of 64 bits and a bit for each tap, {STARTS} here.",
            "blocks",
            {"algorithm": "precomputed_gemm", "C": 4, "R": 2, "S": 2, "block_k": 2, "step": 2},
        ),
        Point(
            "An indirection buffer: one place instead of C numbers.",
            f"P·Q·R·S places of 32 bits, {bytes_text(TABLE)} in all: {SMALLER:.0f} times less than the "
            "matrix, for the channels share a place. Kept as distances from the start of an image, it is "
            f"made once, and a batch shares it (the bar, {FAST}, is our fast form's: its tiles come whole).",
            "network",
            {"algorithm": "indirect", "batch": BATCH.N},
        ),
        Point(
            "Or another algorithm: look at what that allocates.",
            "Direct convolution needs nothing beside x, w and y. Winograd's tiles for 4 x 4 outputs "
            f"overlap, too: {LARGER} numbers for each pixel, and as many for each output, where all are "
            "kept at once, as on a GPU. Ours on a CPU keeps a few tiles for each thread.",
            "network",
            {"algorithm": "winograd_4x4"},
        ),
        Point(
            "Say when im2col is right.",
            "1 x 1 layers, small pictures, a device with nothing but a fast GEMM, a first version to check "
            "others against. Measure the peak of the allocator and the time of the copy, then decide.",
            "network",
            {"layer": len(_RESNET) - 1},
        ),
    )


def _answers() -> Levels:
    return Levels(
        borderline=f"""im2col copies the patch under every position of the filter into a matrix, so that the
convolution becomes one big matrix multiplication. With a 3 x 3 filter every pixel belongs to {TAPS}
patches, and so it is stored {TAPS} times.

To avoid it you could use implicit GEMM, which cuDNN has: it does not build the matrix but works out the
indices on the fly. Or you process the batch in smaller pieces, so that the matrix is smaller.""",
        hire=f"""The matrix has N·P·Q rows and R·S·C columns; the input has N·H·W·C numbers. The channels
cancel, and what is left is R·S·P·Q over H·W. For 3 x 3 with stride 1 and the same size of output that is
{TAPS}. A stride divides it by its square: ResNet's first layer, 7 x 7 with stride 2, comes to
{_times_input(FIRST)}. A 1 x 1 layer has no copy at all.

In bytes: a 3 x 3 layer of ResNet-18 reads {INPUT} and makes a matrix of {MATRIX}, for each image. It is also
written and read again, so it costs bandwidth, not only room.

I would avoid it with implicit GEMM: the product is done in tiles, and the tile of the left matrix is gathered
from the input into shared memory, by index arithmetic, with a test for padding. On a CPU an indirection
buffer does the same: a table of pointers to pixels, C times smaller than the matrix. If all I have is a
GEMM, I would do one image at a time.""",
        strong=f"""First the number: R·S·P·Q over H·W, so {TAPS} is the case of 3 x 3, stride 1, same size. 7
x 7 with stride 2 gives {_times_input(FIRST)}, 1 x 1 with stride 1 gives one, and there you multiply in
place. Dilation and channels do not matter.

There are two costs. Room: {MATRIX} beside an input of {INPUT} on a 3 x 3 layer of ResNet-18, and
{bytes_text(matrix_bytes(BATCH))} with {BATCH.N} images. And traffic: {bytes_text(MOVED)} move
instead of {bytes_text(LEAST)}. That pulls the layer from {LAYER.flops / LEAST:.0f} FLOPs a byte down to
{LAYER.flops / MOVED:.0f}, and the ridge of an H100 lies at {RIDGE:.0f}, in float32, by its datasheet.

There is a staircase of remedies. Blocks: an image or a few rows at a time; the peak falls, the copy stays in
a cache. Implicit GEMM: gather the tile where it is multiplied; what remains is index arithmetic, and I
would take rows apart once and carry r, s, c along. Precomputed row starts and masks:
{STARTS} here. An indirection buffer: {bytes_text(TABLE)},
{SMALLER:.0f} times less than the matrix, for any pattern of taps; it is made anew when H or W changes,
not for a new batch. It needs NHWC, so that one pointer serves all channels.

I would still take im2col for 1 x 1 layers, for a port to a chip that has only a GEMM, and as the version that
the others are checked against. And I would measure: the allocator's peak, the bytes from memory, and the
share of the time that is the copy. If that share is small, I would not touch it.""",
    )


def _follow_ups() -> tuple[FollowUp, ...]:
    last = _RESNET["layer4.1.conv2"].problem
    return (
        FollowUp(
            "Your indirection buffer has a batch of two, and only the first image is right. Why?",
            "Padding is marked by a special place, such as -1, and somebody added the start of the second "
            "image before looking at the mark. Test first, then add.",
        ),
        FollowUp(
            "For which layers is a table of pointers no gain?",
            f"It saves by the channels: matrix over table is about C, {last.C} in the last layers of "
            f"ResNet-18, but {FIRST.C} in the first, and with pointers of 64 bits half of that. 1 x 1 with "
            "stride 1 has nothing to save, and a depthwise layer has one channel a filter.",
        ),
        FollowUp(
            "Does training need the matrix, too?",
            "The gradient of the weights is a product with the same matrix, turned, and that of the input "
            "is col2im of a product: every copy is added back to its pixel. Both can be gathered tile by "
            "tile as well. Keeping the matrix of the forward pass would cost R·S times the activations.",
        ),
        FollowUp(
            "cuDNN says an algorithm needs a workspace. What is in it?",
            "GEMM: the matrix. IMPLICIT_PRECOMP_GEMM: indices. Winograd and FFT: transformed tiles and "
            "filters. IMPLICIT_GEMM needs none. A limit on the workspace may therefore choose a slower "
            "algorithm.",
        ),
    )
