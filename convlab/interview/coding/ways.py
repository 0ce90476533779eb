"""What is typed to go on with a timed task: Python in a notebook, commands in a terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ways:
    """What is typed to go on with a task: in a notebook, or elsewhere.

    Attributes
    ----------
    pause, resume, give_up : str
    submit : str
        With an answer that stands for any.
    anew : str
        What stands at the end of the call that begins a task, to begin it once more; "" if that is not said.
    hand_in : str
        How an answer is handed over, in sentences; "" is as each kind of task says it.
    """

    pause: str = "task.pause()"
    resume: str = "task.resume()"
    give_up: str = "interview.give_up(task)"
    submit: str = "task.submit(my_function)"
    anew: str = ", anew=True)"
    hand_in: str = ""


NOTEBOOK = Ways()
ROUND = Ways("bug.pause()", "bug.resume()", "interview.give_up(bug)")  # in a notebook, of finding a bug
IMPORTS = {False: "import numpy as np", True: "from convlab.gpu import cuda, float32"}  # by: is it a kernel?
