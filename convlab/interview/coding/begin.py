"""`begin` a task of the interview, or a round of `find_the_bug`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from convlab.interview.coding.mending import BugRound
from convlab.interview.coding.tasks import TASKS
from convlab.interview.coding.timed import CodingTask
from convlab.interview.coding.ways import ROUND
from convlab.support.checked import checked
from convlab.support.checks import LARGEST, check_choice, check_whole


@checked
def begin(name: Annotated[str, partial(check_choice, words=TASKS)], *, anew: bool = False) -> CodingTask:
    """Begin a timed task, or go on with it: its clock has run since it was begun, whatever was closed.

    Parameters
    ----------
    name : str
        One of `TASKS`, e.g. "conv2d_nchw".
    anew : bool
        Begin once more, with all the time.

    Returns
    -------
    CodingTask
        Shows the task and its clock. ``submit(function)`` tries an answer, ``pause()`` and ``resume()`` stop
        the clock and let it run again, ``left`` is the seconds that are left.

    Raises
    ------
    ConvError
        If no task has this name.
    """
    one = TASKS[name]
    then = f'interview.begin("{one.then}")' if one.then else ""
    call = f'interview.begin("{name}")'
    return CodingTask(name, one.exercise, one.minutes, call=call, then=then, anew=anew)


@checked
def find_the_bug(
    seed: Annotated[int, partial(check_whole, least=0, most=LARGEST)] = 0, *, anew: bool = False
) -> BugRound:
    """Begin a round of finding a bug, or go on with it: a function of the course, one line of it wrong.

    Parameters
    ----------
    seed : int
        Which round: one seed is always the same, the next is another function.
    anew : bool
        Begin once more, with all the time.

    Returns
    -------
    BugRound
        Shows the lines and the clock. ``submit(line, text)`` says which line is wrong, and what should stand
        there; all else is as with `begin`.

    Raises
    ------
    ConvError
        If the seed is no such number.
    """
    number, call = int(seed), "interview.find_the_bug({})".format
    name, then = f"find_the_bug {number}", call(number + 1)
    return BugRound(name, number, call=call(number), then=then, anew=anew, ways=ROUND)
