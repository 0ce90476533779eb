"""The whole book as one PDF: one page of Sphinx's, printed by a browser, with page numbers and an outline."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.browser import launched
from tools.errors import BuildError, UsageError
from tools.site.pages import build_pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FRONT_PAGE = "printed.md"
_MARGIN = {"top": "16mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}
_FOOT = (
    '<div style="width: 100%; font: 8px sans-serif; text-align: center; color: #57606a">'
    'convlab · <span class="pageNumber"></span> of <span class="totalPages"></span></div>'
)

_TITLE = re.compile(r'(<span id="document-(\d\d)_[^"]*"></span>.*?<h\d[^>]*>)', re.DOTALL)


def check_file(pdf: Path) -> None:
    """Refuse a file that a printed book may not take: anything but a PDF, or no file yet."""
    folder = pdf.resolve().parent
    if not folder.is_dir():
        raise UsageError(f"--pdf {pdf}: {folder} is not a folder")
    if pdf.is_dir():
        raise UsageError(f"--pdf {pdf} is a folder; name a file")
    try:
        with pdf.open("r+b") if pdf.exists() else tempfile.TemporaryFile(dir=folder) as file:
            begin = file.read(4)
    except OSError as error:
        raise UsageError(f"--pdf {pdf} cannot be written: {error.strerror}") from None
    if begin not in (b"", b"%PDF"):
        raise UsageError(f"--pdf {pdf} holds something else; name a new file, or a PDF to write over")


def write(paper: bytes, pdf: Path) -> None:
    """Write the printed book to its file."""
    try:
        pdf.write_bytes(paper)
    except OSError as error:
        raise BuildError(f"--pdf {pdf} cannot be written: {error.strerror}; the pages are ready") from None


def page_to_print(source: Path, scratch: Path, settings: Mapping[str, Any] | None = None) -> Path:
    """Return one page with the whole book, made of the executed notebooks in `source`; it has no scripts.

    `settings`, of a language, take the place of those in `conf.py`; `scratch` is a folder for what is made.
    """
    told = {
        **(settings or {}),
        "root_doc": Path(FRONT_PAGE).stem,
        "include_patterns": [FRONT_PAGE, "[0-9][0-9]_*.ipynb"],
        "html_additional_pages": {},
    }
    build_pages(source, scratch / "pages", scratch / "doctrees", told, builder="singlehtml")
    page = scratch / "pages" / Path(FRONT_PAGE).with_suffix(".html")
    if not page.is_file():
        raise BuildError("Sphinx made no page to print")
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)
    text = _TITLE.sub(r"\1\2 ", text)  # on paper nothing beside a title says its number, nor in the outline
    text = text.replace("<details>", "<details open>")  # answers; code that is folded away stays so
    page.write_text(text.replace('data-theme="auto"', 'data-theme="light"', 1), encoding="utf-8")
    return page


def print_page(page: Path) -> bytes:
    """Return a page as a PDF, printed by a browser that is started for it."""
    with launched() as browser:
        return as_pdf(browser, page)


def as_pdf(browser: Browser, page: Path) -> bytes:
    """Return a page as a PDF, as it is without scripts: every figure shows its still."""
    context = browser.new_context(java_script_enabled=False, color_scheme="light")
    sheet = context.new_page()
    sheet.goto(page.as_uri(), wait_until="load", timeout=120_000)
    made = sheet.pdf(
        format="A4",
        outline=True,
        tagged=True,
        print_background=True,
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=_FOOT,
        margin=_MARGIN,
    )
    context.close()
    return made
