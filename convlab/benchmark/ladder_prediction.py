"""What the clock should say of a ladder of kernels, before anybody has asked it."""

from __future__ import annotations

from convlab.benchmark import datasheets
from convlab.benchmark.gpu.climb import Step, step
from convlab.benchmark.gpu.ladders import ladder_named
from convlab.gpu.device import planned_for
from convlab.support.checked import checked


@checked
def predicted_ladder(name: str, board: str = "nvidia_h100") -> list[Step]:
    """Return the rungs of a ladder with the times that the model of their launches predicts.

    Parameters
    ----------
    name : str
        One of the ladders of `convlab bench gpu`: "filter", "direct", "implicit GEMM". A rung that does not
        say what it asks for is left out.
    board : str
        The datasheet whose GPU is predicted.
    """
    ladder, speeds = ladder_named(name), datasheets.gpu_speeds(board)
    problem = ladder.workload.problem
    with planned_for(speeds):
        serving = [rung for rung in ladder.table if not rung.refuses(problem)]
    rungs = [(rung.name, rung.algorithm(ladder.algorithm)) for rung in serving]
    return [step(name, one, problem, speeds, {}, "") for name, one in rungs if one.forms["gpu"].works]
