"""What a cheat sheet is made of. Two renderers, `page` and `pdf`, set the same blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from convlab.support.tables import lines
from convlab.support.wrapping import PLAIN, columns, wrapped


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
        right, width = self.table.right if self.table else (), columns(PLAIN)
        marks = [f"{number}. " if self.numbered else "" for number in range(1, len(self.lines) + 1)]
        said = [
            wrapped(line, width, mark, " " * len(mark)) for mark, line in zip(marks, self.lines, strict=True)
        ]
        note = [wrapped(self.note, width)] if self.note else []
        return [self.title, *lines(table, right, width), *said, *note]
