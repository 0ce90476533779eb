"""dgrad as convolutions: filters turned round, cut into one small dense filter for each phase of the stride.

    dx[h] = sum of dy[p] * w[r]  over all p, r with  p*stride + r*dilation - top = h        (along one axis)

With stride 1 that is a convolution of dy: the filter turned by 180 degrees, channels and filters exchanged,
padding R-1 less the padding there was. With stride s it could be the same after s-1 zeros have been put
between the lines of dy; most multiplications are then by these zeros. But which taps meet a zero depends on
(h + top) mod s alone. So take the pixels of each such phase by themselves: they meet every (s/g)-th tap,
g = gcd(s, dilation), and no zero. That is a stride-1 convolution with a part of the filter, dilation/g apart;
s*s of them, written side by side, make dx. A phase that no tap reaches is zero.

    multiply-adds   N*C*K/G * (sum over phases of rows*taps) * (the same for columns): about H*W * R*S / s^2
    zeros inserted  N*C*K/G * H*W * R*S

Each convolution is a forward plan, of the algorithm that is predicted to pack its filters and run in the
least time: whoever learns packs them as often as they are run.

Dumoulin & Visin 2016, arXiv:1603.07285, chapter 4; XNNPACK, subconv2d (src/operators/deconvolution-nhwc.c,
where nothing is dilated and no stride exceeds the filter); CUTLASS 2.7, strided dgrad (discussion 327).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from convlab.algorithms.spec import Form as ForwardForm
from convlab.auto.select import choose, fastest
from convlab.cost.formula import Formula
from convlab.gradients.spec import Form, Gradient, Shapes
from convlab.machine.memory import Memory
from convlab.plans.plan import Plan
from convlab.problem import ConvProblem

ZEROS_INSERTED = Formula("N*H*W * C * R*S * K/G")  # multiply-adds, for comparison


class Phase(NamedTuple):
    """Along one axis: the pixels of dx of one phase, the taps that reach them, and the lines of dy they meet.

    Attributes
    ----------
    padding : (int, int)
        Of those lines, before and after.
    dilation : int
        Lines between two of the taps.
    """

    pixels: range
    taps: range
    lines: range
    padding: tuple[int, int]
    dilation: int


class Part(NamedTuple):
    """A convolution of dy (or some of it) with some taps, whose output is some pixels of dx."""

    problem: ConvProblem
    rows: Phase
    cols: Phase


def phases(problem: ConvProblem, axis: int) -> list[Phase]:
    """Return the phases along an axis that some tap reaches from some line of dy."""
    size, out, taps = problem.x_shape[1 + axis], problem.y_shape[1 + axis], (problem.R, problem.S)[axis]
    stride, (before, _), step = problem.stride[axis], problem.padding[axis], problem.dilation[axis]
    common, found = gcd(stride, step), []
    for h in range(min(stride, size)):
        some = [r for r in range(taps) if (h + before - r * step) % stride == 0]
        if not some:
            continue
        pixels, last = range(h, size, stride), (len(some) - 1) * step // common
        pad = last - (h + before - some[0] * step) // stride  # of the turned filter's first window
        after = len(pixels) - 1 - pad + last - (out - 1)
        lines = range(max(0, -pad), out - max(0, -after))  # the others reach no pixel of this phase
        if lines:
            every = range(some[0], taps, stride // common)
            found.append(Phase(pixels, every, lines, (max(0, pad), max(0, after)), step // common))
    return found


@lru_cache(256)
def parts(problem: ConvProblem) -> list[Part]:
    """Return the convolutions that together make the gradient of the input."""
    found = []
    for rows in phases(problem, 0):
        for cols in phases(problem, 1):
            small = replace(
                problem,
                H=len(rows.lines),
                W=len(cols.lines),
                C=problem.K,
                K=problem.C,
                R=len(rows.taps),
                S=len(cols.taps),
                stride=(1, 1),
                padding=(rows.padding, cols.padding),
                dilation=(rows.dilation, cols.dilation),
            )
            found.append(Part(small, rows, cols))
    return found


def macs(problem: ConvProblem) -> int:
    """Return the multiply-adds of all parts; none of them is by an inserted zero."""
    return sum(part.problem.macs for part in parts(problem))


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shapes of what the parts take turns with: lines of dy, and pixels of dx."""
    small = [part.problem for part in parts(problem)]
    lines = [prod(one.x_shape) for one in small if one.x_shape != problem.y_shape]
    pixels = [prod(one.y_shape) for one in small if one.y_shape != problem.x_shape]
    return {"lines of dy": (max(lines, default=0),), "pixels": (max(pixels, default=0),)}


def _forms(backend: str, problem: ConvProblem, threads: int) -> list[tuple[ForwardForm, ConvProblem]]:
    """Return the form that each part's convolution runs in, and its problem."""
    small = [part.problem for part in parts(problem)]
    chosen = (fastest(one, backend, threads, Memory(), include_packing=True)[0] for one in small)
    return [(algorithm.forms[backend], one) for algorithm, one in zip(chosen, small, strict=True)]


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


def pack(backend, problem, w, threads, before=None, dy=None) -> list[Plan]:
    """Return a forward plan for each part, its filters packed; they never depend on w's memory."""
    plans = []
    for i, (part, rows, cols) in enumerate(parts(problem)):
        filters = turned(problem, w[:, _slice(rows.taps), _slice(cols.taps)])
        if fastest(part, backend, threads, Memory(), include_packing=True)[0].mixing:
            filters = np.ascontiguousarray(filters)  # it is gone over more than once
        lines = None if dy is None else dy[:, _slice(rows.lines), _slice(cols.lines)]
        chosen = choose(part, "auto", backend, threads, Memory(), filters, lines, include_packing=True)
        old = before[i] if before else None
        if old is not None and old.algorithm is chosen.algorithm:
            plans.append(old.with_weights(filters))
        else:
            plans.append(Plan(part, filters, None, chosen.algorithm, backend, threads, *chosen[1:]))
    return plans


def run(problem, given, plans, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,) = given
    if sum(len(rows.pixels) * len(cols.pixels) for _, rows, cols in parts(problem)) < problem.H * problem.W:
        dx[...] = 0
    for (small, rows, cols), plan in zip(parts(problem), plans, strict=True):
        lines = dy
        if small.x_shape != dy.shape:
            lines = _begin(workspace["lines of dy"], small.x_shape)
            lines[...] = dy[:, _slice(rows.lines), _slice(cols.lines)]
        whole = small.y_shape == dx.shape
        pixels = dx if whole else _begin(workspace["pixels"], small.y_shape)
        plan(lines, pixels)
        if not whole:
            dx[:, _slice(rows.pixels), _slice(cols.pixels)] = pixels


def turned(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return filters w (K, R, S, C/G) as those of the way back, (C, R, S, K/G): turned by 180 degrees.

    With one group it is w itself, seen in another order.
    """
    G, (K, R, S, C) = problem.groups, w.shape
    groups = w[:, ::-1, ::-1].reshape(G, K // G, R, S, C)
    return groups.transpose(0, 4, 2, 3, 1).reshape(G * C, R, S, K // G)


def _begin(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return array[: prod(shape)].reshape(shape)


def _slice(some: range) -> slice:
    return slice(some.start, some.stop, some.step)


def refuses(problem: ConvProblem) -> str | None:
    """Say why one filter is not enough."""
    return None if problem.stride == (1, 1) else f"the stride is {problem.stride}; flipped needs 1"


def _form(backend: str) -> Form:
    return Form(
        run,
        shapes,
        bytes_moved=partial(bytes_moved, backend),
        pack=partial(pack, backend),
        packed_bytes=partial(packed_bytes, backend),
        tables=partial(tables, backend),
    )


FORMS = {backend: _form(backend) for backend in ("numpy", "cpu")}

FLIPPED = Gradient(
    name="flipped",
    summary="A forward convolution of dy: filters turned round, channels and filters exchanged.",
    source="Dumoulin & Visin 2016, arXiv:1603.07285, section 4.2",
    forms=FORMS,
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
