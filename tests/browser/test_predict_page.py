"""A prediction in a page without Python: locked by keyboard, kept by the browser, silent before."""

import base64
import json
import random

import pytest
from browser_tools import SCHEMES, barriers, document
from effort import in_turns

from convlab import ConvProblem, figures
from convlab.support.measured import Measured
from convlab.support.units import factor_between, number_text
from convlab.widgets import Guess
from convlab.widgets.guess import RIGHT

pytestmark = pytest.mark.browser

SAID = {
    "because": "Because of the `stride`.\n\nAnd *that* is all.",
    "misconceptions": {49: "You forgot the stride.", 48.5: "Nearer, but not it.", 12: "Nearly right."},
}


@pytest.fixture
def page(browser):
    """A browser's page that logs no error and asks nothing of any server."""
    context = browser.new_context(viewport={"width": 900, "height": 700})
    page, troubles = context.new_page(), []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: message.type == "error" and troubles.append(message.text))
    page.on("request", lambda one: one.url.startswith(("file:", "data:")) or troubles.append(one.url))
    yield page
    assert troubles == []
    context.close()


def opened(page, folder, *widgets, scheme="light"):
    """Open a page with widgets, and return the figure of the first."""
    file = folder / "page.html"
    file.write_text(document(*widgets, scheme=scheme), encoding="utf-8")
    page.goto(file.as_uri())
    figure = page.locator(".convlab.cl-guess").first
    figure.wait_for()
    return figure


def picture():
    return figures.tensors(ConvProblem(1, 8, 10, 3, 6, 3, 3))


def asked(**options):
    return Guess("a matrix", "How large?", 12.25, "times the input", **SAID | options)


def lock(figure, guess, sure=70):
    figure.get_by_role("textbox").fill(str(guess))
    figure.get_by_role("radio", name=f"{sure} %").check()
    figure.get_by_role("button", name="Lock").click()
    figure.locator(".cl-verdict").wait_for()


def test_it_is_locked_by_keyboard_and_nothing_shows_before(page, tmp_path):
    figure = opened(page, tmp_path, asked(figure=picture()))
    hidden = ("12.25", "stride", "Nearly right", "img")
    assert not any(word in figure.inner_html() for word in hidden)
    figure.get_by_role("textbox", name="your guess, times the input").focus()
    page.keyboard.type("49")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")  # the first is chosen by its arrow: the second
    page.keyboard.press("Enter")
    verdict = figure.locator(".cl-verdict")
    verdict.wait_for()
    assert verdict.inner_text() == (
        "You said 49; it is 12.25 times the input: off 4 times. "
        "You were 30 % sure to be within a factor of two."
    )
    assert page.evaluate("document.activeElement.className").startswith("cl-verdict")
    assert "You forgot the stride." in figure.inner_text()
    assert figure.locator("code").text_content() == "stride"
    assert figure.locator("em").text_content() == "that"
    assert figure.locator("img").get_attribute("alt") == picture().alt
    label = figure.locator("svg[role=img]").get_attribute("aria-label")
    assert label.startswith("On a logarithmic axis: your guess 49, the truth 12.25;")
    assert not figure.get_by_role("textbox").is_visible()


def test_the_first_guess_stays_and_another_is_kept_beside_it(page, tmp_path):
    figure = opened(page, tmp_path, asked(), Guess("another", "How many?", -3, "percent"))
    lock(figure, 49)
    figure.get_by_role("button", name="Guess again").click()
    lock(figure, 13, 90)
    for _ in range(2):
        words = figure.locator(".cl-verdict").inner_text()
        assert words.startswith("You said 49; it is 12.25 times the input: off 4 times. You were 70 %")
        assert words.endswith("Later: You said 13; it is 12.25 times the input: close.")
        page.reload()
        figure.locator(".cl-verdict").wait_for()
    kept = page.evaluate("localStorage.getItem('convlab guess: a matrix')")
    assert json.loads(kept) == [{"guess": 49, "sure": 70}, {"guess": 13, "sure": 90}]
    other = page.locator(".convlab.cl-guess").nth(1)
    assert other.locator(".cl-verdict").count() == 0
    lock(other, "4", 50)
    assert "7 apart, and on the other side of zero" in other.inner_text()
    label = other.locator("svg[role=img]").get_attribute("aria-label")
    assert label.startswith("On a linear axis: your guess 4, the truth −3;")


@pytest.mark.parametrize(
    "kept", ["{", "[]", "3", "null", '[{"guess": "49", "sure": 70}]', '[null, {"sure": 3}]', '{"guess": 3}']
)
def test_what_the_browser_kept_and_is_no_guess_does_no_harm(page, tmp_path, kept):
    opened(page, tmp_path, asked())
    page.evaluate("(kept) => localStorage.setItem('convlab guess: a matrix', kept)", kept)
    page.reload()
    figure = page.locator(".convlab.cl-guess").first
    lock(figure, 12)
    assert "close" in figure.locator(".cl-verdict").inner_text()


def test_bad_input_is_said_kindly(page, tmp_path):
    figure = opened(page, tmp_path, asked())
    complaint, button = figure.locator(".cl-complaint"), figure.get_by_role("button", name="Lock")
    for typed, words in (
        ("", "Type a number first"),
        ("about ten", "“about ten” is no number that can be read here"),
        ("1,234", "Write 1234 or 1.234"),
        ("-inf", "It is finite"),
        ("1e999", "beyond all that computers count with"),
        ("1/0", "beyond all that computers count with"),
        ("0/0", "beyond all that computers count with"),
        ("3 4", "is no number"),
        ("1,2,3", "is no number"),
        ("<b>3</b>", "“<b>3</b>” is no number"),
        ("12.2", "And how sure are you?"),
    ):
        figure.get_by_role("textbox").fill(typed)
        button.click()
        assert words in complaint.inner_text()
        assert figure.locator(".cl-verdict").count() == 0
    figure.get_by_role("radio", name="50 %").check()
    button.click()
    figure.locator(".cl-verdict").wait_for()
    assert "You said 12.2; it is 12.25" in figure.inner_text()
    assert "Nearly right" not in figure.inner_text()  # a misconception, but not nearer than the truth


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [900, 400])
def test_it_is_open_to_all(page, tmp_path, scheme, width):
    page.set_viewport_size({"width": width, "height": 700})
    figure = opened(page, tmp_path, asked(figure=picture()), scheme=scheme)
    for state in ("asked", "locked"):
        if state == "locked":
            lock(figure, 49)
        assert barriers(page, colours=True) == []
        wider = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(wider), state
    assert figure.locator(".cl-guess-axis").bounding_box()["width"] <= width


# -- the JavaScript against Python ---------------------------------------------------------------------------


@pytest.fixture
def ask(page):
    """Return ask(body, data): what JavaScript gives for each d of data, with the widget's parts in reach."""

    def answers(body, data):
        module = Guess().module() + f"\nexport const ask = (d) => {body};"
        code = "data:text/javascript;charset=utf-8;base64," + base64.b64encode(module.encode()).decode()
        ask_all = "async ([code, data]) => { const m = await import(code); return data.map(m.ask); }"
        return page.evaluate(ask_all, [code, data])

    return answers


def numbers(count):
    rng = random.Random(5)
    edge = [0, 1, -1, 12.25, 49, 1e-4, 9.9996e-5, 999.96, 1e15, 1e-300, -1e300, 0.1, 123456, 2.5e6]
    return edge + [rng.choice((-1, 1)) * 10 ** rng.uniform(-9, 18) for _ in range(count)]


@in_turns
def test_numbers_and_verdicts_are_pythons(ask):
    values = numbers(300)
    assert ask("numberText(d)", values) == [number_text(value) for value in values]
    pairs = [(a, b) for a in values[:40] for b in (a, 1.2 * a, 1.9 * a, 2.1 * a, -a, *values[:9])]
    judged = ask("judge(d[0], { ends: [d[1]], noisy: false }, 'times')", pairs)
    for (guess, actual), found in zip(pairs, judged, strict=True):
        widget = Guess(actual=actual, unit="times")
        widget.guesses = [{"guess": guess, "sure": 50}]
        assert f" {found['words']} You were 50 %" in widget.words()
        assert found["right"] == (factor_between(guess, actual) <= RIGHT)


def test_verdicts_on_intervals_are_pythons(ask):
    truths = [
        Measured(2.75, 2.4, 3.1),
        Measured(2.75, 1, 9, noisy=True),
        Measured(0.1, -5, 2),
        Measured(3, 3, 3),
    ]
    pairs = [(guess, truth) for truth in truths for guess in (-1, 0, 0.5, 1.5, 2.5, 2.75, 3, 3.5, 30)]
    data = [(guess, {"ends": truth.ends, "noisy": truth.noisy}) for guess, truth in pairs]
    for (guess, truth), found in zip(pairs, ask("judge(d[0], d[1], 'times')", data), strict=True):
        widget = Guess(actual=truth, unit="times")
        widget.guesses = [{"guess": guess, "sure": 50}]
        assert f" {found['words']} You were 50 %" in widget.words()
        assert (found["right"] is None) == truth.noisy


def test_numbers_are_read_as_people_write_them(ask):
    written = {
        **{
            "3": 3,
            " 12.25 ": 12.25,
            "12,25": 12.25,
            "-3": -3,
            "−3": -3,
            "+4": 4,
            "1e3": 1000,
            "2.5E-3": 0.0025,
        },
        **{"1,234.5": 1234.5, "1.234,5": 1234.5, "1,234,567": 1234567, "1 000 000": 1e6, "0,125": 0.125},
        **{".5": 0.5, "5.": 5, "1/3": 1 / 3, "12.25×": 12.25, "40 %": 40, "4x": 4, "10_000": 10000, "0": 0},
    }
    assert [one.get("number") for one in ask("readNumber(d)", list(written))] == list(written.values())


def test_the_nearest_misconception_is_answered_unless_the_truth_is_nearer(ask):
    known = [[49, "stride"], [48, "windows"], [12, "nearly"], [0, "nothing"]]
    guesses = {49: "stride", 48.6: "stride", 48.4: "windows", 50.4: "stride", 51: None, 12: "nearly"}
    guesses |= {12.2: None, 12.25: None, 0: "nothing", 0.01: None, -49: None}
    found = ask(f"misconception(d, 12.25, {json.dumps(known)}) ?? null", list(guesses))
    assert found == list(guesses.values())


def test_the_axis_holds_whatever_it_is_given(ask):
    pairs = [(a, b) for a in numbers(40) for b in numbers(20)]
    body = "(({ at, ticks, kind }) => [kind, at(d[0]), at(d[1]), ticks.length, ticks.every(Number.isFinite)])"
    body += "(scaleOf([d[0], d[1]], [d[1]]))"
    for (guess, actual), found in zip(pairs, ask(body, pairs), strict=True):
        kind, one, other, ticks, finite = found
        assert kind == ("logarithmic" if min(guess, actual) > 0 else "linear")
        assert 0 <= one <= 1, (guess, actual)
        assert 0 <= other <= 1
        assert 1 <= ticks <= 14
        assert finite
