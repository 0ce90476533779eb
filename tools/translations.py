"""``python -m tools.translations [LANGUAGE NN ...]``: bring the files of the translators up to date.

A translation is gettext's, as Sphinx takes it: `tools/site/locale/de/LC_MESSAGES/00_start_here.po` holds each
paragraph of that notebook in English, and beside it in German. The command reads the notebooks anew; what has
changed in English is marked as fuzzy and stays English in the book until somebody has looked at it. With a
language and the numbers of notebooks it begins their files. `lab.py site --language de` builds the book.

Code, and what cells show, is not translated.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

from babel import Locale, UnknownLocaleError
from babel.messages.catalog import Catalog
from babel.messages.pofile import PoFileError, read_po, write_po

from convlab.errors import ConvError
from convlab.support.files import replacing
from convlab.workspace.notebooks import course_notebooks, find
from tools.errors import BuildError
from tools.site import conf
from tools.site.languages import LOCALE

COMMAND = "python -m tools.translations"
_IDLE = re.compile(rb'^"(?:Report|POT|PO|Last|Language-Team|Generated|Project)-?[\w-]*: .*\n', re.MULTILINE)
_FRONT = "# The course\n\n```{{toctree}}\n{}\n```\n"


def po_file(language: str, notebook: str) -> Path:
    """Return where the translation of a notebook lies, by the notebook's name without suffix."""
    return LOCALE / language / "LC_MESSAGES" / f"{notebook}.po"


def extracted(notebook: Path) -> Catalog:
    """Return what there is to translate in a notebook, in its order: each paragraph, once."""
    import nbformat
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    clean = nbformat.read(notebook, as_version=4)
    for cell in clean.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    settings = {
        "extensions": ["myst_nb"],
        "nb_execution_mode": "off",
        "myst_enable_extensions": conf.myst_enable_extensions,
        "gettext_compact": False,  # a file for each page
        "suppress_warnings": ["myst.xref_missing"],  # links to the other notebooks, which are not here
    }
    with tempfile.TemporaryDirectory() as scratch:
        source, out = Path(scratch, "source"), Path(scratch, "out")
        source.mkdir()
        nbformat.write(clean, source / notebook.name)
        (source / "index.md").write_text(_FRONT.format(notebook.stem), encoding="utf-8")
        try:
            with patch_docutils(), docutils_namespace():
                app = Sphinx(
                    srcdir=source,
                    confdir=None,
                    outdir=out,
                    doctreedir=Path(scratch, "doctrees"),
                    buildername="gettext",
                    confoverrides=settings,
                    status=None,
                    warning=io.StringIO(),
                    freshenv=True,
                )
                app.build(force_all=True)
        except SphinxError as error:
            raise BuildError(f"Sphinx could not read {notebook.name}: {error}") from error
        with (out / f"{notebook.stem}.pot").open("rb") as file:
            return read_po(file)


def read(path: Path, language: str) -> Catalog:
    """Return a file of translations.

    Raises
    ------
    BuildError
        If it is none.
    """
    try:
        with path.open("rb") as file:
            return read_po(file, locale=language, abort_invalid=True)
    except (OSError, ValueError, PoFileError) as error:  # what is no UTF-8 is a ValueError
        raise BuildError(f"{path.name} of {language} cannot be read: {error}") from None


def text(catalog: Catalog) -> bytes:
    """Return a catalogue as its file has it, without places, dates and versions, which change for nothing."""
    buffer = io.BytesIO()
    write_po(buffer, catalog, width=0, no_location=True)
    return _IDLE.sub(b"", buffer.getvalue()).rstrip() + b"\n"


def begun(language: str, notebook: str) -> Catalog:
    """Return an empty catalogue for a notebook.

    Raises
    ------
    BuildError
        If there is no such language.
    """
    try:
        known = Locale.parse(language)
    except (ValueError, UnknownLocaleError):
        raise BuildError(f"{language!r} is no language; expected its code, e.g. de or pt_BR") from None
    header = f"# {notebook} in {known.get_display_name('en')}."
    return Catalog(locale=language, project="convlab", header_comment=header, fuzzy=False)


def renewed(path: Path, language: str, notebook: Path) -> bytes:
    """Return the file of a notebook's translation, with the paragraphs that the notebook has now."""
    catalog = read(path, language) if path.exists() else begun(language, notebook.stem)
    catalog.update(extracted(notebook), update_creation_date=False)
    return text(catalog)


def main(arguments: list[str]) -> int:
    """Renew all files, begin those that are asked for, and say what is left; 1 if one cannot be made."""
    failed = False
    try:
        course = {path.stem: path for path in course_notebooks()}
        for number in arguments[1:]:
            begin = po_file(arguments[0], find(number, course.values()).stem)
            if not begin.exists():
                empty = text(begun(arguments[0], begin.stem))
                begin.parent.mkdir(parents=True, exist_ok=True)
                begin.write_bytes(empty)
    except (BuildError, ConvError) as error:
        print(f"convlab: {error}", file=sys.stderr)
        return 1
    for path in sorted(LOCALE.glob("*/LC_MESSAGES/*.po")):
        language = path.parents[1].name
        try:
            if path.stem not in course:
                raise BuildError(f"{path.stem}.po of {language}: the course has no such notebook")
            now = renewed(path, language, course[path.stem])
            if now != path.read_bytes():
                with replacing(path) as draft:
                    draft.write_bytes(now)
            catalog = read(path, language)
            open_ones = sum(1 for one in catalog if one.id and (one.fuzzy or not one.string))
            print(f"{language} {path.stem}: {len(catalog) - open_ones} of {len(catalog)} paragraphs")
        except BuildError as error:
            print(f"convlab: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
