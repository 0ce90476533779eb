"""The interview: tasks against the clock, and rounds of finding a bug.

    task = interview.begin("conv2d_nchw")       the clock runs; `task` on a line of its own shows it
    task.submit(my_function)                    is it right? hidden cases try it, as `check` does
    task = interview.find_the_bug(seed=1)       a function of the course with one line that is wrong
    task.submit(7, "y[p] += x[h] * w[r]")       line 7 is the one, and so it should be
    task.pause(), task.resume(), task.left      the clock; `interview.give_up(task)` shows the solution

Read in this order:

    clock             how time is kept, whatever is closed meanwhile
    timed             a task with its clock
    coding            the tasks: a file for each
    bug_rounds        which mistakes of the course make a round
"""

from convlab.interview.begin import begin, find_the_bug
from convlab.interview.coding import TASKS
from convlab.interview.timed import give_up

__all__ = ["TASKS", "begin", "find_the_bug", "give_up"]
