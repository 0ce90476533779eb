"""The card of drills from Python's side: what a page hands in is judged once more, and kept once."""

import base64
import json

import pytest
from drill_solver import plainly
from effort import sampled

from convlab import ConvError
from convlab.interview import KINDS, cards, drill
from convlab.interview.drill_cards import asked_once
from convlab.interview.drill_rules import plain, rules
from convlab.interview.history import OTHERS
from convlab.lessons.course import Standing
from convlab.widgets.shared.javascript import module

NAMES = list(KINDS)
LARGEST = 300_000  # bytes of a page


def opened(sealed):
    """Return the kinds and seeds of drills that were sealed."""
    return [(one["kind"], one["seed"]) for one in json.loads(base64.b64decode(sealed))["drills"]]


def typed(one, text=None, sure=70, seconds=12.5):
    """Return what a page hands in; by default the right answer."""
    text = plainly(one.value, one) if text is None else text
    return {"kind": one.kind, "seed": one.seed, "text": text, "sure": sure, "seconds": seconds}


def laid_out(card):
    ((kind, seed),) = opened(card.card)
    return drill(kind, seed)


def test_an_answer_is_judged_and_kept_here_and_the_next_card_is_drawn(memory):
    card = cards()
    first = laid_out(card)
    card.typed = [typed(first, sure=90)]
    (event,) = memory.events()
    assert (event.name, event.detail["seconds"], event.detail["sure"]) == (first.name, 12.5, 90)
    assert card.answered == [
        {
            **{
                "kind": first.kind,
                "seed": first.seed,
                "text": plainly(first.value, first),
                "value": first.value,
            },
            **{"right": True, "slip": "", "sure": 90, "seconds": 12.5},
        }
    ]
    assert card.tally == {"90": [1, 1]}
    second = laid_out(card)
    assert second.kind == NAMES[1]
    slip = second.slips[0]
    card.typed = [*card.typed, typed(second, f"{slip.value!r}", sure=50)]
    assert card.answered[1]["slip"] == slip.name == memory.events()[1].detail["slip"]
    assert card.tally == {"90": [1, 1], "50": [0, 1]}
    assert "1 of 2 drills right" in Standing(memory.events()).calibration()


def test_what_was_missed_or_passed_over_comes_again_after_three_others(memory):
    card = cards()
    asked = []
    for turn in range(OTHERS + 2):
        one = laid_out(card)
        asked.append(one.kind)
        passed = typed(one, sure=None) | {"text": None}
        card.typed = [typed(one) if turn else passed]
    assert asked == [*NAMES[: OTHERS + 1], NAMES[0]]
    assert memory.events()[0].detail["right"] is False
    assert card.tally == {"": [0, 1], "70": [OTHERS + 1, OTHERS + 1]}


ONE = typed(drill("flops", 1))
MALFORMED = [
    *({"kind": kind} for kind in ("of another version", "", "__proto__")),
    *({"seed": seed} for seed in (-1, 2**70, "1", 1.5)),
    *({"text": text} for text in ("", "many", "3 ms", 5, "9" * 500, "<b>5</b>")),
    *({"sure": sure} for sure in (None, "70", -1, 101, float("nan"))),
    *({"seconds": seconds} for seconds in (None, "5", -1, float("inf"))),
]


@sampled(8)
@pytest.mark.parametrize("change", MALFORMED, ids=str)
def test_a_malformed_message_changes_nothing(memory, change):
    card = cards("flops", per_kind=1)
    before = card.card
    card.typed = [ONE | change]
    assert (memory.events(), card.answered, card.card) == ([], [], before)


@pytest.mark.parametrize("message", [3, None, {}, {"kind": "flops"}, [ONE]])
def test_what_is_no_message_is_refused(memory, message):
    card = cards("flops", per_kind=1)
    with pytest.raises(ConvError, match=r"typed has .* expected dicts with kind, seed, text, sure, seconds"):
        card.typed = [message]
    assert (card.typed, memory.events()) == ([], [])


def test_what_is_handed_in_twice_is_kept_once(memory):
    """By two tabs, and by a page that does not know whether the kernel before this one has heard it."""
    card, one = cards("flops", per_kind=1), drill("flops", 5)
    card.typed = [typed(one)]
    card.typed = [typed(one, "1")]
    assert [each["right"] for each in card.answered] == [True]
    anew = cards("flops", per_kind=1)
    anew.typed = [typed(one)]
    assert len(anew.answered) == len(memory.events()) == 1


def test_trouble_with_the_file_is_said_on_the_card(memory):
    card = cards("flops", per_kind=1)
    memory.path.write_bytes(b"no database" * 99)
    card.typed = [ONE]
    assert "was damaged. It is kept as" in card.trouble
    assert len(memory.events()) == 1


def test_given_drills_are_asked_once(memory):
    given = [drill(kind, 7) for kind in NAMES[:3]]
    card = asked_once(given)
    assert opened(card.bank) == [(one.kind, one.seed) for one in given]
    card.typed = [typed(given[1]), typed(drill("flops", 8)), typed(given[1], "1"), typed(given[0], "1")]
    assert [(one["kind"], one["right"]) for one in card.answered] == [(NAMES[1], True), (NAMES[0], False)]
    assert len(memory.events()) == 2
    begun = asked_once(given, card.answered)
    begun.typed = [typed(given[0]), typed(given[2])]
    assert [one["kind"] for one in begun.answered] == [NAMES[1], NAMES[0], NAMES[2]]
    with pytest.raises(ConvError, match=r"answered\[0\] has nothing for 'kind'"):
        asked_once(given, [{"seed": 7}])
    with pytest.raises(ConvError, match="drills"):
        asked_once([])


def test_the_page_has_a_bank_and_gives_nothing_away(memory):
    card = cards()
    page, state = card.page(), card.state()
    assert len(page) < LARGEST
    assert state == cards().state()  # nothing is drawn for it
    assert sorted({kind for kind, _ in opened(state["bank"])}) == sorted(NAMES)
    assert (card.bank, state["card"]) == ("", "")  # a kernel need not send what it draws itself
    first = drill(NAMES[0], 0)
    assert first.question in card.words()
    assert not any(step in page for step in first.steps)


def test_of_some_kinds_only_those_are_asked(memory):
    names = ("halo_rows", "flops")
    card = cards([*names, "halo_rows"], per_kind=2)
    assert opened(card.state()["bank"]) == [(kind, seed) for seed in (0, 1) for kind in names]
    for _ in range(4):
        one = laid_out(card)
        assert one.kind in names
        card.typed = [typed(one)]


@pytest.mark.parametrize("kinds", ["no such kind", [], ["flops", "no such kind"], 3, [None], {}])
def test_bad_kinds_are_refused(kinds):
    with pytest.raises(ConvError, match="kinds"):
        cards(kinds)


def test_the_rules_are_plain_and_the_page_knows_each_by_its_name():
    told = rules(tuple(NAMES))
    assert json.loads(json.dumps(told)).keys() == told.keys()
    code = module("drill_card.js")
    factors = {kind["unit"]["factor"] for kind in told["kinds"].values() if not kind["unit"]["choices"]}
    assert all(f"function {name}(" in code or f"const {name} = (" in code for name in factors)
    assert {kind["unit"]["written"] for kind in told["kinds"].values()} <= {
        *("bytes", "count", "time", "3 digits", "9 digits", "")
    }
    one = drill("flops", 1)
    data = plain(one)
    assert f"{data['question']} {data['request']}" == one.question
