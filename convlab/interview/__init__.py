"""The interview: drills with fresh numbers, tasks against the clock, and rounds of finding a bug.

    one = drill("flops", 7)                     a question; one.judge("1.2 GFLOP") says whether that is right
    answer(one, "1.2 GFLOP", 70)                the same, remembered: 70 % sure; what was missed comes again

    task = begin("conv2d_nchw")                 the clock runs; `task` on a line of its own shows it
    task.submit(my_function)                    is it right? hidden cases try it, as `check` does
    task = find_the_bug(1)                      a function of the course with one line that is wrong
    task.submit(7, "y[p] += x[h] * w[r]")       line 7 is the one, and so it should be
    task.pause(), task.resume(), task.left      the clock; `give_up(task)` shows the solution

    cheat_sheet().save("sheet.pdf")             all of it on one page, with numbers that were computed now

The tasks are in `coding`. Of the drills read in this order:

    kind            what a kind of drill asks; `kinds` has a file for each theme
    shapes, slips   layers of real networks in words, and what people forget of them
    units, words    what an answer is counted in, and how people write that
    reading         a number as people type it
    drills, judge   a question, and what is said of an answer
    history         what was answered, and which kind comes next
    terminal        `convlab interview`, its lines (`console`) and its `summary`
"""

from convlab.interview.coding.begin import begin, find_the_bug
from convlab.interview.coding.tasks import TASKS
from convlab.interview.coding.timed import give_up
from convlab.interview.drills import drill
from convlab.interview.history import answer
from convlab.interview.kinds import KINDS
from convlab.interview.sheet import cheat_sheet

__all__ = ["KINDS", "TASKS", "answer", "begin", "cheat_sheet", "drill", "find_the_bug", "give_up"]
