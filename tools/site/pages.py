"""Let Sphinx turn executed notebooks into pages, and put beside them what a web server wants."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from tools.errors import BuildError

# An address that is found from the page's own: no other host's, and no place on the page itself.
_RELATIVE = re.compile(r'\b(href|src|action|data-content_root)="(?!#|//|[a-z][a-z0-9+.-]*:)([^"]*)"')


def build_pages(
    source: Path, out: Path, doctrees: Path, settings: Mapping[str, Any] | None = None, builder: str = "html"
) -> list[str]:
    """Make HTML pages in `out` from the executed notebooks in `source`; return what Sphinx warned about.

    `settings` take the place of those in `conf.py`; `doctrees` is a folder for what Sphinx has read.
    """
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    here = Path(__file__).resolve().parent
    warnings = io.StringIO()
    try:
        with patch_docutils(here), docutils_namespace():
            app = Sphinx(
                srcdir=source,
                confdir=here,
                outdir=out,
                doctreedir=doctrees,
                buildername=builder,
                confoverrides=dict(settings or {}),
                status=None,
                warning=warnings,
                freshenv=True,
            )
            app.build(force_all=True)
    except SphinxError as error:
        raise BuildError(f"Sphinx could not make the pages: {error}") from error
    plain = re.sub(r"\x1b\[[0-9;]*m", "", warnings.getvalue()).replace(f"{source.resolve()}/", "")
    return [line for line in plain.splitlines() if line.strip()]


def offer_clean_notebooks(notebooks: list[Path], out: Path) -> None:
    """Let the pages' download button give the clean notebook, not the executed copy."""
    for path in notebooks:
        shutil.copyfile(path, out / "_sources" / path.name)


def tell_crawlers(book: Path, address: str, more: Iterable[str] = ()) -> None:
    """Write the list of a book's pages, and who may read them, for those who come from a search engine.

    `more` are pages of other editions, by their paths in the book.
    """
    pages = ["", *(page.name for page in sorted(book.glob("[0-9][0-9]_*.html"))), *more]
    entries = "".join(f"  <url><loc>{escape(address + page)}</loc></url>\n" for page in pages)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    head = '<?xml version="1.0" encoding="utf-8"?>'
    sitemap = f'{head}\n<urlset xmlns="{space}">\n{entries}</urlset>\n'
    (book / "sitemap.xml").write_text(sitemap, encoding="utf-8")
    robots = f"User-agent: *\nAllow: /\nSitemap: {address}sitemap.xml\n"
    (book / "robots.txt").write_text(robots, encoding="utf-8")


def lead_from_anywhere(page: Path, address: str) -> None:
    """Let a page that a server shows at any depth, as that for a wrong address, lead into the book.

    A ``<base>`` would do so in a word, but it would also take the page's own ``#places`` elsewhere.
    """
    text = page.read_text(encoding="utf-8")
    whole = _RELATIVE.sub(lambda found: f'{found[1]}="{escape(urljoin(address, found[2]))}"', text)
    page.write_text(whole, encoding="utf-8")
