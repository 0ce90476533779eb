"""Static pictures; each returns a `Picture` that carries its description in words."""

from convlab.figures.charts import bars, curves, staircase, times
from convlab.figures.images import counts, gallery, grids
from convlab.figures.mma_layout import mma_layout
from convlab.figures.model_error import model_error
from convlab.figures.network_profile import network_profile
from convlab.figures.picture import Picture, photograph, show
from convlab.figures.pipeline import pipeline
from convlab.figures.roofline import roofline
from convlab.figures.style import figure_style
from convlab.figures.tap_addresses import tap_addresses
from convlab.figures.tensors import tensors
from convlab.figures.threads import threads

__all__ = [
    "Picture",
    "bars",
    "counts",
    "curves",
    "figure_style",
    "gallery",
    "grids",
    "mma_layout",
    "model_error",
    "network_profile",
    "photograph",
    "pipeline",
    "roofline",
    "show",
    "staircase",
    "tap_addresses",
    "tensors",
    "threads",
    "times",
]
