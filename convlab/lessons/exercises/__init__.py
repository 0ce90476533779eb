"""All exercises, in the order of the course: a file each, which has everything that is known of it."""

from __future__ import annotations

from types import ModuleType

from convlab.lessons.exercise import Exercise
from convlab.lessons.exercises import (
    blocked_product,
    buffer,
    build_table,
    cheapest_chain,
    convolve,
    copy,
    filter_naive,
    filter_tile,
    flip,
    gather,
    layer_intensity,
    output_size,
    pack,
    phase_seconds,
    places,
    register_tile,
    registers,
    regret,
    reverse,
    roof_share,
    smallest_batch,
    tail,
    through_the_buffer,
    turn,
)
from convlab.lessons.kernel_exercise import KernelExercise

_FILES: tuple[ModuleType, ...] = (
    flip,
    *(output_size, convolve),
    *(pack, blocked_product, registers),
    *(buffer, places, through_the_buffer),
    *(copy, reverse, turn),
    *(filter_naive, tail, filter_tile),
    *(register_tile,),
    *(gather, build_table),
    *(layer_intensity, smallest_batch, roof_share),
    *(phase_seconds, regret, cheapest_chain),
)

EXERCISES: dict[str, Exercise | KernelExercise] = {
    file.__name__.rpartition(".")[2]: file.EXERCISE for file in _FILES
}
