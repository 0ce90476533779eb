"""The card's JavaScript against Python: the judge, and the kind that comes next, to the last letter."""

import base64
import json
import random

import pytest

from convlab.interview import KINDS, cards, drill
from convlab.interview.drill_rules import plain
from convlab.interview.history import DAY, next_kind
from convlab.lessons.progress_file import Event

pytestmark = pytest.mark.browser

NAMES = list(KINDS)


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


# What people type who know no rule, and those who look for a hole in it.
TYPED = """
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
"""
STRANGE = TYPED.strip().replace("\n", " | ").split(" | ")
STRANGE += ["", " ", "\t\n", "\u00a0", "\ufeff12", "12\ufeff", "\u2003 7", "\x1c5", "5\x85", "5\u200b"]
STRANGE += ["9" * 80, "9" * 81, "😀" * 80, "😀" * 81, "5 " + "x" * 60, "x" * 60, "5 " + "😀" * 60]
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
    values = [one.value, *(slip.value for slip in (*one.slips, *one.small_slips))]
    known = [repr(value) for value in (*values, *limits)]
    notations = [written(value, rng) for value in values for _ in range(6)]
    others = [written(10 ** rng.uniform(-9, 25), rng) for _ in range(20)]
    mixed = ["".join(rng.choices(PIECES, k=rng.randint(1, 12))) for _ in range(30)]
    shown = map(one.about.unit.text, values)
    digits = [f"{value:.{count}e}" for value in values for count in range(7)]
    return [*known, *shown, *digits, *notations, *(f"{text} %" for text in known), *others, *mixed]


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
    assert sum(bool(here[2] and here[1]) for here in expected) > 500  # in answers that are near enough


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
