"""Make the finished pages light: what is on many of them is kept once, and what is used by none goes.

- The style sheets of the theme, of notebooks and of the book become one, without rules for what no page has.
- A figure's code, what it must know where that is much, and the pictures on pages become files of their own,
  which a browser keeps for the next.
- Scripts wait until the page is there, pictures but the first until they are scrolled to, and figures until
  they are near.

Nothing here needs a server: a page opened from a folder may load classic scripts, styles and pictures.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Collection, Iterable
from hashlib import sha256
from pathlib import Path

import tinycss2

from convlab.widgets.shared import javascript

STYLE, FIGURE_STYLE = "_static/style.css", "_static/figures.css"
FIGURES, PICTURES = "_static/figures", "_images"
# Of the theme: fonts and a script for icons (static/icons.css draws those few), maps for its own authors.
_UNUSED = (
    "vendor",
    "locales",
    "page.css",
    "styles/theme.css",
    "scripts/fontawesome.js*",
    "scripts/*.map",
    "styles/*.map",
    "*webpack-macros.html",
)
_SHEET = re.compile(r'\s*<link (?=[^>]*rel="stylesheet")[^>]*href="([^"?]+)[^"]*"[^>]*>')
_SCRIPT = re.compile(r"<script src=")
_OPTIONS = re.compile(r'<script src="_static/documentation_options\.js[^"]*"></script>')
_CODE = re.compile(r'const code = "data:text/javascript;charset=utf-8;base64,([A-Za-z0-9+/=]+)";')
_STATE = re.compile(r"(?<=, state = )\{.*\}(?=;\n)")
_ADDRESS = '"data:text/javascript;charset=utf-8,"'  # of code, for an import
_PICTURE = re.compile(r'src="data:image/(png|jpeg);base64,([A-Za-z0-9+/=]+)"')
# Stands before a page's first figure; static/book.css shows it where no figure moves.
_STILL = (
    '<p class="without-scripts">Figures stand still here. They move in a browser that runs JavaScript '
    "and knows modules, as all have done since 2018.</p>"
)
_SMALL, _LITTLE = 2000, 10_000  # a picture, and a figure's state, of fewer letters stays in its page


def slim(book: Path) -> None:
    """Make all pages of a book light."""
    static = book / "_static"
    for pattern in _UNUSED:
        for path in static.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for folder in (FIGURES, PICTURES):
        (book / folder).mkdir(parents=True, exist_ok=True)
    (book / FIGURE_STYLE).write_text(javascript.stylesheet(), encoding="utf-8")
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(book.glob("*.html"))}
    pages = {path: _light(text, book) for path, text in pages.items()}
    sheets = list(dict.fromkeys(sheet for text in pages.values() for sheet in _SHEET.findall(text)))
    sheets = [sheet for sheet in sheets if sheet != FIGURE_STYLE]
    names = _words([*pages.values(), *(path.read_text(encoding="utf-8") for path in static.rglob("*.js"))])
    joined = "".join(used((book / sheet).read_text(encoding="utf-8"), names) for sheet in sheets)
    for sheet in sheets:
        (book / sheet).unlink()
    (book / STYLE).write_text(joined, encoding="utf-8")
    for path, text in pages.items():
        path.write_text(_with_one_sheet(text, joined), encoding="utf-8")


def used(css: str, names: Collection[str]) -> str:
    """Return a style sheet without the rules for classes and places that have none of these names.

    >>> used(".on, .off { color: red } @media print { .off { color: red } }", {"on"})
    '.on{color: red }'
    """
    return "".join(_used(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True), names))


def _used(rules: Iterable, names: Collection[str]) -> Iterable[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [s for s in _split(rule.prelude) if _matches(s, names)]
            if selectors:
                yield f"{','.join(selectors)}{{{tinycss2.serialize(rule.content).strip()} }}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports", "layer"):
            inner = "".join(_used(tinycss2.parse_rule_list(rule.content or [], True, True), names))
            if inner:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword not in ("font-face", "charset"):
            yield rule.serialize()


def _split(prelude: list) -> list[str]:
    """Return the selectors of a rule: what stands between commas that are in no brackets."""
    parts: list[list] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return [tinycss2.serialize(part).strip() for part in parts]


def _matches(selector: str, names: Collection[str]) -> bool:
    plain = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", selector).replace("\\", "")
    wanted = re.findall(r"[.#]([A-Za-z_][\w-]*)", plain)
    return all(name in names for name in wanted)


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"[A-Za-z_][\w-]*", text)}


def _light(text: str, book: Path) -> str:
    """Return a page whose figures and pictures are files, each with a name made of what it holds."""
    style = f"<style>{javascript.stylesheet()}</style>\n"

    waits = ""  # the first picture does not: it may be what a reader sees first

    def near(content: bytes) -> str:
        name = _kept(content, book, f"{FIGURES}/{{}}.js", _as_script)
        return f'await convlabNear(document.getElementById(name), "{name}")'

    def code(match: re.Match) -> str:
        return f"const code = {_ADDRESS} + encodeURIComponent({near(base64.b64decode(match[1]))});"

    def state(match: re.Match) -> str:
        return match[0] if len(match[0]) < _LITTLE else f"JSON.parse({near(match[0].encode())})"

    def picture(match: re.Match) -> str:
        nonlocal waits
        if len(match[2]) < _SMALL:
            return match[0]
        content = base64.b64decode(match[2])
        name = _kept(content, book, f"{PICTURES}/{{}}.{match[1]}", lambda name, content: content)
        how, waits = waits, 'loading="lazy" '
        return f'{how}decoding="async" src="{name}"'

    has_figures = style in text
    text = text.replace('<div id="convlab-', f'{_STILL}\n<div id="convlab-', 1)
    text = text.replace(' aria-label="Toggle hidden content"', "")  # it would hide the words that stand there
    text = _STATE.sub(state, _CODE.sub(code, text.replace(style, "")))
    text = _PICTURE.sub(picture, text)
    options = (book / "_static/documentation_options.js").read_text(encoding="utf-8")
    text = _OPTIONS.sub(lambda _: f"<script>{options}</script>", text)  # others set more of them, at once
    text = _SCRIPT.sub("<script defer src=", text)
    more = f'  <link rel="stylesheet" href="{FIGURE_STYLE}" />\n' if has_figures else ""
    more += '  <script defer src="_static/near.js"></script>\n' if has_figures else ""
    return text.replace("</head>", f"{more}</head>", 1).replace('data-theme="auto"', 'data-theme="light"', 1)


def _kept(content: bytes, book: Path, name: str, write: Callable[[str, bytes], bytes]) -> str:
    """Keep content in a file, once, and return the file's name in the book."""
    name = name.format(sha256(content).hexdigest()[:12])
    (book / name).write_bytes(write(name, content))
    return name


def _as_script(name: str, content: bytes) -> bytes:
    """Return a text as a script that puts it on a shelf: pages in a folder can load no modules, nor files."""
    text = json.dumps(content.decode("utf-8"), ensure_ascii=False)
    return f'(window.convlabCode = window.convlabCode || {{}})["{name}"] = {text};\n'.encode()


def _with_one_sheet(text: str, joined: str) -> str:
    """Return a page that loads one style sheet in the place of the first of many."""
    mark = sha256(joined.encode()).hexdigest()[:8]
    first = f'\n  <link rel="stylesheet" href="{STYLE}?v={mark}" />'

    def link(match: re.Match) -> str:
        nonlocal first
        if match[1] == FIGURE_STYLE:
            return match[0]
        now, first = first, ""
        return now

    return _SHEET.sub(link, text)
