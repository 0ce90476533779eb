"""A small table of text: what a command or a notebook prints."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from convlab.support.checked import checked

NOTHING = "–"


@dataclass(frozen=True)
class TextTable:
    """A title that says how to read it, the names of the columns, and rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


@checked
def as_text(table: TextTable) -> str:
    """Return a table as lines of plain text."""
    return "\n".join([table.title, *lines([table.columns, *table.rows]), ""])


def lines(rows: Collection[tuple[str, ...]], right: Collection[int] = ()) -> list[str]:
    """Return rows of cells as lines, each column as wide as its widest cell.

    Parameters
    ----------
    rows : collection of tuple of str
        The names of the columns are the first.
    right : collection of int
        Columns that end, not begin, one below the other: numbers.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:>{width}}" if i in right else f"{cell:<{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
