"""A small table of text: what a command or a notebook prints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from convlab.support.checked import checked
from convlab.support.wrapping import ANY, wrapped

NOTHING = "–"
_BETWEEN = "  "  # two columns


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


def lines(rows: Collection[tuple[str, ...]], right: Collection[int] = (), width: int = ANY) -> list[str]:
    """Return rows of cells as lines, each column as wide as its widest cell.

    Where lines have no room for that, the widest columns give way, and their cells take several lines.

    Parameters
    ----------
    rows : collection of tuple of str
        The names of the columns are the first.
    right : collection of int
        Columns that end, not begin, one below the other: numbers.
    width : int
        Letters of a line.
    """
    wanted = [max(map(len, column)) for column in zip(*rows, strict=True)]
    between = len(_BETWEEN) * (len(wanted) - 1)
    widths = [max(int(one), 1) for one in narrowed(wanted, width - between)]
    return [
        _BETWEEN.join(
            f"{cell:>{room}}" if i in right else f"{cell:<{room}}"
            for i, (cell, room) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for row in rows
        for line in zip_longest(*map(_in_lines, row, widths), fillvalue="")
    ]


def narrowed(wanted: Sequence[float], room: float) -> list[float]:
    """Return the widths of columns: what they need; where that is too much, the widest give way."""
    widths = [0.0] * len(wanted)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, i in enumerate(order):
        widths[i] = min(wanted[i], room / (len(order) - place))
        room -= widths[i]
    return widths


def _in_lines(cell: str, room: int) -> list[str]:
    return wrapped(cell, room, long_words=True).split("\n") if len(cell) > room else [cell]
