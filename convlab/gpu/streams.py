"""In which order things happen to an array that another library made: kernels keep to that library's stream.

A GPU does the work of one stream in order, and that of two in no order at all. Kernels are put on CUDA's
default stream; so is the work of PyTorch and CuPy, until somebody says ``with torch.cuda.stream(side):``. An
event is a mark in one stream that another one can be told to wait for; the host waits for neither::

    follow(cuda, streams)       the kernels' stream waits for what these were given so far: x is written
    ... launches ...
    precede(cuda, streams)      these wait for the kernels: y is written, and x may be written over
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

LEGACY, PER_THREAD = 1, 2  # CUDA's numbers of its default streams: one for all, and one of each thread


def stream_of(array: Any) -> int | None:
    """Return the number of the stream that an array is written on; None if nobody tells one.

    CuPy and Numba say so in the description of the array. A tensor of PyTorch says nothing, but PyTorch knows
    on which stream it would be written now.
    """
    torch, stream = sys.modules.get("torch"), array.__cuda_array_interface__.get("stream")
    if stream is None and torch is not None and isinstance(array, torch.Tensor):
        stream = torch.cuda.current_stream(array.device).cuda_stream
    return stream or None  # 0 is PyTorch's word for CUDA's default one


def follow(cuda: Any, streams: Iterable[int]) -> None:
    """Let the stream of kernels wait for what other streams were given so far."""
    for stream in streams:
        given = cuda.event(timing=False)
        given.record(cuda.external_stream(stream))
        given.wait()


def precede(cuda: Any, streams: Iterable[int]) -> None:
    """Let other streams wait for the kernels that were launched so far."""
    for stream in streams:
        launched = cuda.event(timing=False)
        launched.record()
        launched.wait(cuda.external_stream(stream))
