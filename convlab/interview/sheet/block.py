"""What a cheat sheet is made of. Two renderers, `page` and `pdf`, set the same blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from convlab.support.tables import lines

WIDTH = 100  # letters in a line of plain text
_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGT]?FLOP|[KMGT]?i?B|[mµn]?s|k)\b|%)")


def glued(text: str) -> str:
    """Return a text in which no line ends between a number and its unit."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", text)


@dataclass(frozen=True)
class Table:
    """Rows of text; the first cell of a row says what it is about.

    Attributes
    ----------
    head : tuple of str
        The names of the columns; none where the rows speak for themselves.
    rows : sequence of tuple of str
    right : tuple of int
        Columns that end, not begin, one below the other: numbers.
    """

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    right: tuple[int, ...] = ()


@dataclass(frozen=True)
class Block:
    """A theme: a title, then a table or sentences, and in smaller type where it comes from.

    Attributes
    ----------
    title : str
    table : Table or None
    lines : sequence of str
        They are numbered if they are sentences to say.
    numbered : bool
    note : str
    """

    title: str
    table: Table | None = None
    lines: Sequence[str] = ()
    numbered: bool = False
    note: str = ""

    def text(self) -> list[str]:
        """Return the block as lines of plain text."""
        table = [row for row in (self.table.head, *self.table.rows) if row] if self.table else []
        marks = [f"{number}. " if self.numbered else "" for number in range(1, len(self.lines) + 1)]
        said = [mark + line for mark, line in zip(marks, self.lines, strict=True)]
        right = self.table.right if self.table else ()
        return [self.title, *lines(table, right), *(fill(one, WIDTH) for one in (*said, self.note) if one)]
