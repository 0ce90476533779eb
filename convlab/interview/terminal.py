"""`convlab interview`: drills one after the other, typed in a terminal or read from a pipe."""

from __future__ import annotations

import secrets
import time
from functools import partial

from convlab.interview.console import lost, say, to_the_end, typed_lines
from convlab.interview.drills import Drill, drill
from convlab.interview.history import keep, next_kind
from convlab.interview.judge import Judged
from convlab.interview.kinds import KINDS
from convlab.interview.summary import Answered, summary
from convlab.lessons.progress_file import ProgressFile

MOST_SEED = 10**15  # of the first drill; each next one has the next
HOW = "Type an answer, with a unit or without. An empty line passes the drill over; it comes again."
KEPT = "Ctrl-D or Ctrl-C ends, and what you answered is kept."


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
    say(f"{HOW} {lost() if memory.path is None else KEPT}")
    status = to_the_end(partial(_ask_all, memory, kind, seed, count, done))
    say("")
    for line in summary(done, memory):
        say(line)
    return status


def _ask_all(
    memory: ProgressFile, kind: str | None, seed: int | None, count: int, done: list[Answered]
) -> None:
    for number in range(count):
        one = _draw(memory, kind, seed, number)
        say(f"\nDrill {number + 1} of {count}: {one.about.title} ({one.kind}, seed {one.seed})\n")
        say(one.question)
        ask(memory, one, done)


def _draw(memory: ProgressFile, kind: str | None, seed: int | None, number: int) -> Drill:
    if seed is None:
        return drill(kind or next_kind(memory.events()), secrets.randbelow(1 << 31))
    names = list(KINDS)
    return drill(kind or names[(seed + number) % len(names)], seed + number)


def ask(memory: ProgressFile, one: Drill, done: list[Answered]) -> None:
    """Ask until an answer is understood; judge it, and keep it, even if the input ends before all is said."""
    begun = time.monotonic()  # no clock that is set while we wait changes it
    said: Judged | None = None
    for typed in typed_lines("> "):
        if not typed.strip():
            break
        said = one.verdict(typed)
        if said.value is not None:
            break
        say(said.note.body)
    seconds = time.monotonic() - begun
    if said is None or said.value is None:
        keep(memory, one, None, None, seconds)
        done.append(Answered(one, None, None, seconds))
        say("Passed over.")
        return _show_steps(one)
    sure = None
    try:
        sure = _sureness()
    finally:
        keep(memory, one, said, sure, seconds)
        done.append(Answered(one, said, sure, seconds))
    say("")
    for words in filter(None, (said.note.title, said.note.diagnosis, said.note.body)):
        say(words)
    return _show_steps(one)


def _sureness() -> float | None:
    """Ask how sure the learner is; who does not say it is left out by calibration."""
    from convlab.widgets.guess import SURE  # here: widgets take their time to import

    levels = f"{', '.join(SURE[:-1])} or {SURE[-1]}"
    say(f"How sure are you that this is right, in percent: {levels}? With an empty line you do not say.")
    for typed in typed_lines("% "):
        if not typed.strip():
            return None
        if (sure := typed.strip().removesuffix("%").strip()) in SURE:
            return float(sure)
        say(f"That is none of them: {', '.join(SURE)}.")
    raise EOFError


def _show_steps(one: Drill) -> None:
    for step in one.steps:
        say(step, indent="    ")
