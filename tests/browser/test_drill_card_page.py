"""The card of drills in a page that has no Python, and its talk with Python where there is one."""

import base64
import json
import re

import pytest
from browser_tools import barriers
from drill_solver import plainly

from convlab.interview import KINDS, cards, drill
from convlab.interview.drill_cards import asked_once
from convlab.interview.history import OTHERS
from convlab.interview.places import of_cell
from convlab.support.markup import as_script
from convlab.widgets.shared.javascript import stylesheet
from convlab.widgets.shared.live import Live

pytestmark = pytest.mark.browser

NAMES = list(KINDS)
KEPT = "convlab drills 1"

# -- a page without Python -----------------------------------------------------------------------------------

SCHEMES = {"light": "", "dark": ' data-jp-theme-light="false" style="background: #111"'}


@pytest.fixture
def context(browser):
    """A browser's memory, and pages that log no error and ask nothing of any server."""
    context, troubles = browser.new_context(viewport={"width": 900, "height": 900}), []

    def watch(page):
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: message.type == "error" and troubles.append(message.text))
        page.on("request", lambda one: one.url.startswith(("file:", "data:")) or troubles.append(one.url))

    context.on("page", watch)
    yield context
    assert troubles == []
    context.close()


def opened(context, folder, card, scheme="light"):
    """Open a page with a card, and return the card there."""
    file = folder / "page.html"
    file.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
        f"<body{SCHEMES[scheme]}><main>{card.page()}</main></body></html>",
        encoding="utf-8",
    )
    page = context.new_page()
    page.goto(file.as_uri())
    figure = page.locator(".convlab.cl-drill")
    figure.wait_for()
    return figure


def asked_of(figure, drills):
    """Return the drill that a card asks."""
    words = figure.locator(".cl-title").inner_text()
    return next(one for one in drills if words and one.question.startswith(words))


def bank(names, per_kind=6):
    return [drill(name, seed) for seed in range(per_kind) for name in names]


def typed(one, wrong=False):
    return plainly(one.slips[0].value if wrong else one.value, one)


def lock(figure, text, sure=70):
    figure.page.bring_to_front()
    figure.get_by_role("textbox").fill(text)
    if sure:
        figure.get_by_role("radio", name=f"{sure} %").check()
    figure.get_by_role("button", name="Lock").click()


def kept(figure):
    return json.loads(figure.page.evaluate(f"localStorage.getItem('{KEPT}')") or "[]")


def go_on(figure):
    figure.page.bring_to_front()
    figure.get_by_role("button", name="Next card").click()


def test_a_miss_is_named_tried_again_and_then_worked_out(context, tmp_path):
    figure = opened(context, tmp_path, cards("flops"))
    one = asked_of(figure, bank(["flops"]))
    slip = one.slips[0]
    shown = one.about.unit.text(one.value)
    lock(figure, typed(one, wrong=True))
    verdict = figure.locator(".cl-verdict")
    said = f"Not that. You said {one.about.unit.text(slip.value)}. So it comes out for one who {slip.name}."
    assert verdict.inner_text().startswith(f"{said} {slip.hint} You were 70 % sure, after 0:0")
    unit = verdict.locator(".cl-whole").get_by_text("70 %", exact=True)
    assert unit.evaluate("one => getComputedStyle(one).whiteSpace") == "nowrap"
    assert one.steps[-1] not in figure.text_content()
    assert shown not in figure.inner_text()
    assert not figure.get_by_role("radio").first.is_visible()
    figure.get_by_role("textbox").fill(typed(one))
    figure.get_by_role("button", name="Try once more").click()
    assert verdict.count() == 2
    assert f"it is {shown}: exactly." in verdict.nth(1).inner_text()
    assert figure.locator(".cl-drill-steps li").all_inner_texts() == list(one.steps)
    link = figure.get_by_role("link").first
    number, cell = one.about.read[0]
    assert link.inner_text() == str(of_cell(number, cell))
    assert re.fullmatch(rf"{number}_\w+\.html", link.get_attribute("href"))
    assert figure.locator(".cl-drill-tally").inner_text().startswith("0 of 1 right")
    (event,) = kept(figure)
    assert (event["kind"], event["detail"]["drill"], event["detail"]["slip"]) == ("guess", "flops", slip.name)
    assert (event["detail"]["right"], event["detail"]["sure"], event["detail"]["number"]) == (False, 70, 1)
    assert 0 <= event["detail"]["seconds"] < 60


def test_by_keyboard_alone(context, tmp_path):
    figure = opened(context, tmp_path, cards("flops"))
    page = figure.page
    one = asked_of(figure, bank(["flops"]))
    figure.get_by_role("textbox", name="your answer").focus()
    page.keyboard.type(typed(one))
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    figure.locator(".cl-verdict.cl-right").wait_for()
    assert page.evaluate("document.activeElement.className").startswith("cl-verdict")
    assert "You were 30 % sure" in figure.inner_text()
    assert figure.get_by_role("link").count() == 0  # nothing to read again
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert figure.get_by_role("button", name="Lock").is_visible()
    assert page.evaluate("document.activeElement.ariaLabel") == "your answer"
    assert asked_of(figure, bank(["flops"])).seed != one.seed


def test_what_is_not_understood_is_not_locked(context, tmp_path):
    figure = opened(context, tmp_path, cards("flops"))
    complaint = figure.locator(".cl-complaint")
    for text, words in {
        "": "Nothing was typed. Answer in FLOP, such as",
        "<b>5</b><script>alert(1)</script>": "<b>5</b><script>alert(1)</script> does not begin with",
        "-3": "That is below zero",
        "1,200": "can be read as 1200 or as 1.200",
        "3 ms": "ms measures time; asked is work.",
        "1.2e9": "And how sure are you?",
    }.items():
        lock(figure, text, sure=None)
        assert words in complaint.inner_text()
        assert figure.locator(".cl-verdict").count() == 0
    assert figure.locator("b, script", has_text="5").count() == 0
    assert kept(figure) == []


def test_what_was_missed_comes_again_after_three_others(context, tmp_path):
    names = NAMES[:6]
    figure = opened(context, tmp_path, cards(names))
    asked = []
    for turn in range(OTHERS + 2):
        one = asked_of(figure, bank(names))
        asked.append(one.kind)
        if turn == 0:
            figure.get_by_role("button", name="Pass over").click()
            assert f"Passed over. It is {one.about.unit.text(one.value)}." in figure.inner_text()
        else:
            lock(figure, typed(one))
        go_on(figure)
    assert asked == [*names[: OTHERS + 1], names[0]]
    assert f"{OTHERS + 1} of {OTHERS + 2} right" in figure.locator(".cl-drill-tally").inner_text()
    figure.page.reload()
    figure.wait_for()
    assert asked_of(figure, bank(names)).kind == names[OTHERS + 1]  # it goes on where it was


def test_a_bank_that_is_used_up_begins_anew(context, tmp_path):
    figure = opened(context, tmp_path, cards("output_size", per_kind=2))
    seeds = []
    for _ in range(5):
        one = asked_of(figure, bank(["output_size"], 2))
        seeds.append(one.seed)
        lock(figure, typed(one))
        go_on(figure)
    assert seeds == [0, 1, 0, 1, 0]
    assert "5 of 5 right" in figure.inner_text()


def test_two_tabs_lose_nothing(context, tmp_path):
    names = NAMES[:3]
    first, second = (opened(context, tmp_path, cards(names)) for _ in "ab")
    one = asked_of(first, bank(names))
    assert asked_of(second, bank(names)) == one
    lock(first, typed(one))
    second.page.bring_to_front()
    second.get_by_text("1 of 1 right", exact=True).wait_for()
    assert asked_of(second, bank(names)).kind == names[1]  # what the other tab answered is not asked here
    lock(second, typed(asked_of(second, bank(names))), 50)
    go_on(first)
    assert asked_of(first, bank(names)).kind == names[2]
    lock(first, typed(asked_of(first, bank(names))))
    assert [(event["detail"]["drill"], event["detail"]["number"]) for event in kept(first)] == [
        (name, number) for number, name in enumerate(names, 1)
    ]


OF_OTHERS = [
    "{",
    "3",
    "null",
    '"x"',
    '{"version": 9}',
    '[null, 3, {"name": "a"}, {"kind": "guess", "detail": 5}]',
]


@pytest.mark.parametrize("there", OF_OTHERS)
def test_what_the_browser_kept_and_is_not_ours_does_no_harm(context, tmp_path, there):
    figure = opened(context, tmp_path, cards("flops"))
    figure.page.evaluate("([key, there]) => localStorage.setItem(key, there)", [KEPT, there])
    figure.page.evaluate("localStorage.setItem('convlab drills 2', 'of a later version')")
    figure.page.reload()
    figure.wait_for()
    lock(figure, typed(asked_of(figure, bank(["flops"]))))
    figure.get_by_text("1 of 1 right", exact=True).wait_for()
    assert kept(figure)[-1]["detail"]["right"] is True
    assert figure.page.evaluate("localStorage.getItem('convlab drills 2')") == "of a later version"
    if there.startswith("["):
        assert kept(figure)[:-1] == json.loads(there)  # left as it is
    elif there.startswith('{"'):
        aside = figure.page.evaluate(f"localStorage.getItem('{KEPT}, set aside')")
        assert json.loads(aside) == json.loads(there)


def test_the_time_can_be_hidden_and_stays_so(context, tmp_path):
    figure = opened(context, tmp_path, cards("flops"))
    assert re.fullmatch(r"0:\d\d", figure.get_by_role("timer").inner_text())
    figure.get_by_role("button", name="Hide the time").click()
    assert not figure.locator("[role=timer]").is_visible()
    figure.page.reload()
    figure.get_by_role("button", name="Show the time").click()
    assert figure.get_by_role("timer").is_visible()


def test_the_clock_of_the_day_may_be_set(context, tmp_path):
    """The seconds go by a clock that nobody sets."""
    figure = opened(context, tmp_path, cards("flops"))
    figure.page.evaluate("Date.now = () => 5e11")
    lock(figure, typed(asked_of(figure, bank(["flops"]))))
    assert 0 <= kept(figure)[0]["detail"]["seconds"] < 60


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [900, 400])
def test_it_is_open_to_all(context, tmp_path, scheme, width):
    figure = opened(context, tmp_path, cards("im2col_bytes"), scheme)
    page = figure.page
    page.set_viewport_size({"width": width, "height": 900})
    one = asked_of(figure, bank(["im2col_bytes"]))
    steps = {
        "asked": lambda: None,
        "not understood": lambda: lock(figure, "many", None),
        "missed": lambda: lock(figure, typed(one, wrong=True)),
        "over": figure.get_by_role("button", name="Show the arithmetic").click,
    }
    for state, act in steps.items():
        act()
        assert barriers(page, colours=True) == [], state
        wider = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(wider), state


# -- drills that are given, each once ------------------------------------------------------------------------


def test_given_drills_are_asked_once_and_in_order(context, tmp_path):
    given = [drill("flops", 3), drill("output_size", 4), drill("ridge_side", 5)]
    figure = opened(context, tmp_path, asked_once(given))
    for i, one in enumerate(given):
        assert asked_of(figure, given) == one
        lock(figure, typed(one, wrong=i == 0))
        assert figure.get_by_role("button", name="Try once more").count() == 0
        assert one.steps[-1] in figure.inner_text()
        go_on(figure)
    assert "That was the last card." in figure.inner_text()
    assert "2 of 3 right" in figure.inner_text()
    assert not figure.get_by_role("textbox").is_visible()


# -- with Python ---------------------------------------------------------------------------------------------

# A model as Jupyter has it: what the page sets waits in `outbox`, until it is delivered to the kernel.
MODEL = """
const heard = {}, changed = new Set();
window.outbox = [];
const tell = (name) => (heard[`change:${name}`] ?? []).forEach((one) => one());
const model = {
  get: (name) => state[name],
  set(name, value) { state[name] = value; changed.add(name); tell(name); },
  on: (event, listener) => (heard[event] ??= []).push(listener),
  off() {},
  save_changes() {
    outbox.push(Object.fromEntries([...changed].map((name) => [name, state[name]])));
    changed.clear();
  },
};
window.receive = (news) => { Object.assign(state, news); Object.keys(news).forEach(tell); };
(await import(code)).default.render({ model, el: document.querySelector("main") });
"""


class Kernel:
    """A card that lives in Python, and the tabs that show it."""

    def __init__(self, context, folder, card):
        self.context, self.file, self.card, self.tabs = context, folder / "live.html", card, []

    def tab(self):
        """Open a tab, and return the card there."""
        code = base64.b64encode(self.card.module().encode()).decode()
        self.file.write_text(
            f'<!doctype html><meta charset="utf-8"><style>{stylesheet()}</style><main></main>'
            f'<script type="module">const code = "data:text/javascript;charset=utf-8;base64,{code}";\n'
            f"const state = {as_script(Live.state(self.card))};\n{MODEL}</script>",
            encoding="utf-8",
        )
        page = self.context.new_page()
        page.goto(self.file.as_uri())
        page.locator(".convlab.cl-drill").wait_for()
        self.tabs.append(page)
        return page.locator(".convlab.cl-drill")

    def run(self):
        """Take what the tabs have sent, in their order, and tell all of them how it stands."""
        for page in self.tabs:
            for news in page.evaluate("outbox.splice(0)"):
                for name, value in news.items():
                    setattr(self.card, name, value)
        news = {name: getattr(self.card, name) for name in ("card", "answered", "tally", "trouble")}
        for page in self.tabs:
            page.evaluate("(news) => receive(news)", news)


def laid_out(card):
    """Return the drill that Python has laid out last."""
    one = json.loads(base64.b64decode(card.card))["drills"][0]
    return drill(one["kind"], one["seed"])


def test_python_keeps_the_answer_and_lays_out_the_next(context, tmp_path, memory):
    kernel = Kernel(context, tmp_path, cards())
    figure, first = kernel.tab(), laid_out(kernel.card)
    assert asked_of(figure, [first]) == first
    lock(figure, typed(first), 90)
    assert "exactly" in figure.locator(".cl-verdict").inner_text()  # at once: the page judges, too
    go_on(figure)
    assert "Python lays out the next card." in figure.inner_text()
    kernel.run()
    second = laid_out(kernel.card)
    figure.locator(".cl-title", has_text=second.question[:40]).wait_for()
    assert second.kind != first.kind
    assert "1 of 1 right" in figure.inner_text()
    (event,) = memory.events()
    assert (event.name, event.detail["right"], event.detail["sure"]) == (first.name, True, 90)
    assert figure.page.evaluate("localStorage.getItem('convlab drills, not handed in')") == "[]"


def test_two_tabs_of_a_kernel_keep_one_answer_to_each_drill(context, tmp_path, memory):
    kernel = Kernel(context, tmp_path, cards())
    one, other, one_drill = kernel.tab(), kernel.tab(), laid_out(kernel.card)
    lock(one, typed(one_drill))
    lock(other, typed(one_drill, wrong=True))
    kernel.run()
    assert [event.detail["right"] for event in memory.events()] == [True]  # the first is the one that counts
    for figure in (one, other):
        figure.get_by_text("1 of 1 right", exact=True).wait_for()
    go_on(one)
    kernel.run()
    second = laid_out(kernel.card)
    lock(one, typed(second), 10)
    kernel.run()
    other.page.bring_to_front()
    other.get_by_role("button", name="Show the arithmetic").click()
    go_on(other)
    third = laid_out(kernel.card)
    other.locator(".cl-title", has_text=third.question[:40]).wait_for()
    assert [event.name for event in memory.events()] == [one_drill.name, second.name]


def test_what_a_kernel_did_not_hear_is_handed_in_to_the_next(context, tmp_path, memory):
    context.clock.install()
    lost = Kernel(context, tmp_path, cards())
    figure, one = lost.tab(), laid_out(lost.card)
    lock(figure, typed(one), 50)
    assert "Python has not answered yet" not in figure.inner_text()
    context.clock.fast_forward(5000)
    figure.get_by_text("Python has not answered yet").wait_for()
    assert memory.events() == []
    figure.page.close()
    anew = Kernel(context, tmp_path, cards())
    again = anew.tab()
    anew.run()
    again.get_by_text("1 of 1 right", exact=True).wait_for()
    (event,) = memory.events()
    assert (event.name, event.detail["sure"]) == (one.name, 50)
    assert again.page.evaluate("localStorage.getItem('convlab drills, not handed in')") == "[]"
    again.page.reload()
    again.wait_for()
    assert again.page.evaluate("outbox") == []


def test_what_another_version_left_to_hand_in_does_no_harm(context, tmp_path, memory):
    kernel = Kernel(context, tmp_path, cards())
    figure = kernel.tab()
    strange = [3, {"kind": "x"}, {"kind": "flops", "seed": 1, "text": 5, "sure": "x", "seconds": None}]
    figure.page.evaluate(
        "(all) => localStorage.setItem('convlab drills, not handed in', JSON.stringify(all))", strange
    )
    context.clock.install()
    figure.page.reload()
    figure.wait_for()
    kernel.run()
    context.clock.fast_forward(5000)
    lock(figure, typed(laid_out(kernel.card)))
    kernel.run()
    figure.get_by_text("1 of 1 right", exact=True).wait_for()
    assert "Python has not answered yet" not in figure.inner_text()
    assert [event.name for event in memory.events()] == [
        f"drill {one['kind']} {one['seed']}" for one in kernel.card.answered
    ]


def test_given_drills_go_on_where_they_were(context, tmp_path, memory):
    given = [drill("flops", 3), drill("output_size", 4), drill("ridge_side", 5)]
    begun = asked_once(given)
    begun.typed = [{"kind": "flops", "seed": 3, "text": typed(given[0]), "sure": 70, "seconds": 9.5}]
    kernel = Kernel(context, tmp_path, asked_once(given, begun.answered))
    figure = kernel.tab()
    assert asked_of(figure, given) == given[1]
    lock(figure, typed(given[1]))
    go_on(figure)
    figure.get_by_role("button", name="Pass over").click()
    go_on(figure)
    assert "That was the last card." in figure.inner_text()
    kernel.run()
    assert [(one["kind"], one["right"], one["sure"]) for one in kernel.card.answered] == [
        ("flops", True, 70),
        ("output_size", True, 70),
        ("ridge_side", False, None),
    ]
    assert "2 of 3 right" in figure.inner_text()
