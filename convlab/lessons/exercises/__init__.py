"""All exercises, in the order of the course: a file each, which has everything that is known of it."""

from __future__ import annotations

from types import ModuleType

from convlab.lessons.exercise import Exercise
from convlab.lessons.exercises import (
    blocked_product,
    convolve,
    deltas,
    filter_tile,
    flip,
    im2col,
    im2row,
    index_map,
    largest_batch,
    output_size,
    tap_mask,
    winograd_picture,
    winograd_products,
    winograd_tile,
)
from convlab.lessons.kernel_exercise import KernelExercise

_FILES: tuple[ModuleType, ...] = (
    flip,
    *(output_size, convolve),
    *(largest_batch, im2row, im2col),
    *(blocked_product,),
    *(index_map, deltas, tap_mask),
    *(winograd_tile, winograd_picture, winograd_products),
    *(filter_tile,),
)

EXERCISES: dict[str, Exercise | KernelExercise] = {
    file.__name__.rpartition(".")[2]: file.EXERCISE for file in _FILES
}
