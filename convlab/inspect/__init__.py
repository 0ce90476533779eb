"""Looking at kernels: what an algorithm launches, what that asks of the memory, what tiles cost on paper.

Read in this order:

    launches          the launches of an algorithm, without running them
    traffic           sums over what traced kernels asked of the memory
    trace_view        a trace as plain data, for figures
    access_patterns   small kernels that ask for the same things in different ways
    addressing        three ways for a thread to find its pixel
    tiling            what tile sizes cost
    block_footprint   what one block of a product touches
"""

from __future__ import annotations

from types import ModuleType

from convlab.support.lazy import door

__all__ = [
    "ACCESS_PATTERNS",
    "Bus",
    "FirstBlock",
    "Tiling",
    "first_block",
    "global_traffic",
    "indirect_loader",
    "last_launch",
    "precomputed_loader",
    "record_launches",
    "shared_traffic",
    "sites",
    "tile_traffic",
    "turned_in_shared",
]


def _homes() -> tuple[ModuleType, ...]:
    from convlab.algorithms.indirect import gpu as indirect
    from convlab.algorithms.precomputed_gemm import gpu as precomputed_gemm
    from convlab.inspect import access_patterns, launches, tiling, traffic

    return launches, traffic, access_patterns, tiling, indirect, precomputed_gemm


__getattr__ = door(__name__, __all__, _homes)
