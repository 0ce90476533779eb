"""What the course is made and measured with: tools of those who write it, run from a checkout.

    python -m tools.site          the book
    python -m tools.readme        the tables and pictures of README.md and TESTING.md, made anew
    python -m tools.translations  what translators wrote, in step with the notebooks
    python -m tools.stills        the photographs of the widgets, taken anew where they changed
    python -m tools.bench_cpu     `convlab bench cpu`, with what only a saved measurement needs
    python -m tools.bench_gpu     an NVIDIA GPU, tested and measured in a few minutes
    python -m tools.roofs_in_c    the roofs of this machine beside the same loops in C
    python -m tools.shipped_speeds   the speeds that come with convlab, measured anew
    python -m tools.lock          the locks of what is installed, after a change of pyproject.toml
    python -m tools.colab         the notebooks for Google Colab, with a cell that installs the course

They may import all of convlab; nothing in convlab imports them, and the wheel does not hold them.
"""
