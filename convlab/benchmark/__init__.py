"""Measuring: candidates, checked and timed in turns; what they are held against; what was saved.

    comparison       candidates on one layer, checked, then timed in turns
    baselines        what ours are held against: NumPy, SciPy, PyTorch; `rivals`: what runs whole networks
    layers           the layers of real networks, as workloads
    passes           fprop, dgrad and wgrad of a layer, and their answers in float64
    pass_comparison  candidates for a pass; `pass_baselines`: autograd, and those of `slow_ways`
    network_comparison   candidates for a whole network
    suite, bench     `convlab bench cpu`; `report` is what it says, `pass_report` of the passes
    saved            what a measurement holds; `saved_runs` reads a folder of them, `summary` sums them up
    model_error      what the model of "auto" predicts of a saved run; `model_error_tables` tells it
    roofline         the roofs of a machine, or those that `datasheets` promise; `roofline_points` below them
    limits           what a processor allows at best, layer by layer, and how near one comes
    dukhan_2019      the comparison of the paper on indirect convolution
    measure_layer    one layer, here and now; `read_bandwidth`: how fast arrays of any size are read
    all_cores        what all cores are worth, beside one: saved, or here and now
    gpu              clocks, ladders and times for a GPU

What notebooks use of it is imported when it is first asked for.
"""

from __future__ import annotations

from typing import Any

from convlab.support.lazy import door


def _offer() -> dict[str, Any]:
    from convlab.benchmark.all_cores import layer_gain, memory_gain
    from convlab.benchmark.comparison import Effort
    from convlab.benchmark.dukhan_2019 import COPYING, INDIRECT, PRODUCT, compare_three, three_ways
    from convlab.benchmark.gpu.climb import device_climb
    from convlab.benchmark.gpu.ladders import ladders
    from convlab.benchmark.gpu.model_error import judged_device
    from convlab.benchmark.gpu.times import device_roofline, ladder_times, layer_times
    from convlab.benchmark.ladder_prediction import predicted_ladder
    from convlab.benchmark.layers import Workload
    from convlab.benchmark.pass_comparison import measure_passes
    from convlab.benchmark.passes import pass_material, read_and_written
    from convlab.benchmark.read_bandwidth import read_speeds
    from convlab.benchmark.roofline_points import compulsory_bytes, points
    from convlab.benchmark.saved_runs import CPU, runs
    from convlab.benchmark.slow_ways import whole_picture, with_zeros, zeros_inserted
    from convlab.benchmark.summary import by_kind

    return locals()


__all__, __getattr__ = door(__name__, _offer)
