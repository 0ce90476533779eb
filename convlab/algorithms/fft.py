"""fft: a convolution is one product for each frequency.

    X[f, c] = sum over pixels h, w of x[h, w, c] * exp(-2 pi i (f1 * h / rows + f2 * w / cols))
    Y[f, k] = sum over c of X[f, c] * conj(W[f, c, k])        y = the transform of Y, backwards

The sum over the taps is gone: what is left is, for each frequency f = (f1, f2), a product of matrices, images
by channels times channels by filters, of complex numbers. The work no longer depends on the size of the
filter. `conj`, the conjugate, turns the flipped filter of a true convolution back into a cross-correlation.

A discrete Fourier transform takes the picture for one that repeats itself for ever. A window that sticks out
on the right would wrap around and read pixels from the left. So a transform has at least P+R-1 rows and Q+S-1
columns, as many as the padded picture, and what lies behind the picture is zero. A picture of real numbers
needs half of the frequencies only: the others are their conjugates.

Mathieu, Henaff & LeCun, "Fast Training of Convolutional Networks through FFTs" (2013), arXiv:1312.5851.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from convlab.algorithms.base import Algorithm, Form, Formula
from convlab.algorithms.fft_transforms import (
    CHUNK,
    as_complex,
    backward,
    chunks,
    forward,
    rounding,
    spectra_of,
)
from convlab.algorithms.formula import fast_size
from convlab.algorithms.passes import Pass, nothing, product, stream
from convlab.aligned import aligned_empty
from convlab.gpu.forms import gpu_form
from convlab.problem import ConvProblem

_AT_ONCE = 1 << 15  # numbers of the filters that are transformed together


def transform_size(problem: ConvProblem) -> tuple[int, int]:
    """Return rows and columns of a transform that holds the padded picture; the columns are even."""
    return fast_size(problem.P + problem.R - 1), 2 * fast_size(-(-(problem.Q + problem.S - 1) // 2))


def refuses(problem: ConvProblem) -> str | None:
    """Return why a transform cannot serve: all outputs come at once, between neighbours."""
    for name in ("stride", "dilation"):
        if getattr(problem, name) != (1, 1):
            v, h = getattr(problem, name)
            return f"the {name} is {v}x{h}; a transform computes all outputs of a filter without gaps"
    return None


def run_with(multiply: Callable) -> Callable:
    """Return a form's `run`: there, multiply, back. Only the product in the middle differs."""

    def run(problem, x, packed, workspace, y, threads):
        size, buffers = transform_size(problem), (workspace["here"], workspace["there"])
        for images in chunks(problem.N):
            spectra = forward(x[images], size, buffers)
            products = multiply(problem, spectra, packed, workspace, threads)
            y[images] = backward(products, problem.P, size, buffers)[:, :, : problem.Q]

    return run


def multiply(problem, spectra, w, workspace, threads) -> np.ndarray:
    """Return the products of spectra (B, rows, half, C) and w (F, G, C/G, K/G), in the first buffer."""
    B, rows, half, _ = spectra.shape
    products = as_complex(workspace["here"], (B, rows, half, problem.K))
    a, out = (s.reshape(B, rows * half, problem.groups, -1) for s in (spectra, products))
    np.matmul(a.transpose(1, 2, 0, 3), w, out=out.transpose(1, 2, 0, 3))  # for each frequency and group
    return products


def pack(problem: ConvProblem, w: np.ndarray, size, corner=(0, 0)) -> np.ndarray:
    """Return the conjugate spectra of all filters, (F, G, C/G, K/G)."""
    F, channels = size[0] * (size[1] // 2 + 1), problem.C // problem.groups
    shape = F, problem.groups, channels, problem.K // problem.groups
    packed = np.empty(shape, np.result_type(w.dtype, 1j))
    for g, k, c, spectra in _few_spectra(problem, w, size, corner):
        _, filters, channels = spectra.shape
        packed[:, g, c : c + channels, k : k + filters] = spectra.swapaxes(1, 2)
    return packed


def _few_spectra(problem: ConvProblem, w: np.ndarray, size, corner) -> Iterator:
    """Yield (g, k, c, spectra) until all filters are transformed.

    The spectra (F, filters, channels) are those of filters k, channels c and following of group g. They
    are in double precision and many times as large as the filters, so they come a few at a time.
    """
    filters, channels = problem.K // problem.groups, problem.C // problem.groups
    few = max(1, _AT_ONCE // (size[0] * size[1]))
    step_k = min(few, filters, 4)
    step_c = few // step_k
    for g in range(problem.groups):
        group = w[g * filters : (g + 1) * filters]
        for k in range(0, filters, step_k):
            for c in range(0, channels, step_c):
                some = group[k : k + step_k, :, :, c : c + step_c]
                yield g, k, c, spectra_of(some, size, corner)


def allocate(problem: ConvProblem, pictures: int, size) -> dict[str, np.ndarray]:
    """Return two buffers, each large enough for the spectra of a chunk of pictures, before and after."""
    numbers = min(pictures, CHUNK) * size[0] * (size[1] + 2) * max(problem.C, problem.K)
    return {name: aligned_empty((numbers,), problem.dtype) for name in ("here", "there")}


# -- the fast form -----------------------------------------------------------------------------------------
#
# The transforms are NumPy's in both forms. The product is most of the work, and is done on the register tile.


def multiply_cpu(problem, spectra, panels, workspace, threads) -> np.ndarray:
    """Return the same products, from panels of `pack_cpu`."""
    from convlab.complex_gemm import complex_gemm

    products = as_complex(workspace["here"], (*spectra.shape[:3], problem.K))
    complex_gemm(spectra, panels, products, problem.groups, workspace["offsets"], workspace["four"], threads)
    return products


def pack_cpu(problem: ConvProblem, w: np.ndarray, size, corner=(0, 0)) -> np.ndarray:
    """Return the conjugate spectra of all filters in `complex_gemm`'s panels."""
    from convlab.complex_gemm import Panels

    filters, F = problem.K // problem.groups, size[0] * (size[1] // 2 + 1)
    panels = Panels(F, problem.groups, filters, w.shape[3], w.dtype.name)
    for g, k, c, spectra in _few_spectra(problem, w, size, corner):
        panels.fill(g, k, c, spectra)
    return panels.array


def panel_bytes(problem: ConvProblem, size) -> int:
    """Return the bytes of `pack_cpu`'s panels."""
    from convlab.gemm import packed_bytes

    matrices = size[0] * (size[1] // 2 + 1) * problem.groups
    return packed_bytes(matrices, 2 * problem.K // problem.groups, problem.C // problem.groups, problem.dtype)


def allocate_cpu(problem: ConvProblem, threads: int, pictures: int, size) -> dict[str, np.ndarray]:
    """Return the two buffers, and what `complex_gemm` needs."""
    from convlab.complex_gemm import scratch

    few = min(pictures, CHUNK)
    return allocate(problem, pictures, size) | scratch(
        few, problem.K // problem.groups, threads, problem.dtype
    )


# -- what it costs -----------------------------------------------------------------------------------------


def costs(pictures: str, parts: dict[str, str], h: str, p: str) -> dict[str, Formula]:
    """Return the formulas of an algorithm that transforms so many pictures of rows x 2*half numbers.

    `parts` names `rows` and `half`. Of a picture, the first h rows hold numbers and p are wanted back. By
    convention, a transform of n complex numbers takes 5 n log2(n) operations, one of n real numbers half of
    that. The transforms of the filters are done once, by `pack`, and not counted.
    """
    row, column = "5*half * log2(2*half)", "(half+1) * 5*rows * log2(rows)"
    transforms = f"C*({h} * {row} + {column}) + K*({p} * {row} + {column})"
    spectrum = "rows*(2*half+2)"  # half+1 columns of complex numbers
    passes = f"2*(2*half+2) * (({h}+rows)*C + ({p}+2*rows)*K)"  # each written, and read again
    traffic = f"N*H*W*C + {pictures} * {passes} + ceil({pictures}/{CHUNK}) * {spectrum}*C*K/G + N*P*Q*K"
    space = f"2 * few * {spectrum} * max(C, K) * b"
    some = parts | {"few": f"min({pictures}, {CHUNK})"}
    return {
        "flops": Formula(f"{pictures} * ({transforms} + 8*rows*(half+1) * C*K/G)", parts),
        "bytes_moved": Formula(f"({traffic}) * b", parts),
        "numpy": Formula(space, some),
        "cpu": Formula(f"{space} + ceil(2*few/MR)*MR * 8 + threads * 4*few*K/G * b", some),
        "packed": Formula(f"{spectrum} * C*K/G * b", parts),
        "passes": (
            Pass(
                "transform there and back",
                streams=(stream(f"{pictures} * {passes} * b", f"few*{spectrum}*C*b", some),),
                begins={"transform": Formula(f"{pictures} * ({transforms})", parts)},
                shared=False,
            ),
            product(
                f"2*{pictures}",
                "2*K/G",
                "C/G",
                times="rows*(half+1)*G",
                a=nothing,
                parts=parts,
                calls=f"ceil({pictures}/{CHUNK}) - 1",
                number=f"{pictures}*rows*(half+1)*K*4",
            ),
        ),
        # On a GPU all pictures go at once, cut out and then as spectra, and a complex weight is four numbers.
        "gpu": Formula(f"{pictures} * (rows*2*half*C + {spectrum}*K) * b", parts),
        "gpu packed": Formula("rows*(half+1)*2*C * ceil(2*K/G/4)*4 * b", parts),
        "gpu bytes": Formula(
            f"(N*H*W*C + {pictures} * ({passes} + rows*2*half*(C+K)) + 2*{spectrum}*C*K/G + N*P*Q*K) * b",
            parts,
        ),
    }


def gpu_form_of(kind: str, costs: dict[str, Formula], packs_for: Callable) -> Form:
    """Return the form that transforms on a GPU: "whole" pictures or "tiles"."""
    return gpu_form(
        "fft",
        parts=("pack", "allocate"),
        bound=(kind,),
        bytes_moved=costs["gpu bytes"],
        workspace_bytes=costs["gpu"],
        packed_bytes=costs["gpu packed"],
        packs_for=packs_for,
    )


def _transform(problem: ConvProblem) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the size of the transform, and rows above and columns left of the picture."""
    (top, _), (left, _) = problem.padding
    return transform_size(problem), (top, left)


COSTS = costs("N", {"rows": "fast(P+R-1)", "half": "fast((Q+S-1)/2)"}, h="H", p="P")

ALGORITHM = Algorithm(
    name="fft",
    summary="Transform whole pictures; then a convolution is one product for each frequency.",
    source="Mathieu, Henaff & LeCun 2013, arXiv:1312.5851",
    refuses=refuses,
    flops=COSTS["flops"],
    rounding=rounding(256, 256),
    ieee=False,
    forms={
        "numpy": Form(
            run=run_with(multiply),
            bytes_moved=COSTS["bytes_moved"],
            workspace_bytes=COSTS["numpy"],
            packed_bytes=COSTS["packed"],
            pack=lambda problem, w: pack(problem, w, *_transform(problem)),
            allocate=lambda problem, threads: allocate(problem, problem.N, transform_size(problem)),
            packs_for=_transform,
        ),
        "cpu": Form(
            run=run_with(multiply_cpu),
            bytes_moved=COSTS["bytes_moved"],
            workspace_bytes=COSTS["cpu"],
            packed_bytes=lambda problem: panel_bytes(problem, transform_size(problem)),
            pack=lambda problem, w: pack_cpu(problem, w, *_transform(problem)),
            allocate=lambda problem, threads: allocate_cpu(
                problem, threads, problem.N, transform_size(problem)
            ),
            packs_for=_transform,
            passes=lambda: COSTS["passes"],
        ),
        "gpu": gpu_form_of("whole", COSTS, _transform),
    },
)
