"""The card of drills: its JavaScript says what Python says, and it works on a page that has no Python."""

import base64
import json
import random
import re

import pytest
from browser_tools import barriers

from convlab.interview import KINDS, cards, drill
from convlab.interview.drill_cards import asked_once
from convlab.interview.drill_rules import plain
from convlab.interview.history import DAY, OTHERS, next_kind
from convlab.lessons.progress_file import Event

pytestmark = pytest.mark.browser

NAMES = list(KINDS)
KEPT = "convlab drills 1"


@pytest.fixture(scope="module")
def javascript(browser):
    """Return ask(body, data, given): what `body` gives for each d of data; it sees the card's functions."""
    page = browser.new_page()
    card = cards(per_kind=1)

    def ask(body, data, given=None):
        # As text, for that is quick; and a whole number comes back with digits that no float has.
        module = f"{card.module()}\nconst given = {json.dumps(given)};\nexport const ask = (d) => {body};"
        code = "data:text/javascript;charset=utf-8;base64," + base64.b64encode(module.encode()).decode()
        run = "JSON.stringify(JSON.parse(data).map((await import(code)).ask))"
        found = page.evaluate(f"async ([code, data]) => {run}", [code, json.dumps(data)])
        return json.loads(found, parse_int=float)

    yield ask
    page.close()


# -- the JavaScript against Python ---------------------------------------------------------------------------

# What people type who know no rule, and those who look for a hole in it.
STRANGE = (
    """
-5 | −5 ms | - 5 | –.5 | +5 | ++5 | + 5 | nan | NaN GFLOP | inf | -Infinity | infé | inf5 | ∞
∞ FLOP | -∞ | 1e999 | 1e-999 | 1e+5 | 1e99999 | 9^9999 | 2^0.5 | 0^0 | 0**9 | 1.5^3 | 10^99999 | 1/0
0/0 | 0/5 | 5/0.0 | 1/3/4 | 9/4 x | 1,200 | 12,544 rows | 1,20,000 | 1.2.3 | 1.200.000,5
1,200,000.5 | 1'200'000 | 1’200’000 | 1_2 | 1 2 | 1 200 | 1 2000 | 1,,2 | 1.. | .
<script>alert(1)</script> | 5 <b>HTML</b> | <b> | `5` | 5 `` | 5 `MiB` | {value} | 5 {word} | $&
5 constructor | 5 __proto__ | 5 toString | constructor | __proto__ | hasOwnProperty-bound | ½ | ١٢
1２ | ² | 5² | 10⁹ | 10⁻³ | 1.5·10⁹ | 1⁄4 | 5 μs | 5 µs | 5 K | 5 ſ | İ | 5 İ | 5 ß | about 5
ABOUT 5 | ~ 5 | ≈5 k | = 5 | ca. 5 | ca 5 | approx. 5 | approx 5 | about5 | nearly  7 | 5 B | 5 b
5 Mb | 5 Kib | 5 kb | 5 mb | 5 i | 5 ib | 5 PiB | 5 pi | 5 tib | 5 GB/s | 5 MB per second
5 FLOP per byte | 5 FLOP  for each  byte | 5 FLOP a b | 5 /b | 5 FLOP/byte/s | 5 per byte | 5 flop/
100 % | 0.5 | 1 | 1.0 | 1 pct | 40per cent | 5 -fold | 5:1 | 5 : 1 | 5 :  1 | 2x | 2 X | 2× | 2*
5 min | 5 minutes | 5 MIN | 5 ms. | 5 ms.. | 5 m | 5 ns | 5 milli-seconds | 5 - s | 5 k-s
5 million | 5 Mrd | 5 mio | 5 bn | 5 G | 5 g | 5 kilo | 5 thousand rows | 5 k rows | 5 krows
memory | Memory-bound | memory bound. | memory - side! | COMPUTE | compute bound | left or right
the left | right | math | MEMORYbound | bound | side | memory- | memory! | compute boundside | 0x10
1e | 1e5e5 | e5 | 1E5 | 1e5 k | 12 e3 | 1.2 × 10^ | 1.2x10^9 | 1.2 X 10 ** 9 | 1.2*10*9
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)
STRANGE += [
    "",
    " ",
    "\t\n",
    "\u00a0",
    "\ufeff12",
    "12\ufeff",
    "\u2003 7",
    "\x1c5",
    "5\x85",
    "5\u200b",
    "\x00",
]
STRANGE += ["9" * 80, "9" * 81, "😀" * 80, "😀" * 81, "5 " + "x" * 60, "x" * 60, "5 " + "😀" * 60, "y" * 500]
PIECES = [*"0123456789.,'_ +-−/^*%eExX×kKmMgGbBiI°⁹²`<{\u00a0\u2009"]
PIECES += ["10^", " MiB", " GFLOP", " ms", " per ", "byte", "bound"]


def written(value, rng):
    """Return a value as somebody may write it."""
    shown = rng.choice(["{!r}", "{:.3g}", "{:.12g}", "{:.6e}", "{:,.0f}", "{:_.0f}"]).format(value)
    units = (
        " G|k| M| GFLOP| GMAC| MiB| MB| kB| KiB| Mbit| ms| µs|x| %| FLOP/byte| rows| times| ns| s| bytes| B"
    )
    scale = rng.choice([1, 1, 1, 1e-9, 1e-6, 1e-3, 1 / 1024**2, 0.5, 8, 100])
    told = f"{value * scale:.9g}" if scale != 1 else shown
    mantissa, exponent = f"{value:.6e}".split("e")
    power = f"{mantissa}{rng.choice(['x10^', ' × 10', '·10**', ' * 10^'])}{int(exponent)}"
    before, unit = rng.choice(["", "", "", "~", "about ", "+", "= "]), rng.choice(["", *units.split("|")])
    return before + rng.choice([told, told, told, power]) + unit


def answers_to(one, rng):
    """Return texts for a drill: right in many notations, every slip, what lies on the limits, nonsense."""
    limits = [one.value * (1 + sign * one.tolerance * near) for sign in (1, -1) for near in (0.999, 1, 1.001)]
    values = [one.value, *(slip.value for slip in one.slips)]
    known = [repr(value) for value in (*values, *limits)]
    notations = [written(value, rng) for value in values for _ in range(6)]
    others = [written(10 ** rng.uniform(-9, 25), rng) for _ in range(20)]
    mixed = ["".join(rng.choices(PIECES, k=rng.randint(1, 12))) for _ in range(30)]
    shown = map(one.about.unit.text, values)
    return [*known, *shown, *notations, *(f"{text} %" for text in known), *others, *mixed]


def as_judged(one, text):
    said = one.verdict(text)
    note = said.note
    return [said.value, said.slip, note.good, note.title, note.diagnosis or note.body]


def test_the_judge_says_what_python_says(javascript):
    rng = random.Random(17)
    drills = [drill(kind, seed) for kind in NAMES for seed in range(8)]
    asked = [(i, text) for i, one in enumerate(drills) for text in answers_to(one, rng)]
    asked += [(i, text) for i in range(0, len(drills), 8) for text in STRANGE]
    body = "((j) => [j.value, j.slip, j.good, j.title, j.words])(judged(given[d[0]], d[1]))"
    found = javascript(body, asked, [plain(one) for one in drills])
    expected = [as_judged(drills[i], text) for i, text in asked]
    both = zip(asked, found, expected, strict=True)
    wrong = [(drills[i].kind, text, there, here) for (i, text), there, here in both if there != here]
    assert wrong == [], f"{len(wrong)} of {len(asked)}"
    assert len(asked) > 15_000
    verdicts = [here[2] for here in expected]
    assert min(verdicts.count(each) for each in (True, False, None)) > 900  # all three were tried
    assert len({here[1] for here in expected}) > 50  # slips that were named


STRANGERS = [{"drill": "of another version"}, {"right": 1}, {"number": None}, {"number": 2.5}]


def histories(count):
    """Yield what learners answered now and then, some of it of another version; some kinds; and a time."""
    rng = random.Random(3)
    for _ in range(count):
        kinds = rng.sample(NAMES, rng.randint(1, len(NAMES)))
        now, events = 1.8e9, []
        for number in range(1, rng.randint(0, 40) + 1):
            now += rng.choice([5, 60, 3600, DAY, 3.5 * DAY, 20 * DAY, -DAY, -0.01])
            name = f"drill {rng.choice(kinds)} {rng.randint(1, 30)}"
            told = {"drill": name.split()[1], "right": rng.random() < 0.6, "number": number}
            told |= rng.choice([{}] * 12 + STRANGERS)
            events.append(Event(now, rng.choice(["guess"] * 9 + ["try"]), name, told))
        yield events, rng.sample(NAMES, rng.randint(1, len(NAMES))), now + rng.choice([-5, 10, DAY, 30 * DAY])


def test_the_kind_that_comes_next_is_pythons(javascript):
    asked = list(histories(1500))
    data = [([event._asdict() for event in events], kinds, now) for events, kinds, now in asked]
    found = javascript("nextKind(d[0], d[1], d[2])", data)
    expected = [next_kind(events, {kind: KINDS[kind] for kind in kinds}, now) for events, kinds, now in asked]
    assert found == expected
    assert set(expected) == set(NAMES)


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
    unit = one.about.unit
    value = next(slip.value for slip in one.slips) if wrong else one.value
    return unit.text(value) if unit.choices else f"{value!r}{' %' if unit.name == 'percent' else ''}"


def lock(figure, text, sure=70):
    figure.get_by_role("textbox").fill(text)
    if sure:
        figure.get_by_role("radio", name=f"{sure} %").check()
    figure.get_by_role("button", name="Lock").click()


def kept(figure):
    return json.loads(figure.page.evaluate(f"localStorage.getItem('{KEPT}')") or "[]")


def go_on(figure):
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
    assert one.steps[-1] not in figure.inner_html()
    assert shown not in figure.inner_text()
    assert not figure.get_by_role("radio").first.is_visible()
    figure.get_by_role("textbox").fill(typed(one))
    figure.get_by_role("button", name="Try once more").click()
    assert verdict.count() == 2
    assert f"it is {shown}: exactly." in verdict.nth(1).inner_text()
    assert figure.locator(".cl-drill-steps li").all_inner_texts() == list(one.steps)
    link = figure.get_by_role("link").first
    number, cell = one.about.read[0]
    assert link.inner_text().startswith(f"notebook {number}, ")
    assert cell in link.inner_text()
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
