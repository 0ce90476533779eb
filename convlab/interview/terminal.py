"""`convlab interview`: drills one after the other, typed in a terminal or read from a pipe."""

from __future__ import annotations

import secrets
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from io import TextIOWrapper

from convlab.interview.drills import Drill, drill
from convlab.interview.history import keep, next_kind
from convlab.interview.judge import Judged
from convlab.interview.kinds import KINDS
from convlab.interview.summary import Answered, summary
from convlab.lessons.progress_file import ProgressFile

WIDTH = 88  # letters of a line, at most
MOST_SEED = 10**15  # of the first drill; each next one has the next
HOW = (
    "Type an answer, with a unit or without. An empty line passes the drill over; it comes again. "
    "Ctrl-D or Ctrl-C ends, and what you answered is kept."
)
INTERRUPTED = 130  # the exit status of what Ctrl-C ended


def run(memory: ProgressFile, kind: str | None = None, seed: int | None = None, count: int = 10) -> int:
    """Ask drills until there are enough, or the input ends; return the exit status.

    Parameters
    ----------
    memory : ProgressFile
        Where answers are kept, and what was missed is known from.
    kind : str, optional
        The only kind to ask; by default what comes next by the boxes of `history`.
    seed : int, optional
        The seed of the first drill; each next one has the next. Without a kind they go through all kinds in
        order, the same for the same seed. By default each drill is drawn anew.
    count : int
    """
    done: list[Answered] = []
    status = 0
    if isinstance(sys.stdin, TextIOWrapper):  # bytes that are no text are no answer, and no end of it either
        sys.stdin.reconfigure(errors="replace")
    _say(HOW)
    try:
        for number in range(count):
            one = _draw(memory, kind, seed, number)
            _say(f"\nDrill {number + 1} of {count}: {one.about.title} ({one.kind}, seed {one.seed})\n")
            _say(one.question)
            _ask(memory, one, done)
    except EOFError:
        _say("\nThe input ended.")
    except KeyboardInterrupt:
        _say("\nInterrupted.")
        status = INTERRUPTED
    _say("")
    for line in summary(done, memory):
        _say(line)
    return status


def _draw(memory: ProgressFile, kind: str | None, seed: int | None, number: int) -> Drill:
    if seed is None:
        return drill(kind or next_kind(memory.events()), secrets.randbelow(1 << 31))
    names = list(KINDS)
    return drill(kind or names[(seed + number) % len(names)], seed + number)


def _ask(memory: ProgressFile, one: Drill, done: list[Answered]) -> None:
    """Ask until an answer is understood; judge it, and keep it, even if the input ends before all is said."""
    begun = time.monotonic()  # no clock that is set while we wait changes it
    said: Judged | None = None
    for typed in _typed("> "):
        if not typed.strip():
            break
        said = one.verdict(typed)
        if said.value is not None:
            break
        _say(said.note.body)
    seconds = time.monotonic() - begun
    if said is None or said.value is None:
        keep(memory, one, None, None, seconds)
        done.append(Answered(one, None, None, seconds))
        _say("Passed over.")
        return _show_steps(one)
    sure = None
    try:
        sure = _sureness()
    finally:
        keep(memory, one, said, sure, seconds)
        done.append(Answered(one, said, sure, seconds))
    _say("")
    for words in filter(None, (said.note.title, said.note.diagnosis, said.note.body)):
        _say(words)
    return _show_steps(one)


def _sureness() -> float:
    from convlab.widgets.guess import SURE  # here: widgets take their time to import

    asked = f"How sure are you that this is right, in percent: {', '.join(SURE[:-1])} or {SURE[-1]}?"
    _say(asked)
    for typed in _typed("% "):
        if (sure := typed.strip().removesuffix("%").strip()) in SURE:
            return float(sure)
        _say(f"That is none of them: {', '.join(SURE)}.")
    raise EOFError


def _show_steps(one: Drill) -> None:
    for step in one.steps:
        _say(step, indent="    ")


def _typed(prompt: str) -> Iterator[str]:
    """Yield the lines that are typed.

    Raises
    ------
    EOFError
        At the end of the input.
    """
    while True:
        print(prompt, end="", flush=True)
        if not (line := sys.stdin.readline()):
            raise EOFError
        if not sys.stdin.isatty():  # a terminal shows what was typed; a pipe does not
            print(line[:WIDTH].rstrip("\n"))
        yield line


def _say(text: str, indent: str = "") -> None:
    """Print words in lines that are not too long; what stands around a × stays together."""
    width = min(WIDTH, max(shutil.get_terminal_size((WIDTH, 24)).columns - 1, 20))
    for line in text.replace(" × ", "\u00a0×\u00a0").split("\n"):
        wrapped = textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent)
        print(wrapped.replace("\u00a0", " "))
