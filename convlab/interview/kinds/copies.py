"""What is kept beside the arrays: the matrix of im2col, how much larger it is, and the indirection table."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from convlab.interview.kept import matrix_bytes, table_bytes
from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.shapes import BATCHES, layer, outputs, said, window
from convlab.interview.slips import NUMBERS, of_layer
from convlab.interview.units import BYTE, RATIO
from convlab.problem import ConvProblem
from convlab.support.units import number_text

ENTRY = 4  # bytes of an int32


def _windows(problem: ConvProblem) -> bool:
    return problem.R > 1 and problem.groups == 1


def _matrix_steps(p: ConvProblem) -> tuple[str, ...]:
    total = matrix_bytes(p)
    return (
        *outputs(p),
        f"columns N·P·Q = {p.N} · {p.P} · {p.Q} = {p.gemm[0]:,}",
        f"rows R·S·C = {p.R} · {p.S} · {p.C} = {p.gemm[2]:,}",
        f"{p.gemm[0]:,} · {p.gemm[2]:,} numbers · {p.itemsize} bytes = {total:,} bytes = {BYTE.text(total)}",
    )


def _ask_bytes(random: Random) -> Asked:
    p = layer(random, _windows, dtypes=("float32", "float32", "float16"))
    answer = matrix_bytes(p)
    return Asked(
        f"{said(p)} How many bytes does the matrix of im2col take for the whole batch at once?",
        answer,
        _matrix_steps(p),
        (
            Slip("counts numbers, not bytes", answer / p.itemsize, NUMBERS),
            *of_layer(p, matrix_bytes),
            Slip("leaves out the channels", answer / p.C, "A window has all channels of its pixels."),
            Slip("counts the taps along one axis", answer / p.S, "A window has rows and columns."),
            Slip("counts a copy for each filter", answer * p.K, "All filters read the same matrix."),
        ),
    )


IM2COL_BYTES = Kind(
    name="im2col_bytes",
    title="bytes of im2col's matrix",
    unit=BYTE,
    ask=_ask_bytes,
    read=(("02", "largest_batch"),),
)


def _ask_ratio(random: Random) -> Asked:
    p = replace(window(random), N=random.choice(BATCHES))
    answer = matrix_bytes(p) / p.x_bytes

    def ratio(seen: ConvProblem) -> float:
        return matrix_bytes(seen) / seen.x_bytes

    return Asked(
        f"{said(p)} How many times as large as the input is the matrix of im2col?",
        answer,
        (
            *outputs(p),
            "the matrix has N·P·Q·R·S·C numbers, the input N·H·W·C: N and C cancel",
            f"P·Q·R·S / (H·W) = {p.P} · {p.Q} · {p.R} · {p.S} / ({p.H} · {p.W}) = {number_text(answer)}",
        ),
        (
            *of_layer(p, ratio, "forgets the stride", "takes the stride along one axis only"),
            Slip("turns the ratio round", 1 / answer, "Asked is the matrix over the input."),
            Slip("counts the taps along one axis", answer / p.S, "A window has rows and columns."),
            Slip(
                "compares bytes with numbers",
                answer * p.itemsize,
                "Bytes over bytes, or numbers over numbers.",
            ),
            Slip(
                "leaves the batch out of the input",
                answer * p.N,
                "Matrix and input both grow with the batch.",
            ),
            Slip("compares with the output", matrix_bytes(p) / p.y_bytes, "It is compared with the input."),
        ),
    )


IM2COL_RATIO = Kind(
    name="im2col_ratio",
    title="im2col's matrix over the input",
    unit=RATIO,
    ask=_ask_ratio,
    read=(("02", "im2row over input"),),
    tolerance=0.1,
)


def _ask_table(random: Random) -> Asked:
    p = layer(random, lambda p: p.R > 1)
    answer = table_bytes(p)
    return Asked(
        f"{said(p)} The table of an indirect convolution has an int32 for every output pixel of one picture "
        "and every tap. How many bytes is it? The pixel of zeros is not counted.",
        answer,
        (
            *outputs(p),
            f"entries P·Q·R·S = {p.P} · {p.Q} · {p.R} · {p.S} = {answer // ENTRY:,}",
            f"{answer // ENTRY:,} · {ENTRY} bytes = {answer:,} bytes = {BYTE.text(answer)}",
        ),
        (
            Slip("counts entries, not bytes", answer / ENTRY, "An entry is an int32."),
            Slip(
                "makes a table for each picture",
                answer * p.N,
                "All pictures of a size are read through one table.",
            ),
            Slip("has an entry for each channel", answer * p.C, "The channels of a pixel lie side by side."),
            Slip("has pointers of 8 bytes", 2 * answer, "An int32 has 4 bytes."),
            Slip("counts the taps along one axis", answer / p.S, "A window has rows and columns."),
            Slip("leaves out the taps", ENTRY * p.P * p.Q, "Each tap of a window finds another pixel."),
            *of_layer(
                p,
                table_bytes,
                *("forgets the stride", "takes the stride along one axis only"),
                *("forgets the padding", "rounds the output size up"),
            ),
        ),
    )


TABLE_BYTES = Kind(
    name="table_bytes",
    title="bytes of an indirection table",
    unit=BYTE,
    ask=_ask_table,
    read=(("04", "im2row matrix over indirection table"), ("13", "table_over_matrix")),
    tolerance=0.02,
)
