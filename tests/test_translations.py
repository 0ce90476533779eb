"""The book in another language: nothing is left out, nothing but words is changed, and its pages work."""

import re
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from browser.browser_tools import SLIDERS, Watched, barriers, moves, open_controls, press_arrow
from effort import in_turns
from nbformat.v4 import new_markdown_cell, new_notebook, new_output
from notebook_tools import NOTEBOOKS

from convlab.widgets import SlidingWindow
from tools import translations
from tools.browser import NoBrowserError, launched
from tools.errors import BuildError, UsageError
from tools.site import languages, pages

pytestmark = pytest.mark.workshop

FILES = sorted(languages.LOCALE.glob("*/LC_MESSAGES/*.po"))
FIRST = NOTEBOOKS[0]
# What a translator copies as it is: code, formulas, where a link leads, keys, letters of sizes, numbers.
AS_IT_IS = re.compile(
    r"`[^`]+`|\$[^$]+\$|(?<=\]\()[^)]+(?=\))|<[^>]+>|\b(?:[A-Z] ){2,}[A-Z]\b|\d+(?:[.,]\d+)?"
)


def catalogue(path):
    return translations.read(path, path.parents[1].name)


def differences(english: str, other: str) -> Counter:
    """Return what stands in the one and not in the other; a decimal comma is a point."""
    one, two = (Counter(s.replace(",", ".") for s in AS_IT_IS.findall(text)) for text in (english, other))
    return (one - two) + (two - one)


def test_there_is_a_translation():
    assert languages.languages() == ("en", "de")
    assert [path.stem for path in FILES] == [FIRST.stem]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_paragraph_of_the_notebook_is_translated(path):
    (notebook,) = (one for one in NOTEBOOKS if one.stem == path.stem)
    there = {message.id: message for message in catalogue(path) if message.id}
    asked = [message.id for message in translations.extracted(notebook) if message.id]
    assert len(asked) > 90
    left = [text for text in asked if text not in there or there[text].fuzzy or not there[text].string]
    assert left == [], f"{path.stem} has changed in English: {translations.COMMAND}, then translate these"
    assert set(there) == set(asked), f"paragraphs that are gone: {translations.COMMAND}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_but_words_is_changed(path):
    changed = {m.id: found for m in catalogue(path) if m.id and (found := differences(m.id, m.string))}
    assert changed == {}


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("`flip` it", "Dreh `flop` um"),
        ("[a](01_a.ipynb)", "[b](02_a.ipynb)"),
        ("2.25 times", "2,26-mal"),
        ("N H W C", "N H C W"),
        ("<kbd>B</kbd>", "<kbd>A<kbd>"),
        ("$P = Q$", "$P = R$"),
        ("5 of 5", "5"),
    ],
)
def test_a_change_of_more_than_words_is_found(english, other):
    assert differences(english, other)
    assert not differences("2.25 `a` [x](y#z)", "[ü](y#z) mit `a`, 2,25")


def test_a_paragraph_that_changed_waits_for_its_translator(tmp_path, monkeypatch):
    notebook, file = tmp_path / FIRST.name, tmp_path / "locale" / "de" / "LC_MESSAGES" / FILES[0].name
    text = FIRST.read_text(encoding="utf-8")
    assert text.count("## Real layers") == 1
    notebook.write_text(text.replace("## Real layers", "## Real, large layers"), encoding="utf-8")
    shutil.copytree(languages.LOCALE, tmp_path / "locale")
    now = translations.renewed(file, "de", notebook)
    file.write_bytes(now)
    (changed,) = (one for one in catalogue(file) if one.id and one.fuzzy)
    assert (changed.id, changed.string) == ("Real, large layers", "Echte Schichten")
    assert translations.renewed(file, "de", notebook) == now, "run twice, it changes nothing"
    assert translations.renewed(FILES[0], "de", FIRST) == FILES[0].read_bytes(), translations.COMMAND

    monkeypatch.setattr(translations, "LOCALE", tmp_path / "locale")
    file.write_bytes(b'msgid "half\n')
    assert translations.main([]) == 1
    with pytest.raises(BuildError, match=r"00_start_here\.po of de cannot be read"):
        translations.read(file, "de")
    file.unlink()
    assert translations.main(["de", "00"]) == 0
    assert file.read_bytes().count(b'msgstr ""\n\n') > 90


@pytest.mark.parametrize("arguments", [["tlh", "00"], ["de", "77"], ["../..", "00"]])
def test_what_cannot_be_begun_is_refused(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(translations, "LOCALE", tmp_path)
    assert translations.main(arguments) == 1
    assert "expected" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="--language tlh: expected en or de"):
        languages.settings("tlh", tmp_path)


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """The first notebook as a German page, with its widget; the other notebooks are titles."""
    folder = tmp_path_factory.mktemp("german")
    source, out = folder / "source", folder / "book"
    source.mkdir()
    for path in NOTEBOOKS[1:]:
        nbformat.write(new_notebook(cells=[new_markdown_cell(f"# {path.stem}")]), source / path.name)
    notebook = nbformat.read(FIRST, as_version=4)
    (opening,) = (cell for cell in notebook.cells if "keep_output" in cell.metadata.get("tags", ()))
    widget = SlidingWindow(H=6, W=8, R=3, S=3, stride=1, padding=1)
    opening.outputs = [new_output("display_data", data={"text/html": widget.page()})]
    nbformat.write(notebook, source / FIRST.name)
    names = [path.stem for path in NOTEBOOKS]
    front = "\n".join(["# The course", "", "```{toctree}", *names, "```"])
    (source / "index.md").write_text(front, encoding="utf-8")
    told = {"page_lines": dict.fromkeys(names, ""), "html_baseurl": "", "repository": ""}
    settings = told | languages.settings("de", folder)
    assert pages.build_pages(source, out, folder / "doctrees", settings) == []
    assert not list(languages.LOCALE.rglob("*.mo")), "nothing is written beside the translators' files"
    return out / f"{FIRST.stem}.html"


@in_turns
@pytest.mark.browser
def test_a_german_page_is_german_and_moves(german):
    def visited():
        """Look at the page in a thread of its own: in this one a browser of other tests may be open."""
        with launched() as browser:
            one = Watched(browser)
            one.page.goto(german.as_uri())
            assert one.page.locator("html").get_attribute("lang") == "de"
            open_controls(one.page)
            sliders = one.page.locator(SLIDERS).all()
            assert sliders
            for slider in sliders:
                moves(slider, press_arrow)
            titles = german.with_name(f"{NOTEBOOKS[1].stem}.html").read_text(encoding="utf-8")
            assert '<html lang="en"' in titles, "nobody has translated that page"
            links = one.page.locator("article a[href$='.html']").evaluate_all(
                "all => all.map((a) => a.getAttribute('href'))"
            )
            trouble = [*one.errors, *one.outside, *barriers(one.page, colours=False)]
            return one.page.locator("article").inner_text(), links, trouble

    with ThreadPoolExecutor(1) as beside:
        try:
            text, links, trouble = beside.submit(visited).result()
        except NoBrowserError as reason:
            pytest.skip(str(reason))
    for said in ("Hier geht es los", "Wie läuft eine 2-D-Faltung eigentlich ab?", "N Bilder, H Zeilen"):
        assert said in text
    assert "What the window does" not in text
    assert "SlidingWindow(H=6" in text
    assert {path.stem for path in NOTEBOOKS[1:]} <= {link.removesuffix(".html") for link in links}
    assert trouble == []
