"""Exercises and predictions: `check` an answer, ask for a `hint` or the `solution`, `reveal` a number you
guessed, make `trial` of a kernel.

Read in this order:

    exercise, kernel_exercise   what an exercise is; `exercises/` has a file for each
    checks, kernel_checks       how an answer is tried: `attempt`, watched over by `guard`
    difference, grids           what is wrong with it, in words and as a picture
    diagnosis, clues, parts     which mistake it behaves like
    watch                       how it computes, where that is the point
    tutor, progress             hints and solutions; what is remembered of the learner's work
"""

from convlab.lessons.checks import check, reveal, trial
from convlab.lessons.exercises import EXERCISES
from convlab.lessons.tutor import hint, solution

__all__ = ["EXERCISES", "check", "hint", "reveal", "solution", "trial"]
