"""Lines that are said in a terminal, and those that are typed there or come from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper

from convlab.lessons import progress
from convlab.support.install import convlab_command
from convlab.support.wrapping import columns, wrapped

WIDTH = 88  # letters of a line, at most
INTERRUPTED = 130  # the exit status of what Ctrl-C ended


def forgotten() -> str:
    """Say that nothing was kept."""
    makes = convlab_command("lab")
    return f"There is no folder of yours here, so this is forgotten now; `{makes}` makes one."


def lost() -> str:
    """Say beforehand that nothing will be kept."""
    return (
        "There is no folder of yours here, so all of it is forgotten when it ends, by Ctrl-D or Ctrl-C as "
        f"well: `{convlab_command('lab')}` makes one, `--work DIR` names one."
    )


def command(words: str = "", *, remembers: bool = True) -> str:
    """Return how a command is typed: if it remembers anything, with the learner's folder that was named."""
    option = progress.memory().option if remembers else ""
    return " ".join(filter(None, (convlab_command("interview"), words, option)))


def to_the_end(asking: Callable[[], object]) -> int:
    """Ask until all is asked, the input ends or Ctrl-C is pressed; say which, and return the exit status."""
    if isinstance(sys.stdin, TextIOWrapper):  # bytes that are no text are no answer, and no end of it either
        sys.stdin.reconfigure(errors="replace")
    try:
        asking()
    except EOFError:
        say("\nThe input ended.")
    except KeyboardInterrupt:
        say("\nInterrupted.")
        return INTERRUPTED
    return 0


def typed_lines(prompt: str) -> Iterator[str]:
    """Yield the lines that are typed.

    Raises
    ------
    EOFError
        At the end of the input.
    """
    while True:
        print(prompt, end="", flush=True)
        if not (line := _line()):
            raise EOFError
        if not sys.stdin.isatty():  # a terminal shows what was typed; a pipe does not
            print(line[:WIDTH].rstrip("\n"))
        yield line


def _line() -> str:
    """Return the next line of the input; "" where it is closed, gone or at its end."""
    try:
        return sys.stdin.readline() if sys.stdin else ""
    except OSError:  # the terminal is closed, or it is another's now
        return ""


def say(text: str, indent: str = "") -> None:
    """Print words in lines that are not too long."""
    for line in text.split("\n"):
        print(wrapped(line, columns(WIDTH), indent))
