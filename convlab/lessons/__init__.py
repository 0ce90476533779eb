"""Exercises and predictions: `check` an answer, ask for a `hint` or the `solution`, `predict` a number, make
`trial` of a kernel.

Read in this order:

    exercise, kernel_exercise   what an exercise is; `exercises/` has a file for each
    checks, kernel_checks       how an answer is tried: `attempt`, `kernel_run`, watched over by `guard`
    difference, grids           what is wrong with it, in words and as a picture
    diagnosis, clues            which mistake it behaves like: `across` all cases, in `parts` of a result
    kernel_diagnosis            the same of a kernel, by what it did; `kernel_clues`, if that has no name
    kernel_compiles             whether Numba takes it at all
    kernel_waste, kernel_view   what a kernel pays too much for; the warp microscope where it went wrong
    watch, borrowed             how it computes, where that is the point, and whether it does so itself
    tutor                       hints and solutions
    predictions                 a number to guess before it shows
    progress, progress_file     what is remembered of the learner's work
    course, map_of_course       how far that is
"""

from convlab.lessons.checks import check, reveal, trial
from convlab.lessons.exercises import EXERCISES
from convlab.lessons.map_of_course import course_map
from convlab.lessons.predictions import predict
from convlab.lessons.tutor import hint, solution

__all__ = ["EXERCISES", "check", "course_map", "hint", "predict", "reveal", "solution", "trial"]
