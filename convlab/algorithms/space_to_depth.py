"""Stride 2 folded away: blocks of 2 x 2 pixels become single pixels of four times the channels.

    z[n, i, j, (a, b, c)] = x[n, 2*i + a - top, 2*j + b - left, c]       0 where that is padding
    v[k, i, j, (a, b, c)] = w[k, 2*i + a, 2*j + b, c]                    0 where there is no such tap
    y[n, p, q, k]         = sum over i, j and (a, b, c) of z[n, p + i, q + j] * v[k, i, j]

What steps by two in x steps by one in z, and a filter of 7 x 7 taps becomes one of 4 x 4. So what was made
for stride 1 now serves stride 2; above all Winograd's tiles, which need windows that overlap::

    7x7 taps at stride 2, 4x4 outputs        16 * 49 = 784 multiplications for each channel
    folded: 4x4 taps, four channels                  4 * 49 = 196

The price is a copy of x, the zeros among the taps, and the rounding of Winograd's larger tiles. A photo has
three channels, which leave most of a vector idle; folded it has twelve.

The first layers of networks are run like this on many accelerators. NVDLA's Winograd unit calls it channel
extension (github.com/nvdla/doc, issue 9).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np

from convlab.algorithms import winograd
from convlab.algorithms.base import Algorithm, Form, Formula
from convlab.algorithms.passes import Pass, Stream, stream
from convlab.algorithms.winograd_error import amplification
from convlab.algorithms.winograd_tiles import tile_texts
from convlab.aligned import aligned_empty
from convlab.gpu.forms import gpu_form
from convlab.jit import late, njit
from convlab.problem import ConvProblem

M = 4  # outputs of a tile along an axis
TAPS = (3, 4)  # of the folded filters; with 2 the price is as high as the gain

(copy_run,) = late("convlab.jit", "copy_run")


def refuses(problem: ConvProblem) -> str | None:
    """Say what cannot be folded, or would leave filters that Winograd's tiles are not made for."""
    needs = "winograd_s2d needs"
    if problem.stride != (2, 2):
        return f"the stride is {problem.stride}; {needs} 2, to fold blocks of 2x2 pixels"
    if _taps(problem) not in TAPS:
        least, most = 2 * TAPS[0] - 1, 2 * TAPS[-1]
        return f"the filter is {problem.R}x{problem.S}; {needs} {least} to {most} taps on its longer side"
    if problem.dilation != (1, 1):
        return f"the dilation is {problem.dilation}; {needs} 1, so that a tile's pixels are neighbours"
    if problem.groups != 1:
        return f"there are {problem.groups} groups; {needs} one"
    return None


def _taps(problem: ConvProblem) -> int:
    """Return the side of a folded filter, which is made square."""
    return -(-max(problem.R, problem.S) // 2)


@lru_cache
def folded(problem: ConvProblem) -> ConvProblem:
    """Return the same convolution as one of stride 1 on the folded picture, whose padding is part of it."""
    (N, P, Q, K), r = problem.y_shape, _taps(problem)
    return ConvProblem(N, P + r - 1, Q + r - 1, 4 * problem.C, K, r, r, dtype=problem.dtype)


def fold_weights(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return w (K, R, S, C) as v (K, r, r, 4*C)."""
    K, r, _, _ = folded(problem).w_shape
    taps = np.zeros((K, 2 * r, 2 * r, problem.C), w.dtype)
    taps[:, : problem.R, : problem.S] = w  # the others stay zero
    return taps.reshape(K, r, 2, r, 2, -1).transpose(0, 1, 3, 2, 4, 5).reshape(K, r, r, -1)


def _allocate(form: Form, problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return z, whose padding is zero from the beginning and stays so, and the workspace of the rest."""
    z = aligned_empty(folded(problem).x_shape, problem.dtype)
    z[...] = 0
    return {"z": z} | form.allocate(folded(problem), threads)


def _fold_numpy(problem: ConvProblem, x: np.ndarray, z: np.ndarray) -> None:
    cells = z.reshape(*z.shape[:3], 2, 2, -1)  # (N, I, J, 2, 2, C)
    (top, _), (left, _) = problem.padding
    for a, b in product(range(2), repeat=2):
        i, rows = _hits(a - top, problem.H, z.shape[1])
        j, columns = _hits(b - left, problem.W, z.shape[2])
        cells[:, i, j, a, b] = x[:, rows, columns]


def _hits(shift: int, size: int, count: int) -> tuple[slice, slice]:
    """Return which i < count have 0 <= 2*i + shift < size, and where these lie: both as slices."""
    first = max(0, -(shift // 2))
    end = max(first, min(count, (size - shift + 1) // 2))
    return slice(first, end), slice(2 * first + shift, 2 * end + shift, 2)


# -- the fast form -----------------------------------------------------------------------------------------


@njit
def _fold(x, z, sizes, top, left):
    """Copy two neighbours of a line at a time: they lie side by side in x, and in z; both are flat."""
    N, H, W, C, rows, columns = sizes
    for n in range(N):
        for i in range(rows):
            for a in range(2):
                h = 2 * i + a - top
                if 0 <= h < H:
                    for j in range(columns):
                        w = 2 * j - left
                        first, end = max(0, -w), min(2, W - w)  # which of the two lie in the picture
                        if first < end:
                            to = ((((n * rows + i) * columns + j) * 2 + a) * 2 + first) * C
                            start = ((n * H + h) * W + w + first) * C
                            copy_run(z, to, x, start, (end - first) * C)


def _fold_cpu(problem: ConvProblem, x: np.ndarray, z: np.ndarray) -> None:
    (top, _), (left, _) = problem.padding
    _fold(x.reshape(-1), z.reshape(-1), (*x.shape, *z.shape[1:3]), top, left)


# -- costs -------------------------------------------------------------------------------------------------

_R = "ceil(max(R, S)/2)"
_LETTERS = {"H": f"(P+{_R}-1)", "W": f"(Q+{_R}-1)", "C": "(4*C)", "G": "1", "R": _R, "S": _R}
_Z = f"N*(P+{_R}-1)*(Q+{_R}-1)*4*C"  # numbers of the folded picture


def _in_letters(formula: Formula) -> Formula:
    """Return a formula of the folded problem in the letters of the problem itself."""

    def put(text: str) -> str:
        return re.sub(r"\b[HWCGRS]\b", lambda letter: _LETTERS[letter[0]], text)

    return Formula(put(formula.text), {name: put(text) for name, text in formula.parts.items()})


def _passes(form: Form) -> tuple[Pass, ...]:
    fold = Pass(
        "fold",
        streams=(stream("N*H*W*C*b"), stream(f"{_Z}*b")),
        begins={"run": Formula(f"2*N*(P+{_R}-1)*(Q+{_R}-1)")},
        shared=False,
    )
    rest = (
        replace(
            one,
            flops=_in_letters(one.flops),
            streams=tuple(Stream(_in_letters(each.size), _in_letters(each.holds)) for each in one.streams),
            begins={name: _in_letters(count) for name, count in one.begins.items()},
        )
        for one in form.passes()
    )
    return fold, *rest


def _form(form: Form, fold) -> Form:
    """Return a form that folds first, and then does what another one does."""

    def run(problem, x, packed, workspace, y, threads):
        fold(problem, x, workspace["z"])
        form.run(folded(problem), workspace["z"], packed, workspace, y, threads)

    return Form(
        run=run,
        bytes_moved=Formula(f"(N*H*W*C + {_Z}) * b + {_in_letters(form.bytes_moved).text}"),
        workspace_bytes=Formula(f"{_Z}*b + {_in_letters(form.workspace_bytes).text}"),
        packed_bytes=lambda problem: form.packed_bytes(folded(problem)),
        pack=lambda problem, w: form.pack(folded(problem), fold_weights(problem, w)),
        allocate=lambda problem, threads: _allocate(form, problem, threads),
        scratch=form.scratch,
        passes=form.passes and (lambda: _passes(form)),
    )


_PER_TILE = tile_texts(M, TAPS)
_FORMS = winograd.forms(M, _PER_TILE)

ALGORITHM = Algorithm(
    name="winograd_s2d",
    summary="Stride 2: fold blocks of 2x2 pixels into channels, then transform tiles of 4x4 outputs.",
    source="NVDLA, Winograd with channel extension",
    refuses=refuses,
    flops=_in_letters(winograd.flops(_PER_TILE)),
    rounding=1 + max(amplification(M, r=r) / r for r in TAPS),  # as for the other tiles, see `winograd`
    ieee=False,
    forms={
        "numpy": _form(_FORMS["numpy"], _fold_numpy),
        "cpu": _form(_FORMS["cpu"], _fold_cpu),
        "gpu": gpu_form(
            "space_to_depth",
            parts=("pack", "allocate"),
            bytes_moved=Formula(f"(N*H*W*C + {_Z}) * b + {_in_letters(_FORMS['gpu'].bytes_moved).text}"),
            workspace_bytes=Formula(f"{_Z}*b + {_in_letters(_FORMS['gpu'].workspace_bytes).text}"),
            packed_bytes=_in_letters(_FORMS["gpu"].packed_bytes),
        ),
    },
)
