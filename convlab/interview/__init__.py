"""The interview: drills with fresh numbers, code against the clock, questions at the whiteboard, all of it.

    one = drill("flops", 7)                     a question; one.judge("1.2 GFLOP") says whether that is right
    answer(one, "1.2 GFLOP", 70)                the same, remembered: 70 % sure; what was missed comes again
    cards()                                     a card that asks one after the other, for ever

    task = begin("conv2d_nchw")                 the clock runs; `task` on a line of its own shows it
    task.submit(my_function)                    is it right? hidden cases try it, as `check` does
    bug = find_the_bug(1)                       a function of the course with one line that is wrong
    bug.submit(7, "y[p] += x[h] * w[r]")        line 7 is the one, and so it should be
    task.pause(), task.resume(), task.left      the clock; `give_up(task)` shows the solution

    walk_through("gpu")                         a question for the whiteboard: try it, then walk through it

    talk = mock(1)                              45 minutes drawn from all of it; `talk` shows where you are
    talk.next(), talk.report()                  the next part; how it went, as a page to print

    cheat_sheet().save("sheet.pdf")             all of it on one page, with numbers that were computed now
    two_days()                                  a plan in hours for the two days before; what was missed first

The tasks are in `coding`, the questions in `walks`, the 45 minutes in `mocks`, the page in `sheet`, the
two days in `plan`. Of the drills read in this order:

    kind            what a kind of drill asks; `kinds` has a file for each theme
    shapes, slips   layers of real networks in words, and what people forget of them
    units, words    what an answer is counted in, and how people write that
    reading         a number as people type it
    drills, judge   a question, and what is said of an answer; `sentences` has the words
    history         what was answered, and which kind comes next
    drill_cards     the same on a card; `drill_rules` is what it needs to judge with no Python
    terminal        `convlab interview`, its lines (`console`) and its `summary`
"""

from __future__ import annotations

from typing import Any

from convlab.interview.coding.begin import begin, find_the_bug
from convlab.interview.coding.tasks import TASKS
from convlab.interview.coding.timed import give_up
from convlab.interview.drills import drill
from convlab.interview.history import answer
from convlab.interview.kinds import KINDS
from convlab.interview.mocks.talk import mock
from convlab.interview.plan import two_days
from convlab.interview.sheet import cheat_sheet
from convlab.support.lazy import door


def _offer() -> dict[str, Any]:  # what needs widgets, which take their time to import
    from convlab.interview.drill_cards import cards
    from convlab.interview.walks.show import WALKS, walk_through

    return locals()


_HERE = (
    "KINDS",
    "TASKS",
    "answer",
    "begin",
    "cheat_sheet",
    "drill",
    "find_the_bug",
    "give_up",
    "mock",
    "two_days",
)
_with_widgets, __getattr__ = door(__name__, _offer)
__all__ = sorted([*_HERE, *_with_widgets])
