"""The tools of these tests: each is shown a page with a fault, and must find it."""

import pytest
from browser_tools import SLIDERS, Watched, drag, moves, press_arrow, until
from effort import in_turns

from convlab.widgets import RegisterTile
from tools.browser import photograph
from tools.readme import __main__ as readme

pytestmark = pytest.mark.browser

FIGURE = """
<div class="convlab">
  <input type="range" min="0" max="9" value="3" aria-label="step">
  <svg width="100" height="20"><rect height="9" width="3"></rect></svg> <p>step 3</p>
</div>
<script>
  const [slider, bar, words] = ["input", "rect", "p"].map((tag) => document.querySelector(tag));
  slider.oninput = () => { %s };
</script>
"""
DRAWS = "bar.setAttribute('width', slider.value);"
SAYS = "words.textContent = `step ${slider.value}`;"


@in_turns
@pytest.mark.parametrize("act", [press_arrow, drag])
@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (DRAWS + SAYS, None),
        (SAYS, "the drawing did not"),
        (DRAWS, "the words do not say so"),
        (DRAWS + SAYS + "slider.value = 3;", "the slider did not move"),
        (DRAWS + SAYS + "}; setInterval(() => bar.setAttribute('y', Math.random()), 20); {", "by itself"),
    ],
)
def test_a_figure_that_does_not_answer_is_found(watched, script, complaint, act):
    page = watched().page
    page.set_content(FIGURE % script)
    if complaint is None:
        moves(page.locator(SLIDERS), act)
    else:
        with pytest.raises(AssertionError, match=complaint):
            moves(page.locator(SLIDERS), act, patience=1)


def test_requests_and_errors_are_noted(browser):
    one = Watched(browser)
    one.page.route("**/*", lambda route: route.abort())  # nothing need leave this machine for the proof
    one.page.set_content(
        "<img src='https://example.org/x.png'><img src='data:,'><script>undefined_name</script>"
        "<script>console.error('told')</script>"
    )
    until(lambda: one.outside and "told" in one.errors)
    assert one.outside == ["https://example.org/x.png"]
    assert any("undefined_name" in error for error in one.errors)
    assert "told" in one.errors
    one.page.close()


def test_a_figure_is_photographed_as_it_stands(browser):
    def picture(rows):
        return photograph(browser, RegisterTile(rows=rows), width=600, sharpness=1)

    assert readme.same(picture(4), picture(4))
    assert not readme.same(picture(4), picture(5))
