"""All exercises, in the order of the course: a file each, which has everything that is known of it."""

from __future__ import annotations

from types import ModuleType

from convlab.lessons.exercise import Exercise
from convlab.lessons.exercises import (
    blocked_product,
    blocks_at_once,
    both_ways,
    buffer,
    build_table,
    cheapest_chain,
    choose_split,
    convolve,
    copy,
    correlate,
    deltas,
    depthwise,
    depthwise_intensity,
    fast_size,
    fetched,
    filter_naive,
    filter_tile,
    flip,
    gather,
    gradient_1d,
    halo,
    holder,
    im2col,
    im2row,
    index_map,
    indirect_tile,
    largest_batch,
    layer_intensity,
    ldmatrix_passes,
    mend,
    missing_border,
    output_size,
    pack,
    phase_seconds,
    register_tile,
    registers,
    regret,
    reverse,
    roof_share,
    separable_saving,
    smallest_batch,
    strip_height,
    subfilters,
    table_over_matrix,
    tail,
    tap_mask,
    through_the_buffer,
    tiles,
    transposed_size,
    turn,
    wgrad_parts,
    winograd_picture,
    winograd_products,
    winograd_tile,
)
from convlab.lessons.kernel_exercise import KernelExercise

_FILES: tuple[ModuleType, ...] = (
    flip,
    *(output_size, mend, convolve),
    *(largest_batch, im2row, im2col),
    *(pack, blocked_product, registers),
    *(buffer, indirect_tile, through_the_buffer),
    *(index_map, deltas, tap_mask),
    *(winograd_tile, winograd_picture, winograd_products),
    *(correlate, fast_size, tiles),
    *(depthwise, separable_saving, depthwise_intensity),
    *(gradient_1d, transposed_size, subfilters, wgrad_parts),
    *(copy, reverse, turn),
    *(filter_naive, tail, filter_tile),
    *(fetched, register_tile),
    *(gather, table_over_matrix, build_table),
    *(ldmatrix_passes, holder, blocks_at_once),
    *(layer_intensity, smallest_batch, roof_share),
    *(phase_seconds, regret, cheapest_chain),
    *(halo, strip_height, missing_border, both_ways, choose_split),
)

EXERCISES: dict[str, Exercise | KernelExercise] = {
    file.__name__.rpartition(".")[2]: file.EXERCISE for file in _FILES
}
