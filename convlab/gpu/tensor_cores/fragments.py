"""Which lane of a warp holds what, when one instruction multiplies two matrices; and one warp that does so.

    A (16 x 8 words)  *  B (8 words x 8)  ->  C (16 x 8)              mma.sync m16n8k8 (tf32), m16n8k16 (fp16)

No lane sees a whole row. With g = lane // 4 and t = lane % 4, lane g, t holds

    A   rows g and g + 8, words t and t + 4        B   words t and t + 4 of column g
    C   rows g and g + 8, columns 2t and 2t + 1

so four lanes share a row of A, and the same four own the row of C. A word is one tf32 or two float16.

PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.kernels import kernel
from convlab.gpu.occupancy import WARP
from convlab.support.checked import Count, kept

STEP = 8  # words along the sum that one instruction multiplies
LENGTH = 16  # words along the sum of `one_product`, half of a piece of the convolution's kernel


def fragments(lane: int) -> dict[str, list[tuple[int, int]]]:
    """Return the (row, column) of every number that a lane holds, of A, B and C, register by register."""
    g, t = divmod(lane, 4)
    return {
        "A": [(g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)],
        "B": [(t, g), (t + 4, g)],
        "C": [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)],
    }


def holders(name: str) -> np.ndarray:
    """Return the lane that holds each cell of "A" (16, 8), "B" (8, 8) or "C" (16, 8)."""
    held = np.full((8 if name == "B" else 16, 8), -1)
    for lane in range(WARP):
        for row, column in fragments(lane)[name]:
            held[row, column] = lane
    return held


@kept
def one_product(row: Count):
    """Return a kernel of one warp: y (16, 16) = x @ w.T, for x and w (16, 16) words of tf32.

    Parameters
    ----------
    row : int
        Words from one row to the next in shared memory: 16 if they lie close, more to leave a gap.
    """
    from convlab.gpu.numba_cuda import cuda, float32, uint32
    from convlab.gpu.tensor_cores.mma import ldmatrix_x4, mma_m16n8k8_tf32

    @kernel
    def one_product(x, w, y):
        a = cuda.shared.array((16, row), uint32, alignment=16)
        b = cuda.shared.array((16, row), uint32, alignment=16)
        lane = cuda.threadIdx.x
        for i in range(0, 256, 32):
            line, word = (lane + i) // LENGTH, (lane + i) % LENGTH
            a[line, word] = x[line, word]
            b[line, word] = w[line, word]
        cuda.syncthreads()
        left = (float32(0), float32(0), float32(0), float32(0))
        right = left
        for step in range(0, LENGTH, STEP):
            # Each lane points at one row of four words; lanes 0 to 7 at the first matrix of 8 x 4, and so on.
            of_a = (lane % 16, lane // 16 * 4 + step)
            line, half = lane % 8 + lane // 16 * 8, lane // 8 % 2
            of_b = (line, half * 4 + step)
            a0, a1, a2, a3 = ldmatrix_x4(a, of_a)
            b0, b1, b2, b3 = ldmatrix_x4(b, of_b)
            left = mma_m16n8k8_tf32(a0, a1, a2, a3, b0, b1, left[0], left[1], left[2], left[3])
            right = mma_m16n8k8_tf32(a0, a1, a2, a3, b2, b3, right[0], right[1], right[2], right[3])
        g, t = lane // 4, lane % 4 * 2
        for i in range(4):
            m, n = g + i // 2 * 8, t + i % 2
            y[m, n] = left[i]
            y[m, n + 8] = right[i]

    return one_product
