"""The clock of a timed task: it ticks, is stopped, is told by Python, and says so where Python is silent."""

import base64
import json
import random

import pytest
from browser_tools import SCHEMES, barriers, document

from convlab.support.clock_words import ENDS, clock_words
from convlab.widgets import TaskClock

pytestmark = pytest.mark.browser

KEY = "convlab clock: conv2d_nchw"
NOON = 1_900_000_000  # seconds since 1970

# A page with a clock whose kernel is ours: what it is asked is listed, and it answers when it is told to.
KERNEL = """async ([code, state]) => {
  const { default: widget } = await import(code);
  const heard = {};
  window.kernel = {
    asked: [],
    tell(changes) {
      Object.assign(state, changes);
      for (const name of Object.keys(changes)) heard[`change:${name}`]?.forEach((listener) => listener());
    },
  };
  const model = {
    get: (key) => state[key],
    set(key, value) { state[key] = value; if (key === "asked") window.kernel.asked.push(value.what); },
    on: (event, listener) => (heard[event] ??= []).push(listener),
    off() {},
    save_changes() {},
  };
  widget.render({ model, el: document.querySelector("main") });
}"""


@pytest.fixture
def opened(watched, tmp_path):
    """Return open(*widgets, scheme=..., **how): a page whose time we turn, and no error."""
    pages = []

    def open_page(*widgets, scheme="light", **how):
        one = watched(**how)
        pages.append(one)
        file = tmp_path / "page.html"
        file.write_text(document(*widgets, scheme=scheme), encoding="utf-8")
        one.page.clock.install(time=NOON)
        one.page.goto(file.as_uri())
        if widgets:
            one.page.locator(".convlab.cl-task").nth(len(widgets) - 1).wait_for()
        return one.page

    yield open_page
    assert [error for one in pages for error in one.errors] == []


@pytest.fixture
def asked(opened):
    """Return ask(used, stands): a page with a clock that a kernel keeps, which has said so much."""

    def ask(used=0, stands="running", **how):
        page, widget = opened(**how), TaskClock(hand_in="Hand it in by `task.submit(name)`.")
        widget.tell(used, stands)
        code = base64.b64encode(widget.module().encode()).decode()
        page.add_style_tag(content=widget._css)
        page.evaluate(KERNEL, [f"data:text/javascript;charset=utf-8;base64,{code}", widget.state()])
        page.wait_for_function("() => window.kernel.asked.length === 1")  # it came into sight
        assert page.evaluate("kernel.asked") == ["look"]
        tell(page, used, stands)
        return page

    return ask


def tell(page, used, stands="running", aside=""):
    number = random.random()
    page.evaluate(
        "(state) => kernel.tell(state)", {"used": used, "stands": stands, "aside": aside, "told": number}
    )


def pass_by(page, seconds):
    page.clock.run_for(1000 * seconds)


def shown(page, number=0):
    return page.get_by_role("timer").nth(number).inner_text()


def press(page, name, number=0):
    page.locator(".cl-task").nth(number).get_by_role("button", name=name).click()


# -- with Python ---------------------------------------------------------------------------------------------


def test_it_counts_on_between_what_it_is_told(asked):
    page = asked(used=60)
    assert shown(page) in ("29:00 of 30:00 minutes left", "28:59 of 30:00 minutes left")
    pass_by(page, 5)
    assert shown(page)[:5] in ("28:55", "28:54")
    tell(page, 600)  # another tab was asked meanwhile, or the computer slept
    pass_by(page, 1)
    assert shown(page)[:5] in ("19:59", "19:58")
    tell(page, 1798)
    assert shown(page)[:4] in ("0:02", "0:01")
    pass_by(page, 4)
    assert shown(page)[:4] in ("0:02", "0:03")
    assert shown(page).endswith(" over 30:00 minutes")


def test_pressing_asks_python_and_shows_what_it_says(asked):
    page = asked(used=60)
    press(page, "Pause")
    assert page.evaluate("kernel.asked") == ["look", "pause"]
    assert page.get_by_role("button", name="Pause").is_visible()  # Python has not said so yet
    tell(page, 62, "paused")
    assert shown(page) == "28:58 of 30:00 minutes left, paused"
    pass_by(page, 30)
    assert shown(page) == "28:58 of 30:00 minutes left, paused"
    tell(page, 62, "paused")
    page.get_by_role("button", name="Resume").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("kernel.asked").count("resume") == 1
    tell(page, 100, "solved", 'Next: `interview.begin("conv2d_vectorised")`.')
    assert shown(page) == "solved after 1:40 of 30:00 minutes"
    assert page.get_by_role("button").count() == 0
    assert page.locator("code").last.inner_text() == 'interview.begin("conv2d_vectorised")'


def test_python_is_asked_again_while_the_clock_is_in_sight(asked):
    page = asked()
    pass_by(page, 11)
    assert page.evaluate("kernel.asked") == ["look", "look"]
    tell(page, 11)
    page.evaluate("document.querySelector('.cl-task').style.marginTop = '3000px'")
    page.wait_for_timeout(100)
    pass_by(page, 30)
    assert page.evaluate("kernel.asked") == ["look", "look"]
    page.evaluate("document.querySelector('.cl-task').scrollIntoView()")
    page.wait_for_function("() => kernel.asked.length === 3")


def test_where_python_is_silent_it_says_so_and_pretends_nothing(asked):
    page = asked(used=60)
    press(page, "Pause")
    pass_by(page, 7)
    assert "Python does not answer" in page.get_by_role("status").inner_text()
    assert page.get_by_role("button", name="Pause").is_disabled()
    assert shown(page) == "29:00 of 30:00 minutes left"  # what it said last
    pass_by(page, 60)
    assert shown(page) == "29:00 of 30:00 minutes left"
    tell(page, 63, "paused")  # it was busy
    assert page.get_by_role("status").inner_text() == ""
    assert page.get_by_role("button", name="Resume").is_enabled()


def test_a_screen_reader_hears_each_fifth_minute_and_the_end(asked):
    page = asked(used=288)
    heard = page.locator("[aria-live=polite]")
    assert page.get_by_role("timer").get_attribute("aria-live") is None  # a timer is silent by itself
    page.evaluate(
        """() => {
          window.said = [];
          const live = document.querySelector("[aria-live=polite]");
          new MutationObserver(() => said.push(live.textContent)).observe(live, { childList: true });
        }"""
    )
    pass_by(page, 20)
    tell(page, 308)
    assert heard.inner_text() == "25 minutes left."
    for used in range(320, 1840, 20):
        tell(page, used)
        pass_by(page, 1)
    tell(page, 1840, "paused")
    page.wait_for_timeout(100)
    assert page.evaluate("said") == [
        *(f"{minutes} minutes left." for minutes in (25, 20, 15, 10, 5)),
        "The time is over.",
        "0:40 over 30:00 minutes, paused",
    ]


# -- without Python ------------------------------------------------------------------------------------------


def test_without_python_it_has_a_clock_of_its_own(opened):
    page = opened(TaskClock(), TaskClock(name="find_the_bug 1", minutes=8))
    assert "There is no Python behind this page" in page.locator(".cl-task").first.inner_text()
    pass_by(page, 30)
    assert shown(page) == "30:00 of 30:00 minutes left"
    press(page, "Start the clock")
    pass_by(page, 90)
    assert shown(page)[:5] in ("28:30", "28:29")
    assert shown(page, 1) == "8:00 of 8:00 minutes left"  # another task
    press(page, "Pause")
    before = shown(page)
    pass_by(page, 60)
    assert shown(page) == before
    page.reload()
    page.locator(".cl-task").first.wait_for()
    assert shown(page) == before
    press(page, "Resume")
    pass_by(page, 10)
    assert shown(page) < before
    press(page, "From the start")
    assert shown(page) == "30:00 of 30:00 minutes left"


def test_two_tabs_show_one_clock(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(document(TaskClock()), encoding="utf-8")
    with browser.new_context() as context:
        one, two = context.new_page(), context.new_page()
        for tab in one, two:
            tab.goto(file.as_uri())
        press(one, "Start the clock")
        press(two, "Pause")
        one.get_by_role("button", name="Resume").wait_for()
        assert shown(two) == shown(one)


@pytest.mark.parametrize(
    "kept", ["{", "[]", "3", '{"stands": "sung", "used": 1, "since": 2}', '{"stands": "paused", "used": "1"}']
)
def test_what_the_browser_kept_and_is_no_clock_does_no_harm(opened, kept):
    page = opened(TaskClock())
    page.evaluate("([key, kept]) => localStorage.setItem(key, kept)", [KEY, kept])
    page.reload()
    page.get_by_role("button", name="Start the clock").click()
    page.get_by_role("button", name="Pause").wait_for()
    assert json.loads(page.evaluate("(key) => localStorage.getItem(key)", KEY))["stands"] == "running"


def test_a_clock_that_is_set_back_does_not_run_backwards(opened):
    page = opened(TaskClock())
    later = {"stands": "running", "used": 60, "since": 1000 * (NOON + 86_400)}
    page.evaluate("([key, kept]) => localStorage.setItem(key, kept)", [KEY, json.dumps(later)])
    page.reload()
    page.get_by_role("button", name="Pause").wait_for()
    assert shown(page) == "29:00 of 30:00 minutes left"


# -- as everywhere -------------------------------------------------------------------------------------------


def test_its_words_are_pythons(opened):
    page, clock = opened(), TaskClock()
    draw = random.Random(3)
    times = [(draw.choice((1, 8, 30, 90)), draw.uniform(0, 9000)) for _ in range(100)]
    cases = [(used, stands, minutes) for minutes, used in times for stands in ("running", "paused", *ENDS)]
    module = f"{clock.module()}\nexport const ask = (d) => clockWords({{ used: d[0], stands: d[1] }}, d[2]);"
    code = "data:text/javascript;charset=utf-8;base64," + base64.b64encode(module.encode()).decode()
    found = page.evaluate("async ([code, all]) => all.map((await import(code)).ask)", [code, cases])
    assert found == [clock_words(*case) for case in cases]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [900, 400])
def test_it_is_open_to_all(opened, scheme, width):
    lines = "\n".join(
        f"{number:>2}  y[n, p, q] += {'x[n, p + r, q + s] * ' * 4}w[k]" for number in range(1, 9)
    )
    page = opened(TaskClock(lines=lines), scheme=scheme, width=width)
    for button in ("Start the clock", "Pause", "Resume"):
        assert barriers(page, colours=True) == []
        wider = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(wider), button
        press(page, button)
