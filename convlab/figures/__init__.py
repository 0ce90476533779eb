"""Static pictures; each returns a `Picture` that carries its description in words.

Read `style` (what a colour means) and `picture` (how a figure reaches the page) first. Every other file draws
one kind of picture; `cell_grid` is what those with tinted cells are drawn with.
"""

from convlab.figures.address_grids import tap_addresses
from convlab.figures.charts import bars, curves, staircase, times
from convlab.figures.chip_levels import chip
from convlab.figures.gpu_roofline_chart import gpu_roofline
from convlab.figures.images import counts, gallery, grids
from convlab.figures.mma_cells import mma_layout
from convlab.figures.model_error_chart import model_error
from convlab.figures.network_chart import network_profile
from convlab.figures.network_roof_chart import network_roof
from convlab.figures.picture import Picture, photograph, show
from convlab.figures.pipeline_chart import pipeline
from convlab.figures.roofline_chart import roofline
from convlab.figures.style import figure_style
from convlab.figures.tensor_boxes import tensors
from convlab.figures.thread_charts import thread_gains, thread_shares
from convlab.figures.thread_grid import threads
from convlab.figures.timeline_chart import timeline

__all__ = [
    "Picture",
    "bars",
    "chip",
    "counts",
    "curves",
    "figure_style",
    "gallery",
    "gpu_roofline",
    "grids",
    "mma_layout",
    "model_error",
    "network_profile",
    "network_roof",
    "photograph",
    "pipeline",
    "roofline",
    "show",
    "staircase",
    "tap_addresses",
    "tensors",
    "thread_gains",
    "thread_shares",
    "threads",
    "timeline",
    "times",
]
