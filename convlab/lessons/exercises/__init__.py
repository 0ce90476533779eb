"""All exercises, in the order of the course: a file each, which has everything that is known of it."""

from __future__ import annotations

from types import ModuleType

from convlab.lessons.exercise import Exercise
from convlab.lessons.exercises import (
    blocked_product,
    buffer,
    convolve,
    filter_tile,
    flip,
    output_size,
    pack,
    places,
    registers,
    through_the_buffer,
)
from convlab.lessons.kernel_exercise import KernelExercise

_FILES: tuple[ModuleType, ...] = (
    flip,
    *(output_size, convolve),
    *(pack, blocked_product, registers),
    *(buffer, places, through_the_buffer),
    *(filter_tile,),
)

EXERCISES: dict[str, Exercise | KernelExercise] = {
    file.__name__.rpartition(".")[2]: file.EXERCISE for file in _FILES
}
