"""The interview: drills with fresh numbers, judged, and what was missed comes again.

    one = drill("flops", 7)            a question; one.judge("1.2 GFLOP") says whether that is right
    answer(one, "1.2 GFLOP", 70)       the same, remembered: 70 % sure

Read in this order:

    kind            what a kind of drill asks; `kinds` has a file for each theme
    shapes, slips   layers of real networks in words, and what people forget of them
    units, words    what an answer is counted in, and how people write that
    reading         a number as people type it
    drills, judge   a question, and what is said of an answer
    history         what was answered, and which kind comes next
    terminal        `convlab interview`, and its `summary`
"""

from convlab.interview.drills import drill
from convlab.interview.history import answer
from convlab.interview.kinds import KINDS

__all__ = ["KINDS", "answer", "drill"]
