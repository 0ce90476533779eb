"""A Sphinx extension: what a page says of itself to those who search and share, and how to launch it.

Every page has a description. With an address of the book (`html_baseurl`) there are the tags of Open Graph
and Twitter, with a card. With a repository, buttons open a page's notebook where it can be run.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

from tools.site.card import CARD, SIZE, WORDS
from tools.site.launchers import LAUNCHERS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ABOUT = (
    "A course in notebooks: from seven nested loops to the kernels of a good library, "
    "with figures that move and numbers that were measured."
)
OF_NO_USE_TO_OTHERS = ("search", "404")  # pages that no search engine should list


def describe(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Add the tags of a page's head to its context."""
    line = plain(app.config.page_lines.get(pagename, "")) if doctree else ""
    description = f"{line} {ABOUT}" if line else f"{context['docstitle']}: {ABOUT}"
    tags = [("name", "description", description)]
    if pagename in OF_NO_USE_TO_OTHERS:
        tags = (
            [("name", "robots", "noindex")] if pagename == "404" else [*tags, ("name", "robots", "noindex")]
        )
    address = app.config.html_baseurl
    if address and doctree:
        title = plain(context["title"])
        tags += [
            ("property", "og:type", "website" if pagename == app.config.root_doc else "article"),
            ("property", "og:site_name", app.config.project),
            ("property", "og:title", title),
            ("property", "og:description", description),
            ("property", "og:url", context["pageurl"]),
            ("property", "og:image", f"{address}_static/{CARD}"),
            *(
                ("property", f"og:image:{side}", str(n))
                for side, n in zip(("width", "height"), SIZE, strict=True)
            ),
            ("property", "og:image:alt", WORDS),
            ("name", "twitter:card", "summary_large_image"),
        ]
    lines = [f'<meta {kind}="{name}" content="{escape(said, quote=True)}" />' for kind, name, said in tags]
    if pagename == "404":
        context.pop("pageurl", None)  # it stands in for any address
    context["metatags"] = "\n    ".join(["", context.get("metatags", ""), *lines])


def launch(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Add the buttons that open a notebook elsewhere, in the theme's own row of buttons."""
    repository = app.config.repository
    if not repository or context.get("page_source_suffix") != ".ipynb":
        return
    links = [
        {"type": "link", "text": one.name, "icon": one.icon, "url": one.opens(repository, pagename)}
        for one in LAUNCHERS
    ]
    group = {"type": "group", "tooltip": "Run or mend this notebook", "icon": "fa-solid fa-rocket"}
    context["header_buttons"].insert(0, group | {"buttons": links, "label": "launch-buttons"})


def plain(text: str) -> str:
    """Return Markdown or HTML of one line as plain words."""
    text = re.sub(r"<[^>]*>", "", text)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("*", "").replace("`", "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both; the theme's own buttons come at priority 501."""
    app.add_config_value("page_lines", {}, "html")
    app.add_config_value("repository", "", "html")
    app.connect("html-page-context", describe, priority=600)
    app.connect("html-page-context", launch, priority=601)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
