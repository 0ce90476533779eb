"""The book in another language: what translators wrote, as Sphinx takes it. What they left out stays English.

`tools/translations.py` keeps their files up to date: `locale/de/LC_MESSAGES/00_start_here.po`, a file for
each notebook. Where a book comes in more than one language, each page leads to what it is in the others.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from tools.errors import UsageError
from tools.site import conf

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ORIGINAL = "en"
LOCALE = Path(__file__).parent / "locale"


def languages() -> tuple[str, ...]:
    """Return the languages that there are: the original, and those that something was translated into."""
    return ORIGINAL, *sorted({path.parents[1].name for path in LOCALE.glob("*/LC_MESSAGES/*.po")})


def translated(language: str) -> list[str]:
    """Return the pages that somebody has translated into a language."""
    return sorted(path.stem for path in (LOCALE / language / "LC_MESSAGES").glob("*.po"))


def check(editions: Sequence[str]) -> None:
    """Refuse languages that nothing was translated into, and one that is named twice."""
    for language in editions:
        if language not in languages():
            raise UsageError(f"--language {language}: expected {' or '.join(languages())}")
        if editions.count(language) > 1:
            raise UsageError(f"--language {language} is named twice")


def path_between(here: str, there: str, editions: Sequence[str]) -> str:
    """Return the way from one edition of the book to another: each but the first is a folder in the first.

    >>> path_between("en", "de", ("en", "de")), path_between("de", "en", ("en", "de"))
    ('de/', '../')
    """
    up, down = ("" if one == editions[0] else one for one in (here, there))
    return "" if here == there else ("../" if up else "") + (f"{down}/" if down else "")


def settings(language: str, scratch: Path, editions: Sequence[str] = ()) -> dict[str, Any]:
    """Return what Sphinx is told for a language, and of the other editions of the same book.

    Sphinx writes a compiled file beside each of a translator's; so it is given a copy of them.

    Raises
    ------
    UsageError
        If nothing was translated into that language.
    """
    check([language])
    copy = scratch / "locale"
    shutil.copytree(LOCALE, copy, dirs_exist_ok=True)
    told = {"language": language, "locale_dirs": [str(copy)], "gettext_compact": False}
    ways = {other: path_between(language, other, editions) for other in editions if other != language}
    return told | {"editions": ways, "extensions": [*conf.extensions, __name__]}


def language_of(language: str, page: str) -> str:
    """Return the language that most of a page is in: the original, where nobody has translated it."""
    return language if page in translated(language) else ORIGINAL


def elsewhere(app: Sphinx, page: str) -> Iterator[tuple[str, str]]:
    """Yield what a page is in each other edition that has it, or of a front page where that begins."""
    for language, way in app.config.editions.items():
        known = [one for one in translated(language) if one in app.env.found_docs]
        if language == ORIGINAL or page in known:
            yield language, f"{way}{page}.html"
        elif known and page == app.config.root_doc:
            yield language, f"{way}{known[0]}.html"


def lead(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Let a page say its own language, for a screen reader speaks by it, and lead to the other editions."""
    own = context["language"] = language_of(app.config.language, page)
    if not doctree:
        return
    from babel import Locale

    address, links = app.config.html_baseurl, []
    for language, href in elsewhere(app, page):
        name = Locale.parse(language).get_display_name()
        links.append(f'<a lang="{language}" hreflang="{language}" href="{href}">{name}</a>')
        if own == app.config.language and href.endswith(f"/{page}.html"):
            tag = f'<link rel="alternate" hreflang="{language}" href="{urljoin(address, href)}" />'
            context["metatags"] = f"{context.get('metatags', '')}\n    {tag}"
        elif address and language == ORIGINAL:  # the same page in the same language
            context["pageurl"] = urljoin(address, href)
    if links:
        context["body"] = f'<p class="editions">{" ".join(links)}</p>\n{context["body"]}'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it, as Sphinx's extension; `head` comes after it."""
    app.add_config_value("editions", {}, "html")
    app.connect("html-page-context", lead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
