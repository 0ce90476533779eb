"""Exercises and predictions: `check` an answer, `predict` a number, make `trial` of a kernel.

Read `exercise` (what an exercise is) and `checks` (how an answer is tried) first. `exercises` lists the files
that hold them, one or two for a notebook. `kernel_exercise` and `kernel_answers`: if the answer is a kernel.
`predictions`: a number to guess before it shows. `progress` is the learner's memory: what was tried and
predicted, in a file (`progress_file`) in their folder; `course` and `map_of_course` show how far that is.
"""

from convlab.lessons.checks import check, reveal, trial
from convlab.lessons.exercises import EXERCISES
from convlab.lessons.map_of_course import course_map
from convlab.lessons.predictions import predict

__all__ = ["EXERCISES", "check", "course_map", "predict", "reveal", "trial"]
