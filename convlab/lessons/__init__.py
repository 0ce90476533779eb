"""Exercises and predictions: `check` an answer, `reveal` a number you guessed, make `trial` of a kernel."""

from convlab.lessons.checks import check, reveal, trial
from convlab.lessons.exercises import EXERCISES

__all__ = ["EXERCISES", "check", "reveal", "trial"]
