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

from typing import Any

from convlab.support.lazy import door


def _offer() -> dict[str, Any]:
    from convlab.algorithms.indirect.gpu import indirect_loader
    from convlab.algorithms.precomputed_gemm.gpu import precomputed_loader
    from convlab.inspect.access_patterns import ACCESS_PATTERNS, turned_in_shared
    from convlab.inspect.launches import last_launch, record_launches
    from convlab.inspect.tiling import Tiling, tile_traffic
    from convlab.inspect.traffic import Bus, FirstBlock, first_block, global_traffic, sites

    return locals()


__all__, __getattr__ = door(__name__, _offer)
