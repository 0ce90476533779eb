"""All exercises, in the order of the course: a file each, which has everything that is known of it."""

from __future__ import annotations

from types import ModuleType

from convlab.lessons.exercise import Exercise
from convlab.lessons.exercises import (
    blocked_product,
    buffer,
    cheapest_chain,
    convolve,
    deltas,
    filter_tile,
    flip,
    im2col,
    im2row,
    index_map,
    largest_batch,
    layer_intensity,
    output_size,
    pack,
    phase_seconds,
    places,
    registers,
    regret,
    roof_share,
    smallest_batch,
    tap_mask,
    through_the_buffer,
)
from convlab.lessons.kernel_exercise import KernelExercise

_FILES: tuple[ModuleType, ...] = (
    flip,
    *(output_size, convolve),
    *(largest_batch, im2row, im2col),
    *(pack, blocked_product, registers),
    *(buffer, places, through_the_buffer),
    *(index_map, deltas, tap_mask),
    filter_tile,
    *(layer_intensity, smallest_batch, roof_share),
    *(phase_seconds, regret, cheapest_chain),
)

EXERCISES: dict[str, Exercise | KernelExercise] = {
    file.__name__.rpartition(".")[2]: file.EXERCISE for file in _FILES
}
