"""Every link of a finished book: does it lead somewhere, and does no page ask another host for anything?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.errors import BuildError

# What a browser fetches by itself, and what a reader may follow.
_LOADED = {
    **dict.fromkeys(
        ("script", "img", "iframe", "embed", "source", "audio", "video", "track", "input"), ("src",)
    ),
    "object": ("data",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
_LOADED["video"] = ("src", "poster")
_FOLLOWED = {"a": "href", "area": "href", "form": "action"}
_LOADING_LINKS = ("stylesheet", "icon", "preload", "modulepreload", "manifest", "prefetch", "preconnect")
_IN_STYLES = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
_IN_SCRIPTS = re.compile(r"""["'](_(?:static|images)/[\w./-]+)["']""")  # the code of a figure
_CARRIED = ("data:", "blob:", "about:", "mailto:", "javascript:")


class _Page(HTMLParser):
    """The names of a page's places, what it loads and where it leads."""

    def __init__(self, text: str):
        super().__init__()
        self.names: set[str] = set()
        self.loaded: list[str] = []
        self.followed: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[name] for name in ("id", "name") if name in found}
        self._inside = tag
        if tag == "link":
            kinds = found.get("rel", "").lower().split()
            loads = any(kind in _LOADING_LINKS for kind in kinds)
            if loads or not {"canonical", "license"} & set(kinds):
                (self.loaded if loads else self.followed).append(found.get("href", ""))
        elif tag in _FOLLOWED and _FOLLOWED[tag] in found:
            self.followed.append(found[_FOLLOWED[tag]])
        self.loaded += [found[name] for name in _LOADED.get(tag, ()) if found.get(name)]
        self.loaded += [one.split()[0] for one in found.get("srcset", "").split(",") if one.strip()]
        self.loaded += _in_styles(found.get("style", ""))

    def handle_data(self, data):
        if self._inside == "style":
            self.loaded += _in_styles(data)
        elif self._inside == "script":
            self.loaded += _IN_SCRIPTS.findall(data)

    def handle_endtag(self, tag):
        self._inside = ""


def check(book: Path, address: str = "") -> None:
    """Raise a `BuildError` that names every page with a link that leads nowhere, and the link.

    Parameters
    ----------
    book : Path
        A folder of pages.
    address : str
        Where the book will be; what lies under it is looked for in the folder.
    """
    if troubles := sorted(set(broken(book, address))):
        raise BuildError("\n".join([f"{len(troubles)} links of the book are broken:", *troubles]))


def broken(book: Path, address: str = "") -> Iterator[str]:
    """Yield what is wrong with the links of a book, each with its page."""
    root = book.resolve()

    @cache
    def page(path: Path) -> _Page:
        return _Page(path.read_text(encoding="utf-8"))

    for file in sorted(root.rglob("*.html")):
        name, here = file.relative_to(root).as_posix(), page(file)
        for link in here.loaded:
            if _outside(link, address):
                yield f"{name} asks another host: {link}"
            elif why := _nowhere(link, file, root, page, address):
                yield f"{name}: {why}"
        for link in here.followed:
            if not _outside(link, address) and (why := _nowhere(link, file, root, page, address)):
                yield f"{name}: {why}"
    for file in sorted(root.rglob("*.css")):
        for link in _in_styles(file.read_text(encoding="utf-8")):
            if _outside(link) or _nowhere(link, file, root, page):
                yield f"{file.relative_to(root).as_posix()} asks for {link}"


def _in_styles(css: str) -> list[str]:
    return [one or other for one, other in _IN_STYLES.findall(css)]


def _outside(link: str, address: str = "") -> bool:
    if address and link.startswith(address):
        return False
    return link.startswith("//") or (bool(urlsplit(link).scheme) and not link.startswith(_CARRIED))


def _nowhere(link: str, file: Path, root: Path, page, address: str = "") -> str | None:
    """Return why a link inside the book leads nowhere, None if it does not."""
    if link.startswith(_CARRIED):
        return None
    link, from_root = (link[len(address) :], True) if address and link.startswith(address) else (link, False)
    parts = urlsplit(link)
    where = root if from_root else file.parent
    target = (where / unquote(parts.path)).resolve() if parts.path else (root if from_root else file)
    target = target / "index.html" if target.is_dir() else target
    if not target.is_relative_to(root):
        return f"{link} leads out of the book"
    if not target.is_file():
        return f"{link} is not there"
    place = unquote(parts.fragment)
    if place and target.suffix == ".html" and "=" not in place and place not in page(target).names:
        return f"{link} names a place that is not there"
    return None
