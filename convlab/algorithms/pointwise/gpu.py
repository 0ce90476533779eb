"""Pointwise convolution on a GPU: the picture is the matrix already, so all there is to do is the product."""

from __future__ import annotations

from convlab.gpu.gemm import matrix
from convlab.gpu.model.work import Work

pack, packed_bytes = matrix.pack, matrix.packed_bytes


def works(problem) -> tuple[Work, ...]:
    """Return what the launch of `run` asks of a GPU."""
    return matrix.works(problem, "k", cold=problem.x_bytes)


def run(problem, x, packed, workspace, y, threads):
    """Fill y (N, H, W, K) with the product of x (N*H*W, C) and the packed weights."""
    matrix.multiply(problem, x, "k", packed, y)
