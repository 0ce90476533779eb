"""What commands share: options, how a number among them is read, and tables."""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import Annotated

import typer

from convlab.errors import ParameterError

Work = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Your folder; by default work/ in a checkout, else convlab-work/ here."),
]


def number(option: str, text: str, least: int, most: int) -> int:
    """Return a whole number given on the command line, or say which option is wrong, and how."""
    # The length first: Python refuses to read a number of thousands of digits.
    if not text.isdecimal() or len(text) > len(str(most)) or not least <= int(text) <= most:
        shown = reprlib.repr(text)
        raise ParameterError(f"{option}={shown}; expected a whole number from {least} to {most}")
    return int(text)


def print_table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print rows below their titles."""
    from convlab.support.tables import lines
    from convlab.support.wrapping import columns

    print("\n".join(lines([titles, *rows], width=columns())))
