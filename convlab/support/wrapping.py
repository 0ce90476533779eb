"""Text in lines: as many letters as a terminal has room for, and what must not be parted stays together."""

from __future__ import annotations

import re
import shutil
from textwrap import fill

PLAIN = 100  # letters of a line of plain text, where there is room
LEAST = 20  # letters of a line, however narrow the terminal
ANY = 1 << 20  # letters of a line that nothing limits: in a pipe or a file
_GAP = "\N{NO-BREAK SPACE}"
_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGT]?FLOP|[KMGT]?i?B|[mµn]?s|k)\b|%)")
_PARAGRAPHS = re.compile(r"\n\s*\n")


def columns(most: int = ANY) -> int:
    """Return how many letters a line may have: `most`, or fewer in a terminal that is narrower."""
    return min(most, max(shutil.get_terminal_size((most + 1, 24)).columns - 1, LEAST))


def glued(text: str) -> str:
    """Return a text in which no line ends between a number and its unit."""
    return _UNIT.sub(_GAP, text)


def wrapped(
    line: str, width: int, first: str = "", then: str | None = None, *, long_words: bool = False
) -> str:
    """Return a line broken into some that are no longer than `width`.

    What stands around a × stays together, and so do a number and its unit, and a name with hyphens.

    Parameters
    ----------
    line : str
    width : int
        Letters, those of `first` and `then` among them.
    first, then : str, optional
        What the first line begins with, and each other one; without `then` all begin with `first`.
    long_words : bool
        Whether a word that is longer is broken, as a cell of a table has to be. A path, a link or a command
        stands alone: the terminal breaks it, and it can be copied whole.
    """
    together = glued(line).replace(" × ", f"{_GAP}×{_GAP}")
    hang = first if then is None else then
    broken = fill(
        together,
        width,
        initial_indent=first,
        subsequent_indent=hang,
        break_long_words=long_words,
        break_on_hyphens=False,
    )
    return broken.replace(_GAP, " ")


def flowing(text: str) -> str:
    """Return paragraphs that were written in lines with each of them in one, an empty line between two."""
    return "\n\n".join(" ".join(one.split()) for one in _PARAGRAPHS.split(text.strip()))
