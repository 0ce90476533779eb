"""`convlab interview mock`: the same interview in a terminal, with its report at the end."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from convlab.errors import ParameterError
from convlab.interview import terminal
from convlab.interview.coding import outside
from convlab.interview.coding import terminal as coding
from convlab.interview.coding.clock import SOLVED
from convlab.interview.console import command, forgotten, lost, say, to_the_end, typed_lines
from convlab.interview.mocks.draw import BUG, CODE, DRILLS, MANY, WALK, WELCOME
from convlab.interview.mocks.record import leave, standing
from convlab.interview.mocks.stages import STAGES, Code, Stage
from convlab.interview.mocks.talk import mock
from convlab.lessons.progress import kept_in
from convlab.lessons.progress_file import ProgressFile
from convlab.support.units import plural

LEAVES = "leave"
NOTHING_LOST = "Ctrl-D or Ctrl-C stops the clock, and nothing is lost."
HOW = {
    CODE: f"Write it into a file, with its imports. The file's name hands it in; `{LEAVES}` goes on.",
    BUG: f"Say which line is wrong, and what should stand there; `{LEAVES}` goes on.",
}


def run(memory: ProgressFile, seed: int | None = None, report: Path | None = None, anew: bool = False) -> int:
    """Begin a mock, or go on with it, and show the report if it comes to its end; return the exit status.

    Parameters
    ----------
    memory : ProgressFile
    seed : int, optional
        As `mock` takes it.
    report : Path, optional
        Where to write the report as a page.
    anew : bool
    """
    with kept_in(memory):
        talk = mock(seed, anew=anew)
        talk.resume()
        say(f"Mock interview {talk.seed}. {NOTHING_LOST if memory.kept else _lost(memory, lost())}")
        status = to_the_end(partial(_take, talk.seed, memory))
        now = standing(talk.seed)
        if now and now.present:
            talk.pause()
            if memory.kept:
                say(f"\nThe clock stands. `{command(f'mock --seed {talk.seed}')}` goes on.")
        print(f"\n{talk.report()}")
        if report is not None:
            say(f"\n{talk.report().save(report)} is written; it can be printed.")
        if said := _lost(memory, forgotten()):
            say(f"\n{said}")
    return status


def _lost(memory: ProgressFile, without_folder: str) -> str:
    """Say what stands in the way of keeping what was done; nothing, where nothing does."""
    return without_folder if memory.path is None else memory.trouble(again=True)


def _take(seed: int, memory: ProgressFile) -> None:
    """Go through what is left of a mock."""
    while (now := standing(seed)) and (part := now.present):
        stage = STAGES[part.kind](now, part, HOW.get(part.kind, ""))
        stage.begin()
        say(f"\n{part.title}, {plural(part.minutes, 'minute')}\n")
        _ASK[part.kind](stage, memory)
        if now := standing(seed):
            STAGES[part.kind](now, part).end()
            leave(now, part)


def _welcome(stage: Stage, memory: ProgressFile) -> None:
    say(stage.shown().body)
    next(typed_lines("Enter, when you are ready "))


def _drills(stage: Stage, memory: ProgressFile) -> None:
    while (now := standing(stage.now.seed)) and (one := now.waiting()):
        say(f"\nDrill {len(now.of(stage.part).answers) + 1} of {MANY}: {one.about.title}\n")
        say(one.question)
        terminal.ask(memory, one, [])
    stage.end(SOLVED)


def _code(stage: Code, memory: ProgressFile) -> None:
    coding.show(stage.asked())
    for typed in typed_lines("file> "):
        if (name := typed.strip()) == LEAVES:
            return
        file = Path(os.path.expanduser(name))  # nobody's home is left as it is: no error
        try:
            coding.check_there(file, f"a Python file, or `{LEAVES}`")
        except ParameterError as error:
            say(str(error))
            continue
        note = stage.noted(outside.tried(stage.part.what, file.resolve()))
        coding.show(note)
        if note.good:
            return


def _bug(stage: Code, memory: ProgressFile) -> None:
    task = stage.asked()
    coding.show(task)
    coding.mended(stage.submit, len(task.code.splitlines()), LEAVES)


def _board(stage: Stage, memory: ProgressFile) -> None:
    from convlab.interview.walks import terminal as walks
    from convlab.interview.walks.show import WALKS

    walks.ask(memory, WALKS[stage.part.what]())
    stage.end(SOLVED)


_ASK: dict[str, Callable[[Any, ProgressFile], None]] = {
    WELCOME: _welcome,
    DRILLS: _drills,
    CODE: _code,
    BUG: _bug,
    WALK: _board,
}
