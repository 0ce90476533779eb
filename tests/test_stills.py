"""The photographs of widgets: one of all that is shown, as it is now; and none where it would lie."""

import re

import pytest

from convlab.widgets import PredictedTimes, RegisterTile, SlidingWindow, Spectra
from convlab.widgets.shared import still

pytestmark = pytest.mark.workshop


@pytest.fixture(scope="module")
def shown():
    from tools.stills import all_shown

    return all_shown()


def test_every_photograph_is_of_what_is_shown_now(shown):
    from tools.stills import COMMAND, FOLDER, fresh

    there = {file.name for file in FOLDER.glob("*.png")}
    assert there - shown.keys() == set(), f"shown nowhere; run {COMMAND}"
    assert shown.keys() - set(fresh(shown)) == set(), f"missing, or of an older state; run {COMMAND}"


def test_photographs_are_small(shown):
    from tools.stills import FOLDER, LARGEST

    sizes = {name: (FOLDER / name).stat().st_size for name in shown}
    assert {name: size for name, size in sizes.items() if size > LARGEST} == {}
    assert sum(sizes.values()) < 1.5e6


def test_notebooks_show_what_is_photographed(shown):
    """Only what was measured on the reader's machine has words alone."""
    from tools.stills import ROOT, shown_in

    found = [widget for path in (ROOT / "notebooks").glob("0[0-5]*.ipynb") for widget in shown_in(path)]
    assert len(found) == 8
    for widget in found:
        assert widget.still().alt == widget.words()
        assert widget.page().count("<img ") == 1


def test_a_state_that_nobody_photographed_has_words_alone():
    window = SlidingWindow()
    assert window.still().png.startswith(b"\x89PNG")
    window.step = 5
    assert window.still() is None
    assert f"<p>{window.words()}</p>" in window.page()
    window.step = 4  # as it was
    assert window.still() is not None
    assert PredictedTimes().still() is None


def test_a_photograph_of_older_code_is_not_shown(monkeypatch):
    tile = RegisterTile()
    assert tile.still()
    monkeypatch.setattr(
        RegisterTile, "sentences", {**RegisterTile.sentences, "loads": "the loads hold it up"}
    )
    assert RegisterTile().still() is None


def test_a_still_keeps_its_place():
    """Width and height are known before the picture is, and a photograph of a person is not turned dark."""
    html = Spectra().page()
    assert f'width="{still.WIDTH}"' in html
    assert int(re.search(r'<img [^>]*height="(\d+)"', html)[1]) > 300
    assert 'class="convlab-picture photo"' in html
    assert 'class="convlab-picture chart"' in RegisterTile().page()
