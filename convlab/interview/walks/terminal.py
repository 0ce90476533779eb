"""`convlab interview walk`: a question for the whiteboard in a terminal, point after point."""

from __future__ import annotations

import time
from functools import partial

from convlab.interview.coding.clock import clock_text
from convlab.interview.console import forgotten, say, to_the_end, typed_lines
from convlab.interview.walks import record
from convlab.interview.walks.show import WALKS
from convlab.interview.walks.walk import Walk
from convlab.lessons.progress_file import ProgressFile
from convlab.support.units import plural

MORE = (
    "A model answer at the level of b (borderline), h (hire) or s (strong hire); p for pitfalls, f for what "
    "is asked next. An empty line ends."
)


def run(memory: ProgressFile, name: str | None = None) -> int:
    """Ask a question, go through its points, and show what there is to read; return the exit status.

    Parameters
    ----------
    memory : ProgressFile
        Where the points are kept that were ticked.
    name : str, optional
        One of `WALKS`; by default the first that was never asked, else the one of which least was said.
    """
    walk = WALKS[name or _next_name(memory)]()
    before = record.ticked(memory.events(), walk.name)
    status = to_the_end(partial(_ask_and_read_on, memory, walk))
    if record.ticked(memory.events(), walk.name) == before:
        say("It was not ticked to its end, so nothing is kept of it.")
    elif memory.path is None:
        say(forgotten())
    if trouble := memory.trouble():
        say(trouble)
    return status


def _ask_and_read_on(memory: ProgressFile, walk: Walk) -> None:
    ask(memory, walk)
    _read_on(walk)


def ask(memory: ProgressFile, walk: Walk) -> None:
    """Ask a question, show its points one by one, and keep which of them were made.

    Raises
    ------
    EOFError
        If the input ends before all are ticked; then nothing is kept.
    """
    say(f"{walk.question}\n")
    say(f"It may take {plural(walk.minutes, 'minute')}. Answer aloud, as you would at a whiteboard.")
    begun = time.monotonic()  # no clock that is set meanwhile changes it
    next(typed_lines("Enter, when you are done "))
    seconds = time.monotonic() - begun
    say(f"\nThat took {clock_text(seconds)}. What did you say of this, in your own words?")
    made = []
    for number, point in enumerate(walk.points, 1):
        say(f"\n{number} of {len(walk.points)}: {point.title}")
        say(point.words, indent="    ")
        if _chosen("Did you say it, y or n? ", "yn") == "y":
            made.append(point.title)
    record.keep(memory, walk.name, made, len(walk.points), seconds)
    say(f"\n{len(made)} of {len(walk.points)} points made in {clock_text(seconds)}.")
    if missed := [point.title for point in walk.points if point.title not in made]:
        say("Not said yet:")
        for title in missed:
            say(title, indent="    ")


def _read_on(walk: Walk) -> None:
    """Show model answers, pitfalls and what is asked next, until an empty line is typed."""
    answers = walk.answers
    texts = {
        "b": answers.borderline,
        "h": answers.hire,
        "s": answers.strong,
        "p": "\n\n".join(f"{one.mistake}\nBetter: {one.better}" for one in walk.pitfalls),
        "f": "\n\n".join(f"{one.question}\n{one.answer}" for one in walk.follow_ups),
    }
    say(f"\n{MORE}")
    while letter := _chosen("b, h, s, p, f or Enter: ", [*texts, ""]):
        say(f"\n{texts[letter]}\n", indent="    ")


def _chosen(prompt: str, letters: str | list[str]) -> str:
    """Return one of a few letters, asked for until it is one of them."""
    for typed in typed_lines(prompt):
        if (letter := typed.strip().lower()[:1]) in list(letters):
            return letter
        say(f"Type one of {', '.join(filter(None, letters))}.")
    raise EOFError


def _next_name(memory: ProgressFile) -> str:
    """Return the walk of which least was said, one that was never asked before all others."""
    last = {name: record.ticked(memory.events(), name) for name in WALKS}
    share = {name: len(one.ticked) / max(one.points, 1) if one else -1.0 for name, one in last.items()}
    return min(share, key=lambda name: share[name])
