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

Each convolution is `convlab.conv2d`, with every algorithm it has.

Dumoulin & Visin 2016, arXiv:1603.07285, chapter 4; XNNPACK, subconv2d (src/operators/deconvolution-nhwc.c,
where nothing is dilated and no stride exceeds the filter); CUTLASS 2.7, strided dgrad (discussion 327).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from convlab.api import conv2d
from convlab.auto.select import fastest
from convlab.cost.formula import Formula
from convlab.gradients.spec import Form, Gradient, Shapes
from convlab.machine.memory import Memory
from convlab.problem import ConvProblem

ZEROS_INSERTED = Formula("N*H*W * C * R*S * K/G")  # multiply-adds, for comparison

FILTERS = 32  # that are turned at a time


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
    """Return the shapes of what the parts take turns with: their filters; lines of dy; pixels of dx."""
    small = [part.problem for part in parts(problem)]
    lines = [one.x_shape for one in small if one.x_shape != problem.y_shape]
    pixels = [one.y_shape for one in small if one.y_shape != problem.x_shape]
    every = {"filters": [one.w_shape for one in small], "lines of dy": lines, "pixels": pixels}
    return {name: (max(map(prod, each), default=0),) for name, each in every.items()}


def inside(backend: str, problem: ConvProblem, threads: int) -> int:
    """Return the bytes of the packed filters and the workspace of the part that needs the most."""
    most = 0
    for part in {part.problem for part in parts(problem)}:
        form = fastest(part, backend, threads, Memory(), include_packing=True)[0].forms[backend]
        kept = part.w_bytes if form.pack_key else 0
        most = max(most, form.packed_bytes(part) + form.workspace_bytes(part, threads) + kept)
    return most


def run(backend, problem, dy, w, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    if sum(len(rows.pixels) * len(cols.pixels) for _, rows, cols in parts(problem)) < problem.H * problem.W:
        dx[...] = 0
    for small, rows, cols in parts(problem):
        filters = _begin(workspace["filters"], small.w_shape)
        turn(problem, w[:, _slice(rows.taps), _slice(cols.taps)], filters)
        lines = dy
        if small.x_shape != dy.shape:
            lines = _begin(workspace["lines of dy"], small.x_shape)
            lines[...] = dy[:, _slice(rows.lines), _slice(cols.lines)]
        whole = small.y_shape == dx.shape
        pixels = dx if whole else _begin(workspace["pixels"], small.y_shape)
        shaping: dict = {name: getattr(small, name) for name in ("padding", "dilation", "groups")}
        conv2d(lines, filters, **shaping, backend=backend, threads=threads, out=pixels)
        if not whole:
            dx[:, _slice(rows.pixels), _slice(cols.pixels)] = pixels


def turn(problem: ConvProblem, w: np.ndarray, out: np.ndarray) -> None:
    """Write filters w (K, R, S, C/G) as those of the way back, (C, R, S, K/G): turned by 180 degrees."""
    G, (K, R, S, C) = problem.groups, w.shape
    turned = w[:, ::-1, ::-1].reshape(G, K // G, R, S, C).transpose(0, 2, 3, 4, 1)  # (G, R, S, C/G, K/G)
    target = out.reshape(G, C, R, S, K // G).transpose(0, 2, 3, 1, 4)
    for tap in np.ndindex(G, R, S):
        for k in range(0, K // G, FILTERS):  # a few filters at a time: what is read stays in the cache
            some = slice(k, k + FILTERS)
            target[tap][:, some] = turned[tap][:, some]


def _begin(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return array[: prod(shape)].reshape(shape)


def _slice(some: range) -> slice:
    return slice(some.start, some.stop, some.step)


def refuses(problem: ConvProblem) -> str | None:
    """Say why one filter is not enough."""
    return None if problem.stride == (1, 1) else f"the stride is {problem.stride}; flipped needs 1"


FORMS = {
    backend: Form(partial(run, backend), shapes, partial(inside, backend)) for backend in ("numpy", "cpu")
}

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
