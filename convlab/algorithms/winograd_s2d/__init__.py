"""Winograd's tiles for stride 2: fold the picture (`space_to_depth`), then transform tiles of 4x4 outputs.

    7x7 taps at stride 2, 4x4 outputs        16 * 49 = 784 multiplications for each channel
    folded: 4x4 taps, four channels                  4 * 49 = 196

Tiles need windows that overlap: stride 1, and that is what folding makes of stride 2. The first layer of many
networks is like this. A photo has three channels, which leave most of a vector idle; folded it has twelve.

Each form is that of `winograd`, on the folded problem, after a copy. NVDLA's Winograd unit calls the same
channel extension (github.com/nvdla/doc, issue 9).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from convlab.algorithms import winograd
from convlab.algorithms.binding import gpu_form
from convlab.algorithms.spec import Algorithm, Form, Formula, Mixing
from convlab.algorithms.winograd.error import amplification
from convlab.algorithms.winograd.tiles import tile_texts
from convlab.algorithms.winograd_s2d.space_to_depth import fold, fold_cpu, fold_weights, folded, folded_taps
from convlab.cost.phases import Pass, Stream, stream
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty

M = 4  # outputs of a tile along an axis
TAPS = (3, 4)  # of the folded filters; with 2 the price is as high as the gain


def refuses(problem: ConvProblem) -> str | None:
    """Say what cannot be folded, or would leave filters that Winograd's tiles are not made for."""
    needs = "winograd_s2d needs"
    if problem.stride != (2, 2):
        return f"the stride is {problem.stride}; {needs} 2, to fold blocks of 2x2 pixels"
    if folded_taps(problem) not in TAPS:
        least, most = 2 * TAPS[0] - 1, 2 * TAPS[-1]
        return f"the filter is {problem.R}x{problem.S}; {needs} {least} to {most} taps on its longer side"
    if problem.dilation != (1, 1):
        return f"the dilation is {problem.dilation}; {needs} 1, so that a tile's pixels are neighbours"
    if problem.groups != 1:
        return f"the channels are in groups; {needs} all of them in one"
    return None


def _allocate(form: Form, problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return z, whose padding is zero from the beginning and stays so, and the workspace of the rest."""
    z = aligned_empty(folded(problem).x_shape, problem.dtype)
    z[...] = 0
    return {"z": z} | form.allocate(folded(problem), threads)


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
    return fold, *_all_in_letters(form.passes())


def _all_in_letters(passes: tuple[Pass, ...]) -> tuple[Pass, ...]:
    return tuple(
        replace(
            one,
            flops=_in_letters(one.flops),
            streams=tuple(Stream(_in_letters(each.size), _in_letters(each.holds)) for each in one.streams),
            begins={name: _in_letters(count) for name, count in one.begins.items()},
        )
        for one in passes
    )


def _costs(form: Form) -> dict:
    """Return what a form costs that folds first: x is read, z is written and held; the rest is as usual."""
    packed = form.packed_bytes
    return {
        "bytes_moved": Formula(f"(N*H*W*C + {_Z}) * b + {_in_letters(form.bytes_moved).text}"),
        "workspace_bytes": Formula(f"{_Z}*b + {_in_letters(form.workspace_bytes).text}"),
        "packed_bytes": _in_letters(packed) if isinstance(packed, Formula) else lambda p: packed(folded(p)),
    }


def _form(form: Form, folds) -> Form:
    """Return a form that folds first, and then does what another one does."""

    def run(problem, x, packed, workspace, y, threads):
        folds(problem, x, workspace["z"])
        form.run(folded(problem), workspace["z"], packed, workspace, y, threads)

    return Form(
        run=run,
        **_costs(form),
        pack=lambda problem, w: form.pack(folded(problem), fold_weights(problem, w)),
        allocate=lambda problem, threads: _allocate(form, problem, threads),
        scratch=form.scratch,
        passes=form.passes and (lambda: _passes(form)),
        once=lambda: _all_in_letters(form.once()),
    )


_PER_TILE = tile_texts(M, TAPS)
_FORMS = winograd.forms(M, _PER_TILE)


def _mixing(problem: ConvProblem) -> Mixing:
    """Return what the folded tiles mix, in pixels that are not folded."""
    (rows, cols), outputs, growth = winograd.mixing(M, folded(problem))
    return Mixing((2 * rows, 2 * cols), outputs, growth)


ALGORITHM = Algorithm(
    name="winograd_s2d",
    summary="Stride 2: fold blocks of 2x2 pixels into channels, then transform tiles of 4x4 outputs.",
    source="NVDLA, Winograd with channel extension",
    refuses=refuses,
    flops=_in_letters(winograd.flops(_PER_TILE)),
    rounding=1 + max(amplification(M, r=r) / r for r in TAPS),  # as for the other tiles, see `winograd`
    ieee=False,
    mixing=_mixing,
    forms={
        "numpy": _form(_FORMS["numpy"], fold),
        "cpu": _form(_FORMS["cpu"], fold_cpu),
        "gpu": gpu_form(
            "winograd_s2d",
            parts=("pack", "allocate"),
            **_costs(_FORMS["gpu"]),
        ),
    },
)
