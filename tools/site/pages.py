"""Write the front page, and let Sphinx turn executed notebooks into pages."""

from __future__ import annotations

import io
import re
import shutil
from importlib import resources
from pathlib import Path
from string import Template

from tools.errors import BuildError

FRONT_PAGE = "index.md"


def front_page(titles: dict[str, tuple[str, str]]) -> str:
    """Return the front page's Markdown: an inviting word, and the notebooks in the order they are read.

    Parameters
    ----------
    titles : dict
        A notebook's name, without suffix, to its title and its one-line description.
    """
    items = (
        f'- <span class="number">{name[:2]}</span> [{title}]({name}.ipynb)\n\n  {line}\n'
        for name, (title, line) in titles.items()
    )
    template = resources.files("tools.site").joinpath("templates", FRONT_PAGE).read_text(encoding="utf-8")
    first = next(iter(titles))
    return Template(template).substitute(notebooks="\n".join(items), pages="\n".join(titles), first=first)


def title_and_line(first_cell: str) -> tuple[str, str]:
    r"""Return a notebook's title and the first sentence under it, from its first Markdown cell.

    A question in bold type opens every notebook; it stays together with the sentence that follows.

    >>> title_and_line("# im2col\n\nA convolution *is* a matrix product. So why not?\n\nMore.")
    ('im2col', 'A convolution *is* a matrix product.')
    """
    # "# 02 · im2col" counts as "im2col": the front page shows the number beside it.
    title, _, rest = first_cell.strip().partition("\n")
    paragraphs = (block for block in re.split(r"\n\s*\n", rest.strip()) if not re.match(r"[#!<>|$-]", block))
    paragraph = " ".join(next(paragraphs, "").split())
    # A sentence ends at a stop followed by a capital or an opening mark, not at "e.g. this" or "3.5".
    sentence = re.split(r"(?<=[.?!])\s+(?=[A-Z*_`\"“(])", paragraph)[0]
    return re.sub(r"^#\s*(\d\d\s*[.:·–—-]?\s)?", "", title).strip(), sentence


def build_pages(source: Path, out: Path, scratch: Path) -> list[str]:
    """Make HTML pages in `out` from the executed notebooks in `source`; return what Sphinx warned about."""
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
                doctreedir=scratch / "doctrees",
                buildername="html",
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
