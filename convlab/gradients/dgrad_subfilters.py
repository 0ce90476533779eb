"""dgrad as convolutions: filters turned round, cut into one small dense filter for each phase of the stride.

    dx[h] = sum of dy[p] * w[r]  over all p, r with  p*stride + r*dilation - top = h        (along one axis)

With stride 1 that is a convolution of dy: the filter turned by 180 degrees, channels and filters exchanged,
padding R-1 less the padding there was. With stride s it could be the same after s-1 zeros have been put
between the lines of dy; most multiplications are then by these zeros. But the pixels of one phase of the
stride meet no zero: for them it is a stride-1 convolution with a part of the filter (`phases.py`). s*s of
these, written side by side, make dx.

    multiply-adds   N*C*K/G * (sum over phases of rows*taps) * (the same for columns): about H*W * R*S / s^2
    zeros inserted  N*C*K/G * H*W * R*S

Each convolution is a forward plan, of the algorithm that is predicted to pack its filters and run in the
least time: whoever learns packs them as often as they are run. On a GPU `flipped` turns the filters where
they lie: `dgrad_flipped_gpu`.

Dumoulin & Visin 2016, arXiv:1603.07285, chapter 4; XNNPACK, subconv2d (src/operators/deconvolution-nhwc.c,
where nothing is dilated and no stride exceeds the filter); CUTLASS 2.7, strided dgrad (discussion 327).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod

import numpy as np

from convlab.algorithms.binding import late
from convlab.algorithms.form import Form as ForwardForm
from convlab.algorithms.spec import Algorithm
from convlab.auto.predict import phases_of
from convlab.auto.select import choose, fastest
from convlab.auto.watch import Watch
from convlab.cost.formula import Formula
from convlab.cost.phases import Phase, packing, stream
from convlab.gradients.phases import clear_unreached, in_order, macs, parts, strided, turned
from convlab.gradients.spec import Form, Gradient, Shapes, Work, copy_of_w
from convlab.machine.memory import Memory
from convlab.plans.plan import Plan
from convlab.problem import ConvProblem

ZEROS_INSERTED = Formula("N*H*W * C * R*S * K/G")  # multiply-adds, for comparison


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shapes of what the parts take turns with: lines of dy, and pixels of dx."""
    small = [part.problem for part in parts(problem)]
    lines = [prod(one.x_shape) for one in small if one.x_shape != problem.y_shape]
    pixels = [prod(one.y_shape) for one in small if one.y_shape != problem.x_shape]
    return {"lines of dy": (max(lines, default=0),), "pixels": (max(pixels, default=0),)}


def _chosen(backend: str, problem: ConvProblem, threads: int) -> list[tuple[Algorithm, ConvProblem]]:
    """Return the algorithm of each part's convolution, and its problem."""
    small = [part.problem for part in parts(problem)]
    return [(fastest(one, backend, threads, Memory(), include_packing=True)[0], one) for one in small]


def _forms(backend: str, problem: ConvProblem, threads: int) -> list[tuple[ForwardForm, ConvProblem]]:
    """Return the form that each part's convolution runs in, and its problem."""
    return [(algorithm.forms[backend], part) for algorithm, part in _chosen(backend, problem, threads)]


def packed_bytes(backend: str, problem: ConvProblem, threads: int) -> int:
    """Return the bytes of the packed filters of all parts."""
    return sum(form.packed_bytes(part) for form, part in _forms(backend, problem, threads))


def bytes_moved(backend: str, problem: ConvProblem, threads: int) -> int:
    """Return the bytes the convolutions move, and what is copied before and after them."""
    moved = sum(form.bytes_moved(part) for form, part in _forms(backend, problem, threads))
    for small, _, _ in parts(problem):
        moved += 2 * small.x_bytes * (small.x_shape != problem.y_shape)
        moved += 2 * small.y_bytes * (small.y_shape != problem.x_shape)
    return moved


def tables(backend: str, problem: ConvProblem, threads: int) -> dict[str, int]:
    """Return the bytes of what the convolutions inside work in, and of copies of their filters they keep."""
    forms = _forms(backend, problem, threads)
    sizes = (form.workspace_bytes(part, threads) + bool(form.pack_key) * part.w_bytes for form, part in forms)
    return {"the convolutions inside": sum(sizes)}


def phases(problem: ConvProblem, threads: int) -> Iterator[Work]:
    """Yield what the convolutions consist of, and what comes before and after them."""
    for algorithm, part in _chosen("cpu", problem, threads):
        yield phases_of(algorithm.forms["cpu"], include_packing=True), part
        if algorithm.mixing:
            yield (packing(),), part  # the filters are turned first
        copies = [stream("2*N*H*W*C*b")] * (part.x_shape != problem.y_shape)
        copies += [stream("2*N*P*Q*K*b")] * (part.y_shape != problem.x_shape)
        yield (Phase("copy", streams=tuple(copies), begins={"call": Formula("1")}, shared=False),), part


def pack(backend, problem, w, threads, before=None, dy=None) -> list[Plan]:
    """Return a forward plan for each part, its filters packed; they never depend on w's memory."""
    plans = []
    for i, (part, rows, cols) in enumerate(parts(problem)):
        filters = turned(problem, w[:, strided(rows.taps), strided(cols.taps)])
        lines = None if dy is None else dy[:, strided(rows.lines), strided(cols.lines)]
        how = backend, threads, Memory(), filters, lines
        chosen = choose(part, "auto", *how, include_packing=True, watch=_watch)
        if chosen.algorithm.mixing:
            filters = in_order(filters)  # a transform reads them more than once
        old = before[i] if before else None
        if old is not None and old.algorithm is chosen.algorithm:
            new = old.repacked(filters)
            watch = chosen.watch and chosen.watch.unless_alike(old.watch)
            seen = watch is None or watch is old.watch  # beside weights about as large
            plans.append(new if seen else new.watched_by(watch))
        else:
            plans.append(Plan(part, filters, None, chosen.algorithm, backend, threads, *chosen[1:]))
    return plans


def run(problem, given, plans, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,) = given
    clear_unreached(problem, dx)
    for (small, rows, cols), plan in zip(parts(problem), plans, strict=True):
        lines = dy
        if small.x_shape != dy.shape:
            lines = _begin(workspace["lines of dy"], small.x_shape)
            lines[...] = dy[:, strided(rows.lines), strided(cols.lines)]
        whole = small.y_shape == dx.shape
        pixels = dx if whole else _begin(workspace["pixels"], small.y_shape)
        plan(lines, pixels)
        if not whole:
            dx[:, strided(rows.pixels), strided(cols.pixels)] = pixels


def _watch(algorithm: Algorithm, weight: float, _) -> Watch:
    """Return what looks at dy, which who asked for a gradient gave it seven calls ago."""
    return Watch(algorithm, weight, lambda problem: "implicit_gemm", "dy", 7)


def _begin(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return as much of the beginning of a flat array as a shape takes, in that shape."""
    return array[: prod(shape)].reshape(shape)


def refuses(problem: ConvProblem) -> str | None:
    """Say why one filter is not enough."""
    return None if problem.stride == (1, 1) else f"the stride is {problem.stride}; flipped needs 1"


def _form(backend: str) -> Form:
    return Form(
        run,
        shapes,
        partial(bytes_moved, backend),
        pack=partial(pack, backend),
        packed_bytes=partial(packed_bytes, backend),
        tables=partial(tables, backend),
        phases=phases if backend == "cpu" else None,
    )


FORMS = {backend: _form(backend) for backend in ("numpy", "cpu")}
_GPU = f"{__name__.rpartition('.')[0]}.dgrad_flipped_gpu"

FLIPPED = Gradient(
    name="flipped",
    summary="A forward convolution of dy: filters turned round, channels and filters exchanged.",
    source="Dumoulin & Visin 2016, arXiv:1603.07285, section 4.2",
    forms=FORMS
    | {
        "gpu": Form(
            late(_GPU, "run"),
            late(_GPU, "shapes"),
            late(_GPU, "bytes_moved"),
            pack=late(_GPU, "pack"),
            packed_bytes=late(_GPU, "packed_bytes"),
            tables=copy_of_w,
        )
    },
    refuses=refuses,
    macs=macs,
)
SUBFILTERS = Gradient(
    name="subfilters",
    summary="A small dense forward convolution for each phase of the stride: no zero is multiplied.",
    source="XNNPACK, subconv2d; CUTLASS 2.7, strided dgrad",
    forms=FORMS,
    macs=macs,
)
