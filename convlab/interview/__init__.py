"""The interview: tasks against the clock, and rounds of finding a bug.

    task = interview.begin("conv2d_nchw")       the clock runs; `task` on a line of its own shows it
    task.submit(my_function)                    is it right? hidden cases try it, as `check` does
    task = interview.find_the_bug(1)            a function of the course with one line that is wrong
    task.submit(7, "y[p] += x[h] * w[r]")       line 7 is the one, and so it should be
    task.pause(), task.resume(), task.left      the clock; `interview.give_up(task)` shows the solution

`coding` has all of it.
"""

from convlab.interview.coding.begin import begin, find_the_bug
from convlab.interview.coding.tasks import TASKS
from convlab.interview.coding.timed import give_up

__all__ = ["TASKS", "begin", "find_the_bug", "give_up"]
