"""The model of a GPU's time, judged: what it predicts of the layers that a saved run has measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from convlab.auto.predict import Part, Prediction
from convlab.auto.predict_gpu import predict_on_gpu, predictable_on_gpu
from convlab.benchmark.gpu.ladders import on_a_gpu
from convlab.benchmark.gpu.times import newest, saved_from
from convlab.benchmark.model_error import Judged
from convlab.benchmark.saved import Measurement
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.model.work import L2, MEMORY, WAITING, Time
from convlab.support.checked import checked

PARTS = ("layers", "depthwise")  # of a run on a GPU, each with the number of images behind it


def speeds_of(header: Mapping) -> GpuSpeeds | None:
    """Return the speeds of the GPU of a saved run: its roofs where they were measured, else its driver's.

    None for a generation that nobody measured, or if the driver did not tell enough.
    """
    device, roofs = header["device"], header["roofs"]
    speeds = GpuSpeeds.of_facts(device.get("name", "a GPU"), device)
    if speeds is None or not roofs:
        return speeds
    return replace(speeds, flops=roofs["flops"], memory=roofs["copy"], l2=roofs["l2"], begin=roofs["empty"])


@checked
def judge_device(measurement: Measurement) -> list[Judged]:
    """Return what the model says of each measured run of one of our algorithms; nothing without speeds."""
    speeds = speeds_of(measurement.header)
    if speeds is None:
        return []
    found, every = [], on_a_gpu()
    for row in measurement.rows:
        known = every.get(row.candidate)
        if row.part.partition("_")[0] in PARTS and known and predictable_on_gpu(known):
            found.append(Judged(row, _prediction(predict_on_gpu(row.problem, known, speeds))))
    return found


def _prediction(times: tuple[Time, ...]) -> Prediction:
    return Prediction(sum(time.seconds for time in times), tuple(map(_part, times)))


def _part(time: Time) -> Part:
    moving = max(time.parts[L2], time.parts[MEMORY])
    units = time.parts.keys() - {L2, MEMORY, WAITING}
    computing = max(time.parts[unit] for unit in units)
    return Part(time.name, time.seconds, computing, moving, time.seconds - max(computing, moving))


def judged_device() -> tuple[str, list[Judged]]:
    """Return the newest saved run of a GPU, judged, and which run that is; or why there is none."""
    kept = newest("layers_32")
    if kept is None:
        return "no measurement of a GPU is kept, so nothing can be laid beside the predictions yet", []
    return saved_from(kept), judge_device(kept)
