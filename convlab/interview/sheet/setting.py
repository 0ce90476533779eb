"""Where each line of a page stands: type is measured, and set in two columns, as large as the page allows.

Lengths are points, 1/72 inch; y is the distance of a line's foot from the top of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from convlab.interview.sheet.block import Block, Table
from convlab.support.tables import narrowed
from convlab.support.wrapping import glued

WIDTH, HEIGHT = 595.28, 841.89  # A4
MARGIN, GUTTER = 28.0, 16.0  # around the page; between its columns
COLUMN = (WIDTH - 2 * MARGIN - GUTTER) / 2
LARGEST, SMALLEST, STEP = 9.0, 6.5, 0.1  # sizes of type that are tried
FONT = "DejaVu Sans"  # comes with matplotlib
# Beside the size of the type: the height of a line, the type of notes, of headings and of the page's title.
LEADING, NOTE, HEADING, TITLE = 1.28, 0.93, 1.15, 1.9
_BETWEEN, _MOST_BETWEEN = 0.7, 2.0  # lines between two blocks
_CELL = 0.8  # between two cells of a row, beside the size


@dataclass(frozen=True)
class Text:
    """A piece of a line, from its left end on."""

    x: float
    y: float
    text: str
    size: float
    bold: bool = False
    muted: bool = False

    @property
    def end(self) -> float:
        """Where it ends, to the right."""
        return self.x + text_width(self.text, self.size, self.bold)


@dataclass(frozen=True)
class Rule:
    """A line across a column, or across the page."""

    x: float
    y: float
    end: float
    strong: bool = False


Mark = Text | Rule


@dataclass(frozen=True)
class Setting:
    """A page that was set.

    Attributes
    ----------
    marks : tuple of Text and Rule
    size : float
        Of its type.
    bottom : float
        Where the longer column ends.
    """

    marks: tuple[Mark, ...]
    size: float
    bottom: float


def set_page(title: str, subtitle: str, blocks: Sequence[Block]) -> Setting:
    """Return a page with its blocks in two columns, in the largest type that it has room for."""
    size = LARGEST
    while (
        page := _page(title, subtitle, blocks, size)
    ).bottom > HEIGHT - MARGIN and size > SMALLEST + STEP / 2:
        size -= STEP
    return page


def _page(title: str, subtitle: str, blocks: Sequence[Block], size: float) -> Setting:
    marks: list[Mark] = [Text(MARGIN, MARGIN + TITLE * size * 0.8, title, TITLE * size, bold=True)]
    top = marks[0].y + 1.5 * LEADING * size
    marks += [
        Text(MARGIN, top, subtitle, size, muted=True),
        Rule(MARGIN, top + 5, WIDTH - MARGIN, strong=True),
    ]
    top += 5
    done = [_block(block, size) for block in blocks]
    line = LEADING * size

    def height(part: Sequence[tuple[list[Mark], float]]) -> float:
        return sum(tall for _, tall in part) + _BETWEEN * line * (len(part) - 1)

    cut = min(range(1, len(done)), key=lambda at: max(height(done[:at]), height(done[at:])), default=1)
    bottom = top
    for x, part in ((MARGIN, done[:cut]), (MARGIN + COLUMN + GUTTER, done[cut:])):
        spare = (HEIGHT - MARGIN - top - height(part)) / max(len(part) - 1, 1)
        between = _BETWEEN * line + min(max(spare, 0.0), (_MOST_BETWEEN - _BETWEEN) * line)
        y = top
        for of_block, tall in part:
            marks += [replace(mark, x=mark.x + x, y=mark.y + y, **_end(mark, x)) for mark in of_block]
            bottom = max(bottom, y + tall)
            y += tall + between
    return Setting(tuple(marks), size, bottom)


def _end(mark: Mark, x: float) -> dict[str, Any]:
    return {"end": mark.end + x} if isinstance(mark, Rule) else {}


# -- a block, from the left upper corner of its own ---------------------------------------------------------


def _block(block: Block, size: float) -> tuple[list[Mark], float]:
    """Return the marks of a block, and its height."""
    y = LEADING * HEADING * size
    marks: list[Mark] = [Text(0, y, block.title, HEADING * size, bold=True)]
    y += 0.35 * size
    marks.append(Rule(0, y, COLUMN))
    y += 0.1 * size
    if block.table:
        y = _table(block.table, size, y, marks)
    indent = text_width(f"{len(block.lines)}. ", size) if block.numbered else 0.0
    for number, said in enumerate(block.lines, 1):
        if block.numbered:
            marks.append(Text(0, y + LEADING * size, f"{number}.", size, muted=True))
        y = _lines(said, indent, COLUMN - indent, size, y, marks)
    if block.note:
        y = _lines(block.note, 0, COLUMN, NOTE * size, y + 0.15 * size, marks, muted=True)
    return marks, y


def _lines(said: str, x: float, room: float, size: float, y: float, marks: list[Mark], **kind: Any) -> float:
    """Set a paragraph below y, and return where it ends."""
    for line in wrapped(said, room, size):
        y += LEADING * size
        marks.append(Text(x, y, line, size, **kind))
    return y


def _table(table: Table, size: float, y: float, marks: list[Mark]) -> float:
    """Set a table below y, and return where it ends."""
    widths = _columns(table, size)
    lefts = [sum(widths[:i]) + i * _CELL * size for i in range(len(widths))]
    if table.head:
        y += LEADING * size
        marks += _row(table.head, table.right, lefts, widths, y, NOTE * size, {"muted": True})
    for row in table.rows:
        cells = [
            wrapped(cell, room, size, bold=not i)
            for i, (cell, room) in enumerate(zip(row, widths, strict=True))
        ]
        for i in range(max(map(len, cells))):
            y += LEADING * size
            line = [cell[i] if i < len(cell) else "" for cell in cells]
            marks += _row(line, table.right, lefts, widths, y, size, {})
    return y


def _row(
    cells: Sequence[str],
    right: Sequence[int],
    lefts: Sequence[float],
    widths: Sequence[float],
    y: float,
    size: float,
    kind: dict[str, bool],
) -> Iterator[Text]:
    """Yield one line of a row; of the table's body the first cell is bold."""
    for column, cell in enumerate(cells):
        if cell:
            bold = not column and not kind
            free = widths[column] - text_width(cell, size, bold) if column in right else 0.0
            yield Text(lefts[column] + free, y, cell, size, bold=bold, **kind)


def _columns(table: Table, size: float) -> list[float]:
    """Return the widths of a table's columns: what they need; where that is too much, the widest give way."""
    wanted = [
        max(
            text_width(table.head[i], NOTE * size) if table.head else 0.0,
            *(text_width(row[i], size, bold=not i) for row in table.rows),
        )
        for i in range(len(table.rows[0]))
    ]
    room = COLUMN - (len(wanted) - 1) * _CELL * size
    widths = narrowed(wanted, room)
    widths[wanted.index(max(wanted))] += room - sum(widths)  # the table is as wide as the column
    return widths


# -- type ----------------------------------------------------------------------------------------------------


def wrapped(said: str, room: float, size: float, bold: bool = False) -> list[str]:
    """Return a text in lines that are no wider than the room; a word that is wider stands alone."""
    lines: list[str] = []
    for word in glued(said).split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


@lru_cache(maxsize=1 << 15)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return how wide a text is."""
    return _width_of_100(text, bold) * size / 100


@cache
def _width_of_100(text: str, bold: bool) -> float:
    """Return how wide it is in type of 100 points: type grows in proportion."""
    from matplotlib.textpath import TextToPath

    return TextToPath().get_text_width_height_descent(text, font(100, bold), ismath=False)[0]


@cache
def font(size: float, bold: bool) -> Any:
    """Return matplotlib's description of the type."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=FONT, size=size, weight="bold" if bold else "normal")
