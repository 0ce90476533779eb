"""The cheat sheet as HTML: for a cell, and as a page that fits on one sheet of A4 when it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from convlab.figures import style
from convlab.interview.sheet.block import Block, Table
from convlab.support.wrapping import glued


def fragment(title: str, subtitle: str, blocks: Sequence[Block]) -> str:
    """Return the sheet for a cell of a notebook, with its style."""
    rules = files("convlab.interview.sheet").joinpath("sheet.css").read_text(encoding="utf-8")
    colours = style.css().replace(".convlab", ".cl-sheet")
    return (
        f'<style>{colours}{rules}</style><article class="cl-sheet"><header><h2>{escape(title)}</h2>'
        f"<p>{escape(subtitle)}</p></header>{''.join(map(_section, blocks))}</article>"
    )


def whole(title: str, subtitle: str, author: str, blocks: Sequence[Block]) -> str:
    """Return a page of its own, that needs nothing else."""
    # It is as dark as the reader's system wants it; `style` knows this mark of a dark page.
    is_dark = "matchMedia('(prefers-color-scheme: dark)').matches"
    dark = f"if ({is_dark}) document.documentElement.dataset.theme = 'dark'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="author" content="{escape(author)}"><title>{escape(author)}: {escape(title)}</title>'
        f'<script>{dark}</script></head><body class="cl-sheet-page">'
        f"{fragment(title, subtitle, blocks)}</body></html>\n"
    )


def _section(block: Block) -> str:
    table = _table(block.table, block.title) if block.table else ""
    kind = "ol" if block.numbered else "ul"
    said = "".join(f"<li>{escape(glued(line))}</li>" for line in block.lines)
    note = f'<p class="cl-note">{escape(glued(block.note))}</p>' if block.note else ""
    lines = f"<{kind}>{said}</{kind}>" if said else ""
    return f"<section><h3>{escape(block.title)}</h3>{table}{lines}{note}</section>"


def _table(table: Table, title: str) -> str:
    def cells(row: Sequence[str]) -> str:
        first, *others = row
        return f'<th scope="row">{_parted(first)}</th>' + "".join(
            f"<td{' class=cl-right' if column in table.right else ''}>{escape(glued(cell))}</td>"
            for column, cell in enumerate(others, 1)
        )

    head = "".join(
        f'<th scope="col"{" class=cl-right" if column in table.right else ""}>{escape(name)}</th>'
        if name
        else "<td></td>"
        for column, name in enumerate(table.head)
    )
    kind = "" if table.head else ' class="cl-terms"'
    names = f"<thead><tr>{head}</tr></thead>" if head else ""
    rows = "".join(f"<tr>{cells(row)}</tr>" for row in table.rows)
    return f'<table aria-label="{escape(title)}"{kind}>{names}<tbody>{rows}</tbody></table>'


def _parted(name: str) -> str:
    """Return a name that may end a line at its underscores."""
    return escape(glued(name)).replace("_", "_<wbr>")
