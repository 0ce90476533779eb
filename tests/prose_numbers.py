"""Which numbers in a text claim something, and which of them nobody can vouch for.

A *claim* is a number that somebody has measured or worked out: a number with a unit ("588 KiB", "3.1 ms"),
a factor ("12.2×", "nine times", "twice as fast"), a share ("62 %", "two thirds of the work"), a decimal
fraction, a large count. No claims are sizes and names ("3 x 3", "224 pixels", "notebook 12", "2019"), what
stands in code or in formulas, and the bits of a number type.

Words can claim as much as a number does: "hardly slower", "a few copies", "close to the roof". Nobody can
check them. So a cell says it, with the figure, or it stands in `prose_sources.py`; a question claims nothing.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Iterator

from nbformat import NotebookNode

_UNIT = (
    r"(?:[num]s|µs|s|seconds?|minutes?|hours?|B|bytes?|[KMGT]i?B(?:/s)?|[kMGT]?FLOPs?(?:/s)?|[kMG]?MACs?"
    r"|[kMG]?Hz|%|percent|×(?! ?(?:\d|[A-Z]\b))|times)(?!\w)"
)
_NUMBER = r"(?<![\w.,/])(?<!\d[-–])\d+(?:,\d{3})*(?:\.\d+)?"
_WORD = (
    "two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen|dozens?|hundreds?|thousands?|[mb]illions?"
)
_CLAIM = re.compile(
    rf"{_NUMBER} ?{_UNIT}"  # 588 KiB, 12.2×, 62 %
    r"|(?<![\w.,/])\d+\.\d+(?![\w.]*\w)"  # 2.25
    r"|(?<![\w.,/])(?<![x×] )(?!(?:19\d\d|20[0-3]\d)\b)\d{4,}(?!\w)(?! ?[x×])"  # 65536; no year, no size
    rf"|\b(?:{_WORD})(?: of)? times\b"  # nine times
    r"|\b(?:twice|half) as\b"
    r"|\b(?:half|thirds?|quarters?|tenths?|hundredths?) of the (?:work|time|processor|gain)\b"
    r"|\bfactor of \w+"
    r"|\b(?:hundred|thousand|million|billion)s of\b",
    re.IGNORECASE,
)
_SPEED = r"(?:fast|slow|quick|cheap|dear|costly|expensive|exact|accurate)"
_WEIGHED = re.compile(
    r"\b(?:hardly|barely|scarcely)\b"
    r"|\ba (?:few|couple of|handful of) (?:copies|times|percent|\w+seconds|seconds|minutes|[KM]iB|bytes)\b"
    rf"|\b(?:much|far|little|slightly|somewhat|bit|lot|no|clearly|considerably|even|many|several|hundreds of)"
    rf" (?:times )?{_SPEED}(?:er|r)\b"
    rf"|\b(?:(?:more|less) {_SPEED}|{_SPEED}r|{_SPEED}er) than\b|\bas {_SPEED} as\b"
    r"|\b(?:level with|about level|on a par|(?:nearly|almost) free)\b"
    r"|\bcosts? (?:nothing|little|dear\w*|a lot|much)\b"
    r"|\b(?:almost|nearly|roughly|practically)"
    r" (?:all|none|nothing|every\w*|half|the same|as|the whole|the full)\b"
    r"|\b(?:most|a (?:good|large|small|tiny|big|great) (?:part|deal|share|fraction)) of (?:the|its|their)"
    r" (?:time|work|gain|bytes|processor|memory|traffic|cost|speed|peak)\b"
    r"|\b(?:close to|near|far (?:from|below|under)|well (?:below|above|under)) (?:the|its|a|their)"
    r" (?:roof|peak|limit)\b"
    r"|\b(?:dominates?|negligible|takes? (?:little|no|next to no) time|does not notice|no difference)\b"
    r"|\b(?:fastest|slowest|cheapest) (?:code|kernels?|convolution|library|algorithm|form|way|of all)\b"
    r"|\bbest-\w+",
    re.IGNORECASE,
)
# What is not prose: code, formulas, where a link leads, numbers of papers, sections, versions and licences.
_APART = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$\n]+\$|(?<=\])\([^)\s]+\)|arXiv:[\d.]+|\bsection [\d.]+|CC BY [\d.]+"
    r"|\bPython 3\.\d+(?:, 3\.\d+)*(?: or 3\.\d+)?|<!-- convlab:.*?<!-- end -->",
    re.DOTALL,
)


def unaccounted(text: str, shown: str, sources: Collection[str]) -> Iterator[str]:
    """Yield each claim of a Markdown text that comes from nowhere, with the words around it.

    Parameters
    ----------
    text : str
    shown : str
        What the cells of the notebook show, see `shown_by`.
    sources : collection of str
        Passages of the text whose numbers are accounted for elsewhere.
    """
    prose = _prose(text)
    passages = [place for passage in sources for place in _places(passage, prose)]
    for match in _CLAIM.finditer(prose):
        inside = any(start <= match.start() and match.end() <= end for start, end in passages)
        if not inside and not _is_shown(match[0], shown):
            yield f"{match[0]!r} in ... {prose[max(0, match.start() - 50) : match.end() + 30]} ..."


def unproven(text: str, sources: Collection[str]) -> Iterator[str]:
    """Yield each claim in words alone, with the words around it; `sources` as for `unaccounted`."""
    prose = _prose(text)
    passages = [place for passage in sources for place in _places(passage, prose)]
    for match in _WEIGHED.finditer(prose):
        ending = re.compile(r"[.?!](?=\s|$)").search(prose, match.end())
        asked = bool(ending) and ending[0] == "?"
        inside = any(start <= match.start() and match.end() <= end for start, end in passages)
        if not asked and not inside:
            yield f"{match[0]!r} in ... {prose[max(0, match.start() - 50) : match.end() + 30]} ..."


def stale(text: str, sources: Iterable[str]) -> list[str]:
    """Return the passages that do not stand in the text, or claim nothing."""
    prose = _prose(text)
    return [p for p in sources if not list(_places(p, prose)) or not (_CLAIM.search(p) or _WEIGHED.search(p))]


def shown_by(nb: NotebookNode) -> str:
    """Return all that the cells of an executed notebook show, as text: pictures by their words."""
    texts = []
    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            page = re.sub(r"<(script|style)\b.*?</\1>", " ", data.get("text/html", ""), flags=re.DOTALL)
            words = re.findall(r'\b(?:alt|aria-label)="([^"]*)"', page)
            texts += [
                output.get("text", ""),
                data.get("text/plain", ""),
                *words,
                re.sub(r"<[^>]*>", " ", page),
            ]
    return _plain(html.unescape(" ".join(texts)))


def _is_shown(claim: str, shown: str) -> bool:
    """Return whether a claim stands in what is shown; a word for a number is too common to be found there."""
    exact = rf"(?<![\w.,]){re.escape(claim)}(?![\w]|[.,]\d)".replace(r"\ ", " ?")
    return claim[0].isdigit() and bool(re.search(exact.replace("times", "(?:times|×)"), shown))


def _prose(text: str) -> str:
    return _plain(_APART.sub(" ", text.replace("*", "")))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _places(passage: str, prose: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in re.finditer(re.escape(passage), prose))
