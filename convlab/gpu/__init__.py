"""Numba CUDA: the kernels, the device they run on, and a simulator that runs them lane by lane without one.

Nothing here is imported before it is needed: it takes Numba.
"""
