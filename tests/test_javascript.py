"""The widgets' JavaScript as text: what is joined into one module, and that its names do not collide."""

import re

import pytest

from convlab import interview, widgets
from convlab.widgets.drill_card import DrillCard
from convlab.widgets.shared.javascript import FROM_PYTHON, IMPORT, module, parts_of, read, stylesheet
from convlab.widgets.walk_through import WalkThrough

pytestmark = pytest.mark.workshop

# Widgets that need something to show, which the interview has.
GIVEN = {
    WalkThrough: lambda: interview.walk_through("gpu"),
    DrillCard: lambda: interview.cards("flops"),
}
WIDGETS = [*(getattr(widgets, name) for name in widgets.__all__), *GIVEN]
DECLARED = re.compile(
    r"^(export )?(?:const|let|var|function\*?|class|async function) (\[[^\]]*\]|\{[^}]*\}|\w+)", re.MULTILINE
)


def files_of(kind):
    return parts_of(f"{kind.file_name()}.js")


def tables_of(kind):
    return GIVEN.get(kind, kind)().tables()


def declared(text, *, exported=False):
    """Return the names that a file declares for all of the module, or those that it exports."""
    found = [names for export, names in DECLARED.findall(text) if export or not exported]
    return [name for names in found for name in re.findall(r"\w+", names)]


@pytest.mark.parametrize("kind", WIDGETS, ids=lambda kind: kind.__name__)
def test_no_name_is_declared_twice(kind):
    """All files of a widget become one module, where a second `const count` is an error of the whole."""
    names = [name for file in files_of(kind) for name in declared(read(file))]
    names += [*declared(tables_of(kind)), "SENTENCES"]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
    assert len(names) > 30


def test_what_is_imported_is_there():
    for kind in WIDGETS:
        tables = [*declared(tables_of(kind)), "SENTENCES"]
        for file in files_of(kind):
            for names, source in IMPORT.findall(read(file)):
                there = tables
                if source != FROM_PYTHON:
                    (one,) = [name for name in files_of(kind) if name.endswith(source.lstrip("./"))]
                    there = declared(read(one), exported=True)
                    assert files_of(kind).index(one) < files_of(kind).index(file)
                assert set(names.split(", ")) <= set(there), f"{file} imports {names} from {source}"


@pytest.mark.parametrize("kind", WIDGETS, ids=lambda kind: kind.__name__)
def test_one_module_is_left(kind):
    text = module(f"{kind.file_name()}.js")
    assert not re.search(r"^import\b", text, re.MULTILINE)
    assert text.count("export default") == 1
    assert text.count("class Grid") <= 1  # each file once


def test_every_file_belongs_to_a_widget():
    from importlib.resources import files

    here = files("convlab.widgets")
    there = {file.name for file in here.iterdir() if file.name.endswith(".js")}
    there |= {f"shared/{file.name}" for file in (here / "shared").iterdir() if file.name.endswith(".js")}
    used = {file for kind in WIDGETS for file in files_of(kind)}
    assert there == used | {"shared/alone.js", "shared/standalone.js"}
    assert {f"{kind.file_name()}.js" for kind in WIDGETS} <= there


@pytest.mark.parametrize("kind", [kind for kind in WIDGETS if kind.sentences], ids=lambda kind: kind.__name__)
def test_sentences_are_written_once(kind):
    """What page and words say alike stands in Python alone, and both take it from there."""
    text = module(f"{kind.file_name()}.js")
    assert "say(" in text
    for sentence in kind.sentences.values():
        longest = max(re.split(r"\{\w+\}", sentence), key=len)
        assert len(longest) < 20 or longest not in text


def test_no_gradient_is_made_of_mixed_colours():
    """Chromium paints them; of stripes that repeat Firefox loses most, and bars look unlike their legend."""
    written = stylesheet() + "".join(map(module, [f"{kind.file_name()}.js" for kind in WIDGETS]))
    gradients = re.findall(r"-gradient\([^;\n]*", written)
    assert gradients
    assert [one for one in gradients if "color-mix" in one] == []
