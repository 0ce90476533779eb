"""The cheat sheet: all that one wants to have seen before an interview, on one page of A4.

Read in this order: `block`, what a sheet is made of; `content`, its blocks, each in the file of its theme
(`formulas`, `choices`, `machines`, `sentences`); then what sets them: `page` and `sheet.css` as HTML,
`setting` and `pdf` as a PDF.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from convlab.errors import ConvError, ParameterError
from convlab.support.checks import check_path, said
from convlab.support.files import replacing, why_kept

if TYPE_CHECKING:
    from convlab.interview.sheet.block import Block


class CheatSheet:
    """A page that shows itself in a notebook, and can be saved to be printed."""

    def __init__(self, title: str, subtitle: str, author: str, blocks: Sequence[Block]):
        self.title, self.subtitle, self.author, self.blocks = title, subtitle, author, blocks

    def save(self, path: str | Path) -> Path:
        """Write the sheet to a file, as its ending says: ``.pdf`` or ``.html``.

        Parameters
        ----------
        path : str or Path
            A cheat sheet that is there is replaced; a file of yours is not.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ConvError
            If the ending is another one, something else is there, or the file cannot be written.
        """
        file = Path(os.path.expanduser(check_path("path", path)))  # nobody's home is left as it is: no error
        made = self._ways().get(file.suffix.lower())
        if made is None:
            raise ParameterError(f"path={said(str(path))}; expected a name that ends in .pdf or .html")
        if reason := why_kept(file, self._is_ours):
            raise ConvError(f"{str(file)!r} {reason}; save to another file")
        try:
            with replacing(file) as draft:
                draft.write_bytes(made())
        except OSError as error:
            raise ConvError(
                f"{str(file)!r} cannot be written: {error.strerror}; save to another folder"
            ) from None
        return file

    def _ways(self) -> dict[str, Callable[[], bytes]]:
        return {".pdf": self._pdf, ".html": self._page}

    def _pdf(self) -> bytes:
        from convlab.interview.sheet.pdf import as_pdf
        from convlab.interview.sheet.setting import set_page

        return as_pdf(set_page(self.title, self.subtitle, self.blocks), self.title, self.author)

    def _page(self) -> bytes:
        from convlab.interview.sheet.page import whole

        return whole(self.title, self.subtitle, self.author, self.blocks).encode()

    def _is_ours(self, begin: str) -> bool:
        return f"{self.author}: {self.title}" in begin and begin.startswith(("%PDF", "<!DOCTYPE html>"))

    def _repr_html_(self) -> str:
        from convlab.interview.sheet.page import fragment

        return fragment(self.title, self.subtitle, self.blocks)

    def __repr__(self) -> str:
        return "\n".join([self.title, *(line for block in self.blocks for line in ("", *block.text()))])


def cheat_sheet() -> CheatSheet:
    """Return the cheat sheet of the interview; every number on it is computed now.

    Returns
    -------
    CheatSheet
        A cell shows it; ``cheat_sheet().save("sheet.pdf")`` or ``"sheet.html"`` writes it to a file.
    """
    from convlab.interview.sheet import content

    return CheatSheet(content.TITLE, content.SUBTITLE, content.AUTHOR, content.blocks())
