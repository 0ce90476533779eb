"""Exercises and predictions: `check` an answer, `reveal` a number after you have guessed it."""

from convlab.lessons.checks import check, reveal
from convlab.lessons.exercises import EXERCISES

__all__ = ["EXERCISES", "check", "reveal"]
