"""An NVIDIA GPU, measured: a clock of its own for `Comparison`, and the times that notebooks show.

The whole machine, from its roofs to the layers of real networks, is the business of `tools.bench_gpu`.
"""
