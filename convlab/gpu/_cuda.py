"""The only import of Numba's CUDA target, so that another compiler would be a change of one file.

numba-cuda takes the place of `numba.cuda` where it is installed (``pip install convlab[gpu]``); Numba's own
target serves otherwise. With either, kernels can be defined, read and run lane by lane on any machine.
"""

from __future__ import annotations

from numba import cuda, float32, float64, int32, uint32

__all__ = ["cuda", "float32", "float64", "int32", "uint32"]
