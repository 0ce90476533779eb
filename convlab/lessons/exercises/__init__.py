"""All exercises, in the order of the course: a file each, which has everything that is known of it."""

from __future__ import annotations

from types import ModuleType

from convlab.lessons.exercise import Exercise
from convlab.lessons.exercises import (
    blocked_product,
    blocks_at_once,
    convolve,
    correlate,
    depthwise,
    depthwise_intensity,
    fast_size,
    fetched,
    filter_tile,
    flip,
    holder,
    ldmatrix_passes,
    output_size,
    separable_saving,
    table_over_matrix,
    tiles,
)
from convlab.lessons.kernel_exercise import KernelExercise

_FILES: tuple[ModuleType, ...] = (
    flip,
    *(output_size, convolve),
    *(blocked_product,),
    *(correlate, fast_size, tiles),
    *(depthwise, separable_saving, depthwise_intensity),
    *(filter_tile,),
    *(fetched, blocks_at_once),
    *(table_over_matrix,),
    *(ldmatrix_passes, holder),
)

EXERCISES: dict[str, Exercise | KernelExercise] = {
    file.__name__.rpartition(".")[2]: file.EXERCISE for file in _FILES
}
