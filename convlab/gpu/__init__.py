"""Numba CUDA: the kernels, the device they run on, and a simulator that runs them lane by lane without one.

    from convlab.gpu import cuda, float32, simulated, simulator

    @cuda.jit
    def double(x, y): ...

    trace = simulator.run(double, 1, 32, x, y)       # one kernel, lane by lane, on any machine
    with simulated():                                # whole algorithms
        y = conv2d(x, w, backend="gpu")
    built = assemble(double, x, y)                   # the machine code

What stands here is imported when it is first asked for: it takes Numba. To read the room, begin with
`kernels` (whole numbers in a kernel) and `device` (where it runs); then `gemm` and `tensor_cores`, which
multiply, and `simulator` and `assembly`, which look at kernels. `diagnose` says why none can run here.
"""

from __future__ import annotations

from typing import Any

from convlab.support.lazy import door


def _offer() -> dict[str, Any]:
    from convlab.gpu.assembly import assemble
    from convlab.gpu.availability import compiler_is_here, gpu_is_here
    from convlab.gpu.device import current, simulated, using
    from convlab.gpu.gemm.heuristics import choose_tile, estimate
    from convlab.gpu.gemm.kernel import tiled_product
    from convlab.gpu.gemm.load_implicit import implicit_loader
    from convlab.gpu.gemm.load_matrix import matrix_loader
    from convlab.gpu.gemm.outer_product import outer_products
    from convlab.gpu.gemm.tile import Tile
    from convlab.gpu.kernels import device_function, kernel
    from convlab.gpu.numba_cuda import cuda, float32, float64, int32, uint32, uint64
    from convlab.gpu.occupancy import GPUS
    from convlab.gpu.simulated_gpu import Simulator
    from convlab.gpu.tensor_cores.fragments import one_product

    return locals()


__all__, __getattr__ = door(__name__, _offer)
