"""Timed tasks and rounds of finding a bug in a terminal, with the clock and the memory of the notebooks."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

from convlab.errors import ParameterError
from convlab.interview.coding import outside
from convlab.interview.coding.bug_rounds import BUG
from convlab.interview.coding.clock import KIND, Clock
from convlab.interview.coding.mending import BugRound
from convlab.interview.coding.tasks import TASKS
from convlab.interview.coding.timed import CodingTask, TimedTask, give_up
from convlab.interview.coding.ways import IMPORTS, Ways
from convlab.interview.console import WIDTH, command, forgotten, say, to_the_end, typed_lines
from convlab.lessons import progress
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.note import Note
from convlab.support.checks import check_choice
from convlab.support.clock_words import RUNS, STOPPED, clock_words
from convlab.support.install import convlab_command

GIVES_UP = "give up"


def coding_task(name: str, *, anew: bool = False) -> CodingTask:
    """Begin a task, or go on with it, with what is typed in a terminal."""
    one = TASKS[check_choice("NAME", name, TASKS)]
    hand_in = (
        f"Write it in {name}.py. `{command(f'submit {name}')}` tries it on hidden cases; `{command('hint')}` "
        f"helps on, `{command('pause')}` stops the clock."
    )
    then = command(f"code {one.then}") if one.then else ""
    call, ways = command(f"code {name}"), _ways(hand_in)
    return CodingTask(name, one.exercise, one.minutes, call=call, then=then, anew=anew, ways=ways)


def bug_round(seed: int, *, anew: bool = False) -> BugRound:
    """Begin a round of finding a bug, or go on with it, with what is typed in a terminal."""
    hand_in = f"One line is wrong, or wastes what it need not. `{GIVES_UP}` in place of its number shows it."
    name, ways = f"find_the_bug {seed}", _ways(hand_in)
    call, then = command(f"bug {seed}"), command(f"bug {seed + 1}")
    return BugRound(name, seed, call=call, then=then, anew=anew, ways=ways)


def _ways(hand_in: str) -> Ways:
    pause, resume, give_up, submit = map(command, ("pause", "resume", "give-up", "submit FILE"))
    return Ways(pause, resume, give_up, submit, " --anew", hand_in)


def tasks() -> list[tuple[str, str, str, str]]:
    """Return a row for each task: how long one has, how it stands, and what comes next."""
    return [(name, f"{one.minutes} min", _stands(name), one.then) for name, one in TASKS.items()]


def _stands(name: str) -> str:
    read = Clock(name).read()
    return clock_words(read.used, read.state, TASKS[name].minutes) if read.state else "not begun"


def the_task(*, states: tuple[str, ...] = (RUNS, STOPPED), coding: bool = False) -> TimedTask:
    """Return the task that was pressed last, of those that stand so.

    Parameters
    ----------
    states : tuple of str
    coding : bool
        No round of finding a bug.
    """
    for name in dict.fromkeys(event.name for event in reversed(progress.events(KIND))):
        bug = None if coding else BUG.fullmatch(name)
        if (bug or name in TASKS) and Clock(name).read().state in states:
            return bug_round(int(bug[1])) if bug else coding_task(name)
    raise ParameterError(f"no task is {' or '.join(states)}; expected one: {command('code NAME')} begins it")


def write(name: str, folder: Path) -> tuple[Path, bool]:
    """Write the file that an answer is to stand in, unless it is there; return it, and whether it is new."""
    exercise, file = TASKS[name].exercise, folder / f"{name}.py"
    statement = "\n".join(f"# {line}" for line in textwrap.wrap(exercise.statement, WIDTH))
    skeleton = exercise.skeleton
    if '"""' not in skeleton:  # of comments alone Python makes no function
        skeleton += "\n    pass"
    text = f"{statement}\n\n{IMPORTS[isinstance(exercise, KernelExercise)]}\n\n\n{skeleton}\n"
    try:
        with file.open("x", encoding="utf-8") as new:
            try:
                new.write(text)
                new.flush()
            except BaseException:  # half of it would be left as it is when the task is begun again
                file.unlink()
                raise
    except FileExistsError:
        return file, False
    except OSError as error:
        raise ParameterError(f"{str(file)!r}: {error.strerror}; expected a folder to write to") from None
    return file, True


def begin(name: str, folder: Path | None, *, anew: bool) -> None:
    """Begin a task or go on with it: say what is asked, what the clock shows, and where to write.

    Parameters
    ----------
    name : str
    folder : Path or None
        The learner's; with none there is nothing to keep a clock in.
    anew : bool
        Once more, with all the time.
    """
    check_choice("NAME", name, TASKS)
    if folder is None:
        needs = f"expected --work DIR, or the folder that `{convlab_command('lab')}` makes"
        raise ParameterError(f"there is no folder of yours here, to keep the clock in; {needs}")
    file, new = write(name, folder)
    show(coding_task(name, anew=anew).shown())
    say(f"{file} {'is made: write there.' if new else 'is there already, and left as it is.'}")


def mend(seed: int | None, *, anew: bool) -> int:
    """Ask which line of a program is wrong until that is found, or the input ends; return the exit status."""
    task = bug_round(_next_seed() if seed is None else seed, anew=anew)
    task.resume()  # who is asked is at work
    show(task.shown())
    if task.look()[0].ended:
        return 0

    def ask() -> None:
        if not mended(task.submit, len(task.shown().code.splitlines()), GIVES_UP):
            show(give_up(task))

    status = to_the_end(ask)
    memory = progress.memory()
    if memory.path is None:
        say(forgotten())
    elif memory.kept and not task.look()[0].ended:
        say(f"The clock runs on. `{command('pause')}` stops it, `{task.call}` goes on.")
    return status


def _next_seed() -> int:
    """Return the round that is not at its end, or else the first that was never begun."""
    begun = {event.name for event in progress.events(KIND)}
    there = [int(bug[1]) for name in begun if (bug := BUG.fullmatch(name)) and not Clock(name).read().ended]
    return min(there, default=next(seed for seed in count() if f"find_the_bug {seed}" not in begun))


def mended(submit: Callable[[int, str], Note], lines: int, ends: str) -> bool:
    """Ask which of some lines is wrong, and hand that in; return whether it was, before a word ended it."""
    for typed in typed_lines("line> "):
        word = typed.strip()
        if word == ends:
            return False
        if word not in map(str, range(1, lines + 1)):
            say(f"A number from 1 to {lines}, please, or `{ends}`.")
            continue
        note = submit(int(word), next(typed_lines("what should stand there> ")).rstrip("\n"))
        show(note)
        if note.good:
            return True
    return False


def press(what: str) -> None:
    """Do with the task that was pressed last what is said: "pause", "resume", "hint" or "give-up"."""
    states = {"pause": (RUNS,), "resume": (STOPPED,)}.get(what, (RUNS, STOPPED))
    task = the_task(states=states, coding=what == "hint")
    done: dict[str, Callable[[], Note]] = {"pause": task.pause, "resume": task.resume}
    if isinstance(task, CodingTask):
        done["hint"] = task.hint
    say(f"{task.name}:")
    show(done.get(what, partial(give_up, task))())


def show(note: Note) -> None:
    """Print a note; lines of a program are left as they are."""
    say("")
    for words in filter(None, (note.title, note.diagnosis, note.body)):
        say(words)
    if note.code:
        print(f"\n{note.code}\n")
    if note.aside:
        say(note.aside)


def check_there(file: Path, expected: str) -> None:
    """Refuse the name of a file that is not there."""
    try:
        there = file.is_file()
    except (OSError, ValueError):  # a name that no file can have
        there = False
    if not there:
        raise ParameterError(f"{str(file)[:200]!r} is no file that is there; expected {expected}")


def submit(what: str, folder: Path) -> int:
    """Try an answer that stands in a file, and remember how it went; return the exit status.

    Parameters
    ----------
    what : str
        The name of a task, whose file lies in the folder; or a file. One that has no task's name is for the
        task that runs.
    folder : Path
        The learner's.
    """
    file = folder / f"{what}.py" if what in TASKS else Path(what)
    if file.stem in TASKS and not Clock(file.stem).read().state:
        begins = command(f"code {file.stem}")
        raise ParameterError(f"{file.stem} was not begun; expected `{begins}` first")
    check_there(file, f"a Python file, or one of {', '.join(TASKS)}")
    task = coding_task(file.stem) if file.stem in TASKS else the_task(coding=True)
    notes: list[Note] = []
    say(f"{file.name}, as an answer to {task.name}:")
    status = to_the_end(lambda: notes.append(outside.tried(task.name, file.resolve())))
    for note in notes:
        show(task.noted(note))
    return status if not notes else 0 if notes[0].good else 1
