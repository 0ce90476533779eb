"""What the course is made and measured with: tools of those who write it, run from a checkout.

    python -m tools.site          the book
    python -m tools.readme        the README's tables and pictures, renewed from data/
    python -m tools.bench_cpu     `convlab bench cpu`, with what only a saved measurement needs
    python -m tools.bench_gpu     an NVIDIA GPU, tested and measured in a few minutes
    python -m tools.roofs_in_c    the roofs of this machine beside the same loops in C

They may import all of convlab; nothing in convlab imports them, and the wheel does not hold them.
"""
