"""The book in another language: what translators wrote, as Sphinx takes it. What they left out stays English.

`tools/translations.py` keeps their files up to date: `locale/de/LC_MESSAGES/00_start_here.po`, a file for
each notebook.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.errors import UsageError
from tools.site import conf

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ORIGINAL = "en"
LOCALE = Path(__file__).parent / "locale"


def languages() -> tuple[str, ...]:
    """Return the languages that there are: the original, and those that something was translated into."""
    return ORIGINAL, *sorted({path.parents[1].name for path in LOCALE.glob("*/LC_MESSAGES/*.po")})


def settings(language: str, scratch: Path) -> dict[str, Any]:
    """Return what Sphinx is told for a language.

    Sphinx writes a compiled file beside each of a translator's; so it is given a copy of them.

    Raises
    ------
    UsageError
        If nothing was translated into that language.
    """
    if language not in languages():
        raise UsageError(f"--language {language}: expected {' or '.join(languages())}")
    copy = scratch / "locale"
    shutil.copytree(LOCALE, copy, dirs_exist_ok=True)
    told = {"language": language, "locale_dirs": [str(copy)], "gettext_compact": False}
    return told | {"extensions": [*conf.extensions, __name__]}


def language_of(language: str, page: str) -> str:
    """Return the language that most of a page is in: the original, where nobody has translated it."""
    return language if (LOCALE / language / "LC_MESSAGES" / f"{page}.po").exists() else ORIGINAL


def setup(app: Sphinx) -> dict[str, bool]:
    """Let each page say its own language, as Sphinx's extension: a screen reader speaks by it."""

    def say(app, page: str, template: str, context: dict[str, Any], doctree) -> None:
        context["language"] = language_of(app.config.language, page)

    app.connect("html-page-context", say)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
