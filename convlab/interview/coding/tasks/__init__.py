"""The timed tasks: how long each takes, and what an interviewer asks next; a file for each."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.interview.coding.tasks import (
    conv2d_dgrad,
    conv2d_grouped,
    conv2d_lean,
    conv2d_nchw,
    conv2d_vectorised,
    conv2d_wgrad,
    kernel_coalesced,
    kernel_padded,
    kernel_tiled,
)
from convlab.lessons.exercise import Exercise
from convlab.lessons.kernel_exercise import KernelExercise


@dataclass(frozen=True)
class Asked:
    """A task, the minutes one has for it, and the name of the one that is asked next; "" after the last."""

    exercise: Exercise | KernelExercise
    minutes: int
    then: str = ""


TASKS: dict[str, Asked] = {
    "conv2d_nchw": Asked(conv2d_nchw.EXERCISE, 30, "conv2d_vectorised"),
    "conv2d_vectorised": Asked(conv2d_vectorised.EXERCISE, 15, "conv2d_grouped"),
    "conv2d_grouped": Asked(conv2d_grouped.EXERCISE, 15, "conv2d_lean"),
    "conv2d_lean": Asked(conv2d_lean.EXERCISE, 15, "conv2d_dgrad"),
    "conv2d_dgrad": Asked(conv2d_dgrad.EXERCISE, 20, "conv2d_wgrad"),
    "conv2d_wgrad": Asked(conv2d_wgrad.EXERCISE, 15),
    "kernel_padded": Asked(kernel_padded.EXERCISE, 20, "kernel_coalesced"),
    "kernel_coalesced": Asked(kernel_coalesced.EXERCISE, 15, "kernel_tiled"),
    "kernel_tiled": Asked(kernel_tiled.EXERCISE, 25),
}
