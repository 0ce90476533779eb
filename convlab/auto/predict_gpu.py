"""How long will it take on a GPU, and who is the fastest there? The model of its launches, one by one.

    seconds of a run  =  sum over its launches of  begin + max(each unit's time, waiting, L2, memory)

What a launch asks for stands in the form's own file, `works`; how fast a GPU serves it, in
`convlab.gpu.model`. Nothing is fitted to the times of convolutions.
"""

from __future__ import annotations

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.auto.predict import modelled
from convlab.auto.ranking import in_order
from convlab.gpu.device import current, planned_for
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.model.work import Time, time_of
from convlab.plans.feasible import serves
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.units import time_text


def predictable_on_gpu(algorithm: Algorithm) -> bool:
    """Say if an algorithm's form for backend "gpu" tells what its launches ask for."""
    return "gpu" in algorithm.forms and algorithm.forms["gpu"].works is not None


@checked
def predict_on_gpu(problem: ConvProblem, algorithm: str | Algorithm, speeds: GpuSpeeds) -> tuple[Time, ...]:
    """Predict each launch of an algorithm on backend "gpu"; their seconds add up.

    Raises
    ------
    UnsupportedError
        If the algorithm does not serve the problem, or does not say what it asks for.
    """
    with planned_for(speeds):  # what is refused, and which tiles are chosen, depends on them
        form = modelled(problem, algorithm, "gpu", predictable_on_gpu).forms["gpu"]
        return tuple(time_of(work, speeds) for work in form.works(problem))


def predicted_on_gpu(problem: ConvProblem, speeds: GpuSpeeds) -> dict[str, float]:
    """Return the predicted seconds of all that have a model and serve a problem on backend "gpu"."""
    return {
        name: sum(time.seconds for time in predict_on_gpu(problem, algorithm, speeds))
        for name, algorithm in ALGORITHMS.items()
        if predictable_on_gpu(algorithm) and serves(problem, algorithm, "gpu")
    }


def rank_on_gpu(problem: ConvProblem) -> tuple[list[str], str] | None:
    """Return the names of algorithms, the best first, and why; None where the GPU's speeds are not known."""
    speeds = current().speeds
    if speeds is None:
        return None
    seconds = predicted_on_gpu(problem, speeds)
    names = in_order(seconds, lambda name: ALGORITHMS[name].rounding)
    first, *rest = (f"{time_text(seconds[name])} ({name})" for name in names[:2])
    words = " before ".join((first, *rest))
    return names, f"it is predicted to be the fastest of {len(seconds)} on {speeds.name}, {words}"
