"""All exercises by name. Those of a notebook stand in a file of their own."""

from __future__ import annotations

from convlab.lessons import (
    choosing,
    depthwise,
    gpu_kernels,
    gpu_lanes,
    gpu_products,
    indirection,
    multiplying,
    rooflines,
    sliding,
    spectra,
    winograd,
)
from convlab.lessons.exercise import Exercise
from convlab.lessons.kernel_exercise import KernelExercise

_FILES = (
    *(sliding, multiplying, indirection, winograd, spectra, depthwise),
    *(gpu_lanes, gpu_kernels, gpu_products, rooflines, choosing),
)

EXERCISES: dict[str, Exercise | KernelExercise] = {
    name: exercise for file in _FILES for name, exercise in file.EXERCISES.items()
}
