"""An answer in a file, tried in a process of its own: whatever it does, the terminal that asks goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

from convlab.interview.coding.tasks import TASKS
from convlab.lessons.attempt import said_of_error
from convlab.lessons.checks import judge
from convlab.lessons.guard import TimeUp, guarded
from convlab.lessons.note import Note
from convlab.support import another_python

NAME = "convlab_answer"  # of the module that an answer becomes
LOADING = 10.0  # seconds until all of the file must have been read
LONGEST = 120.0  # seconds for all of it; what is in Python itself is stopped long before
KEPT = ("good", "title", "body", "diagnosis", "code")  # of a note, for the terminal


def tried(name: str, file: Path, longest: float = LONGEST) -> Note:
    """Try the answer to a task that stands in a file, and say how it went.

    Parameters
    ----------
    name : str
        The task, of `TASKS`.
    file : Path
    longest : float
        Seconds after which the process is stopped from outside.
    """
    command = [sys.executable, *another_python.module(__name__), name, str(file)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=longest,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        said = f"{file.name} was still at work after {longest:g} s, where Python cannot be stopped."
        return Note(False, "It takes too long, and was stopped.", said)
    try:
        return Note(**json.loads(done.stdout.rpartition("\n")[2]))
    except (ValueError, TypeError):  # it ended before it could say anything
        said = f"The process that tried {file.name} ended with status {done.returncode}."
        last = done.stderr.strip().rpartition("\n")[2]
        return Note(False, "Your program ended Python itself.", f"{said}\n{last}".strip())


def judged(name: str, file: Path) -> Note:
    """Do the same in this process."""
    exercise = TASKS[name].exercise
    wanted = exercise.solution.__name__
    module = types.ModuleType(NAME)
    module.__file__ = str(file)
    sys.modules[NAME] = module  # dataclasses look their own up there
    sys.path.append(str(file.parent))  # it may import what lies beside it, but nothing that hides a library
    try:
        with guarded(LOADING):
            exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        where = f"Line {error.lineno} of {file.name}: {(error.text or '').strip()}"
        return Note(False, f"It is no Python: {error.msg}.", where)
    except TimeUp:
        said = f"After {LOADING:g} s {file.name} was not read to its end. Let it only define `{wanted}`."
        return Note(False, "It takes too long to load, and was stopped.", said)
    except KeyboardInterrupt:  # both this process and the one that waits for it are stopped
        raise
    except BaseException as error:
        return Note(False, "It cannot be loaded: it raised an error.", said_of_error(error))
    if wanted not in vars(module):
        own = [one for one, thing in vars(module).items() if getattr(thing, "__module__", "") == NAME]
        there = f"There is {', '.join(own)}." if own else "It defines no function."
        return Note(False, f"There is no `{wanted}` in {file.name}.", there)
    return judge(exercise, vars(module)[wanted], f"Let {file.name} define {wanted} itself.")


def main(name: str, file: str) -> None:
    """Judge an answer, and write what is said of it to where this process was told to write."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as told:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the answer prints is not for those who read this
        note: dict[str, Any] = vars(judged(name, Path(file)))
        told.write("\n" + json.dumps({part: note[part] for part in KEPT}))


if __name__ == "__main__":
    main(*sys.argv[1:])
