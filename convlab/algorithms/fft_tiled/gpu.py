"""Tiles through the Fourier transform on a GPU: `convlab.algorithms.fft.gpu`, whose pictures are tiles."""

from __future__ import annotations

from functools import partial

from convlab.algorithms.fft import gpu

pack, allocate, run = (partial(function, "tiles") for function in (gpu.pack, gpu.allocate, gpu.run))
