"""Static pictures; each returns a `Picture` that carries its description in words."""

from convlab.figures.charts import bars, curves, staircase, times
from convlab.figures.images import counts, gallery, grids
from convlab.figures.picture import Picture, photograph, show
from convlab.figures.style import figure_style
from convlab.figures.tensors import tensors
from convlab.figures.warps import threads

__all__ = [
    "Picture",
    "bars",
    "counts",
    "curves",
    "figure_style",
    "gallery",
    "grids",
    "photograph",
    "show",
    "staircase",
    "tensors",
    "threads",
    "times",
]
