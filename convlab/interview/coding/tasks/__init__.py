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
    """A timed task.

    Attributes
    ----------
    exercise : Exercise or KernelExercise
    minutes : int
        How long one has for it.
    read : tuple of (str, str)
        Where the course has what it asks for: the numbers of notebooks, and the heading there.
    then : str
        The name of the one that is asked next; "" after the last.
    """

    exercise: Exercise | KernelExercise
    minutes: int
    read: tuple[tuple[str, str], ...]
    then: str = ""


TASKS: dict[str, Asked] = {
    "conv2d_nchw": Asked(
        conv2d_nchw.EXERCISE,
        30,
        (
            ("01", "The definition, as code"),
            ("01", "The size of the output"),
        ),
        "conv2d_vectorised",
    ),
    "conv2d_vectorised": Asked(
        conv2d_vectorised.EXERCISE,
        15,
        (
            ("01", "The same sum, four ways"),
            ("02", "Every window becomes a row"),
        ),
        "conv2d_grouped",
    ),
    "conv2d_grouped": Asked(
        conv2d_grouped.EXERCISE, 15, (("08", "Which filter reads which channel"),), "conv2d_lean"
    ),
    "conv2d_lean": Asked(
        conv2d_lean.EXERCISE,
        15,
        (
            ("02", "The price"),
            ("01", "What kn2row pays"),
        ),
        "conv2d_dgrad",
    ),
    "conv2d_dgrad": Asked(
        conv2d_dgrad.EXERCISE,
        20,
        (
            ("09", "Back to the input"),
            ("09", "Zeros, and how to leave them out"),
        ),
        "conv2d_wgrad",
    ),
    "conv2d_wgrad": Asked(conv2d_wgrad.EXERCISE, 15, (("09", "Back to the weights"),)),
    "kernel_padded": Asked(
        kernel_padded.EXERCISE,
        20,
        (
            ("10", "A kernel"),
            ("11", "One channel, one filter"),
        ),
        "kernel_coalesced",
    ),
    "kernel_coalesced": Asked(
        kernel_coalesced.EXERCISE,
        15,
        (
            ("10", "Neighbours in a picture"),
            ("11", "A layer with channels"),
        ),
        "kernel_tiled",
    ),
    "kernel_tiled": Asked(
        kernel_tiled.EXERCISE,
        25,
        (
            ("10", "Shared memory"),
            ("10", "Barriers, and races"),
        ),
    ),
}
