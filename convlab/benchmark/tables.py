"""A small table of text, for a terminal: what a report is made of."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.support.checked import checked
from convlab.support.units import ratio_text

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """A title that says how to read it, the names of the columns, and rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def ratio_2(value: float) -> str:
    """Return a ratio with two decimals where they matter: '1.67×', '85×'."""
    return f"{value:.2f}×" if value < 9.995 else ratio_text(value)


@checked
def as_text(table: Table) -> str:
    """Return a table as lines of plain text, for where there is nothing better."""
    lines = [table.columns, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines
    ]
    return "\n".join([table.title, *(line.rstrip() for line in padded), ""])
