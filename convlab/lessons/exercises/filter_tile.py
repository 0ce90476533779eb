"""Notebook 11: a filter whose pixels are fetched once for a whole block."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.launches import filter_launch


@cuda.jit
def my_tile(x, w, y):
    # your code here
    patch = cuda.shared.array((10, 34), float32)  # the block's pixels, and the halo
    q0, p0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 8
    for at in range(cuda.threadIdx.y * 32 + cuda.threadIdx.x, 10 * 34, 8 * 32):
        row, col = divmod(at, 34)
        if p0 + row < x.shape[0] and q0 + col < x.shape[1]:
            patch[row, col] = x[p0 + row, q0 + col]
    cuda.syncthreads()
    q, p = q0 + cuda.threadIdx.x, p0 + cuda.threadIdx.y
    if p < y.shape[0] and q < y.shape[1]:
        total = float32(0)
        for r in range(3):
            for s in range(3):
                total += patch[cuda.threadIdx.y + r, cuda.threadIdx.x + s] * w[r, s]
        y[p, q] = total


def _cases() -> Iterator[Launch]:
    yield filter_launch(8, 32, 3, 3, (32, 8))
    yield filter_launch(16, 64, 3, 3, (32, 8))
    yield filter_launch(11, 45, 3, 3, (32, 8))  # blocks stick out on both sides


EXERCISE = KernelExercise(
    notebook="11",
    statement="my_tile(x, w, y) is a kernel for a filter w (3, 3) in blocks of 8 x 32 threads and outputs: "
    "the pixels under a block, with their halo, are fetched once into shared memory.",
    solution=my_tile,
    why="256 threads fetch 340 pixels in two strides, neighbours beside neighbours, wherever their own "
    "outputs are. After the barrier each reads its nine pixels from shared memory.",
    hints=(
        "How many pixels do 8 x 32 outputs of a 3 x 3 filter look at? They do not fit one to a thread.",
        "Number the 10 x 34 pixels of the patch. Thread number t fetches the pixels t, t + 256, ... "
        "of those that are in the picture. Then a barrier, then the sums.",
        "for at in range(threadIdx.y * 32 + threadIdx.x, 340, 256): row, col = divmod(at, 34). Guard the "
        "load by the shape of x, and the sums by the shape of y; the barrier stands outside of every `if`.",
    ),
    cases=_cases,
    shapes={"return": "PQ"},
    carries=True,
    generous=2.5,  # rows staged one by one, or a halo by itself, ask for more; no staging asks for nine times
    mistakes=(
        Mistake(
            "goes without shared memory",
            {"patch[cuda.threadIdx.y + r, cuda.threadIdx.x + s] * w": "x[p + r, q + s] * w"},
            "Every pixel is fetched nine times from global memory: once for each tap that looks at it.",
        ),
        Mistake(
            "forgets the halo",
            {"10 * 34": "8 * 32", "divmod(at, 34)": "divmod(at, 32)"},
            "Outputs at the edge of a block look at two more rows and columns: 10 x 34 pixels.",
        ),
        Mistake(
            "fetches half of the halo",
            {"10 * 34": "9 * 34"},
            "A 3 x 3 filter reaches R - 1 = 2 rows further, not one.",
        ),
        Mistake(
            "fetches one pixel for each thread",
            {"(10, 34)": "(8, 32)", "10 * 34": "8 * 32", "divmod(at, 34)": "divmod(at, 32)"},
            "Outputs at the edge of a block look beyond it: 10 x 34 pixels for 8 x 32 threads, so that some "
            "fetch two.",
        ),
        Mistake(
            "leaves out the taps that look beyond the block",
            {
                "    total += patch": "    if cuda.threadIdx.y + r < 8 and cuda.threadIdx.x + s < 32:\n"
                "                    total += patch"
            },
            "What lies under the next block belongs to the window as well: that is what the halo is for.",
        ),
        Mistake(
            "goes over the patch once, and fetches 256 of its 340 pixels",
            {"10 * 34, 8 * 32": "8 * 32, 8 * 32"},
            "There are more pixels than threads: some of them have a second one to fetch.",
        ),
        Mistake(
            "lets each thread fetch all that its own output looks at",
            {
                "range(cuda.threadIdx.y * 32 + cuda.threadIdx.x, 10 * 34, 8 * 32)": "range(9)",
                "row, col = divmod(at, 34)": "row, col = cuda.threadIdx.y, cuda.threadIdx.x\n"
                "        row, col = row + at // 3, col + at % 3",
            },
            "Then every pixel is fetched nine times, as without shared memory, and several threads put it "
            "at the same place. Share the patch out: each of its pixels has one thread that fetches it.",
        ),
        Mistake(
            "begins one pixel further up and to the left, as for a padding of 1",
            {
                "x[p0 + row, q0 + col]": "x[p0 + row - 1, q0 + col - 1] if min(p0 + row, q0 + col) > 0 "
                "else float32(0)"
            },
            "There is no padding here: output (0, 0) has the corner of its window at pixel (0, 0).",
        ),
        Mistake(
            "fetches the rows of the halo, and not its columns",
            {"10 * 34": "10 * 32", "divmod(at, 34)": "divmod(at, 32)"},
            "The outputs on the right of a block look at two more columns, too.",
        ),
        Mistake(
            "fetches the columns of the halo, and not its rows",
            {"10 * 34": "8 * 34"},
            "The outputs at the lower edge of a block look at two more rows, too.",
        ),
        Mistake(
            "fetches the pixels one by one",
            {
                "range(cuda.threadIdx.y * 32 + cuda.threadIdx.x, 10 * 34, 8 * 32)": "range(0 if "
                "cuda.threadIdx.x + cuda.threadIdx.y == 0 else 340, 10 * 34)"
            },
            "At any moment one lane of a warp fetches, and the others wait. If neighbours fetch neighbouring "
            "pixels, all at once, eight of them share a sector.",
        ),
        Mistake(
            "fetches no more than there are outputs in y",
            {
                "p0 + row < x.shape[0]": "p0 + row < y.shape[0]",
                "q0 + col < x.shape[1]": "q0 + col < y.shape[1]",
            },
            "What is fetched is a part of x, which has two rows and columns more than y.",
        ),
        Mistake(
            "lets threads with no output miss the barrier",
            {
                "    for at in": "    if p0 + cuda.threadIdx.y >= y.shape[0] or q0 + cuda.threadIdx.x >= "
                "y.shape[1]:\n        return\n    for at in"
            },
            "A thread with no output may have pixels to fetch, which others want: it has to stay.",
        ),
        Mistake(
            "has no barrier",
            {"    cuda.syncthreads()\n": ""},
            "A thread reads what another one fetched: it has to wait until all have.",
        ),
        Mistake(
            "reads beyond the picture",
            {"if p0 + row < x.shape[0] and q0 + col < x.shape[1]:": "if True:"},
            "The last blocks stick out, and so do their patches.",
        ),
        Mistake(
            "writes beyond the output",
            {"if p < y.shape[0] and q < y.shape[1]:": "if True:"},
            "The last blocks have more threads than there are outputs.",
        ),
        Mistake(
            "flips the filter",
            {"w[r, s]": "w[2 - r, 2 - s]"},
            "The filter lies on the picture as it is.",
        ),
        Mistake(
            "fetches down the columns",
            {"row, col = divmod(at, 34)": "col, row = divmod(at, 10)"},
            "Neighbouring threads should fetch neighbouring pixels of a *line*: they share sectors.",
        ),
    ),
)
