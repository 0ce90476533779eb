"""An NVIDIA GPU, measured: its roofs, a clock of its own for `Comparison`, and the times that notebooks show.

The whole machine, down to the layers of real networks, is the business of `tools.bench_gpu`.
"""
