"""A kernel whose blocks fetch each channel's pixels once, into shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.gpu.numba_cuda import cuda, float32
from convlab.interview.coding.tasks.kernel_padded import BIASED, OUTSIDE, SUM
from convlab.interview.coding.tasks.launches import channels_first, numbers_read
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.kernel_run import Ran

READS = 3  # numbers of x for an output and a channel; with no tile it is nine


@cuda.jit
def conv2d(x, w, y, padding):
    # your code here
    patch = cuda.shared.array((10, 34), float32)  # the block's pixels of one channel, and the halo
    q0, p0, k = cuda.blockIdx.x * 32, cuda.blockIdx.y * 8, cuda.blockIdx.z
    total = float32(0)
    for c in range(x.shape[0]):
        for at in range(cuda.threadIdx.y * 32 + cuda.threadIdx.x, 10 * 34, 8 * 32):
            i, j = divmod(at, 34)
            row, col = p0 + i - padding, q0 + j - padding
            inside = 0 <= row < x.shape[1] and 0 <= col < x.shape[2]
            patch[i, j] = x[c, row, col] if inside else float32(0)
        cuda.syncthreads()
        for r in range(3):
            for s in range(3):
                total += patch[cuda.threadIdx.y + r, cuda.threadIdx.x + s] * w[k, c, r, s]
        cuda.syncthreads()  # before the next channel is written over this one
    p, q = p0 + cuda.threadIdx.y, q0 + cuda.threadIdx.x
    if p < y.shape[1] and q < y.shape[2]:
        y[k, p, q] = total


def _cases() -> Iterator[Launch]:
    block = (32, 8)
    yield channels_first(1, 8, 32, 1, 3, 3, 1, block)
    yield channels_first(2, 10, 34, 1, 3, 3, 0, block)
    yield channels_first(5, 7, 37, 2, 3, 3, 0, block)
    yield channels_first(1, 6, 30, 1, 3, 3, 2, block)
    yield channels_first(1, 9, 35, 2, 3, 3, 1, block, whole=False)  # blocks stick out on both sides


def _few_reads(ran: Ran) -> str:
    """Count the numbers of x that are read."""
    wanted = ran.launch.expected.size * ran.launch.arguments["x"].shape[0]
    read = numbers_read(ran)
    if read > READS * wanted:
        return (
            f"For an output and a channel it reads {read / wanted:.3g} numbers of x from global memory, and "
            f"may read {READS}: neighbouring windows share most of their pixels. A block fetches them once."
        )
    return ""


_FIRST = "        cuda.syncthreads()\n        for r"
_SECOND = "        cuda.syncthreads()  # before the next channel is written over this one\n"
_READ = "patch[i, j] = x[c, row, col]"
_INSIDE = "0 <= row < x.shape[1] and 0 <= col < x.shape[2]"

EXERCISE = KernelExercise(
    notebook="19",
    statement=f"{SUM} Tiled: R and S are 3, and blocks are 32 x 8 threads, `cuda.threadIdx.x` along Q, "
    "`cuda.threadIdx.y` along P; `cuda.blockIdx.z` is the filter. A block fetches its pixels, with their "
    f"halo, into shared memory, a channel at a time: for each output and channel at most {READS} numbers of "
    "x are read from global memory, where nine taps look at it.",
    solution=conv2d,
    why="256 threads fetch 10 x 34 numbers of a channel, zeros where there is no pixel, and wait. Then each "
    "sums up nine of them, and all wait again: the next channel is written into the same place.",
    hints=(
        "How many numbers of one channel do 8 x 32 outputs look at? What stands there beyond the picture?",
        "Number the 10 x 34 places; thread t fetches t and t + 256. One barrier before the sums. Why is one "
        "more needed with a second channel?",
        "For each c: patch[i, j] = x[c, p0 + i - padding, q0 + j - padding], or 0; barrier; total += "
        "patch[ty + r, tx + s] * w[k, c, r, s]; barrier. After the last channel, write y if the output "
        "exists.",
    ),
    cases=_cases,
    shapes={"return": "KPQ"},
    carries=True,
    generous=2.5,
    method=_few_reads,
    mistakes=(
        Mistake(
            "has no barrier before the sums",
            {_FIRST: "        for r"},
            "A thread reads what another one fetched: it has to wait until all have.",
        ),
        Mistake(
            "has no barrier behind the sums",
            {_SECOND: ""},
            "A thread that is done fetches the next channel, while others still read this one.",
        ),
        Mistake("reads wherever a tap falls", {_INSIDE: "True"}, OUTSIDE),
        Mistake(
            "leaves what is beside the picture as it was",
            {f"{_READ} if inside else float32(0)": f"if inside:\n                {_READ}"},
            "Shared memory holds anything at first: the zeros of the border have to be put there.",
        ),
        Mistake("adds the padding where it should take it away", {" - padding": " + padding"}, BIASED),
        Mistake(
            "takes 1 for the padding",
            {" - padding": " - 1"},
            "A border of 1 keeps the size of the picture. Here it is given, and may be another.",
        ),
        Mistake("ignores the padding", {" - padding": ""}, BIASED),
        Mistake(
            "forgets the halo",
            {"10 * 34": "8 * 32", "divmod(at, 34)": "divmod(at, 32)"},
            "Outputs at the edge of a block look at two more rows and columns: 10 x 34 pixels.",
        ),
        Mistake(
            "fetches 256 of the 340 pixels",
            {"10 * 34, 8 * 32": "8 * 32, 8 * 32"},
            "There are more pixels than threads: some of them have a second one to fetch.",
        ),
        Mistake(
            "goes without shared memory",
            {
                "patch[cuda.threadIdx.y + r, cuda.threadIdx.x + s] * w[k, c, r, s]": "w[k, c, r, s] * (x[c, "
                "p0 + cuda.threadIdx.y + r - padding, q0 + cuda.threadIdx.x + s - padding] if 0 <= p0 + "
                "cuda.threadIdx.y + r - padding < x.shape[1] and 0 <= q0 + cuda.threadIdx.x + s - padding < "
                "x.shape[2] else float32(0))"
            },
            "Every pixel is fetched nine times from global memory: once for each tap that looks at it.",
        ),
        Mistake(
            "lets threads with no output miss the barrier",
            {
                "    total = float32(0)\n": "    if p0 + cuda.threadIdx.y >= y.shape[1] or q0 + "
                "cuda.threadIdx.x >= y.shape[2]:\n        return\n    total = float32(0)\n"
            },
            "A thread with no output may have pixels to fetch, which others want: it has to stay.",
        ),
        Mistake(
            "writes beyond the output",
            {"if p < y.shape[1] and q < y.shape[2]:": "if True:"},
            "The last blocks have more threads than there are outputs.",
        ),
        Mistake(
            "fetches the first channel every time",
            {"x[c, row, col]": "x[0, row, col]"},
            "Every channel has pixels of its own, as it has weights.",
        ),
        Mistake(
            "begins the sum anew with each channel",
            {
                "    total = float32(0)\n": "",
                "        for r in": "        total = float32(0)\n        for r in",
            },
            "The channels are added up: the sum begins once, before them.",
        ),
        Mistake(
            "takes the first filter for all", {"w[k, c": "w[0, c"}, "The block's filter is `cuda.blockIdx.z`."
        ),
        Mistake(
            "flips the filter",
            {"w[k, c, r, s]": "w[k, c, 2 - r, 2 - s]"},
            "The filter lies on the picture as it is.",
        ),
        Mistake(
            "fetches down the columns",
            {"i, j = divmod(at, 34)": "j, i = divmod(at, 10)"},
            "Neighbouring threads should fetch neighbouring pixels of a *line*: they share sectors.",
        ),
    ),
)
