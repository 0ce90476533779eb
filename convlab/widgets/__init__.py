"""Figures to move: drawn in the browser, alive in exported pages too, with a still for everywhere else.

Read `shared/live.py` first, which all of them are, then one widget: `register_tile.py` is the state, its
words, and the steps that lead into it, `register_tile.js` the drawing, `register_tile.png` the photograph.
What the larger ones know of layers and machines is in files of its own, such as `roofline_data.py`.
"""

from convlab.widgets.channel_mixing import ChannelMixing
from convlab.widgets.guess import Guess
from convlab.widgets.im2col_fills import Im2colFills
from convlab.widgets.indirection_explorer import IndirectionExplorer
from convlab.widgets.memory_blowup import MemoryBlowup
from convlab.widgets.predicted_times import PredictedTimes
from convlab.widgets.pyramid_over_cut import PyramidOverCut
from convlab.widgets.register_tile import RegisterTile
from convlab.widgets.roofline_explorer import RooflineExplorer
from convlab.widgets.sliding_window import SlidingWindow
from convlab.widgets.spectra import Spectra
from convlab.widgets.task_clock import TaskClock
from convlab.widgets.tile_by_tile import TileByTile
from convlab.widgets.tiling_explorer import TilingExplorer
from convlab.widgets.transposed_window import TransposedWindow
from convlab.widgets.warp_microscope import WarpMicroscope
from convlab.widgets.winograd_tile import WinogradTile

__all__ = [
    "ChannelMixing",
    "Guess",
    "Im2colFills",
    "IndirectionExplorer",
    "MemoryBlowup",
    "PredictedTimes",
    "PyramidOverCut",
    "RegisterTile",
    "RooflineExplorer",
    "SlidingWindow",
    "Spectra",
    "TaskClock",
    "TileByTile",
    "TilingExplorer",
    "TransposedWindow",
    "WarpMicroscope",
    "WinogradTile",
]
