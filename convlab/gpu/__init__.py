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

from types import ModuleType

from convlab.support.lazy import door

__all__ = [
    "GPUS",
    "Simulator",
    "Tile",
    "assemble",
    "choose_tile",
    "compiler_is_here",
    "cuda",
    "current",
    "device_function",
    "estimate",
    "float32",
    "float64",
    "gpu_is_here",
    "implicit_loader",
    "int32",
    "kernel",
    "matrix_loader",
    "one_product",
    "outer_products",
    "simulated",
    "tiled_product",
    "uint32",
    "uint64",
    "using",
]


def _homes() -> tuple[ModuleType, ...]:
    from convlab.gpu import assembly, availability, device, kernels, numba_cuda, occupancy, simulated_gpu
    from convlab.gpu.gemm import heuristics, kernel, load_implicit, load_matrix, outer_product, tile
    from convlab.gpu.tensor_cores import fragments

    gemm = tile, heuristics, load_implicit, load_matrix, outer_product, kernel
    return numba_cuda, device, simulated_gpu, kernels, assembly, availability, occupancy, *gemm, fragments


__getattr__ = door(__name__, __all__, _homes)
